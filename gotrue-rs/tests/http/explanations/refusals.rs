//! What the explanation of each refusal says.

use std::time::Duration;

use chrono::TimeDelta;
use foundation::limits::{Bucket, LimitKey};
use foundation::secret::Secret;
use gotrue_rs::testing::{HookServer, RedirectTarget, World, json_response};
use gotrue_rules::domain::policy::{CaptchaPolicy, CaptchaProvider, Policy};
use http::Method;
use serde_json::{Value, json};

use super::explanation;

const ANN: &str = "ann@example.com";

async fn world(change: impl FnOnce(&mut Policy)) -> World {
    World::builder().with_explanations().policy(change).build().await
}

/// Name of the decision, variable of the setting, and remedy.
fn summary(shown: &Value) -> [&str; 3] {
    [&shown["decision"]["name"], &shown["setting"]["variable"], &shown["remedy"]]
        .map(|value| value.as_str().unwrap_or_default())
}

#[tokio::test]
async fn unlisted_redirect_names_the_entry_to_add() {
    let world = world(|_| {}).await;
    world.create_user(ANN).await;
    let path = "/recover?redirect_to=https://app.example.org/welcome%23x";
    let answer = world.post(path, json!({"email": ANN})).await.expect(200);
    let shown = explanation(&world, &answer);
    let remedy = "Add \"https://app.example.org/welcome\" to GOTRUE_URI_ALLOW_LIST, or send a target that is listed.";
    assert_eq!(summary(&shown), ["redirect.not_listed", "GOTRUE_URI_ALLOW_LIST", remedy]);
    assert_eq!(shown["setting"]["value"], "https://app.example.org/welcome");
    assert_eq!(shown["decision"]["inputs"]["site_url"], "http://shop.example.com");
    assert_eq!(shown["is_refused"], false);
    assert_eq!(shown["messages"][0]["kind"], "recovery");
    assert!(world.link(ANN).contains("redirect_to=http://shop.example.com"), "the site URL is used");
}

#[tokio::test]
async fn used_superseded_expired_and_unknown_links_differ() {
    let world = world(|_| {}).await;
    world.create_user(ANN).await;
    let recover = async || {
        world.advance(TimeDelta::seconds(1));
        world.post("/recover", json!({"email": ANN})).await.expect(200);
        world.link(ANN)
    };
    let (first, second) = (recover().await, recover().await);
    world.advance(TimeDelta::seconds(4));
    let superseded = explanation(&world, &world.get(&first).await.expect(303));
    assert_eq!(superseded["decision"]["name"], "one_time_link.superseded");
    assert_eq!(superseded["decision"]["reason"], "A newer message replaced the link 4 s ago.");
    assert_eq!(superseded["code"], "otp_expired");
    let used_by = world.get(&second).await.expect(303);
    assert!(!used_by.headers.contains_key("x-basalt-explain"));
    world.advance(TimeDelta::seconds(7));
    let used = explanation(&world, &world.get(&second).await.expect(303));
    assert_eq!(used["decision"]["name"], "one_time_link.used");
    assert_eq!(used["decision"]["inputs"]["used_by"]["route"], "GET /verify");
    assert_eq!(used["decision"]["reason"], "The link was used 7 s ago; it works once.");
    let third = recover().await;
    world.advance(TimeDelta::days(2));
    let expired = explanation(&world, &world.get(&third).await.expect(303));
    assert_eq!(summary(&expired)[..2], ["one_time_link.expired", "GOTRUE_MAILER_OTP_EXP"]);
    assert_eq!(expired["decision"]["inputs"]["expired_seconds_ago"], 2 * 86_400 - 86_400);
    let unknown = explanation(&world, &world.get("/verify?type=recovery&token=unknown").await.expect(303));
    assert_eq!(unknown["decision"]["name"], "one_time_link.unknown");
}

#[tokio::test]
async fn wrong_code_differs_from_a_used_one() {
    let world = world(|_| {}).await;
    world.create_user(ANN).await;
    world.post("/recover", json!({"email": ANN})).await.expect(200);
    let verify = |code: String| json!({"type": "recovery", "email": ANN, "token": code});
    let code = world.code(ANN);
    let wrong = if code == "123456" { "654321" } else { "123456" };
    let shown = explanation(&world, &world.post("/verify", verify(wrong.to_owned())).await.expect(403));
    assert_eq!(shown["decision"]["name"], "one_time_code.wrong");
    world.post("/verify", verify(code.clone())).await.expect(200);
    let shown = explanation(&world, &world.post("/verify", verify(code)).await.expect(403));
    assert_eq!(shown["decision"]["name"], "one_time_code.used");
    assert_eq!(shown["decision"]["inputs"]["used_by"]["route"], "POST /verify");
}

