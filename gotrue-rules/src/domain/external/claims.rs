//! Claims read from what a provider says, and renamed as an administrator wants. A claim of another type than it
//! should have makes the whole answer useless, as it does for the reference.

use chrono::DateTime;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::answer::BadAnswer;
use super::profile::Claims;
use crate::domain::user::Time;
use crate::wire::go_json::{Document, OneOrMany};

/// The claims in a provider's answer, each of its type.
pub fn read(raw: &Document) -> Result<Claims, BadAnswer> {
    let said: Said = raw.read()?;
    Ok(Claims {
        issuer: said.iss,
        subject: said.sub,
        audience: said.aud.0,
        issued_at: said.iat,
        expires_at: said.exp,
        name: said.name,
        family_name: said.family_name,
        given_name: said.given_name,
        middle_name: said.middle_name,
        nickname: said.nickname,
        preferred_username: said.preferred_username,
        profile: said.profile,
        picture: said.picture,
        website: said.website,
        gender: said.gender,
        birthdate: said.birthdate,
        zoneinfo: said.zoneinfo,
        locale: said.locale,
        updated_at: said.updated_at.map(|moment| moment.0),
        email: said.email,
        email_verified: said.email_verified,
        phone: said.phone,
        phone_verified: said.phone_verified,
        custom_claims: said.custom_claims,
        full_name: said.full_name,
        avatar_url: said.avatar_url,
        slug: said.slug,
        provider_id: said.provider_id,
        user_name: said.user_name,
    })
}

/// The claims by the names that they have outside.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Said {
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
    updated_at: Option<Moment>,
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

/// The first moment of the year 1.
const GO_ZERO: f64 = -62_135_596_800.0;

/// Seconds since the epoch, or a text of RFC 3339; an empty one is Go's zero time.
#[derive(Deserialize)]
#[serde(try_from = "Value")]
struct Moment(Time);

impl TryFrom<Value> for Moment {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        let moment = match value {
            Value::Number(seconds) => seconds.as_f64().and_then(at),
            Value::String(text) if text.is_empty() => at(GO_ZERO),
            Value::String(text) => DateTime::parse_from_rfc3339(&text).ok().map(|moment| moment.to_utc()),
            _ => None,
        };
        moment.map(Self).ok_or("a moment is wanted")
    }
}

/// The claims with others in the place of some: a text names the claim whose value is taken (none there: nothing
/// changes), anything else is the value itself. Where the outcome has a claim of another type than it should have,
/// nothing is replaced at all.
pub fn mapped(claims: Claims, mapping: &Map<String, Value>) -> Claims {
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
    read(&Document::from(after)).unwrap_or(claims)
}

#[expect(clippy::cast_possible_truncation, reason = "a cast of floating point numbers saturates, and then is no time")]
fn at(seconds: f64) -> Option<Time> {
    Time::from_timestamp(seconds as i64, 0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(value: &Value) -> Result<Claims, BadAnswer> {
        read(&Document::from(value.clone()))
    }

    #[test]
    fn claims_are_read_by_their_types() {
        let claims = of(&json!({
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
        let at = |text: &str| of(&json!({"updated_at": text})).map(|claims| claims.updated_at);
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
            assert!(of(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn claims_are_replaced_by_others_and_by_values() {
        let claims = of(&json!({"name": "Ann", "nickname": "Annie", "aud": ["a"]})).unwrap();
        let with = |mapping: Value| mapped(claims.clone(), mapping.as_object().unwrap());
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
