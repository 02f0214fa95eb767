use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const NOW: i64 = 1_800_000_000;

fn token(claims: &Value) -> Compact<'static> {
    Compact {
        algorithm: Algorithm::ES256,
        kid: String::new(),
        signed: "".into(),
        signature: Vec::new(),
        claims: claims.clone().into(),
    }
}

fn accept_at(now: Time, issued_at: bool, claims: &Value) -> Result<IdToken, BadToken> {
    IdToken::accept(token(claims), &Expected { issuer: "https://i.example.com", now, issued_at })
}

fn accept(claims: &Value) -> Result<IdToken, BadToken> {
    accept_at(Time::from_timestamp(NOW, 0).unwrap(), false, claims)
}

fn claims(name: &str, value: Value) -> Value {
    let mut claims = json!({"iss": "https://i.example.com", "sub": "7", "aud": "us", "exp": NOW + 60, "iat": NOW});
    claims[name] = value;
    claims
}

#[test]
fn the_claims_of_a_token_are_read() {
    let all = json!({"iss": "https://i.example.com", "sub": "7", "aud": ["us", "them"], "exp": NOW + 1, "nonce": "n",
                     "at_hash": "h", "email": "a@example.com"});
    let read = accept(&all).unwrap();
    assert_eq!((read.subject.as_str(), read.nonce.as_str(), read.access_token_hash.as_str()), ("7", "n", "h"));
    assert_eq!(read.audience, ["us", "them"]);
    assert_eq!(read.claims, Document::from(all));
    assert_eq!(accept(&claims("sub", Value::Null)).unwrap().subject, "");
    // As Go reads it: one empty text.
    assert_eq!(accept(&claims("aud", Value::Null)).unwrap().audience, [""]);
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
        assert!(accept(&claims).is_ok(), "{name}");
    }
}

#[test]
fn a_claim_of_a_wrong_type_makes_a_token_useless() {
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
        assert!(matches!(accept(&claims(name, value)), Err(BadToken::Type(_))), "{name}");
    }
}

#[test]
fn a_token_is_its_issuer_s() {
    for other in ["", "https://i.example.com/", "https://I.example.com", "i.example.com"] {
        assert_eq!(accept(&claims("iss", json!(other))), Err(BadToken::Issuer(other.to_owned())));
    }
    let nobody = Expected { issuer: "", now: Time::from_timestamp(NOW, 0).unwrap(), issued_at: false };
    let refused = IdToken::accept(token(&claims("iss", json!(""))), &nobody);
    assert_eq!(refused, Err(BadToken::Issuer(String::new())));
}

#[test]
fn a_token_has_an_end_and_no_leeway_after_it() {
    let at = |nanos: u32, end: Value| accept_at(Time::from_timestamp(NOW, nanos).unwrap(), false, &claims("exp", end));
    assert!(at(0, json!(NOW)).is_ok());
    assert_eq!(at(1_000, json!(NOW)), Err(BadToken::Expired));
    assert_eq!(at(0, json!(NOW - 1)), Err(BadToken::Expired));
    assert!(matches!(at(0, Value::Null), Err(BadToken::Type(_))));
    assert!(at(1_000, json!(1e300)).is_ok());
    assert_eq!(at(0, json!(-1e300)), Err(BadToken::Expired));
}

#[test]
fn a_clock_ahead_of_ours_is_forgiven_five_minutes() {
    for (seconds, expected) in [(0, true), (300, true), (301, false)] {
        assert_eq!(accept(&claims("nbf", json!(NOW + seconds))).is_ok(), expected, "{seconds}");
        let strictly = |claims: &Value| accept_at(Time::from_timestamp(NOW, 0).unwrap(), true, claims).is_ok();
        assert_eq!(strictly(&claims("iat", json!(NOW + seconds))), expected, "{seconds}");
    }
    assert!(accept(&claims("iat", json!(NOW + 9_999))).is_ok());
    let mut without = claims("sub", json!("7"));
    without.as_object_mut().unwrap().remove("iat");
    let never = accept_at(Time::from_timestamp(NOW, 0).unwrap(), true, &without);
    assert_eq!(never, Err(BadToken::NotYet));
}

