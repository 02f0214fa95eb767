//! A session and how it was proved, as the rules see them.

use chrono::NaiveDateTime;
use uuid::Uuid;

use super::user::Time;

/// A row of `auth.sessions` with its `auth.mfa_amr_claims`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Session {
    /// `id`.
    pub id: Uuid,
    /// `user_id`.
    pub user_id: Uuid,
    /// `aal`: `aal1`, `aal2` or `aal3`; NULL counts as `aal1`.
    pub aal: Aal,
    /// `factor_id`: the factor that lifted it to `aal2`.
    pub factor_id: Option<Uuid>,
    /// `not_after`: an end of its own.
    pub not_after: Option<Time>,
    /// `refreshed_at`: UTC wall clock without a zone, as the column is.
    pub refreshed_at: Option<NaiveDateTime>,
    /// `user_agent`.
    pub user_agent: Option<String>,
    /// `ip` in text form, without a mask.
    pub ip: Option<String>,
    /// `tag`.
    pub tag: Option<String>,
    /// `oauth_client_id`: set for sessions made through the OAuth server.
    pub oauth_client_id: Option<Uuid>,
    /// `scopes` of such a session, space-joined.
    pub scopes: Option<String>,
    /// `refresh_token_hmac_key`: set when its refresh tokens are of version 2 (base64url, or an encrypted string).
    pub refresh_token_hmac_key: Option<String>,
    /// `refresh_token_counter` of version 2.
    pub refresh_token_counter: Option<i64>,
    /// `created_at`.
    pub created_at: Time,
    /// `updated_at`.
    pub updated_at: Time,
    /// How it was proved, in any order.
    pub amr: Vec<AmrClaim>,
}

/// A row of `auth.mfa_amr_claims`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AmrClaim {
    /// `authentication_method`: `password`, `otp`, `totp` … (tokens-and-sessions.md §1.2).
    pub method: String,
    /// `updated_at`: when it was last proved.
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
    /// Exists in the database's enum; never issued.
    Aal3,
}

impl Aal {
    /// The word on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Aal1 => "aal1",
            Self::Aal2 => "aal2",
            Self::Aal3 => "aal3",
        }
    }

    /// The level a word means; anything unknown is the lowest.
    pub fn from_word(word: &str) -> Self {
        match word {
            "aal2" => Self::Aal2,
            "aal3" => Self::Aal3,
            _ => Self::Aal1,
        }
    }
}
