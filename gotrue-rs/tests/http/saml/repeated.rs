//! Replayed assertions: accepted by default, refused with the hardened policy.

use chrono::TimeDelta;
use futures::future::join_all;
use gotrue_rs::testing::identity_provider::{IdentityProvider, SamlAssertion, Signing};
use serde_json::json;

use super::company::Company;

const INVALID: &str = "SAML Assertion is not valid";

#[tokio::test]
async fn assertion_is_reusable_until_expiry_by_default() {
    let company = Company::new().await;
    let response = company.idp.signed_response(&company.assertion());
    let first = company.post_unsolicited_response(&response).await.claims();
    company.world.advance(TimeDelta::seconds(90));
    assert_eq!(company.post_unsolicited_response(&response).await.claims()["sub"], first["sub"]);
    company.world.advance(TimeDelta::seconds(1));
    assert_eq!(company.post_unsolicited_response(&response).await.refusal().0, "validation_failed");
}

#[tokio::test]
async fn b6_hardened_policy_accepts_an_assertion_once() {
    let company = Company::as_served().await;
    let response = company.idp.signed_response(&company.assertion());
    assert!(!company.post_unsolicited_response(&response).await.token().is_empty());
    assert_eq!(
        company.post_unsolicited_response(&response).await.refusal(),
        ("validation_failed".to_owned(), INVALID.to_owned())
    );
    let rewrapped = company.assertion().response_xml(&company.idp.signed(&company.assertion().assertion_xml(), "a1"));
    let signed_anew = company.idp.signed(
        &SamlAssertion { id: "a1".into(), ..company.assertion() }.response_xml(&company.assertion().assertion_xml()),
        "ra1",
    );
    for again in [rewrapped, signed_anew] {
        assert_eq!(company.post_unsolicited_response(&again).await.refusal().1, INVALID, "whatever is around it");
    }
    let other = SamlAssertion { id: "a2".into(), ..company.assertion() };
    assert!(
        !company.post_unsolicited_response(&company.idp.signed_response(&other)).await.token().is_empty(),
        "the next one counts"
    );
}

#[tokio::test]
async fn b6_solicited_response_cannot_be_replayed_as_unsolicited() {
    let company = Company::as_served().await;
    let requested = company.start(json!({})).await;
    let response = company.idp.signed_response(&company.assertion_for_request(&requested));
    assert!(!company.post_response(&requested, &response).await.token().is_empty());
    assert_eq!(company.post_unsolicited_response(&response).await.refusal().1, INVALID);
}

#[tokio::test]
async fn b6_concurrent_replays_succeed_once() {
    let company = Company::as_served().await;
    let response = company.idp.signed_response(&company.assertion());
    let arrived = join_all((0..8).map(|_| company.post_unsolicited_response(&response))).await;
    let sessions = arrived.iter().filter(|arrival| arrival.0.status == 302).count();
    assert_eq!(sessions, 1);
}

#[tokio::test]
async fn expired_assertion_ids_are_deleted() {
    let company = Company::as_served().await;
    for hour in 0..3 {
        let response = company.idp.signed_response(&SamlAssertion { id: format!("a{hour}"), ..company.assertion() });
        assert!(!company.post_unsolicited_response(&response).await.token().is_empty());
        company.world.advance(TimeDelta::hours(1));
    }
    let pool = company.world.database.pool().await;
    let kept: i64 =
        sqlx::query_scalar("SELECT count(*) FROM basalt.saml_assertions").fetch_one(&pool).await.expect("a number");
    assert_eq!(kept, 1);
}

#[tokio::test]
async fn a6_hardened_error_omits_the_saml_response() {
    let company = Company::as_served().await;
    let old = company.idp.signed_response(&SamlAssertion { issued_at: -600, ..company.assertion() });
    assert_eq!(company.post_unsolicited_response(&old).await.refusal().1, INVALID);
}

#[tokio::test]
async fn b6_sha1_is_refused_only_with_hardened_policy() {
    let name = "http://www.w3.org/2000/09/xmldsig#sha1";
    let sha1 = Signing { digest: (&aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY, name), ..Signing::default() };
    let response = |company: &Company| {
        company.assertion().response_xml(&company.idp.signed_as(&company.assertion().assertion_xml(), "a1", &sha1))
    };
    let (recorded, served) = (Company::new().await, Company::as_served().await);
    assert!(!recorded.post_unsolicited_response(&response(&recorded)).await.token().is_empty());
    assert_eq!(served.post_unsolicited_response(&response(&served)).await.refusal().1, INVALID);
}

/// Replaces a part of an assertion: the recorded policy accepts it, the hardened one refuses it.
async fn expect_refusal_only_if_hardened(replace: impl Fn(&str) -> String) {
    let response = |company: &Company| {
        let (complete, xml) = (company.assertion(), company.assertion().assertion_xml());
        let replaced = replace(&xml);
        assert_ne!(replaced, xml, "the assertion has the part");
        complete.response_xml(&company.idp.signed(&replaced, "a1"))
    };
    let (recorded, served) = (Company::new().await, Company::as_served().await);
    assert!(!recorded.post_unsolicited_response(&response(&recorded)).await.token().is_empty());
    assert_eq!(served.post_unsolicited_response(&response(&served)).await.refusal().1, INVALID);
}

const AUDIENCE_END: &str = "</saml:AudienceRestriction>";

#[tokio::test]
async fn b6_assertion_without_audience_is_refused_only_with_hardened_policy() {
    expect_refusal_only_if_hardened(|xml| {
        let (start, rest) = xml.split_once("<saml:AudienceRestriction>").expect("an audience");
        let (_, end) = rest.split_once(AUDIENCE_END).expect("its end");
        format!("{start}{end}")
    })
    .await;
}

#[tokio::test]
async fn b6_assertion_for_a_second_service_is_refused_only_with_hardened_policy() {
    let other = "<saml:AudienceRestriction><saml:Audience>https://other.example.com</saml:Audience>";
    expect_refusal_only_if_hardened(|xml| xml.replace(AUDIENCE_END, &format!("{AUDIENCE_END}{other}{AUDIENCE_END}")))
        .await;
}

#[tokio::test]
async fn b6_assertion_without_bearer_is_refused_only_with_hardened_policy() {
    expect_refusal_only_if_hardened(|xml| xml.replace("cm:bearer", "cm:sender-vouches")).await;
}

#[tokio::test]
async fn b6_forged_responses_are_refused() {
    for company in [Company::new().await, Company::as_served().await] {
        let unrelated = IdentityProvider::with_unrelated_key(super::IDP);
        let good = company.idp.signed_response(&company.assertion());
        for forged in [
            company.assertion().response_xml(&company.assertion().assertion_xml()),
            unrelated.signed_response(&company.assertion()),
            good.replace("ann-at-work", "bob"),
            good.replace("ann@example.com", "bob@example.com"),
        ] {
            assert_eq!(company.post_unsolicited_response(&forged).await.refusal().0, "validation_failed");
        }
    }
}
