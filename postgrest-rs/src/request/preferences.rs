//! Preferences of the client: the `Prefer` header fields (RFC 7240).

/// `resolution=`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreferResolution {
    /// A row with the same key is updated.
    MergeDuplicates,
    /// A row with the same key stays.
    IgnoreDuplicates,
}

/// `return=`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreferReturn {
    /// The rows written are answered.
    Representation,
    /// Nothing is answered.
    Minimal,
    /// `Location` is answered.
    HeadersOnly,
}

/// `count=`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreferCount {
    /// Counted.
    Exact,
    /// The planner's estimate.
    Planned,
    /// Counted up to `db-max-rows`, the planner's estimate beyond.
    Estimated,
}

/// `tx=`, where `db-tx-end` allows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreferTransaction {
    /// The transaction is committed.
    Commit,
    /// The transaction is rolled back.
    Rollback,
}

/// `missing=`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreferMissing {
    /// A column that an object lacks gets its default.
    Default,
    /// A column that an object lacks is null.
    Null,
}

/// `handling=`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreferHandling {
    /// Unknown preferences are an error.
    Strict,
    /// Unknown preferences are ignored.
    Lenient,
}

/// The preferences of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Preferences {
    /// `resolution=`
    pub resolution: Option<PreferResolution>,
    /// `return=`
    pub representation: Option<PreferReturn>,
    /// `count=`
    pub count: Option<PreferCount>,
    /// `tx=`
    pub transaction: Option<PreferTransaction>,
    /// `missing=`
    pub missing: Option<PreferMissing>,
    /// `handling=`
    pub handling: Option<PreferHandling>,
    /// `timezone=`, only a name that the database knows.
    pub timezone: Option<String>,
    /// `max-affected=`; it counts with `handling=strict` only.
    pub max_affected: Option<i64>,
    /// What is none of the above, in the order sent.
    pub invalid: Vec<String>,
}

/// A preference with few values.
trait Choice: Copy + 'static {
    /// The values and how they are written.
    const VALUES: &'static [(&'static str, Self)];

    /// The value that is written so.
    fn find(text: &str) -> Option<Self> {
        Self::VALUES.iter().find(|(name, _)| *name == text).map(|(_, value)| *value)
    }
}

impl Choice for PreferResolution {
    const VALUES: &'static [(&'static str, Self)] = &[
        ("resolution=merge-duplicates", Self::MergeDuplicates),
        ("resolution=ignore-duplicates", Self::IgnoreDuplicates),
    ];
}

impl Choice for PreferReturn {
    const VALUES: &'static [(&'static str, Self)] = &[
        ("return=representation", Self::Representation),
        ("return=minimal", Self::Minimal),
        ("return=headers-only", Self::HeadersOnly),
    ];
}

impl Choice for PreferCount {
    const VALUES: &'static [(&'static str, Self)] =
        &[("count=exact", Self::Exact), ("count=planned", Self::Planned), ("count=estimated", Self::Estimated)];
}

impl Choice for PreferTransaction {
    const VALUES: &'static [(&'static str, Self)] = &[("tx=commit", Self::Commit), ("tx=rollback", Self::Rollback)];
}

impl Choice for PreferMissing {
    const VALUES: &'static [(&'static str, Self)] = &[("missing=default", Self::Default), ("missing=null", Self::Null)];
}

impl Choice for PreferHandling {
    const VALUES: &'static [(&'static str, Self)] =
        &[("handling=strict", Self::Strict), ("handling=lenient", Self::Lenient)];
}

/// How the value is written.
fn name<T: Choice + PartialEq>(value: T) -> &'static str {
    T::VALUES.iter().find(|(_, choice)| *choice == value).map_or("", |(name, _)| name)
}

impl Preferences {
    /// Reads the `Prefer` header fields: comma lists; the first valid preference of a kind counts.
    pub fn parse<'a>(
        headers: impl Iterator<Item = &'a str>,
        allows_transaction: bool,
        is_timezone: impl Fn(&str) -> bool,
    ) -> Self {
        let all: Vec<&str> = headers.flat_map(|header| header.split(',')).map(str::trim).collect();
        let timezone = all.iter().find_map(|text| text.strip_prefix("timezone=")).filter(|name| is_timezone(name));
        let max_affected = all.iter().find_map(|text| text.strip_prefix("max-affected="));
        let is_known = |text: &str| {
            PreferResolution::find(text).is_some()
                || PreferReturn::find(text).is_some()
                || PreferCount::find(text).is_some()
                || PreferTransaction::find(text).is_some()
                || PreferMissing::find(text).is_some()
                || PreferHandling::find(text).is_some()
                || (text.starts_with("timezone=") && timezone.is_some())
                || text.starts_with("max-affected=")
        };
        Self {
            resolution: all.iter().find_map(|text| Choice::find(text)),
            representation: all.iter().find_map(|text| Choice::find(text)),
            count: all.iter().find_map(|text| Choice::find(text)),
            transaction: all.iter().find_map(|text| Choice::find(text)).filter(|_| allows_transaction),
            missing: all.iter().find_map(|text| Choice::find(text)),
            handling: all.iter().find_map(|text| Choice::find(text)),
            timezone: timezone.map(str::to_owned),
            max_affected: max_affected.and_then(|text| text.trim().parse().ok()),
            invalid: all.iter().filter(|text| !is_known(text)).map(|text| (*text).to_owned()).collect(),
        }
    }

    /// The value of `Preference-Applied`, `None` when nothing was applied.
    pub fn applied(&self) -> Option<String> {
        let timezone = self.timezone.as_ref().map(|zone| format!("timezone={zone}"));
        let max_affected = self
            .max_affected
            .filter(|_| self.handling == Some(PreferHandling::Strict))
            .map(|rows| format!("max-affected={rows}"));
        let applied = [
            self.resolution.map(|resolution| name(resolution).to_owned()),
            self.missing.map(|missing| name(missing).to_owned()),
            self.representation.map(|representation| name(representation).to_owned()),
            self.count.map(|count| name(count).to_owned()),
            self.transaction.map(|transaction| name(transaction).to_owned()),
            self.handling.map(|handling| name(handling).to_owned()),
            timezone,
            max_affected,
        ];
        let applied: Vec<_> = applied.into_iter().flatten().collect();
        (!applied.is_empty()).then(|| applied.join(", "))
    }

    /// The error of unknown preferences with `handling=strict`.
    pub fn check(&self) -> Result<(), crate::error::Error> {
        if self.handling == Some(PreferHandling::Strict) && !self.invalid.is_empty() {
            return Err(crate::error::Error::invalid_preferences(&self.invalid));
        }
        Ok(())
    }
}

impl PreferCount {
    /// Whether the rows are counted by the statement.
    pub fn counts(self) -> bool {
        matches!(self, Self::Exact | Self::Estimated)
    }

    /// Whether the planner is asked for an estimate.
    pub fn explains(self) -> bool {
        matches!(self, Self::Planned | Self::Estimated)
    }
}
