//! The user of a request, as rules name it.

/// The user of a request's access token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestUser {
    /// The claim `sub`.
    pub id: String,
    /// The claim `email`; empty without one.
    pub email: String,
}
