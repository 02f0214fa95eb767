//! Client information responses (RFC 7591 §3.2.1), for administrators and registering clients.

use foundation::time::Time;
use serde::Serialize;
use uuid::Uuid;

use crate::domain::oauth_server::OAuthClient;
use crate::wire::time;

/// A client; empty members are omitted.
#[derive(Debug, Serialize)]
pub struct ClientJson<'a> {
    client_id: Uuid,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_secret: Option<&'a str>,
    /// Seconds since the epoch; 0: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    client_secret_expires_at: Option<u8>,
    client_type: &'static str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    redirect_uris: &'a [String],
    token_endpoint_auth_method: &'static str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    grant_types: &'a [String],
    response_types: [&'static str; 1],
    #[serde(skip_serializing_if = "str::is_empty")]
    client_name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    client_uri: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    logo_uri: &'a str,
    registration_type: &'static str,
    #[serde(serialize_with = "time::serialize")]
    created_at: Time,
    #[serde(serialize_with = "time::serialize")]
    updated_at: Time,
}

impl<'a> ClientJson<'a> {
    /// Builds the response with the secret, which is returned only at creation.
    ///
    /// `with_expiry` adds `client_secret_expires_at`, which RFC 7591 §3.2.1 requires and GoTrue omits.
    pub fn with_secret(client: &'a OAuthClient, secret: Option<&'a str>, with_expiry: bool) -> Self {
        let end = secret.filter(|_| with_expiry).map(|_| 0);
        Self { client_secret: secret, client_secret_expires_at: end, ..Self::from(client) }
    }
}

impl<'a> From<&'a OAuthClient> for ClientJson<'a> {
    fn from(client: &'a OAuthClient) -> Self {
        Self {
            client_id: client.id,
            client_secret: None,
            client_secret_expires_at: None,
            client_type: client.client_type.as_str(),
            redirect_uris: &client.redirect_uris,
            token_endpoint_auth_method: client.auth_method.as_str(),
            grant_types: &client.grant_types,
            response_types: ["code"],
            client_name: &client.name,
            client_uri: &client.uri,
            logo_uri: &client.logo_uri,
            registration_type: client.registration_type.as_str(),
            created_at: client.created_at,
            updated_at: client.updated_at,
        }
    }
}

/// All clients; omitted when there are none.
#[derive(Debug, Serialize)]
pub struct ClientsJson<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<ClientJson<'a>>,
}