#[tokio::test]
async fn lost_verifier_and_repeated_exchange_are_explained() {
    let world = world(|_| {}).await;
    world.create_user(ANN).await;
    let verifier = "v".repeat(43);
    let body = json!({"email": ANN, "code_challenge": verifier, "code_challenge_method": "plain"});
    world.post("/recover", body).await.expect(200);
    let target = RedirectTarget::from_response(&world.get(&world.link(ANN)).await.expect(303));
    let code = target.query("code").to_owned();
    let exchange = async |verifier: &str| {
        world.post("/token?grant_type=pkce", json!({"auth_code": code, "code_verifier": verifier})).await
    };
    let missing = explanation(&world, &exchange("").await.expect(400));
    assert_eq!(missing["decision"]["name"], "pkce.verifier_missing");
    let other = explanation(&world, &exchange(&"w".repeat(43)).await.expect(400));
    assert_eq!(
        (&other["decision"]["name"], &other["code"]),
        (&json!("pkce.verifier_mismatch"), &json!("bad_code_verifier"))
    );
    assert!(other["remedy"].as_str().is_some_and(|remedy| remedy.contains("localhost and 127.0.0.1")));
    exchange(&verifier).await.expect(200);
    let repeated = explanation(&world, &exchange(&verifier).await.expect(404));
    assert_eq!(repeated["decision"]["name"], "pkce.code_used");
    assert_eq!(repeated["decision"]["inputs"]["exchanged_by"]["route"], "POST /token");
}

#[tokio::test]
async fn unconfirmed_address_is_explained_with_its_setting() {
    let world = world(|_| {}).await;
    world.post("/signup", json!({"email": ANN, "password": "correct horse"})).await.expect(200);
    let shown = explanation(&world, &world.try_password(ANN, "correct horse").await.expect(400));
    assert_eq!(summary(&shown)[..2], ["sign_in.unconfirmed", "GOTRUE_MAILER_AUTOCONFIRM"]);
    assert_eq!(shown["decision"]["inputs"]["confirmation_sent_at"], "2026-06-01T12:00:00+00:00");
    assert!(shown["remedy"].as_str().is_some_and(|remedy| remedy.contains("/_dev/inbox")), "{shown}");
}

#[tokio::test]
async fn wrong_credentials_differ_in_development() {
    let world = world(|_| {}).await;
    world.create_user(ANN).await;
    let known = explanation(&world, &world.try_password(ANN, "wrong").await.expect(400));
    assert_eq!(known["decision"]["name"], "sign_in.wrong_password");
    let unknown = explanation(&world, &world.try_password("no@example.com", "wrong").await.expect(400));
    assert_eq!(unknown["decision"]["name"], "sign_in.unknown_account");
    assert_eq!(known["message"], unknown["message"]);
}

#[tokio::test]
async fn disabled_and_unknown_providers_are_explained() {
    let world = world(|_| {}).await;
    let shown = explanation(&world, &world.get("/authorize?provider=github").await.expect(400));
    let remedy = "Set GOTRUE_EXTERNAL_GITHUB_ENABLED to true, with client id and secret of the provider.";
    assert_eq!(summary(&shown), ["provider.disabled", "GOTRUE_EXTERNAL_GITHUB_ENABLED", remedy]);
    assert_eq!(shown["setting"]["value"], "false");
    let shown = explanation(&world, &world.get("/authorize?provider=gihtub").await.expect(400));
    assert_eq!(shown["decision"]["name"], "provider.unknown");
    let known = shown["decision"]["inputs"]["known"].as_array().expect("a list");
    assert!(known.contains(&json!("github")), "{shown}");
}

#[tokio::test]
async fn disabled_sign_up_names_the_setting() {
    let world = world(|policy| policy.sign_up.disabled = true).await;
    let answer = world.post("/signup", json!({"email": ANN, "password": "correct horse"})).await.expect(422);
    let shown = explanation(&world, &answer);
    assert_eq!(
        (&shown["setting"]["variable"], &shown["setting"]["value"]),
        (&json!("GOTRUE_DISABLE_SIGNUP"), &json!("true"))
    );
    assert_eq!(shown["documentation"]["file"], "docs/errors.md#sign-up-and-sign-in");
}

#[tokio::test]
async fn weak_password_names_rule_and_length() {
    let world = world(|policy| {
        policy.password.min_length = 10;
        policy.password.required_characters = vec!["0123456789".to_owned()];
    })
    .await;
    let answer = world.post("/signup", json!({"email": ANN, "password": "horse"})).await.expect(422);
    let shown = explanation(&world, &answer);
    assert_eq!(summary(&shown)[..2], ["password.weak", "GOTRUE_PASSWORD_MIN_LENGTH"]);
    let inputs = &shown["decision"]["inputs"];
    assert_eq!((&inputs["length"], &inputs["minimum_length"]), (&json!(5), &json!(10)));
    assert_eq!(inputs["missing_characters"], json!(["0123456789"]));
    assert!(!shown.to_string().contains("horse"), "{shown}");
}

