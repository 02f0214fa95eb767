//! JSON of the OAuth server.

mod client;
mod requests;
mod responses;

pub use client::{ClientJson, ClientsJson};
pub use requests::{
    ConsentAction, TokenRequest, invalid_client_body, invalid_consent_body, parse_client_changes, parse_credentials,
    parse_registration,
};
pub use responses::{
    AuthorizationJson, AuthorizationRedirectJson, ClientSummaryJson, GrantJson, OAuthTokenResponseJson, UserSummaryJson,
};
