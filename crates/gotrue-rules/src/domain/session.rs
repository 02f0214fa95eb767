//! Sessions and their authentication methods.

use chrono::NaiveDateTime;
use foundation::time::Time;
use uuid::Uuid;

/// A row of `auth.sessions` with its `auth.mfa_amr_claims`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Session {
    pub id: Uuid,
    pub user_id: Uuid,
    /// `aal`: `aal1`, `aal2` or `aal3`; NULL counts as `aal1`.
    pub aal: Aal,
    /// `factor_id`: the factor of the `aal2` verification.
    pub factor_id: Option<Uuid>,
    /// `not_after`: an individual expiry.
    pub not_after: Option<Time>,
    /// `refreshed_at`: UTC without a time zone, as in the column.
    pub refreshed_at: Option<NaiveDateTime>,
    pub user_agent: Option<String>,
    /// `ip` in text form, without a mask.
    pub ip: Option<String>,
    pub tag: Option<String>,
    /// `oauth_client_id`: set for sessions of the OAuth server.
    pub oauth_client_id: Option<Uuid>,
    /// `scopes` of such a session, space-separated.
    pub scopes: Option<String>,
    /// `refresh_token_hmac_key`: set for version 2 tokens (base64url, or an encrypted text).
    pub refresh_token_hmac_key: Option<String>,
    /// `refresh_token_counter` of version 2.
    pub refresh_token_counter: Option<i64>,
    pub created_at: Time,
    pub updated_at: Time,
    /// The authentication methods, in any order.
    pub amr: Vec<AmrClaim>,
}

impl Session {
    /// Whether a second factor was verified in this session.
    pub fn is_elevated(&self) -> bool {
        self.aal >= Aal::Aal2
    }

    /// Whether the level is that of a second factor, not the one above, which no factor gives.
    pub fn is_exactly_elevated(&self) -> bool {
        self.aal == Aal::Aal2
    }
}

/// A row of `auth.mfa_amr_claims`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AmrClaim {
    /// `authentication_method`: `password`, `otp`, `totp` and others.
    pub method: String,
    /// `updated_at`: the last authentication by this method.
    pub updated_at: Time,
}

/// Authenticator assurance level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aal {
    /// One factor.
    #[default]
    Aal1,
    /// Two factors.
    Aal2,
    /// Exists in the database enum; never issued.
    Aal3,
}

impl Aal {
    /// Returns the word of the API and the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Aal1 => "aal1",
            Self::Aal2 => "aal2",
            Self::Aal3 => "aal3",
        }
    }

    /// Parses a level; an unknown word is the lowest level.
    pub fn parse(word: &str) -> Self {
        match word {
            "aal2" => Self::Aal2,
            "aal3" => Self::Aal3,
            _ => Self::Aal1,
        }
    }
}
