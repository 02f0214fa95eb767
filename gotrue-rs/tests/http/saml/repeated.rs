//! An assertion that comes again: as recorded in `gotrue`, refused in `serve`, where refusals tell no more than that.

use chrono::TimeDelta;
use futures::future::join_all;
use gotrue_rs::testing::identity_provider::{IdentityProvider, Said, Signing};
use serde_json::json;

use super::company::Company;

const INVALID: &str = "SAML Assertion is not valid";

#[tokio::test]
async fn without_a_policy_an_assertion_signs_in_until_it_is_too_old() {
    let company = Company::new().await;
    let response = company.idp.respond(&company.said());
    let first = company.bring(&response).await.claims();
    company.world.advance(TimeDelta::seconds(90));
    assert_eq!(company.bring(&response).await.claims()["sub"], first["sub"]);
    company.world.advance(TimeDelta::seconds(1));
    assert_eq!(company.bring(&response).await.refusal().0, "validation_failed");
}

#[tokio::test]
async fn b6_in_serve_an_assertion_counts_once() {
    let company = Company::as_served().await;
    let response = company.idp.respond(&company.said());
    assert!(!company.bring(&response).await.token().is_empty());
    assert_eq!(company.bring(&response).await.refusal(), ("validation_failed".to_owned(), INVALID.to_owned()));
    let rewrapped = company.said().response(&company.idp.signed(&company.said().assertion(), "a1"));
    let signed_anew =
        company.idp.signed(&Said { id: "a1".into(), ..company.said() }.response(&company.said().assertion()), "ra1");
    for again in [rewrapped, signed_anew] {
        assert_eq!(company.bring(&again).await.refusal().1, INVALID, "whatever is around it");
    }
    let other = Said { id: "a2".into(), ..company.said() };
    assert!(!company.bring(&company.idp.respond(&other)).await.token().is_empty(), "the next one counts");
}

#[tokio::test]
async fn b6_the_answer_to_a_request_is_not_brought_again_as_nobodys() {
    let company = Company::as_served().await;
    let asked = company.start(json!({})).await;
    let response = company.idp.respond(&company.said_to(&asked));
    assert!(!company.answer(&asked, &response).await.token().is_empty());
    assert_eq!(company.bring(&response).await.refusal().1, INVALID);
}

#[tokio::test]
async fn b6_of_many_at_once_one_counts() {
    let company = Company::as_served().await;
    let response = company.idp.respond(&company.said());
    let arrived = join_all((0..8).map(|_| company.bring(&response))).await;
    let sessions = arrived.iter().filter(|it| it.0.status == 302).count();
    assert_eq!(sessions, 1);
}

#[tokio::test]
async fn what_nobody_would_accept_any_more_is_forgotten() {
    let company = Company::as_served().await;
    for hour in 0..3 {
        let response = company.idp.respond(&Said { id: format!("a{hour}"), ..company.said() });
        assert!(!company.bring(&response).await.token().is_empty());
        company.world.advance(TimeDelta::hours(1));
    }
    let pool = company.world.database.pool().await;
    let kept: i64 =
        sqlx::query_scalar("SELECT count(*) FROM basalt.saml_assertions").fetch_one(&pool).await.expect("a number");
    assert_eq!(kept, 1);
}

#[tokio::test]
async fn a6_a_refusal_in_serve_does_not_carry_the_response_along() {
    let company = Company::as_served().await;
    let old = company.idp.respond(&Said { issued: -600, ..company.said() });
    assert_eq!(company.bring(&old).await.refusal().1, INVALID);
}

#[tokio::test]
async fn b6_sha1_is_refused_in_serve_only() {
    let name = "http://www.w3.org/2000/09/xmldsig#sha1";
    let sha1 = Signing { digest: (&aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY, name), ..Signing::default() };
    let response =
        |company: &Company| company.said().response(&company.idp.signed_as(&company.said().assertion(), "a1", &sha1));
    let (recorded, served) = (Company::new().await, Company::as_served().await);
    assert!(!recorded.bring(&response(&recorded)).await.token().is_empty());
    assert_eq!(served.bring(&response(&served)).await.refusal().1, INVALID);
}

#[tokio::test]
async fn b6_forgeries_sign_nobody_in() {
    for company in [Company::new().await, Company::as_served().await] {
        let stranger = IdentityProvider::stranger(super::IDP);
        let good = company.idp.respond(&company.said());
        for forged in [
            company.said().response(&company.said().assertion()),
            stranger.respond(&company.said()),
            good.replace("ann-at-work", "bob"),
            good.replace("ann@example.com", "bob@example.com"),
        ] {
            assert_eq!(company.bring(&forged).await.refusal().0, "validation_failed");
        }
    }
}
