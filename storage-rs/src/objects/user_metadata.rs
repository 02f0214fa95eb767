//! The metadata that a user gives an object: what requests send, and the column.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Value};

use crate::error::Error;
use crate::request::Call;

/// The largest header `X-Metadata`, in bytes, before it is decoded.
const MAXIMUM_METADATA: usize = 1024 * 1024;

/// Standard base64 as Node reads it: padding may be missing, and what is left over is dropped.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The metadata in a header: base64 of JSON. What is neither does not count.
///
/// # Errors
/// 400: it is JSON, but no object.
pub(crate) fn read_metadata_header(call: &Call) -> Result<Option<Value>, Error> {
    let sent = call.header("x-metadata").filter(|text| text.len() <= MAXIMUM_METADATA).and_then(|text| {
        let standard = text.replace('-', "+").replace('_', "/");
        let digits: String = standard.chars().filter(|c| c.is_ascii_alphanumeric() || "+/".contains(*c)).collect();
        serde_json::from_slice(&LENIENT.decode(digits).ok()?).ok()
    });
    check_metadata(sent, "x-metadata")
}

/// Checks that the metadata of the user is an object, or null.
pub(super) fn check_metadata(sent: Option<Value>, parameter: &str) -> Result<Option<Value>, Error> {
    match sent {
        None | Some(Value::Null | Value::Object(_)) => Ok(sent),
        Some(_) => Err(Error::invalid_parameter(parameter)),
    }
}

/// The column `user_metadata`: an object, whatever was sent.
pub(crate) fn user_metadata_column(sent: Option<Value>) -> Value {
    match sent {
        Some(Value::Object(members)) => Value::Object(members),
        _ => Value::Object(Map::new()),
    }
}
