//! Providers whose token response contains the profile.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::super::super::id_token::ExternalIdToken;
use super::super::super::profile::ProviderProfile;
use super::super::super::provider::{IdTokenCheck, ProfileContext, ProfileStep, ProviderResponseError};
use super::super::find;
use super::{basic_claims, settings, single_email, token};
use crate::wire::go_json::Document;

const APPLE: &str = "https://appleid.apple.com";
const GOOGLE: &str = "https://accounts.google.com";
const LINKEDIN: &str = "https://www.linkedin.com/oauth";
const VERCEL: &str = "https://marketplace.vercel.com";
const TENANT: &str = "https://login.microsoftonline.com/t-1/v2.0";

/// The next step after a token response with these members, before any check.
fn first_step(name: &str, url: &str, members: Value) -> Result<ProfileStep, ProviderResponseError> {
    let (settings, token) = (settings(url), token(members));
    let known = ProfileContext { settings: &settings, token: &token, id_token: None, userinfo_url: "", responses: &[] };
    find(name).unwrap().next_step(&known)
}

/// The profile of a verified ID token.
fn profile_of_verified_token(name: &str, issuer: &str, claims: Value) -> ProviderProfile {
    let (settings, token) = (settings(""), token(json!({"id_token": "a.b.c"})));
    let Value::Object(mut claims) = claims else { panic!("claims are an object") };
    claims.insert("iss".to_owned(), json!(issuer));
    claims.insert("sub".to_owned(), json!("7"));
    let claims = Document::from(claims);
    let id_token =
        ExternalIdToken { issuer: issuer.to_owned(), subject: "7".to_owned(), claims, ..ExternalIdToken::default() };
    let known = ProfileContext {
        settings: &settings,
        token: &token,
        id_token: Some(&id_token),
        userinfo_url: "",
        responses: &[],
    };
    match find(name).unwrap().next_step(&known).unwrap() {
        ProfileStep::Done(profile) => *profile,
        other => panic!("{name}: {other:?}"),
    }
}

fn id_token_from(issuer: &str) -> String {
    format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(json!({"iss": issuer}).to_string()))
}

#[test]
fn id_token_is_checked_against_expected_issuer() {
    let of = |issuer: &str| IdTokenCheck { issuer: issuer.to_owned(), ..IdTokenCheck::default() };
    let table = [
        ("google", "", of(GOOGLE)),
        ("linkedin_oidc", "", of(LINKEDIN)),
        ("vercel_marketplace", "", of(VERCEL)),
        ("apple", "", IdTokenCheck { allows_any_issuer: true, ..of(APPLE) }),
        ("azure", "", IdTokenCheck { is_issuer_from_token: true, ..of(TENANT) }),
        ("azure", "https://login.microsoftonline.com/t-1", of(TENANT)),
    ];
    for (name, url, check) in table {
        let step = first_step(name, url, json!({"id_token": id_token_from(TENANT)}));
        assert_eq!(step, Ok(ProfileStep::CheckIdToken(check)), "{name}");
    }
}

#[test]
fn missing_id_token_is_handled_per_provider() {
    for members in [json!({}), json!({"id_token": null})] {
        assert_eq!(
            first_step("google", "", members.clone()),
            Ok(ProfileStep::fetch("https://www.googleapis.com/userinfo/v2/me"))
        );
        for name in ["apple", "linkedin_oidc"] {
            assert_eq!(first_step(name, "", members.clone()), Ok(ProfileStep::Done(Box::default())), "{name}");
        }
        for name in ["azure", "vercel_marketplace"] {
            assert!(first_step(name, "", members.clone()).is_err(), "{name}");
        }
    }
    // An empty or non-string ID token counts as present and fails verification.
    for members in [json!({"id_token": ""}), json!({"id_token": 7})] {
        assert_eq!(first_step("google", "", members), Ok(ProfileStep::check_id_token(GOOGLE)));
    }
}

