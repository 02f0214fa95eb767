//! JSON of the OAuth server (`endpoints.md` §13.6, §15).

mod answers;
mod client;
mod requests;

pub use answers::{AuthorizationJson, ClientSummaryJson, GrantJson, ReturnJson, TokensJson, UserSummaryJson};
pub use client::{ClientJson, ClientsJson};
pub use requests::{Consent, TokenRequest, changes, credentials, registration};
