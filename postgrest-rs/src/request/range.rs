//! Ranges of rows: `limit`, `offset` and the `Range` header.

/// Rows `first..=last` counted from 0; without `last` to the end. `first > last` is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RowRange {
    /// The first row.
    pub first: i64,
    /// The last row.
    pub last: Option<i64>,
}

impl RowRange {
    pub const ALL: Self = Self { first: 0, last: None };
    /// No row: what `limit=0` asks for.
    pub const NONE: Self = Self { first: 0, last: Some(-1) };

    /// The largest number of rows in the range, `None` without an end.
    pub fn limit(self) -> Option<i64> {
        self.last.map(|last| last.saturating_sub(self.first).saturating_add(1))
    }

    /// The number of rows before the range.
    pub fn offset(self) -> i64 {
        self.first
    }

    /// Whether no row can be in the range.
    pub fn is_empty(self) -> bool {
        self.last.is_some_and(|last| last < self.first)
    }

    /// The rows that are in both ranges.
    #[must_use]
    pub fn intersect(self, other: Self) -> Self {
        let last = match (self.last, other.last) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Self { first: self.first.max(other.first), last }
    }

    /// The range with at most `limit` rows (the setting `db-max-rows`, which applies to every level of a read).
    #[must_use]
    pub fn restrict(self, limit: Option<i64>) -> Self {
        match limit {
            Some(limit) => self
                .intersect(Self { first: self.first, last: Some(self.first.saturating_add(limit).saturating_sub(1)) }),
            None => self,
        }
    }
}
