//! What `POST /verify` answers when it does not open a session.

use serde::Serialize;

/// The first of two confirmations of an address change has been taken.
#[derive(Debug, Serialize)]
pub struct HalfJson {
    /// The status, as text.
    pub code: &'static str,
    /// What to do next.
    pub msg: &'static str,
}
