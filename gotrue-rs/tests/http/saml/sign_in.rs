//! `POST /sso/saml/acs`: user resolution and redirects.

use foundation::limits::{Bucket, LimitKey};
use gotrue_rs::testing::World;
use gotrue_rs::testing::identity_provider::{
    Cipher, IdentityProvider, NEXT_SERVICE_KEY, SERVICE_KEY, SamlAssertion, acs_form_request, encrypt_assertion,
};
use gotrue_rules::domain::policy::Policy;
use serde_json::json;

use super::company::{AcsResponse, CALLBACK, Company, create_provider, with_saml};

#[tokio::test]
async fn response_to_a_request_signs_in_once() {
    let company = Company::new().await;
    let requested = company.start(json!({"redirect_to": CALLBACK})).await;
    let reported = SamlAssertion { session_not_on_or_after: Some(3600), ..company.assertion_for_request(&requested) };
    let response = company.idp.signed_response(&reported);
    let arrived = company.post_response(&requested, &response).await;
    assert!(arrived.url().as_str().starts_with("https://app.example.com/callback#access_token="), "{}", arrived.url());
    assert_eq!(arrived.0.header("sb-auth-user-id"), arrived.claims()["sub"]);
    let user = company.world.get_as(&arrived.token(), "/user").await.expect(200);
    assert_eq!((user.str("email"), user.str("identities/0/id")), ("ann@example.com", "ann-at-work"));
    let provider = format!("sso:{}", company.id);
    assert_eq!(user.str("app_metadata/provider"), provider);
    assert_eq!(arrived.claims()["amr"][0]["method"], "sso/saml");
    assert_eq!(arrived.claims()["amr"][0]["provider"], company.id);
    let again = company.post_response(&requested, &response).await.refusal();
    assert_eq!(again.0, "saml_relay_state_not_found");
    company.world.advance(chrono::TimeDelta::seconds(3601));
    let refreshed = company.world.refresh(&arrived.fragment("refresh_token")).await;
    assert_eq!(refreshed.refusal(), (400, "session_expired"), "the session ends with the one there");
}

#[tokio::test]
async fn pkce_flow_returns_a_code() {
    let company = Company::new().await;
    let verifier = "v".repeat(43);
    let pkce = json!({"code_challenge": verifier, "code_challenge_method": "plain", "redirect_to": CALLBACK});
    let request = company.start(pkce).await;
    let arrived =
        company.post_response(&request, &company.idp.signed_response(&company.assertion_for_request(&request))).await;
    assert_eq!((arrived.0.status.as_u16(), arrived.url().fragment()), (302, None));
    let body = json!({"auth_code": arrived.query("code"), "code_verifier": verifier});
    let session = company.world.post("/token?grant_type=pkce", body.clone()).await.expect(200);
    assert_eq!(session.str("user/email"), "ann@example.com");
    assert_eq!(company.world.post("/token?grant_type=pkce", body).await.refusal(), (404, "flow_state_not_found"));
}

#[tokio::test]
async fn idp_initiated_sign_in_uses_relay_state() {
    let company = Company::new().await;
    for (serial, target, expected) in [
        ("a1", "", "http://shop.example.com"),
        ("a2", CALLBACK, CALLBACK),
        ("a3", "https://evil.example.com/", "http://shop.example.com"),
        ("a4", "/local", "http://shop.example.com"),
    ] {
        let response = company.idp.signed_response(&SamlAssertion { id: serial.to_owned(), ..company.assertion() });
        let arrived = AcsResponse(company.world.send(acs_form_request(&response, Some(target))).await);
        assert_eq!(arrived.0.header("location").split('#').next(), Some(expected));
        assert!(!arrived.token().is_empty());
    }
}

