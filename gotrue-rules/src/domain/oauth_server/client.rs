//! A client: an application that signs people in with us.

use uuid::Uuid;

use crate::domain::error::Error;
use crate::domain::user::Time;

/// What a client may present for tokens, in the order in which they are told.
pub const GRANT_TYPES: [&str; 2] = ["authorization_code", "refresh_token"];

/// Whether a client can keep a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientType {
    /// It cannot: a page, an app on somebody's phone.
    Public,
    /// It can: a server.
    Confidential,
}

impl ClientType {
    /// The word on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Confidential => "confidential",
        }
    }

    /// The type of that name.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Public, Self::Confidential].into_iter().find(|it| it.as_str() == word)
    }

    /// How a client of this type may prove itself.
    pub fn auth_methods(self) -> &'static [AuthMethod] {
        match self {
            Self::Public => &[AuthMethod::None],
            Self::Confidential => &[AuthMethod::Basic, AuthMethod::Post],
        }
    }
}

/// How a client proves itself at the token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthMethod {
    /// It does not.
    None,
    /// Its secret stands in the header `Authorization`.
    Basic,
    /// Its secret stands in the body.
    Post,
}

impl AuthMethod {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 3] = [Self::None, Self::Basic, Self::Post];

    /// The word on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
        }
    }

    /// The method of that name.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }

    /// The type of the clients that use it.
    pub fn client_type(self) -> ClientType {
        match self {
            Self::None => ClientType::Public,
            Self::Basic | Self::Post => ClientType::Confidential,
        }
    }
}

/// How a client came to be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registered {
    /// It registered itself.
    Dynamic,
    /// An administrator registered it.
    Manual,
}

impl Registered {
    /// The word on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dynamic => "dynamic",
            Self::Manual => "manual",
        }
    }
}

/// A row of `auth.oauth_clients` that is not deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// `id`.
    pub id: Uuid,
    /// `client_secret_hash`; empty for a public client.
    pub secret_hash: String,
    /// `registration_type`.
    pub registered: Registered,
    /// `client_type`.
    pub client_type: ClientType,
    /// `token_endpoint_auth_method`.
    pub auth_method: AuthMethod,
    /// `redirect_uris`.
    pub redirect_uris: Vec<String>,
    /// `grant_types`.
    pub grant_types: Vec<String>,
    /// `client_name`; empty for none.
    pub name: String,
    /// `client_uri`; empty for none.
    pub uri: String,
    /// `logo_uri`; empty for none.
    pub logo_uri: String,
    /// `created_at`.
    pub created_at: Time,
    /// `updated_at`.
    pub updated_at: Time,
}

impl Client {
    /// Whether it can keep a secret.
    pub fn is_confidential(&self) -> bool {
        self.client_type == ClientType::Confidential
    }

    /// Whether a browser may be sent back there: only to the very text of a registered URI (RFC 9700 §2.1).
    pub fn has_redirect_uri(&self, uri: &str) -> bool {
        self.redirect_uris.iter().any(|registered| registered == uri)
    }

    /// Whether it may present that for tokens.
    pub fn may_use(&self, grant_type: &str) -> bool {
        self.grant_types.iter().any(|allowed| allowed.trim() == grant_type)
    }
}

/// The refusal of an id that no client has, where an administrator asks.
pub fn not_found() -> Error {
    Error::not_found("oauth_client_not_found", "OAuth client not found")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A client that answers to `https://app.example.com/callback`.
    pub fn client(auth_method: AuthMethod) -> Client {
        Client {
            id: Uuid::from_u128(7),
            secret_hash: String::new(),
            registered: Registered::Manual,
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
    fn a_redirect_goes_to_the_very_text_that_was_registered() {
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
    fn words_are_read_as_they_are_written() {
        for method in AuthMethod::ALL {
            assert_eq!(AuthMethod::from_word(method.as_str()), Some(method));
            assert!(method.client_type().auth_methods().contains(&method));
        }
        for kind in [ClientType::Public, ClientType::Confidential] {
            assert_eq!(ClientType::from_word(kind.as_str()), Some(kind));
        }
        assert_eq!(AuthMethod::from_word("None"), None);
        assert_eq!(ClientType::from_word(""), None);
    }
}
