//! `POST /sso/saml/acs`: who is signed in, and where they go.

use gotrue_rs::testing::World;
use gotrue_rs::testing::identity_provider::{
    Cipher, IdentityProvider, NEXT_SERVICE_KEY, SERVICE_KEY, Said, encrypted, form,
};
use gotrue_rules::domain::policy::{Bucket, LimitKey};
use serde_json::json;

use super::company::{Arrived, CALLBACK, Company, found, with_saml};

#[tokio::test]
async fn an_answer_to_our_request_signs_in_once() {
    let company = Company::new().await;
    let asked = company.start(json!({"redirect_to": CALLBACK})).await;
    let said = Said { session_ends: Some(3600), ..company.said_to(&asked) };
    let response = company.idp.respond(&said);
    let arrived = company.answer(&asked, &response).await;
    assert!(arrived.url().as_str().starts_with("https://app.example.com/callback#access_token="), "{}", arrived.url());
    assert_eq!(arrived.0.header("sb-auth-user-id"), arrived.claims()["sub"]);
    let user = company.world.get_as(&arrived.token(), "/user").await.expect(200);
    assert_eq!((user.str("email"), user.str("identities/0/id")), ("ann@example.com", "ann-at-work"));
    let provider = format!("sso:{}", company.id);
    assert_eq!(user.str("app_metadata/provider"), provider);
    assert_eq!(arrived.claims()["amr"][0]["method"], "sso/saml");
    assert_eq!(arrived.claims()["amr"][0]["provider"], company.id);
    let again = company.answer(&asked, &response).await.refusal();
    assert_eq!(again.0, "saml_relay_state_not_found");
    company.world.advance(chrono::TimeDelta::seconds(3601));
    let refreshed = company.world.refresh(&arrived.fragment("refresh_token")).await;
    assert_eq!(refreshed.refusal(), (400, "session_expired"), "the session ends with the one there");
}

#[tokio::test]
async fn with_pkce_a_code_comes_back() {
    let company = Company::new().await;
    let verifier = "v".repeat(43);
    let pkce = json!({"code_challenge": verifier, "code_challenge_method": "plain", "redirect_to": CALLBACK});
    let asked = company.start(pkce).await;
    let arrived = company.answer(&asked, &company.idp.respond(&company.said_to(&asked))).await;
    assert_eq!((arrived.0.status.as_u16(), arrived.url().fragment()), (302, None));
    let body = json!({"auth_code": arrived.query("code"), "code_verifier": verifier});
    let session = company.world.post("/token?grant_type=pkce", body.clone()).await.expect(200);
    assert_eq!(session.str("user/email"), "ann@example.com");
    assert_eq!(company.world.post("/token?grant_type=pkce", body).await.refusal(), (404, "flow_state_not_found"));
}

#[tokio::test]
async fn an_identity_provider_may_start_and_say_where_to_go() {
    let company = Company::new().await;
    for (serial, target, expected) in [
        ("a1", "", "http://shop.example.com"),
        ("a2", CALLBACK, CALLBACK),
        ("a3", "https://evil.example.com/", "http://shop.example.com"),
        ("a4", "/local", "http://shop.example.com"),
    ] {
        let response = company.idp.respond(&Said { id: serial.to_owned(), ..company.said() });
        let arrived = Arrived(company.world.send(form(&response, Some(target))).await);
        assert_eq!(arrived.0.header("location").split('#').next(), Some(expected));
        assert!(!arrived.token().is_empty());
    }
}

#[tokio::test]
async fn attributes_become_metadata_as_mapped() {
    let keys = json!({"name": {"name": "displayName"}, "groups": {"name": "groups", "array": true}, "site": {"name": "s", "default": "Basel"}});
    let company = Company::mapping(World::with(with_saml).await, keys).await;
    let attribute = |name: &str, values: &[&str]| (name.to_owned(), values.iter().map(|it| (*it).to_owned()).collect());
    let said = |name: &str, id: &str| Said {
        id: id.to_owned(),
        attributes: vec![
            attribute("mail", &["ann@example.com"]),
            attribute("displayName", &[name]),
            attribute("groups", &["staff", "chess"]),
        ],
        ..company.said()
    };
    let first = company.bring(&company.idp.respond(&said("Ann", "a1"))).await;
    let metadata = first.claims()["user_metadata"].clone();
    assert_eq!(metadata["name"], "Ann");
    assert_eq!(metadata["custom_claims"], json!({"groups": ["staff", "chess"], "site": "Basel"}));
    let second = company.bring(&company.idp.respond(&said("Ann Example", "a2"))).await;
    assert_eq!(second.claims()["user_metadata"]["name"], "Ann Example", "the newest word counts");
    assert_eq!(second.claims()["sub"], first.claims()["sub"]);
}

#[tokio::test]
async fn b1_people_of_a_company_are_apart_from_everybody_else() {
    let company = Company::new().await;
    let ann = company.world.person("ann@example.com").await;
    let arrived = company.bring(&company.idp.respond(&company.said())).await;
    assert_ne!(arrived.claims()["sub"], json!(ann.id), "an address is no proof of an account elsewhere");
    let other = IdentityProvider::stranger("https://other.example.com/metadata");
    found(&company.world, &other, "b.example.com", json!({})).await;
    let said = Said { issuer: other.entity_id.clone(), ..company.said() };
    let there = company.bring(&other.respond(&said)).await;
    assert_ne!(there.claims()["sub"], arrived.claims()["sub"], "nor is a name of another company's");
}

