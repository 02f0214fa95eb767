//! Tests of the JSON form of the next sign-in.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn plan(name: &str, body: &Value) -> Result<SignInPlan, String> {
    let next = NextSignIn::parse(body).map_err(|error| error.to_string())?;
    let entry = find_provider(name).expect("a provider");
    next.validate_for(entry).map_err(|error| error.to_string())?;
    Ok(next.into_plan(None, &Entropy::from_seed(1)))
}

fn user(name: &str, body: &Value) -> ProviderUser {
    match plan(name, body) {
        Ok(SignInPlan::User(user, _)) => *user,
        other => panic!("{other:?}"),
    }
}

#[test]
fn user_is_parsed_with_its_claims() {
    let zoe = user("google", &json!({"sub": "7", "email": "zoe@example.com", "claims": {"name": "Zoe", "hd": "x"}}));
    assert_eq!((zoe.subject.as_str(), zoe.email.as_str(), zoe.is_email_verified), ("7", "zoe@example.com", true));
    assert_eq!((zoe.name.as_str(), &zoe.claims["hd"]), ("Zoe", &json!("x")));
    assert!(!user("google", &json!({"email": "zoe@example.com", "email_verified": false})).is_email_verified);
    assert_eq!(user("github", &json!({"sub": 5150})).subject, "5150");
    assert_eq!(user("google", &json!({"sub": "7"})).email, "");
    assert_eq!(user("google", &json!({"email": "zoe@example.com"})).subject, "dev-zoe@example.com");
}

#[test]
fn scenario_changes_the_user() {
    let of = |name: &str| user("apple", &json!({ "scenario": name }));
    assert_eq!(of("missing_email").email, "");
    assert!(!of("unverified_email").is_email_verified);
    assert_eq!(
        (of("changed_email").email.as_str(), of("changed_email").subject.as_str()),
        ("changed.ann@example.com", "dev-ann")
    );
    assert_eq!(
        (of("shared_email").email.as_str(), of("shared_email").subject.as_str()),
        ("ann@example.com", "dev-ann-other")
    );
    assert!(of("relay_email").email.ends_with(RELAY_DOMAIN));
    let denied = SignInPlan::Error("access_denied".into(), "The user denied the request".into());
    assert_eq!(plan("apple", &json!({"scenario": "denied"})), Ok(denied));
}

#[test]
fn invalid_bodies_are_refused_with_a_remedy() {
    let table = [
        ("google", json!([]), "must be a JSON object"),
        ("google", json!({}), "give a user"),
        ("google", json!({"mail": "x"}), "the members are sub, email"),
        ("google", json!({"scenario": "nonce"}), "the scenarios are denied, missing_email"),
        ("google", json!({"sub": ""}), "sub must not be empty"),
        ("google", json!({"sub": "7", "email": "no address"}), "email must be"),
        ("google", json!({"sub": "7", "email_verified": "yes"}), "true or false"),
        ("google", json!({"sub": "7", "claims": "x"}), "claims must be"),
        ("google", json!({"sub": "7", "error": "access_denied"}), "error stands alone"),
        ("google", json!({"error": "a\nb"}), "OAuth error code"),
        ("google", json!({"error_description": "b"}), "needs error"),
        ("google", json!({"scenario": "denied", "delay_ms": 5}), "slow_response"),
        ("google", json!({"scenario": "slow_response", "delay_ms": 60_001}), "at most 60000"),
        ("google", json!({"scenario": "relay_email"}), "providers with this scenario: apple"),
        ("github", json!({"sub": "ann"}), "must be a number"),
        ("github", json!({"scenario": "wrong_nonce"}), "issues no ID tokens"),
        ("github", json!({"scenario": "revoked_refresh_token"}), "issues no refresh tokens"),
        ("figma", json!({"email": "a@example.com", "email_verified": false}), "verified addresses only"),
    ];
    for (name, body, expected) in table {
        let error = plan(name, &body).expect_err("refused");
        assert!(error.contains(expected), "{body}: {error}");
    }
}

proptest! {
    #[test]
    fn parsing_never_panics_and_accepts_only_known_members(name in "[a-z_]{1,12}", text in ".{0,300}") {
        let parsed = NextSignIn::parse(&json!({ &name: text }));
        prop_assert!(parsed.is_err() || MEMBERS.contains(&name.as_str()));
        let user = NextSignIn::parse(&json!({"sub": text}));
        prop_assert_eq!(user.is_ok(), !text.is_empty() && text.len() <= MAX_TEXT_LENGTH);
    }
}
