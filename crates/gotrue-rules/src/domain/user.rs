//! Users with identities and factors, as the rules see them.

use foundation::time::Time;
use serde_json::{Map, Value};
use uuid::Uuid;

/// A user: the columns of `auth.users` that rules use, with identities and factors.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct User {
    pub id: Uuid,
    /// `aud`: the audience of the user.
    pub aud: String,
    /// `role`: goes into the access token; `""` when unset.
    pub role: String,
    /// `email`, lower case; absent, never empty.
    pub email: Option<String>,
    /// `phone`, digits without `+`; absent, never empty.
    pub phone: Option<String>,
    /// `encrypted_password`: the stored hash; absent or empty means no password.
    pub encrypted_password: Option<String>,
    pub email_confirmed_at: Option<Time>,
    pub phone_confirmed_at: Option<Time>,
    /// `confirmed_at`: computed by the database, as of the last read.
    pub confirmed_at: Option<Time>,
    pub invited_at: Option<Time>,
    /// `confirmation_token`: a hash or `""`.
    pub confirmation_token: String,
    pub confirmation_sent_at: Option<Time>,
    /// `recovery_token`: a hash or `""`.
    pub recovery_token: String,
    pub recovery_sent_at: Option<Time>,
    /// `email_change_token_current`: a hash or `""`.
    pub email_change_token_current: String,
    /// `email_change_token_new`: a hash or `""`.
    pub email_change_token_new: String,
    /// `email_change`: the pending address, `""` for none.
    pub email_change: String,
    pub email_change_sent_at: Option<Time>,
    /// `email_change_confirm_status`: 0, or 1 after the first of two confirmations.
    pub email_change_confirm_status: i16,
    /// `phone_change_token`: a hash or `""`.
    pub phone_change_token: String,
    /// `phone_change`: the pending number, `""` for none.
    pub phone_change: String,
    pub phone_change_sent_at: Option<Time>,
    /// `reauthentication_token`: a hash or `""`.
    pub reauthentication_token: String,
    pub reauthentication_sent_at: Option<Time>,
    pub last_sign_in_at: Option<Time>,
    /// `raw_app_meta_data`; a NULL column is an empty object.
    pub app_metadata: Map<String, Value>,
    /// `raw_user_meta_data`; a NULL column is an empty object.
    pub user_metadata: Map<String, Value>,
    pub is_super_admin: Option<bool>,
    pub is_sso_user: bool,
    pub is_anonymous: bool,
    pub banned_until: Option<Time>,
    pub deleted_at: Option<Time>,
    pub created_at: Time,
    pub updated_at: Time,
    /// The rows of `auth.identities`, oldest first.
    pub identities: Vec<Identity>,
    /// The rows of `auth.mfa_factors`; the most recently challenged factor is the last one.
    pub factors: Vec<Factor>,
}

impl User {
    /// Whether a ban is in force.
    pub fn is_banned(&self, now: Time) -> bool {
        self.banned_until.is_some_and(|until| now < until)
    }

    /// Whether the user has a password; an empty hash is none.
    pub fn has_password(&self) -> bool {
        self.encrypted_password.as_deref().is_some_and(|hash| !hash.is_empty())
    }

    /// Whether the address is confirmed.
    pub fn is_email_confirmed(&self) -> bool {
        self.email_confirmed_at.is_some()
    }

    /// Whether the number is confirmed.
    pub fn is_phone_confirmed(&self) -> bool {
        self.phone_confirmed_at.is_some()
    }

    /// Whether the user has a verified factor and can therefore reach `aal2`.
    pub fn has_verified_factor(&self) -> bool {
        self.factors.iter().any(Factor::is_verified)
    }
}

/// An identity: a row of `auth.identities`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Identity {
    /// `id`: the id of the row.
    pub id: Uuid,
    pub user_id: Uuid,
    /// `provider`: `email`, `phone`, `google`, `sso:<uuid>` and others.
    pub provider: String,
    /// `provider_id`: the subject at the provider; the user's id for `email` and `phone`.
    pub provider_id: String,
    pub identity_data: Map<String, Value>,
    /// `email`: computed by the database from the data, lower case.
    pub email: Option<String>,
    pub last_sign_in_at: Option<Time>,
    pub created_at: Time,
    pub updated_at: Time,
}

/// A second factor: a row of `auth.mfa_factors` without its secret.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Factor {
    pub id: Uuid,
    /// `friendly_name`; `""` for none.
    pub friendly_name: String,
    /// `factor_type`: `totp`, `phone`, `webauthn` or `recovery_code`; a newer Supabase Auth may store others.
    pub factor_type: String,
    /// `status`: `verified` or `unverified`.
    pub status: String,
    /// `phone`, digits; `""` for none.
    pub phone: String,
    pub last_challenged_at: Option<Time>,
    pub web_authn_aaguid: Option<Uuid>,
    pub last_webauthn_challenge_data: Option<Value>,
    pub created_at: Time,
    pub updated_at: Time,
}

impl Factor {
    /// Whether the factor is verified.
    pub fn is_verified(&self) -> bool {
        self.status == "verified"
    }

    /// Whether it stands for recovery codes.
    pub fn is_recovery_code(&self) -> bool {
        self.factor_type == "recovery_code"
    }
}