#[tokio::test]
async fn a_refusal_is_told_to_the_site() {
    let company = Company::new().await;
    let response = company.idp.respond(&Said { until: -600, from: -900, ..company.said() });
    let (code, words) = company.bring(&response).await.refusal();
    assert_eq!((code.as_str(), words), ("validation_failed", format!("SAML Assertion is not valid {response}")));
    let nameless = Said { format: gotrue_rules::domain::sso::TRANSIENT.to_owned(), ..company.said() };
    assert_eq!(company.bring(&company.idp.respond(&nameless)).await.refusal().0, "saml_assertion_no_user_id");
    let addressless = Said { attributes: Vec::new(), ..company.said() };
    assert_eq!(company.bring(&company.idp.respond(&addressless)).await.refusal().0, "saml_assertion_no_email");
    let unknown = Said { issuer: "https://unknown.example.com".into(), ..company.said() };
    assert_eq!(company.bring(&company.idp.respond(&unknown)).await.refusal().0, "saml_idp_not_found");
}

#[tokio::test]
async fn b5_a_company_that_is_switched_off_signs_nobody_in() {
    let company = Company::new().await;
    let asked = company.start(json!({})).await;
    company.change(json!({"disabled": true})).await;
    let response = company.idp.respond(&company.said_to(&asked));
    let expected = "SSO Provider assigned for this domain is currently disabled";
    for arrived in [company.answer(&asked, &response).await, company.bring(&response).await] {
        assert_eq!(arrived.refusal(), ("sso_provider_disabled".to_owned(), expected.to_owned()));
    }
}

#[tokio::test]
async fn b3_a_request_is_answered_once_in_time_and_by_whom_it_was_sent_to() {
    let company = Company::new().await;
    let code = |arrived: Arrived| arrived.refusal().0;
    let asked = company.start(json!({})).await;
    let unasked = company.idp.respond(&company.said());
    assert_eq!(code(company.answer(&asked, &unasked).await), "validation_failed", "it answers nothing");
    let response = company.idp.respond(&company.said_to(&asked));
    assert_eq!(code(company.answer(&asked, &response).await), "saml_relay_state_not_found", "one try it is");
    let (asked, other) = (company.start(json!({})).await, company.start(json!({})).await);
    let crossed = company.idp.respond(&company.said_to(&other));
    assert_eq!(code(company.answer(&asked, &crossed).await), "validation_failed", "it answers another request");
    let stranger = IdentityProvider::stranger("https://other.example.com/metadata");
    found(&company.world, &stranger, "b.example.com", json!({})).await;
    let asked = company.start(json!({})).await;
    let said = Said { issuer: stranger.entity_id.clone(), ..company.said_to(&asked) };
    assert_eq!(code(company.answer(&asked, &stranger.respond(&said)).await), "validation_failed", "nobody asked them");
    let asked = company.start(json!({})).await;
    company.world.advance(chrono::TimeDelta::seconds(120));
    let late = company.idp.respond(&company.said_to(&asked));
    assert_eq!(code(company.answer(&asked, &late).await), "saml_relay_state_expired");
    assert_eq!(code(company.answer(&asked, &late).await), "saml_relay_state_not_found");
}

#[tokio::test]
async fn encrypted_assertions_are_read_where_they_are_allowed() {
    let world =
        World::builder().policy(with_saml).policy(|policy| policy.saml.allow_encrypted_assertions = true).build().await;
    let allowed = Company::within(world).await;
    let refusing = Company::new().await;
    for (id, key) in [("a1", SERVICE_KEY), ("a2", NEXT_SERVICE_KEY)] {
        let said = Said { id: id.to_owned(), ..allowed.said() };
        let response = said.response(&encrypted(&allowed.idp.signed(&said.assertion(), id), key, Cipher::Gcm));
        assert!(!allowed.bring(&response).await.token().is_empty());
        assert_eq!(refusing.bring(&response).await.refusal().0, "validation_failed");
    }
}

#[tokio::test]
async fn sign_ups_that_are_closed_are_closed_here_too() {
    let world = World::builder().policy(with_saml).policy(|policy| policy.sign_up.disabled = true).build().await;
    let company = Company::within(world).await;
    let arrived = company.bring(&company.idp.respond(&company.said())).await;
    assert_eq!((arrived.refusal().0.as_str(), arrived.query("error").as_str()), ("signup_disabled", "access_denied"));
}

#[tokio::test]
async fn responses_are_limited() {
    let one = Bucket { burst: 1.0, ..Bucket::in_five_minutes(1.0) };
    let world = World::builder()
        .policy(with_saml)
        .policy(|policy| {
            policy.limits.saml_assertion = one;
            policy.limits.key = LimitKey::Header("x-client".to_owned());
        })
        .build()
        .await;
    let company = Company::within(world).await;
    let send = || async {
        let mut request = form("", None);
        request.headers_mut().insert("x-client", "192.0.2.7".parse().expect("an address"));
        company.world.send(request).await.status.as_u16()
    };
    assert_eq!((send().await, send().await), (303, 429));
}
