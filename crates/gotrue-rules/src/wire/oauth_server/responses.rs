//! Responses of the authorization, consent and token endpoints.

use foundation::time::Time;
use serde::Serialize;
use uuid::Uuid;

use crate::domain::oauth_server::OAuthClient;
use crate::wire::time;

/// Summary of a client for the user.
#[derive(Debug, Serialize)]
pub struct ClientSummaryJson<'a> {
    pub id: Uuid,
    /// `name`; omitted when empty.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub name: &'a str,
    /// `uri`; omitted when empty.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub uri: &'a str,
    /// `logo_uri`; omitted when empty.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub logo_uri: &'a str,
}

impl<'a> From<&'a OAuthClient> for ClientSummaryJson<'a> {
    fn from(client: &'a OAuthClient) -> Self {
        Self { id: client.id, name: &client.name, uri: &client.uri, logo_uri: &client.logo_uri }
    }
}

/// What an authorization request shows of the signed-in user.
#[derive(Debug, Serialize)]
pub struct UserSummaryJson<'a> {
    pub id: Uuid,
    /// `email`; omitted when empty.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub email: &'a str,
}

/// An authorization request that requires consent.
#[derive(Debug, Serialize)]
pub struct AuthorizationJson<'a> {
    pub authorization_id: &'a str,
    pub redirect_uri: &'a str,
    /// `client`: the requesting client.
    pub client: ClientSummaryJson<'a>,
    /// `user`: the current user.
    pub user: UserSummaryJson<'a>,
    /// `scope`: the requested scopes.
    pub scope: &'a str,
}

/// The redirect back to the client.
#[derive(Debug, Serialize)]
pub struct AuthorizationRedirectJson {
    pub redirect_url: String,
}

/// A grant of a user to a client.
#[derive(Debug, Serialize)]
pub struct GrantJson<'a> {
    pub client: ClientSummaryJson<'a>,
    pub scopes: Vec<&'a str>,
    #[serde(serialize_with = "time::serialize")]
    pub granted_at: Time,
}

/// A token response, without user.
#[derive(Debug, Serialize)]
pub struct OAuthTokenResponseJson<'a> {
    pub access_token: &'a str,
    /// `token_type`: always `bearer`.
    pub token_type: &'static str,
    /// `expires_in`, seconds.
    pub expires_in: i64,
    pub refresh_token: &'a str,
    /// `id_token`, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_token: Option<&'a str>,
}