#[tokio::test]
async fn rate_limit_names_setting_remainder_and_reset() {
    let world = world(|policy| {
        policy.limits.key = LimitKey::Header("X-Forwarded-For".to_owned());
        policy.limits.otp = Bucket { events: 1.0, per: Duration::from_mins(1), burst: 1.0, ..policy.limits.otp };
    })
    .await;
    let headers = [("x-forwarded-for", "192.0.2.7")];
    let recover = async || world.request(Method::POST, "/recover", &headers, Some(json!({"email": ANN}))).await;
    recover().await.expect(200);
    world.advance(TimeDelta::seconds(20));
    let shown = explanation(&world, &recover().await.expect(429));
    let remedy = "Wait 40 s, or raise GOTRUE_RATE_LIMIT_OTP.";
    assert_eq!(summary(&shown), ["rate_limit.exceeded", "GOTRUE_RATE_LIMIT_OTP", remedy]);
    let inputs = &shown["decision"]["inputs"];
    let values = ["limit", "remaining", "reset_seconds", "reset_at", "counted", "counted_by"].map(|name| &inputs[name]);
    let expected = ["1 in 60 s, burst 1", "0", "40", "2026-06-01T12:01:00+00:00", "password recoveries", "192.0.2.7"];
    let texts = values.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    assert_eq!(texts, expected.map(str::to_owned));
    assert_eq!(shown["refusing_guard"], "Limit(Recover)");
}

#[tokio::test]
async fn message_that_follows_too_soon_names_the_interval() {
    let world = world(|policy| policy.mail.max_frequency = Duration::from_mins(1)).await;
    world.create_user(ANN).await;
    world.post("/recover", json!({"email": ANN})).await.expect(200);
    world.advance(TimeDelta::seconds(15));
    let shown = explanation(&world, &world.post("/recover", json!({"email": ANN})).await.expect(429));
    assert_eq!(summary(&shown)[..2], ["rate_limit.exceeded", "GOTRUE_SMTP_MAX_FREQUENCY"]);
    assert_eq!(shown["decision"]["inputs"]["reset_seconds"], 45);
}

#[tokio::test]
async fn missing_captcha_is_explained() {
    let world = world(|policy| {
        let (provider, secret) = (CaptchaProvider::default(), Secret::new("captcha-secret"));
        policy.security.captcha = Some(CaptchaPolicy { provider, secret, timeout: Duration::from_secs(1) });
    })
    .await;
    let shown = explanation(&world, &world.post("/recover", json!({"email": ANN})).await.expect(400));
    assert_eq!(summary(&shown)[..2], ["captcha.refused", "GOTRUE_SECURITY_CAPTCHA_ENABLED"]);
    let inputs = &shown["decision"]["inputs"];
    assert_eq!((&inputs["provider"], &inputs["reason"]), (&json!("Hcaptcha"), &json!("no captcha_token found")));
    assert_eq!(shown["refusing_guard"], "Captcha");
}

#[tokio::test]
async fn token_times_are_explained_in_seconds() {
    let world = world(|_| {}).await;
    let now = world.now().timestamp();
    let user = async |claims: Value| {
        let answer = world.get_as(&world.sign_claims(&claims), "/user").await.expect(403);
        explanation(&world, &answer)
    };
    let early = user(json!({"sub": "x", "exp": now + 3600, "nbf": now + 90})).await;
    assert_eq!(early["decision"]["name"], "token.clock_skew");
    assert_eq!(early["decision"]["inputs"]["clock_skew_seconds"], 90);
    assert_eq!(early["decision"]["inputs"]["server_time"], "2026-06-01T12:00:00+00:00");
    let late = user(json!({"sub": "x", "exp": now - 5})).await;
    assert_eq!(late["decision"]["name"], "token.expired");
    assert_eq!(late["decision"]["inputs"]["expired_seconds_ago"], 5);
    let foreign = world.get_as("not.a.token", "/user").await.expect(403);
    assert_eq!(explanation(&world, &foreign)["decision"]["name"], "token.invalid");
}

#[tokio::test]
async fn refused_preflight_names_the_headers() {
    let world = world(|_| {}).await;
    let headers = [
        ("origin", "https://app.example.com"),
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "authorization,x-shop-trace"),
    ];
    let answer = world.request(Method::OPTIONS, "/token", &headers, None).await.expect(204);
    let shown = explanation(&world, &answer);
    let remedy = "Do not send them from pages, or add them to GOTRUE_CORS_ALLOWED_HEADERS: x-shop-trace";
    assert_eq!(summary(&shown), ["cors.preflight", "GOTRUE_CORS_ALLOWED_HEADERS", remedy]);
    assert_eq!(shown["decision"]["inputs"]["origin"], "https://app.example.com");
    let allowed = [headers[0], headers[1], ("access-control-request-headers", "authorization")];
    let answer = world.request(Method::OPTIONS, "/token", &allowed, None).await.expect(204);
    assert!(!answer.headers.contains_key("x-basalt-explain"));
}