#[tokio::test]
async fn attributes_become_metadata_as_mapped() {
    let keys = json!({"name": {"name": "displayName"}, "groups": {"name": "groups", "array": true}, "site": {"name": "s", "default": "Basel"}});
    let company = Company::mapping(World::with(with_saml).await, keys).await;
    let attribute =
        |name: &str, values: &[&str]| (name.to_owned(), values.iter().map(|value| (*value).to_owned()).collect());
    let reported = |name: &str, id: &str| SamlAssertion {
        id: id.to_owned(),
        attributes: vec![
            attribute("mail", &["ann@example.com"]),
            attribute("displayName", &[name]),
            attribute("groups", &["staff", "chess"]),
        ],
        ..company.assertion()
    };
    let first = company.post_unsolicited_response(&company.idp.signed_response(&reported("Ann", "a1"))).await;
    let metadata = first.claims()["user_metadata"].clone();
    assert_eq!(metadata["name"], "Ann");
    assert_eq!(metadata["custom_claims"], json!({"groups": ["staff", "chess"], "site": "Basel"}));
    let second = company.post_unsolicited_response(&company.idp.signed_response(&reported("Ann Example", "a2"))).await;
    assert_eq!(second.claims()["user_metadata"]["name"], "Ann Example", "the newest word counts");
    assert_eq!(second.claims()["sub"], first.claims()["sub"]);
}

#[tokio::test]
async fn b1_sso_users_are_separate_from_other_users() {
    let company = Company::new().await;
    let ann = company.world.create_user("ann@example.com").await;
    let arrived = company.post_unsolicited_response(&company.idp.signed_response(&company.assertion())).await;
    assert_ne!(arrived.claims()["sub"], json!(ann.id), "an address is no proof of an account elsewhere");
    let other = IdentityProvider::with_unrelated_key("https://other.example.com/metadata");
    create_provider(&company.world, &other, "b.example.com", json!({})).await;
    let reported = SamlAssertion { issuer: other.entity_id.clone(), ..company.assertion() };
    let there = company.post_unsolicited_response(&other.signed_response(&reported)).await;
    assert_ne!(there.claims()["sub"], arrived.claims()["sub"], "nor is a name of another company's");
}

#[tokio::test]
async fn errors_redirect_to_the_site() {
    let company = Company::new().await;
    let response =
        company.idp.signed_response(&SamlAssertion { not_on_or_after: -600, not_before: -900, ..company.assertion() });
    let (code, words) = company.post_unsolicited_response(&response).await.refusal();
    assert_eq!((code.as_str(), words), ("validation_failed", format!("SAML Assertion is not valid {response}")));
    let nameless = SamlAssertion { format: gotrue_rules::domain::sso::TRANSIENT.to_owned(), ..company.assertion() };
    assert_eq!(
        company.post_unsolicited_response(&company.idp.signed_response(&nameless)).await.refusal().0,
        "saml_assertion_no_user_id"
    );
    let addressless = SamlAssertion { attributes: Vec::new(), ..company.assertion() };
    assert_eq!(
        company.post_unsolicited_response(&company.idp.signed_response(&addressless)).await.refusal().0,
        "saml_assertion_no_email"
    );
    let unknown = SamlAssertion { issuer: "https://unknown.example.com".into(), ..company.assertion() };
    assert_eq!(
        company.post_unsolicited_response(&company.idp.signed_response(&unknown)).await.refusal().0,
        "saml_idp_not_found"
    );
}

#[tokio::test]
async fn b5_disabled_provider_is_refused() {
    let company = Company::new().await;
    let requested = company.start(json!({})).await;
    company.change(json!({"disabled": true})).await;
    let response = company.idp.signed_response(&company.assertion_for_request(&requested));
    let expected = "SSO Provider assigned for this domain is currently disabled";
    for arrived in
        [company.post_response(&requested, &response).await, company.post_unsolicited_response(&response).await]
    {
        assert_eq!(arrived.refusal(), ("sso_provider_disabled".to_owned(), expected.to_owned()));
    }
}

#[tokio::test]
async fn b3_request_is_answered_once_in_time_and_by_its_provider() {
    let company = Company::new().await;
    let code = |arrived: AcsResponse| arrived.refusal().0;
    let requested = company.start(json!({})).await;
    let unasked = company.idp.signed_response(&company.assertion());
    assert_eq!(code(company.post_response(&requested, &unasked).await), "validation_failed", "it answers nothing");
    let response = company.idp.signed_response(&company.assertion_for_request(&requested));
    assert_eq!(code(company.post_response(&requested, &response).await), "saml_relay_state_not_found", "one try it is");
    let (requested, other) = (company.start(json!({})).await, company.start(json!({})).await);
    let crossed = company.idp.signed_response(&company.assertion_for_request(&other));
    assert_eq!(
        code(company.post_response(&requested, &crossed).await),
        "validation_failed",
        "it answers another request"
    );
    let unrelated = IdentityProvider::with_unrelated_key("https://other.example.com/metadata");
    create_provider(&company.world, &unrelated, "b.example.com", json!({})).await;
    let requested = company.start(json!({})).await;
    let reported = SamlAssertion { issuer: unrelated.entity_id.clone(), ..company.assertion_for_request(&requested) };
    assert_eq!(
        code(company.post_response(&requested, &unrelated.signed_response(&reported)).await),
        "validation_failed",
        "none was requested"
    );
    let requested = company.start(json!({})).await;
    company.world.advance(chrono::TimeDelta::seconds(120));
    let late = company.idp.signed_response(&company.assertion_for_request(&requested));
    assert_eq!(code(company.post_response(&requested, &late).await), "saml_relay_state_expired");
    assert_eq!(code(company.post_response(&requested, &late).await), "saml_relay_state_not_found");
}

