//! A client as its administrator sees it, and as it sees itself when it registers.

use serde::Serialize;
use uuid::Uuid;

use crate::domain::oauth_server::Client;
use crate::domain::user::Time;
use crate::wire::time;

/// A client; what is empty is left out.
#[derive(Debug, Serialize)]
pub struct ClientJson<'a> {
    client_id: Uuid,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_secret: Option<&'a str>,
    /// Seconds since 1970; 0: never.
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
    /// A client with its secret, which is told only when it is made; `end_told`: and with the secret's end, which RFC 7591
    /// §3.2.1 requires and the reference leaves out.
    pub fn with_secret(client: &'a Client, secret: Option<&'a str>, end_told: bool) -> Self {
        let end = secret.filter(|_| end_told).map(|_| 0);
        Self { client_secret: secret, client_secret_expires_at: end, ..Self::from(client) }
    }
}

impl<'a> From<&'a Client> for ClientJson<'a> {
    fn from(client: &'a Client) -> Self {
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
            registration_type: client.registered.as_str(),
            created_at: client.created_at,
            updated_at: client.updated_at,
        }
    }
}

/// All clients; the member is left out when there are none.
#[derive(Debug, Serialize)]
pub struct ClientsJson<'a> {
    /// `clients`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<ClientJson<'a>>,
}
