//! Parses provider claims and applies an administrator's claim mapping.
//! As in the reference, a claim of a wrong type makes the whole response unusable.

use foundation::time::Time;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::profile::Claims;
use super::response::ProviderResponseError;
use crate::wire::go_json::{Document, OneOrMany};
use crate::wire::time::parse_time;

/// Parses the claims of a provider's response, checking each one's type.
pub fn parse(raw: &Document) -> Result<Claims, ProviderResponseError> {
    let json: ClaimsJson = raw.read()?;
    Ok(Claims {
        issuer: json.iss,
        subject: json.sub,
        audience: json.aud.0,
        issued_at: json.iat,
        expires_at: json.exp,
        name: json.name,
        family_name: json.family_name,
        given_name: json.given_name,
        middle_name: json.middle_name,
        nickname: json.nickname,
        preferred_username: json.preferred_username,
        profile: json.profile,
        picture: json.picture,
        website: json.website,
        gender: json.gender,
        birthdate: json.birthdate,
        zoneinfo: json.zoneinfo,
        locale: json.locale,
        updated_at: json.updated_at.map(|moment| moment.0),
        email: json.email,
        email_verified: json.email_verified,
        phone: json.phone,
        phone_verified: json.phone_verified,
        custom_claims: json.custom_claims,
        full_name: json.full_name,
        avatar_url: json.avatar_url,
        slug: json.slug,
        provider_id: json.provider_id,
        user_name: json.user_name,
    })
}

/// The claims under their JSON names.
#[derive(Deserialize, Default)]
#[serde(default)]
struct ClaimsJson {
    iss: String,
    sub: String,
    aud: OneOrMany,
    iat: f64,
    exp: f64,
    name: String,
    family_name: String,
    given_name: String,
    middle_name: String,
    nickname: String,
    preferred_username: String,
    profile: String,
    picture: String,
    website: String,
    gender: String,
    birthdate: String,
    zoneinfo: String,
    locale: String,
    updated_at: Option<Timestamp>,
    email: String,
    email_verified: bool,
    phone: String,
    phone_verified: bool,
    custom_claims: Option<Map<String, Value>>,
    full_name: String,
    avatar_url: String,
    slug: String,
    provider_id: String,
    user_name: String,
}

/// Go's zero time (0001-01-01T00:00:00Z), seconds since the epoch.
const GO_ZERO: f64 = -62_135_596_800.0;

/// Seconds since the epoch or an RFC 3339 string; an empty string is Go's zero time.
#[derive(Deserialize)]
#[serde(try_from = "Value")]
struct Timestamp(Time);

impl TryFrom<Value> for Timestamp {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        let moment = match value {
            Value::Number(seconds) => seconds.as_f64().and_then(time_from_seconds),
            Value::String(text) if text.is_empty() => time_from_seconds(GO_ZERO),
            Value::String(text) => parse_time(&text),
            _ => None,
        };
        moment.map(Self).ok_or("expected a time")
    }
}

/// Applies a claim mapping.
/// A string names the claim whose value is copied (nothing changes if it is absent); any other value is the value
/// itself. If the result has a claim of a wrong type, nothing is replaced.
pub fn apply_mapping(claims: Claims, mapping: &Map<String, Value>) -> Claims {
    if mapping.is_empty() {
        return claims;
    }
    let before = claims.identity_data();
    let mut after = before.clone();
    for (target, source) in mapping {
        let value = match source {
            Value::String(name) => before.get(name).filter(|value| **value != Value::Bool(false)),
            literal => Some(literal),
        };
        if let Some(value) = value {
            after.insert(target.clone(), value.clone());
        }
    }
    parse(&Document::from(after)).unwrap_or(claims)
}

#[expect(clippy::cast_possible_truncation, reason = "a cast of floating point numbers saturates, and then is no time")]
fn time_from_seconds(seconds: f64) -> Option<Time> {
    Time::from_timestamp(seconds as i64, 0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse_json(value: &Value) -> Result<Claims, ProviderResponseError> {
        parse(&Document::from(value.clone()))
    }

    #[test]
    fn parse_checks_claim_types() {
        let claims = parse_json(&json!({
            "SUB": "7", "aud": "a", "iat": 1.5, "email_verified": true, "updated_at": 1_600_000_000, "name": null,
            "custom_claims": {"x": 1}, "whatever": []
        }));
        let expected = Claims {
            subject: "7".into(),
            audience: vec!["a".into()],
            issued_at: 1.5,
            email_verified: true,
            updated_at: Time::from_timestamp(1_600_000_000, 0),
            custom_claims: Some(Map::from_iter([("x".to_owned(), json!(1))])),
            ..Claims::default()
        };
        assert_eq!(claims, Ok(expected));
        let at = |text: &str| parse_json(&json!({"updated_at": text})).map(|claims| claims.updated_at);
        assert_eq!(at("2020-09-13T14:26:40+02:00"), Ok(Time::from_timestamp(1_600_000_000, 0)));
        assert_eq!(at(""), Ok(Time::from_timestamp(-62_135_596_800, 0)));
        for wrong in [
            json!({"sub": 7}),
            json!({"aud": [7]}),
            json!({"email_verified": "true"}),
            json!({"updated_at": "yesterday"}),
            json!({"updated_at": 1e300}),
            json!({"custom_claims": []}),
        ] {
            assert!(parse_json(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn mapping_copies_claims_and_sets_values() {
        let claims = parse_json(&json!({"name": "Ann", "nickname": "Annie", "aud": ["a"]})).unwrap();
        let with = |mapping: Value| apply_mapping(claims.clone(), mapping.as_object().unwrap());
        let named = |name: &str, slug: &str| Claims { name: name.into(), slug: slug.into(), ..claims.clone() };
        for (case, mapping, expected) in [
            ("nothing", json!({}), claims.clone()),
            ("another claim", json!({"name": "nickname"}), named("Annie", "")),
            ("a claim that is not there", json!({"name": "middle_name"}), claims.clone()),
            ("null empties", json!({"name": null}), named("", "")),
            ("a target that is no claim", json!({"display": "name"}), claims.clone()),
            ("two of them", json!({"slug": "name", "name": "nickname"}), named("Annie", "Ann")),
            ("a value that does not fit", json!({"name": 7, "slug": "name"}), claims.clone()),
            ("a claim that does not fit", json!({"name": "aud"}), claims.clone()),
        ] {
            assert_eq!(with(mapping), expected, "{case}");
        }
    }
}