#[tokio::test]
async fn encrypted_assertions_are_accepted_if_enabled() {
    let world =
        World::builder().policy(with_saml).policy(|policy| policy.saml.allow_encrypted_assertions = true).build().await;
    let allowed = Company::in_world(world).await;
    let refusing = Company::new().await;
    for (id, key) in [("a1", SERVICE_KEY), ("a2", NEXT_SERVICE_KEY)] {
        let reported = SamlAssertion { id: id.to_owned(), ..allowed.assertion() };
        let response = reported.response_xml(&encrypt_assertion(
            &allowed.idp.signed(&reported.assertion_xml(), id),
            key,
            Cipher::Gcm,
        ));
        assert!(!allowed.post_unsolicited_response(&response).await.token().is_empty());
        assert_eq!(refusing.post_unsolicited_response(&response).await.refusal().0, "validation_failed");
    }
}

#[tokio::test]
async fn disabled_sign_up_applies_to_saml() {
    let world = World::builder().policy(with_saml).policy(|policy| policy.sign_up.disabled = true).build().await;
    let company = Company::in_world(world).await;
    let arrived = company.post_unsolicited_response(&company.idp.signed_response(&company.assertion())).await;
    assert_eq!((arrived.refusal().0.as_str(), arrived.query("error").as_str()), ("signup_disabled", "access_denied"));
}

#[tokio::test]
async fn responses_are_rate_limited() {
    let one = Bucket { burst: 1.0, ..Bucket::per_five_minutes(1.0) };
    let world = World::builder()
        .policy(with_saml)
        .policy(|policy| {
            policy.limits.saml_assertion = one;
            policy.limits.key = LimitKey::Header("x-client".to_owned());
        })
        .build()
        .await;
    let company = Company::in_world(world).await;
    let send = || async {
        let mut request = acs_form_request("", None);
        request.headers_mut().insert("x-client", "192.0.2.7".parse().expect("an address"));
        company.world.send(request).await.status.as_u16()
    };
    assert_eq!((send().await, send().await), (303, 429));
}

#[tokio::test]
async fn asserted_address_lies_in_a_domain_of_the_provider_if_required() {
    for (is_required, address, domain, is_signed_in) in [
        (true, "ann@a.example.com", "a.example.com", true),
        (true, "ann@A.EXAMPLE.com", "a.example.com", true),
        (true, "ann@b.example.com", "a.example.com", false),
        (true, "ann@x.a.example.com", "a.example.com", false),
        (true, "ann@a.example.com.evil.example", "a.example.com", false),
        (true, "a.example.com@evil.example", "a.example.com", false),
        (false, "ann@b.example.com", "a.example.com", true),
        (true, "ann@b.example.com", "", true),
    ] {
        let require = |policy: &mut Policy| policy.saml.requires_provider_domain = is_required;
        let company = Company::in_world(World::builder().policy(with_saml).policy(require).build().await).await;
        if domain.is_empty() {
            company.world.database.query("DELETE FROM auth.sso_domains").await;
        }
        let mail = ("mail".to_owned(), vec![address.to_owned()]);
        let asserted = SamlAssertion { attributes: vec![mail], ..company.assertion() };
        let response = company.idp.signed_response(&asserted);
        let arrived = AcsResponse(company.world.send(acs_form_request(&response, Some(CALLBACK))).await);
        let location = arrived.0.header("location").to_owned();
        assert_eq!(location.contains("access_token="), is_signed_in, "{address} {domain}: {location}");
        let users = company.world.database.query("SELECT count(*)::text FROM auth.users").await;
        assert_eq!(users == ["1"], is_signed_in, "{address} {domain}");
    }
}