/// What a token for `us` with that nonce is answered.
fn admitted(accepted: &Accepted, token_nonce: &str, nonce: &str) -> String {
    let token = IdToken {
        subject: "7".into(),
        audience: vec!["us".into(), "them".into()],
        nonce: token_nonce.into(),
        ..IdToken::default()
    };
    match token.admit(accepted, nonce) {
        Ok(()) => "welcome".to_owned(),
        Err(error) => format!("{error}"),
    }
}

#[test]
fn a_token_is_for_one_of_our_clients() {
    let for_clients = |clients: &[&str]| Accepted {
        clients: clients.iter().map(|client| (*client).to_owned()).collect(),
        ..Accepted::default()
    };
    assert_eq!(admitted(&for_clients(&["x", "them"]), "", ""), "welcome");
    for nobody in [&["x"][..], &[""], &[], &["US"], &["u"]] {
        let said = admitted(&for_clients(nobody), "", "");
        assert!(said.contains("Unacceptable audience in id_token: [us them]"), "{said}");
    }
    let empty = IdToken { subject: "7".into(), audience: vec![String::new()], ..IdToken::default() };
    assert!(empty.admit(&for_clients(&[""]), "").is_err());
    let nobody = IdToken { audience: vec!["us".into()], ..IdToken::default() };
    let said = nobody.admit(&for_clients(&["us"]), "").unwrap_err().to_string();
    assert!(said.contains("Missing sub claim in id_token"), "{said}");
}

#[test]
fn a_nonce_is_given_by_both_or_by_none() {
    let ours = Accepted { clients: vec!["us".into()], ..Accepted::default() };
    let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(admitted(&ours, hash, "abc"), "welcome");
    assert_eq!(admitted(&ours, "", ""), "welcome");
    for (in_token, passed, expected) in [
        (hash, "", "either both exist or not"),
        ("", "abc", "either both exist or not"),
        (hash, "abd", "Nonces mismatch"),
        ("abc", "abc", "Nonces mismatch"),
        (&*hash.to_uppercase(), "abc", "Nonces mismatch"),
        (&hash[..63], "abc", "Nonces mismatch"),
    ] {
        let said = admitted(&ours, in_token, passed);
        assert!(said.contains(expected), "{in_token} {passed}: {said}");
    }
    let unchecked = Accepted { skip_nonce_check: true, ..ours };
    assert_eq!(admitted(&unchecked, hash, ""), "welcome");
}

#[test]
fn the_access_token_s_hash_is_cut_in_half() {
    // The examples of OpenID Connect Core, A.3 and A.4, are of this access token.
    let access_token = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y";
    assert!(is_hash_of(Algorithm::RS256, access_token, "77QmUPtjPfzWtF2AnpK9RQ"));
    assert!(!is_hash_of(Algorithm::RS384, access_token, "77QmUPtjPfzWtF2AnpK9RQ"));
    assert!(!is_hash_of(Algorithm::RS256, "stolen", "77QmUPtjPfzWtF2AnpK9RQ"));
    for (algorithm, letters) in [(Algorithm::ES256, 22), (Algorithm::PS384, 32), (Algorithm::EdDSA, 43)] {
        let hash =
            URL_SAFE_NO_PAD.encode(&digest(algorithm.digest(), b"a").as_ref()[..algorithm.digest().output_len() / 2]);
        assert_eq!(hash.len(), letters);
        assert!(is_hash_of(algorithm, "a", &hash));
    }
}

proptest! {
    #[test]
    fn no_claims_break_the_reader(name in "iss|sub|aud|exp|nbf|iat|nonce|at_hash", number in any::<f64>(), text in ".*") {
        for value in [json!(number), json!(text), json!([number, text]), json!({ &text: number })] {
            let read = accept(&claims(&name, value));
            if let Ok(read) = read {
                prop_assert_eq!(read.issuer, "https://i.example.com");
                let _ = profile(&IdToken { ..accept(&claims("sub", json!("7"))).unwrap() });
            }
        }
    }

    #[test]
    fn only_the_hash_of_a_nonce_is_its_nonce(passed in ".{1,40}", other in ".{0,70}") {
        prop_assert!(!is_nonce(&passed, &other) || other.len() == 64);
        prop_assert!(!is_nonce(&passed, &passed));
    }
}