#[test]
fn google_uses_userinfo_without_id_token() {
    let answer =
        |verified: &str| json!({"id": "7", "name": "Ann", "picture": "pic", "email": "a@x.example", verified: true});
    for (member, verified) in [("verified_email", true), ("email_verified", true), ("verified", false)] {
        let (settings, token, answers) = (settings(""), token(json!({})), [Document::from(answer(member))]);
        let known = ProfileContext {
            settings: &settings,
            token: &token,
            id_token: None,
            userinfo_url: "",
            responses: &answers,
        };
        let Ok(ProfileStep::Done(user)) = find("google").unwrap().next_step(&known) else {
            panic!("expected a profile")
        };
        let mut data = user.claims.identity_data();
        data.retain(|name, _| !name.ends_with("_verified"));
        assert_eq!(Value::Object(data), basic_claims("https://www.googleapis.com/userinfo/v2/me", json!({})));
        assert_eq!(
            user.emails.into_iter().map(|email| (email.address, email.verified, email.primary)).collect::<Vec<_>>(),
            single_email("a@x.example", verified)
        );
    }
}

#[test]
fn azure_rejects_tokens_of_other_tenants() {
    for url in ["https://login.microsoftonline.com/t-2", "https://shop.ciamlogin.com/t-1"] {
        assert!(first_step("azure", url, json!({"id_token": id_token_from(TENANT)})).is_err(), "{url}");
    }
    for odd in ["https://login.microsoftonline.com/../v2.0", "https://issuer.example", ""] {
        assert!(first_step("azure", "", json!({"id_token": id_token_from(odd)})).is_err(), "{odd}");
    }
    assert!(first_step("azure", "", json!({"id_token": "a.b.c"})).is_err());
    let elsewhere = first_step(
        "azure",
        "https://sign-in.example.com/tenant",
        json!({"id_token": id_token_from("https://issuer.example")}),
    );
    assert!(matches!(elsewhere, Ok(ProfileStep::CheckIdToken(check)) if check.is_issuer_from_token));
}

#[test]
fn profile_comes_from_id_token_claims() {
    let claims = json!({"email": "a@x.example", "email_verified": true, "name": "Ann"});
    for (name, issuer) in [("google", GOOGLE), ("apple", APPLE), ("azure", TENANT)] {
        let user = profile_of_verified_token(name, issuer, claims.clone());
        assert_eq!((user.claims.issuer.as_str(), user.claims.subject.as_str()), (issuer, "7"), "{name}");
        let address =
            user.emails.iter().map(|email| (email.address.clone(), email.verified, email.primary)).collect::<Vec<_>>();
        assert_eq!(address, single_email("a@x.example", true), "{name}");
    }
    let user = profile_of_verified_token(
        "linkedin_oidc",
        LINKEDIN,
        json!({"email": "a@x.example", "email_verified": "true", "given_name": "Ann"}),
    );
    assert_eq!((user.claims.name.as_str(), user.emails[0].verified), ("Ann", true));
    let user = profile_of_verified_token(
        "vercel_marketplace",
        VERCEL,
        json!({"user_email": "a@x.example", "user_name": "Ann", "global_user_id": "9"}),
    );
    assert_eq!((user.claims.subject.as_str(), user.claims.name.as_str()), ("global_user_id:9", "Ann"));
}

#[test]
fn apple_name_comes_from_user_field() {
    let apple = find("apple").unwrap();
    let named = |user: &str| {
        apple
            .apply_user_field(user, ProviderProfile::default())
            .map(|profile| (profile.claims.name, profile.claims.full_name))
    };
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
fn workos_profile_comes_from_token_response() {
    let profile = json!({"id": "7", "connection_id": "c", "organization_id": "o", "connection_type": "OktaSAML", "email": "a@x.example",
                         "first_name": "Ann", "last_name": "", "object": "profile", "idp_id": "1", "raw_attributes": {}});
    let Ok(ProfileStep::Done(user)) = first_step("workos", "https://base.example", json!({"profile": profile})) else {
        panic!("expected a profile")
    };
    let mut data = user.claims.identity_data();
    data.retain(|name, _| !name.ends_with("_verified"));
    let more =
        json!({"picture": null, "avatar_url": null, "custom_claims": {"connection_id": "c", "organization_id": "o"}});
    assert_eq!(Value::Object(data), basic_claims("https://base.example", more));
    assert_eq!((user.emails.len(), user.emails[0].verified), (1, true));
    let Ok(ProfileStep::Done(empty)) = first_step("workos", "", json!({})) else { panic!("expected an empty profile") };
    assert_eq!(empty.claims.subject, "");
    for bad in [json!("text"), json!([profile]), json!({"id": 7})] {
        assert!(first_step("workos", "", json!({"profile": bad})).is_err());
    }
}
