use proptest::prelude::*;
use serde_json::{Value, json};

use super::issuer_profiles::profile_from_id_token;
use super::*;

const NOW: i64 = 1_800_000_000;

fn token(claims: &Value) -> CompactJws<'static> {
    CompactJws {
        algorithm: Algorithm::ES256,
        kid: String::new(),
        signing_input: "".into(),
        signature: Vec::new(),
        claims: claims.clone().into(),
    }
}

fn parse_at(now: Time, issued_at: bool, claims: &Value) -> Result<ExternalIdToken, IdTokenError> {
    ExternalIdToken::from_verified_jws(
        token(claims),
        &IdTokenExpectations { issuer: "https://i.example.com", now, requires_issued_at: issued_at },
    )
}

fn parse_now(claims: &Value) -> Result<ExternalIdToken, IdTokenError> {
    parse_at(Time::from_timestamp(NOW, 0).unwrap(), false, claims)
}

fn claims(name: &str, value: Value) -> Value {
    let mut claims = json!({"iss": "https://i.example.com", "sub": "7", "aud": "us", "exp": NOW + 60, "iat": NOW});
    claims[name] = value;
    claims
}

#[test]
fn verified_token_exposes_claims() {
    let all = json!({"iss": "https://i.example.com", "sub": "7", "aud": ["us", "them"], "exp": NOW + 1, "nonce": "n",
                     "at_hash": "h", "email": "a@example.com"});
    let read = parse_now(&all).unwrap();
    assert_eq!((read.subject.as_str(), read.nonce.as_str(), read.access_token_hash.as_str()), ("7", "n", "h"));
    assert_eq!(read.audience, ["us", "them"]);
    assert_eq!(read.claims, Document::from(all));
    assert_eq!(parse_now(&claims("sub", Value::Null)).unwrap().subject, "");
    // As in Go: one empty string.
    assert_eq!(parse_now(&claims("aud", Value::Null)).unwrap().audience, [""]);
    for (name, value) in [
        ("exp", json!((NOW + 60).to_string())),
        ("exp", json!(format!("{NOW}9e-1"))),
        ("nbf", json!(NOW.to_string())),
        ("iat", json!(NOW.to_string())),
        ("nbf", Value::Null),
        ("_claim_names", json!({"groups": "src1"})),
    ] {
        let mut claims = claims(name, value);
        claims["_claim_sources"] = json!({"src1": {"endpoint": "https://i.example.com"}});
        assert!(parse_now(&claims).is_ok(), "{name}");
    }
}

#[test]
fn claim_of_wrong_type_is_rejected() {
    for (name, value) in [
        ("iss", json!(7)),
        ("sub", json!(7)),
        ("aud", json!(7)),
        ("aud", json!([7])),
        ("aud", json!({})),
        ("exp", json!("soon")),
        ("exp", json!("")),
        ("exp", Value::Null),
        ("iat", Value::Null),
        ("nbf", json!([])),
        ("iat", json!(true)),
        ("_claim_names", json!({"groups": "src1"})),
        ("_claim_names", json!([])),
        ("nonce", json!(7)),
        ("at_hash", json!({})),
    ] {
        assert!(matches!(parse_now(&claims(name, value)), Err(IdTokenError::ClaimType(_))), "{name}");
    }
}

#[test]
fn issuer_must_match_exactly() {
    for other in ["", "https://i.example.com/", "https://I.example.com", "i.example.com"] {
        assert_eq!(parse_now(&claims("iss", json!(other))), Err(IdTokenError::Issuer(other.to_owned())));
    }
    let unmatched =
        IdTokenExpectations { issuer: "", now: Time::from_timestamp(NOW, 0).unwrap(), requires_issued_at: false };
    let refused = ExternalIdToken::from_verified_jws(token(&claims("iss", json!(""))), &unmatched);
    assert_eq!(refused, Err(IdTokenError::Issuer(String::new())));
}

#[test]
fn expiry_has_no_leeway() {
    let at = |nanos: u32, end: Value| parse_at(Time::from_timestamp(NOW, nanos).unwrap(), false, &claims("exp", end));
    assert!(at(0, json!(NOW)).is_ok());
    assert_eq!(at(1_000, json!(NOW)), Err(IdTokenError::Expired));
    assert_eq!(at(0, json!(NOW - 1)), Err(IdTokenError::Expired));
    assert!(matches!(at(0, Value::Null), Err(IdTokenError::ClaimType(_))));
    assert!(at(1_000, json!(1e300)).is_ok());
    assert_eq!(at(0, json!(-1e300)), Err(IdTokenError::Expired));
}

#[test]
fn not_before_and_issued_at_have_five_minutes_leeway() {
    for (seconds, expected) in [(0, true), (300, true), (301, false)] {
        assert_eq!(parse_now(&claims("nbf", json!(NOW + seconds))).is_ok(), expected, "{seconds}");
        let strictly = |claims: &Value| parse_at(Time::from_timestamp(NOW, 0).unwrap(), true, claims).is_ok();
        assert_eq!(strictly(&claims("iat", json!(NOW + seconds))), expected, "{seconds}");
    }
    assert!(parse_now(&claims("iat", json!(NOW + 9_999))).is_ok());
    let mut without = claims("sub", json!("7"));
    without.as_object_mut().unwrap().remove("iat");
    let never = parse_at(Time::from_timestamp(NOW, 0).unwrap(), true, &without);
    assert_eq!(never, Err(IdTokenError::NotYetValid));
}

