//! The response of `POST /verify` without a session.

use serde::Serialize;

/// Response of the first of two email change confirmations.
#[derive(Debug, Serialize)]
pub struct FirstConfirmationJson {
    /// The status, as text.
    pub code: &'static str,
    /// The next step.
    pub msg: &'static str,
}
