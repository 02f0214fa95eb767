//! Claims read from what a provider says, and renamed as an administrator wants. A claim of another type than it
//! should have makes the whole answer useless, as it does for the reference.

use chrono::DateTime;
use serde_json::{Map, Value};

use super::answer::BadAnswer;
use super::profile::Claims;
use crate::domain::user::Time;

/// The claims in a provider's answer; their names in any letters, null as absent, others left out.
pub fn read(raw: &Map<String, Value>) -> Result<Claims, BadAnswer> {
    let claim = Reader(raw);
    Ok(Claims {
        issuer: claim.text("iss")?,
        subject: claim.text("sub")?,
        audience: claim.texts("aud")?,
        issued_at: claim.number("iat")?,
        expires_at: claim.number("exp")?,
        name: claim.text("name")?,
        family_name: claim.text("family_name")?,
        given_name: claim.text("given_name")?,
        middle_name: claim.text("middle_name")?,
        nickname: claim.text("nickname")?,
        preferred_username: claim.text("preferred_username")?,
        profile: claim.text("profile")?,
        picture: claim.text("picture")?,
        website: claim.text("website")?,
        gender: claim.text("gender")?,
        birthdate: claim.text("birthdate")?,
        zoneinfo: claim.text("zoneinfo")?,
        locale: claim.text("locale")?,
        updated_at: claim.time("updated_at")?,
        email: claim.text("email")?,
        email_verified: claim.yes("email_verified")?,
        phone: claim.text("phone")?,
        phone_verified: claim.yes("phone_verified")?,
        custom_claims: claim.take("custom_claims", |value| value.as_object().cloned().map(Some))?,
        full_name: claim.text("full_name")?,
        avatar_url: claim.text("avatar_url")?,
        slug: claim.text("slug")?,
        provider_id: claim.text("provider_id")?,
        user_name: claim.text("user_name")?,
    })
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
    read(&after).unwrap_or(claims)
}

struct Reader<'a>(&'a Map<String, Value>);

impl Reader<'_> {
    fn take<T: Default>(&self, name: &str, read: impl Fn(&Value) -> Option<T>) -> Result<T, BadAnswer> {
        let mut all = self.0.iter().rev().filter(|(key, value)| key.eq_ignore_ascii_case(name) && !value.is_null());
        match all.next().map(|(_, value)| value) {
            None => Ok(T::default()),
            Some(value) => read(value).ok_or_else(|| BadAnswer(format!("the claim {name} has another type"))),
        }
    }

    fn text(&self, name: &str) -> Result<String, BadAnswer> {
        self.take(name, |value| value.as_str().map(str::to_owned))
    }

    fn number(&self, name: &str) -> Result<f64, BadAnswer> {
        self.take(name, Value::as_f64)
    }

    fn yes(&self, name: &str) -> Result<bool, BadAnswer> {
        self.take(name, Value::as_bool)
    }

    /// One text or a list of them.
    fn texts(&self, name: &str) -> Result<Vec<String>, BadAnswer> {
        self.take(name, |value| match value {
            Value::String(one) => Some(vec![one.clone()]),
            Value::Array(many) => many.iter().map(|text| text.as_str().map(str::to_owned)).collect(),
            _ => None,
        })
    }

    /// Seconds since the epoch, or a text of RFC 3339.
    fn time(&self, name: &str) -> Result<Option<Time>, BadAnswer> {
        self.take(name, |value| match value {
            Value::Number(seconds) => Some(Some(at(seconds.as_f64()?)?)),
            Value::String(text) if text.is_empty() => Some(None),
            Value::String(text) => Some(Some(DateTime::parse_from_rfc3339(text).ok()?.to_utc())),
            _ => None,
        })
    }
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
        read(value.as_object().unwrap())
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
        assert_eq!(at(""), Ok(None));
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
