//! Media types of `Accept` and `Content-Type`.

/// The options of `application/vnd.pgrst.plan`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PlanOption {
    /// `analyze`
    Analyze,
    /// `verbose`
    Verbose,
    /// `settings`
    Settings,
    /// `buffers`
    Buffers,
    /// `wal`
    Wal,
}

/// How a plan is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PlanFormat {
    /// `+json`
    Json,
    /// `+text`
    Text,
}

/// A media type.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MediaType {
    /// `application/json`
    Json,
    /// `application/geo+json`
    GeoJson,
    /// `text/csv`
    Csv,
    /// `text/plain`
    Text,
    /// `text/xml`
    Xml,
    /// `application/openapi+json`
    OpenApi,
    /// `application/x-www-form-urlencoded`
    Form,
    /// `application/octet-stream`
    OctetStream,
    /// `*/*`
    Any,
    /// `application/vnd.pgrst.array+json`; `nulls=stripped` is the only kind that differs from JSON.
    ArrayStripped,
    /// `application/vnd.pgrst.object+json`
    Object {
        /// `nulls=stripped`
        strip_nulls: bool,
    },
    /// `application/vnd.pgrst.plan`
    Plan {
        /// The media type whose statement is explained.
        for_type: Box<MediaType>,
        /// How the plan is written.
        format: PlanFormat,
        /// In the order sent.
        options: Vec<PlanOption>,
    },
    /// Another one, as sent without parameters.
    Other(String),
}
