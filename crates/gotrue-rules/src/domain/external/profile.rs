//! The profile of an external user, independent of the provider.

use foundation::time::Time;
use serde_json::{Map, Number, Value, json};

use crate::wire::time::format_time;

/// The profile that a provider returns for a user.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProviderProfile {
    /// The email addresses, in the provider's order and spelling.
    pub emails: Vec<ProviderEmail>,
    /// All other claims.
    pub claims: Claims,
}

/// An email address of a profile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderEmail {
    /// The address in the provider's spelling.
    pub address: String,
    /// Whether the provider has verified the address.
    pub verified: bool,
    /// Whether it is the user's primary address at the provider.
    pub primary: bool,
}

/// The claims copied from a provider into an identity.
/// Empty claims are omitted from `identity_data`, except `email_verified` and `phone_verified`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Claims {
    /// `iss`.
    pub issuer: String,
    /// `sub`: the user's id at the provider; a sign-in requires one.
    pub subject: String,
    /// `aud`.
    pub audience: Vec<String>,
    /// `iat`, seconds since the epoch; 0 if absent.
    pub issued_at: f64,
    /// `exp`, seconds since the epoch; 0 if absent.
    pub expires_at: f64,
    pub name: String,
    pub family_name: String,
    pub given_name: String,
    pub middle_name: String,
    pub nickname: String,
    pub preferred_username: String,
    pub profile: String,
    pub picture: String,
    pub website: String,
    pub gender: String,
    pub birthdate: String,
    pub zoneinfo: String,
    pub locale: String,
    pub updated_at: Option<Time>,
    pub email: String,
    pub email_verified: bool,
    pub phone: String,
    pub phone_verified: bool,
    /// `custom_claims`: claims specific to the provider. `None` is omitted, an empty object is not.
    pub custom_claims: Option<Map<String, Value>>,
    pub full_name: String,
    pub avatar_url: String,
    pub slug: String,
    pub provider_id: String,
    pub user_name: String,
}

impl ProviderEmail {
    /// A list with one primary address; empty if the address is empty.
    pub fn single(address: String, verified: bool) -> Vec<Self> {
        if address.is_empty() { Vec::new() } else { vec![Self { address, verified, primary: true }] }
    }
}

impl Claims {
    /// Id, name and picture, each also under its older claim name.
    pub fn new(issuer: impl Into<String>, id: String, name: String, picture: String) -> Self {
        Self {
            issuer: issuer.into(),
            subject: id.clone(),
            provider_id: id,
            name: name.clone(),
            full_name: name,
            picture: picture.clone(),
            avatar_url: picture,
            ..Self::default()
        }
    }

    /// The claims as the `identity_data` of an identity.
    pub fn identity_data(&self) -> Map<String, Value> {
        let texts = [
            ("iss", &self.issuer),
            ("sub", &self.subject),
            ("name", &self.name),
            ("family_name", &self.family_name),
            ("given_name", &self.given_name),
            ("middle_name", &self.middle_name),
            ("nickname", &self.nickname),
            ("preferred_username", &self.preferred_username),
            ("profile", &self.profile),
            ("picture", &self.picture),
            ("website", &self.website),
            ("gender", &self.gender),
            ("birthdate", &self.birthdate),
            ("zoneinfo", &self.zoneinfo),
            ("locale", &self.locale),
            ("email", &self.email),
            ("phone", &self.phone),
            ("full_name", &self.full_name),
            ("avatar_url", &self.avatar_url),
            ("slug", &self.slug),
            ("provider_id", &self.provider_id),
            ("user_name", &self.user_name),
        ];
        let mut data = Map::new();
        for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            data.insert(name.to_owned(), json!(text));
        }
        if !self.audience.is_empty() {
            data.insert("aud".to_owned(), json!(self.audience));
        }
        for (name, seconds) in [("iat", self.issued_at), ("exp", self.expires_at)] {
            if seconds != 0.0 {
                data.insert(name.to_owned(), seconds_to_json(seconds));
            }
        }
        if let Some(updated) = self.updated_at {
            data.insert("updated_at".to_owned(), json!(format_time(&updated)));
        }
        if let Some(custom) = &self.custom_claims {
            data.insert("custom_claims".to_owned(), Value::Object(custom.clone()));
        }
        data.insert("email_verified".to_owned(), json!(self.email_verified));
        data.insert("phone_verified".to_owned(), json!(self.phone_verified));
        data
    }
}

/// Writes whole seconds as a JSON integer.
#[expect(clippy::cast_possible_truncation, reason = "checked to be a whole number far below the limit")]
fn seconds_to_json(seconds: f64) -> Value {
    let is_whole = seconds.fract() == 0.0 && seconds.abs() < 1e15;
    if is_whole { json!(seconds as i64) } else { Number::from_f64(seconds).map_or(Value::Null, Value::Number) }
}

impl ProviderProfile {
    /// Sets `email` and `email_verified` from the primary address, else from the last one.
    /// Without any address `email_verified` is false.
    #[must_use]
    pub fn with_primary_email(mut self) -> Self {
        self.claims.email_verified = false;
        if let Some(email) = self.emails.iter().find(|email| email.primary).or(self.emails.last()) {
            self.claims.email.clone_from(&email.address);
            self.claims.email_verified = email.verified;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_data_omits_empty_claims_except_verified_flags() {
        assert_eq!(
            Value::Object(Claims::default().identity_data()),
            json!({"email_verified": false, "phone_verified": false})
        );
        let claims = Claims {
            subject: "7".into(),
            audience: vec!["a".into()],
            issued_at: 1_600_000_000.0,
            expires_at: 1.5,
            updated_at: Time::from_timestamp(1_600_000_000, 120_000_000),
            custom_claims: Some(Map::from_iter([("hd".to_owned(), json!("example.com"))])),
            email_verified: true,
            ..Claims::default()
        };
        assert_eq!(
            Value::Object(claims.identity_data()),
            json!({"sub": "7", "aud": ["a"], "iat": 1_600_000_000, "exp": 1.5, "updated_at": "2020-09-13T12:26:40.12Z",
                   "custom_claims": {"hd": "example.com"}, "email_verified": true, "phone_verified": false})
        );
    }

    #[test]
    fn email_is_primary_address_or_last() {
        let email = |address: &str, verified, primary| ProviderEmail { address: address.into(), verified, primary };
        let of = |emails| {
            ProviderProfile { emails, claims: Claims { email_verified: true, ..Claims::default() } }
                .with_primary_email()
        };
        let settled = of(vec![email("a", false, false), email("b", true, true), email("c", false, false)]).claims;
        assert_eq!((settled.email.as_str(), settled.email_verified), ("b", true));
        let settled = of(vec![email("a", true, false), email("c", false, false)]).claims;
        assert_eq!((settled.email.as_str(), settled.email_verified), ("c", false));
        assert!(!of(Vec::new()).claims.email_verified);
    }
}