/// The outcome of a token for `us` with that nonce.
fn validation_outcome(accepted: &AcceptedIdTokens, token_nonce: &str, nonce: &str) -> String {
    let token = ExternalIdToken {
        subject: "7".into(),
        audience: vec!["us".into(), "them".into()],
        nonce: token_nonce.into(),
        ..ExternalIdToken::default()
    };
    match token.validate_audience_and_nonce(accepted, nonce) {
        Ok(()) => "ok".to_owned(),
        Err(error) => format!("{error}"),
    }
}

#[test]
fn audience_must_contain_accepted_client() {
    let for_clients = |clients: &[&str]| AcceptedIdTokens {
        audiences: clients.iter().map(|client| (*client).to_owned()).collect(),
        ..AcceptedIdTokens::default()
    };
    assert_eq!(validation_outcome(&for_clients(&["x", "them"]), "", ""), "ok");
    for unmatched in [&["x"][..], &[""], &[], &["US"], &["u"]] {
        let outcome = validation_outcome(&for_clients(unmatched), "", "");
        assert!(outcome.contains("Unacceptable audience in id_token: [us them]"), "{outcome}");
    }
    let empty = ExternalIdToken { subject: "7".into(), audience: vec![String::new()], ..ExternalIdToken::default() };
    assert!(empty.validate_audience_and_nonce(&for_clients(&[""]), "").is_err());
    let unmatched = ExternalIdToken { audience: vec!["us".into()], ..ExternalIdToken::default() };
    let outcome = unmatched.validate_audience_and_nonce(&for_clients(&["us"]), "").unwrap_err().to_string();
    assert!(outcome.contains("Missing sub claim in id_token"), "{outcome}");
}

#[test]
fn nonce_must_match_or_be_absent_on_both_sides() {
    let accepted = AcceptedIdTokens { audiences: vec!["us".into()], ..AcceptedIdTokens::default() };
    let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(validation_outcome(&accepted, hash, "abc"), "ok");
    assert_eq!(validation_outcome(&accepted, "", ""), "ok");
    for (in_token, passed, expected) in [
        (hash, "", "either both exist or not"),
        ("", "abc", "either both exist or not"),
        (hash, "abd", "Nonces mismatch"),
        ("abc", "abc", "Nonces mismatch"),
        (&*hash.to_uppercase(), "abc", "Nonces mismatch"),
        (&hash[..63], "abc", "Nonces mismatch"),
    ] {
        let outcome = validation_outcome(&accepted, in_token, passed);
        assert!(outcome.contains(expected), "{in_token} {passed}: {outcome}");
    }
    let unchecked = AcceptedIdTokens { skip_nonce_check: true, ..accepted };
    assert_eq!(validation_outcome(&unchecked, hash, ""), "ok");
}

#[test]
fn access_token_hash_is_left_half() {
    // Examples of OpenID Connect Core, A.3 and A.4.
    let access_token = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y";
    assert!(is_access_token_hash(Algorithm::RS256, access_token, "77QmUPtjPfzWtF2AnpK9RQ"));
    assert!(!is_access_token_hash(Algorithm::RS384, access_token, "77QmUPtjPfzWtF2AnpK9RQ"));
    assert!(!is_access_token_hash(Algorithm::RS256, "stolen", "77QmUPtjPfzWtF2AnpK9RQ"));
    for (algorithm, length) in [(Algorithm::ES256, 22), (Algorithm::PS384, 32), (Algorithm::EdDSA, 43)] {
        let hash =
            URL_SAFE_NO_PAD.encode(&digest(algorithm.digest(), b"a").as_ref()[..algorithm.digest().output_len() / 2]);
        assert_eq!(hash.len(), length);
        assert!(is_access_token_hash(algorithm, "a", &hash));
    }
}

proptest! {
    #[test]
    fn arbitrary_claims_do_not_panic(name in "iss|sub|aud|exp|nbf|iat|nonce|at_hash", number in any::<f64>(), text in ".*") {
        for value in [json!(number), json!(text), json!([number, text]), json!({ &text: number })] {
            let read = parse_now(&claims(&name, value));
            if let Ok(read) = read {
                prop_assert_eq!(read.issuer, "https://i.example.com");
                let _ = profile_from_id_token(&ExternalIdToken { ..parse_now(&claims("sub", json!("7"))).unwrap() });
            }
        }
    }

    #[test]
    fn only_nonce_hash_matches(passed in ".{1,40}", other in ".{0,70}") {
        prop_assert!(!is_nonce_hash(&passed, &other) || other.len() == 64);
        prop_assert!(!is_nonce_hash(&passed, &passed));
    }
}
