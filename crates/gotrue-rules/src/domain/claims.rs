//! Claims of an access token.

use std::time::Duration;

use foundation::time::Time;
use serde_json::{Map, Value, json};

use super::policy::Policy;
use super::session::{Aal, AmrClaim, Session};
use super::user::User;

/// The claim set and its expiry.
#[derive(Debug, Clone, PartialEq)]
pub struct AccessClaims {
    /// The claim set.
    pub claims: Map<String, Value>,
    /// `exp`, seconds since the epoch.
    pub expires_at: i64,
}

/// Authentication methods that raise a session to `aal2`.
const SECOND_FACTORS: [&str; 4] = ["totp", "mfa/phone", "mfa/webauthn", "mfa/recovery_code"];
const SAML: &str = "sso/saml";

/// Returns the assurance level of the authentication methods.
pub fn aal(amr: &[AmrClaim]) -> Aal {
    let is_second = |claim: &AmrClaim| SECOND_FACTORS.contains(&claim.method.as_str());
    if amr.iter().any(is_second) { Aal::Aal2 } else { Aal::Aal1 }
}

/// Builds the claims of an access token.
pub fn build_access_claims(policy: &Policy, user: &User, session: &Session, now: Time) -> AccessClaims {
    let aal = aal(&session.amr);
    let issued_at = now.timestamp();
    let expires_at = access_token_expiry(policy, user, session, aal, now);
    let mut claims = Map::new();
    let mut put = |name: &str, value: Value| claims.insert(name.to_owned(), value);
    if !policy.jwt.issuer.is_empty() {
        put("iss", json!(policy.jwt.issuer));
    }
    put("sub", json!(user.id));
    put("aud", json!(user.aud));
    put("exp", json!(expires_at));
    put("iat", json!(issued_at));
    put("email", json!(user.email.as_deref().unwrap_or_default()));
    put("phone", json!(user.phone.as_deref().unwrap_or_default()));
    put("app_metadata", Value::Object(user.app_metadata.clone()));
    put("user_metadata", Value::Object(user.user_metadata.clone()));
    put("role", json!(user.role));
    put("aal", json!(aal.as_str()));
    if !session.amr.is_empty() {
        put("amr", build_amr(user, session));
    }
    put("session_id", json!(session.id));
    put("is_anonymous", json!(user.is_anonymous));
    if let Some(client) = session.oauth_client_id.filter(|id| !id.is_nil()) {
        put("client_id", json!(client));
    }
    if let Some(scopes) = session.scopes.as_deref().filter(|scopes| !scopes.is_empty()) {
        put("scope", json!(scopes));
    }
    AccessClaims { claims, expires_at }
}

/// Returns `exp`. A session below the user's highest level expires with `allow_low_aal`.
fn access_token_expiry(policy: &Policy, user: &User, session: &Session, aal: Aal, now: Time) -> i64 {
    let usual = now.timestamp().saturating_add(policy.jwt.exp);
    let highest = if user.has_verified_factor() { Aal::Aal2 } else { Aal::Aal1 };
    match policy.sessions.allow_low_aal.filter(|window| !window.is_zero()) {
        Some(window) if aal < highest => usual.min(saturating_add(session.created_at, window).timestamp()),
        _ => usual,
    }
}

fn saturating_add(time: Time, by: Duration) -> Time {
    chrono::TimeDelta::from_std(by).ok().and_then(|by| time.checked_add_signed(by)).unwrap_or(Time::MAX_UTC)
}

