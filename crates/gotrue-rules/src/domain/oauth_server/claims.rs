//! Claims about a user for OAuth clients, in ID tokens and at the userinfo endpoint, limited by scopes.

use std::borrow::Cow;

use foundation::time::Time;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::disclosure::{is_address, limit_user};
use super::scope::{EMAIL, PHONE, PROFILE, contains_scope};
use crate::domain::user::User;

/// Lifetime of an ID token, in seconds.
const ID_TOKEN_LIFETIME: i64 = 3600;

/// What an ID token contains besides the user.
#[derive(Debug, Clone, Copy)]
pub struct IdTokenParameters<'a> {
    /// `iss`.
    pub issuer: &'a str,
    /// The client id: `aud` and `client_id`.
    pub client: Uuid,
    /// `nonce`; empty for none.
    pub nonce: &'a str,
    /// The granted scopes.
    pub scopes: &'a str,
    /// Whether the scopes limit claims strictly, as in [`build_userinfo`].
    pub are_claims_limited: bool,
}

/// Builds what the scopes allow of the user, with issuer, audience, times and `nonce`.
pub fn build_id_token_claims(user: &User, token: IdTokenParameters<'_>, now: Time) -> Map<String, Value> {
    let issued_at = now.timestamp();
    let has = |scope: &str| contains_scope(token.scopes, scope);
    let mut claims = Map::new();
    let mut put = |name: &str, value: Value| claims.insert(name.to_owned(), value);
    if !token.issuer.is_empty() {
        put("iss", json!(token.issuer));
    }
    put("sub", json!(user.id));
    put("aud", json!(token.client));
    put("exp", json!(issued_at + ID_TOKEN_LIFETIME));
    put("iat", json!(issued_at));
    put("auth_time", json!(user.last_sign_in_at.unwrap_or(now).timestamp()));
    put("client_id", json!(token.client));
    if !token.nonce.is_empty() {
        put("nonce", json!(token.nonce));
    }
    // Both are present and false where the scope is missing.
    put("email_verified", json!(has(EMAIL) && user.email_confirmed_at.is_some()));
    put("phone_number_verified", json!(has(PHONE) && user.phone_confirmed_at.is_some()));
    if let Some(email) = user.email.as_deref().filter(|_| has(EMAIL)) {
        put("email", json!(email));
    }
    if let Some(phone) = user.phone.as_deref().filter(|_| has(PHONE)) {
        put("phone_number", json!(phone));
    }
    if has(PROFILE) {
        claims.extend(profile_claims(&seen_by_client(user, token.scopes, token.are_claims_limited)));
    }
    if token.are_claims_limited {
        remove_address_names(&mut claims);
    }
    claims
}

/// Builds the userinfo response for the granted scopes; without scopes it contains only `sub`.
///
/// With `are_claims_limited` metadata tells no address or number that the scopes do not name, and a name is no address.
pub fn build_userinfo(user: &User, scopes: &str, are_claims_limited: bool) -> Map<String, Value> {
    let user = &*seen_by_client(user, scopes, are_claims_limited);
    let has = |scope: &str| contains_scope(scopes, scope);
    let mut claims = Map::new();
    let mut put = |name: &str, value: Value| claims.insert(name.to_owned(), value);
    put("sub", json!(user.id));
    if has(EMAIL) {
        user.email.iter().for_each(|email| drop(put("email", json!(email))));
        user.email_confirmed_at.iter().for_each(|_| drop(put("email_verified", json!(true))));
    }
    if has(PHONE) {
        user.phone.iter().for_each(|phone| drop(put("phone", json!(phone))));
        user.phone_confirmed_at.iter().for_each(|_| drop(put("phone_verified", json!(true))));
    }
    if has(PROFILE) {
        put("user_metadata", Value::Object(user.user_metadata.clone()));
        claims.extend(profile_claims(user));
    }
    if are_claims_limited {
        remove_address_names(&mut claims);
    }
    claims
}

