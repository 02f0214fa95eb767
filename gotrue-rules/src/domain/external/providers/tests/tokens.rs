//! Providers that tell of a person in what a code is exchanged for.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::super::super::id_token::IdToken;
use super::super::super::profile::Profile;
use super::super::super::provider::{BadAnswer, IdTokenCheck, Known, Step};
use super::super::find;
use super::{only, settings, token, usual};
use crate::wire::go_json::Document;

const APPLE: &str = "https://appleid.apple.com";
const GOOGLE: &str = "https://accounts.google.com";
const LINKEDIN: &str = "https://www.linkedin.com/oauth";
const VERCEL: &str = "https://marketplace.vercel.com";
const TENANT: &str = "https://login.microsoftonline.com/t-1/v2.0";

/// The next step after a token answer with these members, before any check.
fn first(name: &str, url: &str, members: Value) -> Result<Step, BadAnswer> {
    let (settings, token) = (settings(url), token(members));
    let known = Known { settings: &settings, token: &token, id_token: None, userinfo_url: "", answers: &[] };
    find(name).unwrap().next(&known)
}

/// The person of an ID token that has been checked.
fn checked(name: &str, issuer: &str, claims: Value) -> Profile {
    let (settings, token) = (settings(""), token(json!({"id_token": "a.b.c"})));
    let Value::Object(mut claims) = claims else { panic!("claims are an object") };
    claims.insert("iss".to_owned(), json!(issuer));
    claims.insert("sub".to_owned(), json!("7"));
    let claims = Document::from(claims);
    let id_token = IdToken { issuer: issuer.to_owned(), subject: "7".to_owned(), claims, ..IdToken::default() };
    let known = Known { settings: &settings, token: &token, id_token: Some(&id_token), userinfo_url: "", answers: &[] };
    match find(name).unwrap().next(&known).unwrap() {
        Step::Done(profile) => *profile,
        other => panic!("{name}: {other:?}"),
    }
}

fn signed_by(issuer: &str) -> String {
    format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(json!({"iss": issuer}).to_string()))
}

#[test]
fn an_id_token_is_checked_with_the_keys_of_who_should_have_made_it() {
    let of = |issuer: &str| IdTokenCheck { issuer: issuer.to_owned(), ..IdTokenCheck::default() };
    let table = [
        ("google", "", of(GOOGLE)),
        ("linkedin_oidc", "", of(LINKEDIN)),
        ("vercel_marketplace", "", of(VERCEL)),
        ("apple", "", IdTokenCheck { any_issuer: true, ..of(APPLE) }),
        ("azure", "", IdTokenCheck { told_by_token: true, ..of(TENANT) }),
        ("azure", "https://login.microsoftonline.com/t-1", of(TENANT)),
    ];
    for (name, url, check) in table {
        let step = first(name, url, json!({"id_token": signed_by(TENANT)}));
        assert_eq!(step, Ok(Step::CheckIdToken(check)), "{name}");
    }
}

#[test]
fn without_an_id_token_they_differ() {
    for members in [json!({}), json!({"id_token": null})] {
        assert_eq!(first("google", "", members.clone()), Ok(Step::fetch("https://www.googleapis.com/userinfo/v2/me")));
        for name in ["apple", "linkedin_oidc"] {
            assert_eq!(first(name, "", members.clone()), Ok(Step::Done(Box::default())), "{name}");
        }
        for name in ["azure", "vercel_marketplace"] {
            assert!(first(name, "", members.clone()).is_err(), "{name}");
        }
    }
    // One that is empty or no text is there all the same, and will not pass.
    for members in [json!({"id_token": ""}), json!({"id_token": 7})] {
        assert_eq!(first("google", "", members), Ok(Step::check_id_token(GOOGLE)));
    }
}

#[test]
fn google_s_person_is_asked_about_where_no_id_token_came() {
    let answer =
        |verified: &str| json!({"id": "7", "name": "Ann", "picture": "pic", "email": "a@x.example", verified: true});
    for (member, verified) in [("verified_email", true), ("email_verified", true), ("verified", false)] {
        let (settings, token, answers) = (settings(""), token(json!({})), [Document::from(answer(member))]);
        let known = Known { settings: &settings, token: &token, id_token: None, userinfo_url: "", answers: &answers };
        let Ok(Step::Done(person)) = find("google").unwrap().next(&known) else { panic!("a person was told") };
        let mut data = person.claims.identity_data();
        data.retain(|name, _| !name.ends_with("_verified"));
        assert_eq!(Value::Object(data), usual("https://www.googleapis.com/userinfo/v2/me", json!({})));
        assert_eq!(
            person.emails.into_iter().map(|it| (it.address, it.verified, it.primary)).collect::<Vec<_>>(),
            only("a@x.example", verified)
        );
    }
}