#[tokio::test]
async fn reused_refresh_token_is_explained_with_both_uses() {
    let world = world(|policy| policy.refresh.reuse_interval = Duration::from_secs(10)).await;
    let ann = world.create_user(ANN).await;
    let body = json!({"refresh_token": ann.refresh_token});
    let headers = [("user-agent", "first-tab"), ("x-forwarded-for", "192.0.2.1")];
    let path = "/token?grant_type=refresh_token";
    let next = world.request(Method::POST, path, &headers, Some(body.clone())).await.expect(200);
    world.refresh(next.str("refresh_token")).await.expect(200);
    world.advance(TimeDelta::seconds(60));
    let headers = [("user-agent", "second-tab"), ("x-forwarded-for", "192.0.2.2")];
    let shown = explanation(&world, &world.request(Method::POST, path, &headers, Some(body)).await.expect(400));
    let setting = "GOTRUE_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL";
    assert_eq!(summary(&shown)[..2], ["refresh_token.reused", setting]);
    let inputs = &shown["decision"]["inputs"];
    assert_eq!(
        (&inputs["first_use"], &inputs["second_use"]),
        (&json!("2026-06-01T12:00:00+00:00"), &json!("2026-06-01T12:01:00+00:00"))
    );
    assert_eq!((&inputs["seconds_between"], &inputs["reuse_interval_seconds"]), (&json!(60), &json!(10)));
    let first = &inputs["first_used_by"];
    assert_eq!((&first["user_agent"], &first["client"]), (&json!("first-tab"), &json!("192.0.2.1")));
    assert_eq!((&inputs["second_user_agent"], &inputs["second_client"]), (&json!("second-tab"), &json!("192.0.2.2")));
}

#[tokio::test]
async fn hook_refusal_names_the_hook() {
    let receiver = HookServer::start().await;
    let hook = receiver.hook("/hook?key=secret-of-the-url", &[]);
    let world = world(|policy| policy.hooks.before_user_created = Some(hook)).await;
    receiver
        .respond("/hook", |_| json_response(200, &json!({"error": {"http_code": 403, "message": "no such domain"}})));
    let answer = world.post("/signup", json!({"email": ANN, "password": "correct horse"})).await.expect(403);
    let shown = explanation(&world, &answer);
    assert_eq!(summary(&shown)[..2], ["hook.refused", "GOTRUE_HOOK_BEFORE_USER_CREATED_URI"]);
    let inputs = &shown["decision"]["inputs"];
    let values = [&inputs["hook"], &inputs["status"], &inputs["message"]];
    assert_eq!(values, [&json!("before-user-created"), &json!(403), &json!("no such domain")]);
    assert!(!shown.to_string().contains("secret-of-the-url"), "{shown}");
}

#[tokio::test]
async fn ended_session_names_the_request_that_ended_it() {
    let world = world(|_| {}).await;
    let ann = world.create_user(ANN).await;
    let other = world.sign_in(ANN).await;
    world.post_as(&other.access_token, "/logout?scope=others", json!({})).await.expect(204);
    let shown = explanation(&world, &world.get_as(&ann.access_token, "/user").await.expect(403));
    assert_eq!((&shown["code"], &shown["decision"]["name"]), (&json!("session_not_found"), &json!("session.ended")));
    assert_eq!(shown["decision"]["inputs"]["ended_by"]["route"], "POST /logout");
    world.get_as(&other.access_token, "/user").await.expect(200);
    let third = world.sign_in(ANN).await;
    world.put_as(&third.access_token, "/user", json!({"password": "another horse"})).await.expect(200);
    let shown = explanation(&world, &world.get_as(&other.access_token, "/user").await.expect(403));
    assert_eq!(shown["decision"]["inputs"]["ended_by"]["route"], "PUT /user");
}

#[tokio::test]
async fn timed_out_session_names_the_limit() {
    let world = world(|policy| policy.sessions.timebox = Some(Duration::from_hours(1))).await;
    let ann = world.create_user(ANN).await;
    world.advance(TimeDelta::hours(2));
    let shown = explanation(&world, &world.refresh(&ann.refresh_token).await.expect(400));
    let remedy = "Sign in again, or raise GOTRUE_SESSIONS_TIMEBOX.";
    assert_eq!(summary(&shown), ["session.timebox", "GOTRUE_SESSIONS_TIMEBOX", remedy]);
    assert_eq!(shown["decision"]["inputs"]["limit_seconds"], 3600);
}
