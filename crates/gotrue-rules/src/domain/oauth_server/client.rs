//! OAuth clients: applications that use this server for sign-in.

use foundation::error::{Error, ErrorCode};
use foundation::time::Time;
use uuid::Uuid;

/// Supported grant types, in the order of the metadata document.
pub const GRANT_TYPES: [&str; 2] = ["authorization_code", "refresh_token"];

/// Whether a client can keep a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientType {
    /// A public client (RFC 6749 §2.1): a page or a mobile app.
    Public,
    /// A confidential client (RFC 6749 §2.1): a server.
    Confidential,
}

impl ClientType {
    /// Returns the word of the API and the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Confidential => "confidential",
        }
    }

    /// Parses a client type.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Public, Self::Confidential].into_iter().find(|client_type| client_type.as_str() == word)
    }

    /// Returns the authentication methods of this client type.
    pub fn auth_methods(self) -> &'static [AuthMethod] {
        match self {
            Self::Public => &[AuthMethod::None],
            Self::Confidential => &[AuthMethod::Basic, AuthMethod::Post],
        }
    }
}

/// How a client authenticates at the token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthMethod {
    /// No authentication.
    None,
    /// The secret is in the `Authorization` header.
    Basic,
    /// The secret is in the body.
    Post,
}

impl AuthMethod {
    /// All methods, in the order of the metadata document.
    pub const ALL: [Self; 3] = [Self::None, Self::Basic, Self::Post];

    /// Returns the word of the API and the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
        }
    }

    /// Parses an authentication method.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.as_str() == word)
    }

    /// Returns the client type that uses the method.
    pub fn client_type(self) -> ClientType {
        match self {
            Self::None => ClientType::Public,
            Self::Basic | Self::Post => ClientType::Confidential,
        }
    }
}

/// How a client was registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegistrationType {
    /// By dynamic registration (RFC 7591).
    Dynamic,
    /// By an administrator.
    Manual,
}

impl RegistrationType {
    /// Returns the word of the API and the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dynamic => "dynamic",
            Self::Manual => "manual",
        }
    }
}

/// A row of `auth.oauth_clients` that is not deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OAuthClient {
    pub id: Uuid,
    /// `client_secret_hash`; empty for a public client.
    pub secret_hash: String,
    pub registration_type: RegistrationType,
    pub client_type: ClientType,
    /// `token_endpoint_auth_method`.
    pub auth_method: AuthMethod,
    pub redirect_uris: Vec<String>,
    pub grant_types: Vec<String>,
    /// `client_name`; empty for none.
    pub name: String,
    /// `client_uri`; empty for none.
    pub uri: String,
    /// `logo_uri`; empty for none.
    pub logo_uri: String,
    pub created_at: Time,
    pub updated_at: Time,
}

impl OAuthClient {
    /// Whether the client is confidential.
    pub fn is_confidential(&self) -> bool {
        self.client_type == ClientType::Confidential
    }

    /// Whether the redirect URI equals a registered one exactly (RFC 9700 §2.1).
    pub fn has_redirect_uri(&self, uri: &str) -> bool {
        self.redirect_uris.iter().any(|registered| registered == uri)
    }

    /// Whether the client may use the grant type.
    pub fn can_use(&self, grant_type: &str) -> bool {
        self.grant_types.iter().any(|allowed| allowed.trim() == grant_type)
    }
}

/// 400: a client id is not a UUID.
pub fn malformed_client_id() -> Error {
    Error::invalid("invalid client_id format")
}

/// Error of an unknown client id in the administration API.
pub fn not_found() -> Error {
    Error::new(ErrorCode::OAuthClientNotFound, "OAuth client not found")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Builds a client with the redirect URI `https://app.example.com/callback`.
    pub(crate) fn client(auth_method: AuthMethod) -> OAuthClient {
        OAuthClient {
            id: Uuid::from_u128(7),
            secret_hash: String::new(),
            registration_type: RegistrationType::Manual,
            client_type: auth_method.client_type(),
            auth_method,
            redirect_uris: vec!["https://app.example.com/callback".into()],
            grant_types: GRANT_TYPES.map(str::to_owned).to_vec(),
            name: String::new(),
            uri: String::new(),
            logo_uri: String::new(),
            created_at: Time::default(),
            updated_at: Time::default(),
        }
    }

    #[test]
    fn redirect_uri_must_equal_registered_uri() {
        let client = client(AuthMethod::None);
        assert!(client.has_redirect_uri("https://app.example.com/callback"));
        for other in [
            "",
            "https://app.example.com/callback/",
            "https://app.example.com/callback?a=1",
            "https://app.example.com/callback#",
            "https://app.example.com/Callback",
            "HTTPS://app.example.com/callback",
            "https://app.example.com:443/callback",
            "https://app.example.com/./callback",
            "https://app.example.com/callback/../callback",
            "https://app.example.com/%63allback",
            "https://user@app.example.com/callback",
            "https://app.example.com.evil.example/callback",
            " https://app.example.com/callback",
            "https://app.example.com/callback\n",
        ] {
            assert!(!client.has_redirect_uri(other), "{other:?}");
        }
    }

    #[test]
    fn words_round_trip() {
        for method in AuthMethod::ALL {
            assert_eq!(AuthMethod::from_word(method.as_str()), Some(method));
            assert!(method.client_type().auth_methods().contains(&method));
        }
        for kind in [ClientType::Public, ClientType::Confidential] {
            assert_eq!(ClientType::parse(kind.as_str()), Some(kind));
        }
        assert_eq!(AuthMethod::from_word("None"), None);
        assert_eq!(ClientType::parse(""), None);
    }
}
