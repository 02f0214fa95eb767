//! The verification request to the captcha provider and the handling of its responses.

use std::collections::HashMap;
use std::time::Duration;

use gotrue_rs::testing::PASSWORD;
use gotrue_rules::domain::policy::CaptchaProvider;
use http::Method;
use serde_json::json;
use url::form_urlencoded;

use super::{HCAPTCHA, TURNSTILE, asking, with_token};

const LONG: Duration = Duration::from_secs(10);

#[tokio::test]
async fn verification_request_is_a_form_with_secret_token_and_address() {
    for (provider, url) in [(CaptchaProvider::Hcaptcha, HCAPTCHA), (CaptchaProvider::Turnstile, TURNSTILE)] {
        let (world, internet) = asking(provider, LONG).await;
        internet.put(url, 200, &json!({"success": true, "hostname": "shop.example.com"}));
        let body = with_token(json!({"email": "ann@example.com", "password": PASSWORD}), "  a token&secret=other ");
        let headers = [("x-forwarded-for", "203.0.113.5")];
        world.request(Method::POST, "/signup", &headers, Some(body)).await.expect(200);
        let requests = internet.take_requests();
        let [requests] = &requests[..] else { panic!("{} requests", requests.len()) };
        assert_eq!((requests.method.as_str(), requests.url.as_str()), ("POST", url));
        assert_eq!(requests.headers["content-type"], "application/x-www-form-urlencoded");
        let form: HashMap<_, _> = form_urlencoded::parse(requests.body.as_bytes()).into_owned().collect();
        let expected = [("secret", "the-secret"), ("response", "a token&secret=other"), ("remoteip", "203.0.113.5")];
        assert_eq!(form, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    }
}

#[tokio::test]
async fn missing_verdict_is_refused() {
    let (world, internet) = asking(CaptchaProvider::Hcaptcha, Duration::from_millis(400)).await;
    let body = with_token(json!({"email": "ann@example.com", "password": PASSWORD}), "a-token");
    for answer in [
        "<html>".to_owned(),
        String::new(),
        r#"{"success":"true"}"#.to_owned(),
        r#"{"success":true,"error-codes":"none"}"#.to_owned(),
        r#"[{"success":true}]"#.to_owned(),
        format!(r#"{{"success":true,"x":"{}"}}"#, "x".repeat(100_000)),
    ] {
        internet.put(HCAPTCHA, 200, &answer);
        let refused = world.post("/signup", body.clone()).await;
        assert_eq!(refused.refusal(), (500, "unexpected_failure"), "{answer:.50}");
        assert_eq!(refused.str("msg"), "captcha verification process failed");
    }
    internet.put_late(HCAPTCHA, 200, &json!({"success": true}), Duration::from_millis(900));
    assert_eq!(world.post("/signup", body.clone()).await.refusal(), (500, "unexpected_failure"), "too late");
    assert!(world.database.query("SELECT id FROM auth.users").await.is_empty());
}

#[tokio::test]
async fn refusal_contains_the_providers_error_codes() {
    let (world, internet) = asking(CaptchaProvider::Turnstile, LONG).await;
    let body = with_token(json!({"email": "ann@example.com", "password": PASSWORD}), "a-token");
    for (answer, reasons) in [
        (json!({"success": false, "error-codes": ["a", "b"]}), "a, b"),
        (json!({"success": false, "error-codes": null}), ""),
        (json!(null), ""),
        (json!({"success": false, "error-codes": ["<script>\u{7f}"]}), "<script>\u{7f}"),
    ] {
        internet.put(TURNSTILE, 200, &answer);
        let refused = world.post("/signup", body.clone()).await;
        assert_eq!(refused.refusal(), (400, "captcha_failed"));
        assert_eq!(refused.str("msg"), format!("captcha protection: request disallowed ({reasons})"));
    }
}

#[tokio::test]
async fn captcha_verification_holds_no_database_connection() {
    let (world, internet) = asking(CaptchaProvider::Hcaptcha, LONG).await;
    internet.put(HCAPTCHA, 200, &json!({"success": true}));
    world.post("/signup", with_token(json!({"email": "ann@example.com", "password": PASSWORD}), "x")).await.expect(200);
    let steps: Vec<String> = world.journal().steps().into_iter().map(|step| format!("{step:?}")).collect();
    let call = steps.iter().position(|step| step.contains("captcha.verify")).expect("it was called");
    assert!(steps[..call].iter().all(|step| step.starts_with("Guard")), "{steps:?}");
}