/// Builds `amr`, newest first; methods of the same second keep the order in which they were stored.
/// A SAML method names its provider if the user's only identity is of that provider.
fn build_amr(user: &User, session: &Session) -> Value {
    let mut entries: Vec<&AmrClaim> = session.amr.iter().collect();
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.updated_at.timestamp()));
    let provider = match user.identities.as_slice() {
        [only] => only.provider.strip_prefix("sso:"),
        _ => None,
    };
    let entry = |entry: &&AmrClaim| {
        let mut shown = json!({ "method": entry.method, "timestamp": entry.updated_at.timestamp() });
        if let (SAML, Some(provider)) = (entry.method.as_str(), provider) {
            shown["provider"] = json!(provider);
        }
        shown
    };
    entries.iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::user::{Factor, Identity};

    fn at(seconds: i64) -> Time {
        Time::from_timestamp(seconds, 0).unwrap()
    }

    #[test]
    fn methods_of_one_second_keep_their_order() {
        let later = at(1001) + chrono::TimeDelta::milliseconds(900);
        let claims = [("password", at(1001)), ("totp", later), ("otp", at(1002))];
        let amr = claims.map(|(method, updated_at)| AmrClaim { method: method.into(), updated_at }).to_vec();
        let built = build_amr(&User::default(), &Session { amr, ..Session::default() });
        let methods: Vec<_> = built.as_array().into_iter().flatten().map(|entry| entry["method"].clone()).collect();
        assert_eq!(methods, ["otp", "password", "totp"]);
    }

    fn session(methods: &[(&str, i64)]) -> Session {
        let amr = methods.iter().map(|(method, at_)| AmrClaim { method: (*method).into(), updated_at: at(*at_) });
        Session { amr: amr.collect(), created_at: at(1000), ..Session::default() }
    }

    #[test]
    fn longest_configurable_lifetime_does_not_expire_in_the_past() {
        let mut policy = Policy::default();
        for lifetime in [i64::MAX, i64::MAX - 1] {
            policy.jwt.exp = lifetime;
            let expiry = access_token_expiry(&policy, &User::default(), &Session::default(), Aal::Aal1, at(1000));
            assert_eq!(expiry, i64::MAX);
        }
    }

    #[test]
    fn amr_is_newest_first_and_determines_aal() {
        let session = session(&[("password", 1000), ("totp", 1060), ("magiclink", 940)]);
        let claims = build_access_claims(&Policy::default(), &User::default(), &session, at(2000)).claims;
        let methods: Vec<&str> =
            claims["amr"].as_array().unwrap().iter().map(|entry| entry["method"].as_str().unwrap()).collect();
        assert_eq!(methods, ["totp", "password", "magiclink"]);
        assert_eq!(claims["aal"], "aal2");
    }

    #[test]
    fn optional_claims_are_omitted() {
        let claims = build_access_claims(&Policy::default(), &User::default(), &session(&[]), at(2000)).claims;
        for name in ["iss", "amr", "client_id", "scope", "nbf", "jti"] {
            assert!(!claims.contains_key(name), "{name}");
        }
        assert_eq!((&claims["email"], &claims["phone"]), (&json!(""), &json!("")));
    }

    #[test]
    fn low_aal_session_expires_with_its_window() {
        let mut policy = Policy::default();
        policy.sessions.allow_low_aal = Some(Duration::from_mins(10));
        let factor = Factor { status: "verified".into(), ..Factor::default() };
        let protected = User { factors: vec![factor], ..User::default() };
        let expiry = |user: &User, methods: &[(&str, i64)]| {
            build_access_claims(&policy, user, &session(methods), at(1240)).expires_at
        };
        assert_eq!(expiry(&protected, &[("password", 1000)]), 1600);
        assert_eq!(expiry(&protected, &[("password", 1000), ("totp", 1100)]), 1240 + 3600);
        assert_eq!(expiry(&User::default(), &[("password", 1000)]), 1240 + 3600);
    }

    #[test]
    fn saml_amr_entry_names_provider() {
        let identity = Identity { provider: "sso:11111111-2222-4333-8444-555555555555".into(), ..Identity::default() };
        let user = User { identities: vec![identity], ..User::default() };
        let claims = build_access_claims(&Policy::default(), &user, &session(&[(SAML, 1000)]), at(2000)).claims;
        assert_eq!(claims["amr"][0]["provider"], "11111111-2222-4333-8444-555555555555");
    }
}
