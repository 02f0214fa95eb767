//! Single sign-on with the SAML identity provider.

use foundation::secret::Secret;
use gotrue_rs::testing::RedirectTarget;
use gotrue_rs::testing::identity_provider::SERVICE_KEY;
use http::{Method, StatusCode};
use platform::testing::Answer;
use serde_json::{Value, json};

use crate::support::{Response, Trial, path_of};

/// A world whose users sign in with the identity provider.
async fn company() -> Trial {
    let trial = Trial::with(|policy| {
        policy.saml.enabled = true;
        policy.saml.private_key = Secret::new(SERVICE_KEY);
    })
    .await;
    let url = trial.simulator.saml_entity_id();
    let metadata = trial.send(Method::GET, &url, &[], "").await;
    assert_eq!(metadata.headers["content-type"], "application/samlmetadata+xml");
    assert_eq!(metadata.text, trial.simulator.saml_metadata().await.expect("metadata"));
    let keys = json!({"email": {"name": "mail"}, "groups": {"name": "groups", "array": true}});
    let mapping = json!({ "keys": keys });
    let body = json!({"type": "saml", "metadata_xml": metadata.text, "domains": ["company.example"],
                      "attribute_mapping": mapping});
    let token = trial.world.service_token();
    trial.world.post_as(&token, "/admin/sso/providers", body).await.expect(201);
    trial
}

/// Starts a sign-in at the auth API and returns the URL at the identity provider.
async fn start(trial: &Trial) -> String {
    let body = json!({"domain": "company.example", "skip_http_redirect": true});
    let url = trial.world.post("/sso", body).await.expect(200).str("url").to_owned();
    assert!(url.contains("/_dev/provider/saml/sso?SAMLRequest="), "{url}");
    url
}

/// Posts the form of a page to the assertion consumer service.
async fn post_back(trial: &Trial, page: &Response) -> Answer {
    assert!(page.text.contains("action=\"http://auth.example.com/sso/saml/acs\""), "{}", page.text);
    let request = http::Request::post("/sso/saml/acs").header("content-type", "application/x-www-form-urlencoded");
    trial.world.send(request.body(page.hidden_fields().into()).expect("a request")).await
}

async fn sign_in(trial: &Trial, body: &Value) -> Answer {
    trial.set_next("saml", body);
    let page = trial.send(Method::GET, &start(trial).await, &[], "").await;
    post_back(trial, &page).await
}

#[tokio::test]
async fn determined_user_signs_in_with_attributes() {
    let trial = company().await;
    let claims = json!({"groups": ["staff & co", "<all>"]});
    let body = json!({"sub": "zoe-at-work", "email": "zoe@company.example", "claims": claims});
    let back = RedirectTarget::from_response(&sign_in(&trial, &body).await.expect(302));
    let user = trial.user(&back).await;
    assert_eq!((user.str("email"), user.str("identities/0/id")), ("zoe@company.example", "zoe-at-work"));
    assert!(user.str("app_metadata/provider").starts_with("sso:"), "{}", user.text);
    let groups = &user.json["identities"][0]["identity_data"]["custom_claims"]["groups"];
    assert_eq!(groups, &json!(["staff & co", "<all>"]));
}

#[tokio::test]
async fn user_is_chosen_on_the_page() {
    let trial = company().await;
    let url = start(&trial).await;
    let page = trial.send(Method::GET, &url, &[], "").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.text.contains("action=\"/_dev/provider/saml/sso?SAMLRequest="), "{}", page.text);
    assert!(trial.simulator.is_page(&path_of(url.split('?').next().expect("a path"))));
    let chosen = trial.send(Method::POST, &url, &[], "person=ann").await;
    let back = RedirectTarget::from_response(&post_back(&trial, &chosen).await.expect(302));
    assert_eq!(trial.user(&back).await.str("email"), "ann@example.com");
    let url = start(&trial).await;
    let denied = trial.send(Method::POST, &url, &[], "person=nobody").await;
    assert!(post_back(&trial, &denied).await.header("location").contains("error="));
}

#[tokio::test]
async fn refused_responses_create_no_session() {
    let trial = company().await;
    for name in ["denied", "bad_signature", "wrong_nonce", "expired_code", "malformed_response", "missing_email"] {
        let answer = sign_in(&trial, &json!({ "scenario": name })).await;
        let shown = format!("{} {}", answer.header("location"), answer.text);
        assert!(!shown.contains("access_token") && shown.contains("error"), "{name}: {shown}");
    }
    trial.set_next("saml", &json!({"scenario": "server_error"}));
    let failed = trial.send(Method::GET, &start(&trial).await, &[], "").await;
    assert_eq!(failed.status, StatusCode::INTERNAL_SERVER_ERROR);
    let answer = sign_in(&trial, &json!({"scenario": "changed_email"})).await.expect(302);
    let user = trial.user(&RedirectTarget::from_response(&answer)).await;
    assert_eq!(user.str("email"), "changed.ann@example.com");
}

#[tokio::test]
async fn slow_response_arrives_after_its_delay() {
    let trial = company().await;
    trial.simulator.saml_metadata().await.expect("a key");
    trial.set_next("saml", &json!({"scenario": "slow_response", "delay_ms": 2000}));
    let url = start(&trial).await;
    let waiting = async {
        trial.clock.wait_for_sleeps(1).await;
        trial.clock.advance(chrono::TimeDelta::seconds(2));
    };
    let (page, ()) = tokio::join!(trial.send(Method::GET, &url, &[], ""), waiting);
    post_back(&trial, &page).await.expect(302);
}

#[tokio::test]
async fn request_of_another_service_is_refused() {
    let trial = company().await;
    let url = trial.simulator.saml_entity_id().replace("/metadata", "/sso");
    for query in ["", "?SAMLRequest=x", "?SAMLRequest=%22%3E%3Cscript%3E"] {
        let refused = trial.send(Method::GET, &format!("{url}{query}"), &[], "").await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST);
        assert!(!refused.text.contains("script"), "{}", refused.text);
    }
}
