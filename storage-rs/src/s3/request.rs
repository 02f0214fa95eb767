//! A request to an operation.

use super::authenticate::Signed;
use crate::error::Error;
use crate::request::Call;
use crate::target::Target;

/// A request with a verified signature.
pub(super) struct Request {
    pub(super) call: Call,
    /// Bucket and name; either may be empty.
    pub(super) target: Target,
    pub(super) signed: Signed,
}

impl Request {
    /// A whole number in the query.
    pub(super) fn number(&self, name: &str, least: u32, greatest: u32) -> Result<Option<u32>, Error> {
        let Some(text) = self.call.query.get(name) else { return Ok(None) };
        let problem = |message: String| Error::validation(format!("Querystring, {name} {message}"));
        let number: i64 = text.trim().parse().map_err(|_| problem("must be integer".to_owned()))?;
        match u32::try_from(number) {
            Ok(number) if number < least => Err(problem(format!("must be >= {least}"))),
            Err(_) if number < 0 => Err(problem(format!("must be >= {least}"))),
            Ok(number) if number <= greatest => Ok(Some(number)),
            _ => Err(problem(format!("must be <= {greatest}"))),
        }
    }

    /// The metadata that the client gives an object: the fields `x-amz-meta-…`.
    pub(super) fn user_metadata(&self) -> Option<serde_json::Value> {
        read_user_metadata(
            self.call
                .parts
                .headers
                .iter()
                .filter_map(|(name, value)| Some((name.as_str(), std::str::from_utf8(value.as_bytes()).ok()?))),
        )
    }
}

/// The fields `x-amz-meta-…` as a JSON object; `None` if there is none.
pub(super) fn read_user_metadata<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> Option<serde_json::Value> {
    let members: serde_json::Map<String, serde_json::Value> =
        fields.filter_map(|(name, value)| Some((name.strip_prefix("x-amz-meta-")?.to_owned(), value.into()))).collect();
    (!members.is_empty()).then_some(serde_json::Value::Object(members))
}