fn seen_by_client<'a>(user: &'a User, scopes: &str, are_claims_limited: bool) -> Cow<'a, User> {
    if are_claims_limited { Cow::Owned(limit_user(user, scopes)) } else { Cow::Borrowed(user) }
}

/// Removes names that are addresses, which the reference falls back to.
fn remove_address_names(claims: &mut Map<String, Value>) {
    if claims.get("name").and_then(Value::as_str).is_some_and(is_address) {
        claims.remove("name");
    }
}

/// Returns the claims of the scope `profile`.
fn profile_claims(user: &User) -> impl Iterator<Item = (String, Value)> {
    let text = |name: &str| user.user_metadata.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let changed = user.updated_at.timestamp();
    let members = [
        ("name", text("name").or(user.email.as_deref()).map(|name| json!(name))),
        ("picture", text("picture").or_else(|| text("avatar_url")).map(|picture| json!(picture))),
        ("preferred_username", text("preferred_username").or_else(|| text("username")).map(|name| json!(name))),
        ("updated_at", Some(json!(changed)).filter(|_| changed > 0)),
    ];
    members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user() -> User {
        let at = |seconds| Time::from_timestamp(seconds, 0).unwrap();
        let metadata = json!({"username": "ann", "avatar_url": "https://img.example.com/a.png", "name": ""});
        User {
            email: Some("ann@example.com".into()),
            phone: Some("15550100".into()),
            email_confirmed_at: Some(at(10)),
            last_sign_in_at: Some(at(900)),
            updated_at: at(950),
            user_metadata: metadata.as_object().unwrap().clone(),
            ..User::default()
        }
    }

    fn names(claims: &Map<String, Value>) -> Vec<&str> {
        let mut names: Vec<&str> = claims.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn userinfo_contains_claims_of_granted_scopes() {
        for (scopes, expected) in [
            ("", vec!["sub"]),
            ("openid offline_access", vec!["sub"]),
            ("email", vec!["email", "email_verified", "sub"]),
            ("phone", vec!["phone", "sub"]),
            ("profile", vec!["name", "picture", "preferred_username", "sub", "updated_at", "user_metadata"]),
        ] {
            assert_eq!(names(&build_userinfo(&user(), scopes, false)), expected, "{scopes}");
        }
        let claims = build_userinfo(&user(), "profile", false);
        assert_eq!((&claims["name"], &claims["preferred_username"]), (&json!("ann@example.com"), &json!("ann")));
    }

    #[test]
    fn id_token_has_client_audience_and_claims_of_granted_scopes() {
        let client = Uuid::from_u128(7);
        let token = IdTokenParameters {
            issuer: "https://auth.example.com",
            client,
            nonce: "n",
            scopes: "openid",
            are_claims_limited: false,
        };
        let always = ["aud", "auth_time", "client_id", "email_verified", "exp", "iat", "iss", "nonce"];
        let claims = build_id_token_claims(&user(), token, Time::from_timestamp(1000, 0).unwrap());
        assert_eq!(names(&claims), [&always[..], &["phone_number_verified", "sub"]].concat());
        assert_eq!((&claims["aud"], &claims["client_id"]), (&json!(client), &json!(client)));
        assert_eq!((&claims["iat"], &claims["exp"], &claims["auth_time"]), (&json!(1000), &json!(4600), &json!(900)));
        assert_eq!(claims["email_verified"], json!(false));
        let all = IdTokenParameters { scopes: "openid email phone profile", nonce: "", ..token };
        let claims = build_id_token_claims(&user(), all, Time::from_timestamp(1000, 0).unwrap());
        assert_eq!((&claims["email_verified"], &claims["phone_number_verified"]), (&json!(true), &json!(false)));
        assert_eq!((&claims["email"], &claims["phone_number"]), (&json!("ann@example.com"), &json!("15550100")));
        assert_eq!((&claims["picture"], &claims["updated_at"]), (&json!("https://img.example.com/a.png"), &json!(950)));
        assert!(!claims.contains_key("nonce") && !claims.contains_key("user_metadata"));
    }
}
