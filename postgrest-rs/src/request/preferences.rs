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
