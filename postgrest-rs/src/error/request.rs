//! Errors of the request itself: `PGRST1xx`.

use super::Error;

/// Why a range cannot be satisfied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeError {
    /// `limit` is negative, or does not meet the `Range` header.
    NegativeLimit,
    /// The `Range` header ends before it begins.
    Reversed,
    /// The offset is behind the last row.
    OutOfBounds {
        /// The offset asked for.
        offset: i64,
        /// The number of rows.
        total: i64,
    },
}

impl Error {
    /// A parameter of the query string is malformed.
    pub fn query_parameter(message: impl Into<String>, details: impl Into<String>) -> Self {
        Self::new(400, "PGRST100", message).with_details(details)
    }

    /// A function is called with a method other than GET, HEAD, POST and OPTIONS.
    pub fn invalid_rpc_method(method: &str) -> Self {
        Self::new(405, "PGRST101", format!("Cannot use the {method} method on RPC"))
    }

    /// The body is malformed, or its type is not supported.
    pub fn invalid_body(message: impl Into<String>) -> Self {
        Self::new(400, "PGRST102", message)
    }

    /// A body, or the rows that are read from it, with more than `maximum` bytes.
    pub fn body_too_large(maximum: usize) -> Self {
        Self::new(413, "PGRST102", "The body is too large")
            .with_hint(format!("Send it in parts of at most {maximum} bytes each, also as JSON."))
    }

    /// The range cannot be satisfied.
    pub fn invalid_range(error: RangeError) -> Self {
        let details = match error {
            RangeError::NegativeLimit => "Limit should be greater than or equal to zero.".to_owned(),
            RangeError::Reversed => {
                "The lower boundary must be lower than or equal to the upper boundary in the Range header.".to_owned()
            }
            RangeError::OutOfBounds { offset, total } => {
                format!("An offset of {offset} was requested, but there are only {total} rows.")
            }
        };
        Self::new(416, "PGRST103", "Requested range not satisfiable").with_details(details)
    }

    /// PUT filters by other columns than the primary key.
    pub fn invalid_put_filters() -> Self {
        Self::new(405, "PGRST105", "Filters must include all and only primary key columns with 'eq' operators")
    }

    /// The profile names a schema that is not exposed.
    pub fn unacceptable_schema(schema: &str, exposed: &[String]) -> Self {
        Self::new(406, "PGRST106", format!("Invalid schema: {schema}"))
            .with_hint(format!("Only the following schemas are exposed: {}", exposed.join(", ")))
    }

    /// No media type of `Accept` can be produced.
    pub fn unacceptable_media_types(types: &[String]) -> Self {
        Self::new(406, "PGRST107", format!("None of these media types are available: {}", types.join(", ")))
    }

    /// A filter, order or range names an embed that `select` lacks.
    pub fn not_embedded(name: &str) -> Self {
        Self::new(400, "PGRST108", format!("'{name}' is not an embedded resource in this request"))
            .with_hint(format!("Verify that '{name}' is included in the 'select' query parameter."))
    }

    /// The setting `response.headers` is malformed.
    pub fn invalid_response_headers() -> Self {
        Self::new(
            500,
            "PGRST111",
            "response.headers guc must be a JSON array composed of objects with a single key and a string value",
        )
    }

    /// The setting `response.status` is malformed.
    pub fn invalid_response_status() -> Self {
        Self::new(500, "PGRST112", "response.status guc must be a valid status code")
    }

    /// PUT has `limit` or `offset`.
    pub fn put_with_limit() -> Self {
        Self::new(400, "PGRST114", "limit/offset querystring parameters are not allowed for PUT")
    }

    /// The payload of PUT has another key than the URL.
    pub fn put_key_mismatch() -> Self {
        Self::new(400, "PGRST115", "Payload values do not match URL in primary key column(s)")
    }

    /// One row is asked for, but the result has another number.
    pub fn not_singular(rows: i64) -> Self {
        Self::new(406, "PGRST116", "Cannot coerce the result to a single JSON object")
            .with_details(format!("The result contains {rows} rows"))
    }

    /// The resource does not support the method.
    pub fn unsupported_method(method: &str) -> Self {
        Self::new(405, "PGRST117", format!("Unsupported HTTP method: {method}"))
    }

    /// An order by a column of an embed that is not to-one.
    pub fn related_order_not_to_one(origin: &str, target: &str) -> Self {
        Self::new(400, "PGRST118", format!("A related order on '{target}' is not possible"))
            .with_details(format!("'{origin}' and '{target}' do not form a many-to-one or one-to-one relationship"))
    }

    /// A filter on an embed other than `is.null` and `not.is.null`.
    pub fn unacceptable_filter(target: &str) -> Self {
        Self::new(400, "PGRST120", format!("Bad operator on the '{target}' embedded resource"))
            .with_details("Only is null or not is null filters are allowed on embedded resources")
    }

    /// Unknown preferences with `handling=strict`.
    pub fn invalid_preferences(preferences: &[String]) -> Self {
        Self::new(400, "PGRST122", "Invalid preferences given with handling=strict")
            .with_details(format!("Invalid preferences: {}", preferences.join(", ")))
    }

    /// An aggregate function while `db-aggregates-enabled` is off.
    pub fn aggregates_not_allowed() -> Self {
        Self::new(400, "PGRST123", "Use of aggregate functions is not allowed")
    }

    /// More rows than `max-affected` were hit.
    pub fn max_affected_exceeded(rows: i64) -> Self {
        Self::new(400, "PGRST124", "Query result exceeds max-affected preference constraint")
            .with_details(format!("The query affects {rows} rows"))
    }

    /// The path has too many segments.
    pub fn invalid_path() -> Self {
        Self::new(404, "PGRST125", "Invalid path specified in request URL")
    }

    /// The root while `openapi-mode` is `disabled`.
    pub fn openapi_disabled() -> Self {
        Self::new(404, "PGRST126", "Root endpoint metadata is disabled")
    }

    /// A combination of features that does not exist.
    pub fn not_implemented(details: &str) -> Self {
        Self::new(400, "PGRST127", "Feature not implemented").with_details(details)
    }

    /// `max-affected` on a function that returns one value.
    pub fn max_affected_on_scalar_function() -> Self {
        Self::new(
            400,
            "PGRST128",
            "Function must return SETOF or TABLE when max-affected preference is used with handling=strict",
        )
    }
}