#[test]
fn azure_refuses_tokens_of_another_tenant_than_the_operator_s() {
    for url in ["https://login.microsoftonline.com/t-2", "https://shop.ciamlogin.com/t-1"] {
        assert!(first("azure", url, json!({"id_token": signed_by(TENANT)})).is_err(), "{url}");
    }
    for odd in ["https://login.microsoftonline.com/../v2.0", "https://issuer.example", ""] {
        assert!(first("azure", "", json!({"id_token": signed_by(odd)})).is_err(), "{odd}");
    }
    assert!(first("azure", "", json!({"id_token": "a.b.c"})).is_err());
    let elsewhere =
        first("azure", "https://sign-in.example.com/tenant", json!({"id_token": signed_by("https://issuer.example")}));
    assert!(matches!(elsewhere, Ok(Step::CheckIdToken(check)) if check.told_by_token));
}

#[test]
fn the_claims_of_an_id_token_become_the_person() {
    let claims = json!({"email": "a@x.example", "email_verified": true, "name": "Ann"});
    for (name, issuer) in [("google", GOOGLE), ("apple", APPLE), ("azure", TENANT)] {
        let person = checked(name, issuer, claims.clone());
        assert_eq!((person.claims.issuer.as_str(), person.claims.subject.as_str()), (issuer, "7"), "{name}");
        let address = person.emails.iter().map(|it| (it.address.clone(), it.verified, it.primary)).collect::<Vec<_>>();
        assert_eq!(address, only("a@x.example", true), "{name}");
    }
    let person = checked(
        "linkedin_oidc",
        LINKEDIN,
        json!({"email": "a@x.example", "email_verified": "true", "given_name": "Ann"}),
    );
    assert_eq!((person.claims.name.as_str(), person.emails[0].verified), ("Ann", true));
    let person = checked(
        "vercel_marketplace",
        VERCEL,
        json!({"user_email": "a@x.example", "user_name": "Ann", "global_user_id": "9"}),
    );
    assert_eq!((person.claims.subject.as_str(), person.claims.name.as_str()), ("global_user_id:9", "Ann"));
}

#[test]
fn apple_s_name_comes_with_the_browser() {
    let apple = find("apple").unwrap();
    let named = |user: &str| apple.with_user(user, Profile::default()).map(|it| (it.claims.name, it.claims.full_name));
    let both = |name: &str| Ok((name.to_owned(), name.to_owned()));
    assert_eq!(
        named(r#"{"name":{"firstName":"Ann","lastName":"Example"},"email":"ignored@x.example"}"#),
        both("Ann Example")
    );
    assert_eq!(named(r#"{"name":{"firstName":"Ann"}}"#), both("Ann"));
    assert_eq!(named("{}"), both(""));
    for bad in ["{", "[]", r#"{"name":"Ann"}"#, r#"{"name":{"firstName":7}}"#] {
        assert!(named(bad).is_err(), "{bad}");
    }
}

#[test]
fn workos_puts_the_person_beside_the_token() {
    let profile = json!({"id": "7", "connection_id": "c", "organization_id": "o", "connection_type": "OktaSAML", "email": "a@x.example",
                         "first_name": "Ann", "last_name": "", "object": "profile", "idp_id": "1", "raw_attributes": {}});
    let Ok(Step::Done(person)) = first("workos", "https://base.example", json!({"profile": profile})) else {
        panic!("a person was told")
    };
    let mut data = person.claims.identity_data();
    data.retain(|name, _| !name.ends_with("_verified"));
    let more =
        json!({"picture": null, "avatar_url": null, "custom_claims": {"connection_id": "c", "organization_id": "o"}});
    assert_eq!(Value::Object(data), usual("https://base.example", more));
    assert_eq!((person.emails.len(), person.emails[0].verified), (1, true));
    let Ok(Step::Done(nobody)) = first("workos", "", json!({})) else { panic!("nobody was told") };
    assert_eq!(nobody.claims.subject, "");
    for bad in [json!("text"), json!([profile]), json!({"id": 7})] {
        assert!(first("workos", "", json!({"profile": bad})).is_err());
    }
}
