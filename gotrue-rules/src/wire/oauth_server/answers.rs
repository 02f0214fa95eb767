//! What the endpoints of consent and tokens answer.

use serde::Serialize;
use uuid::Uuid;

use crate::domain::oauth_server::Client;
use crate::domain::user::Time;
use crate::wire::time;

/// A client as somebody sees it who is asked for consent, or has given it.
#[derive(Debug, Serialize)]
pub struct ClientSummaryJson<'a> {
    /// `id`.
    pub id: Uuid,
    /// `name`; left out when empty.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub name: &'a str,
    /// `uri`; left out when empty.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub uri: &'a str,
    /// `logo_uri`; left out when empty.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub logo_uri: &'a str,
}

impl<'a> From<&'a Client> for ClientSummaryJson<'a> {
    fn from(client: &'a Client) -> Self {
        Self { id: client.id, name: &client.name, uri: &client.uri, logo_uri: &client.logo_uri }
    }
}

/// Who is asked.
#[derive(Debug, Serialize)]
pub struct UserSummaryJson<'a> {
    /// `id`.
    pub id: Uuid,
    /// `email`; left out when empty.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub email: &'a str,
}

/// What somebody is asked.
#[derive(Debug, Serialize)]
pub struct AuthorizationJson<'a> {
    /// `authorization_id`.
    pub authorization_id: &'a str,
    /// `redirect_uri`.
    pub redirect_uri: &'a str,
    /// `client`: who asks.
    pub client: ClientSummaryJson<'a>,
    /// `user`: who is asked.
    pub user: UserSummaryJson<'a>,
    /// `scope`: what for.
    pub scope: &'a str,
}

/// Where the browser goes on.
#[derive(Debug, Serialize)]
pub struct ReturnJson {
    /// `redirect_url`.
    pub redirect_url: String,
}

/// What somebody allowed a client.
#[derive(Debug, Serialize)]
pub struct GrantJson<'a> {
    /// `client`.
    pub client: ClientSummaryJson<'a>,
    /// `scopes`.
    pub scopes: Vec<&'a str>,
    /// `granted_at`.
    #[serde(serialize_with = "time::serialize")]
    pub granted_at: Time,
}

/// The answer of the token endpoint: no account in it.
#[derive(Debug, Serialize)]
pub struct TokensJson<'a> {
    /// `access_token`.
    pub access_token: &'a str,
    /// `token_type`: always `bearer`.
    pub token_type: &'static str,
    /// `expires_in`, seconds.
    pub expires_in: i64,
    /// `refresh_token`.
    pub refresh_token: &'a str,
    /// `id_token`, where one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_token: Option<&'a str>,
}
