//! What an application does: the sign-ins that a recording must be able to repeat.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::Method;
use serde_json::{Value, json};

use super::support::{Application, World, parameter};

const VERIFIER: &str = "a-verifier-of-at-least-forty-three-characters-0123456789";
const ORIGIN: &str = "http://localhost:3000";

/// The settings of the recorded world.
pub(crate) fn settings() -> Value {
    json!({ "profile": "serve", "config": {
        "auth": {
            "site_url": ORIGIN,
            "additional_redirect_urls": ["http://localhost:3000/**"],
            "email": { "enable_confirmations": true },
            "mfa": { "totp": { "enroll_enabled": true, "verify_enabled": true } },
            "passkey": { "enabled": true },
            "webauthn": { "rp_id": "localhost", "rp_display_name": "Shop", "rp_origins": [ORIGIN] },
        },
        "basalt": { "provider": { "stands_in_for": ["github"] } },
    } })
}

fn challenge() -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, VERIFIER.as_bytes()).as_ref())
}

/// Signs up with a password and the mailed code, changes the user, refreshes; returns the session.
pub(crate) async fn sign_up(app: &Application<'_>, email: &str) -> Value {
    let data = json!({
        "full_name": "Zoe Zanzibar", "home": { "lat": 52.520_008_1, "lng": -13.404_954_3 }, "pin": 4711, "salary": 64_250,
        "zip": 10_115, "born": [1985, 4, 23], "updated_at": 482_371_200, "rating": 4.5,
    });
    let body = json!({ "email": email, "password": "My$ecretPassw0rd", "data": data });
    app.post("/signup", body, None).await;
    let refused = json!({ "type": "signup", "email": email, "token": "000000" });
    assert_eq!(app.send(Method::POST, "/verify", Some(refused), None).await.status(), 403);
    let message = app.world.message(email, 1).await;
    let session =
        app.post("/verify", json!({ "type": "signup", "email": email, "token": message["code"] }), None).await;
    let changed = json!({ "data": { "city": "Lower Saxony 12", "theme": "dark" } });
    assert_eq!(app.send(Method::PUT, "/user", Some(changed), Some(&session["access_token"])).await.status(), 200);
    app.post("/token?grant_type=refresh_token", json!({ "refresh_token": session["refresh_token"] }), None).await
}

/// Signs in by a magic link with PKCE.
pub(crate) async fn follow_magic_link(app: &Application<'_>, email: &str) -> Value {
    let body =
        json!({ "email": email, "create_user": true, "code_challenge": challenge(), "code_challenge_method": "s256" });
    app.post("/otp?redirect_to=http%3A%2F%2Flocalhost%3A3000%2Fwelcome", body, None).await;
    let message = app.world.message(email, 1).await;
    let link = message["link"].as_str().expect("a link");
    let (_, query) = link.split_once('?').expect("a query");
    let location = app.location(&format!("/verify?{query}")).await;
    exchange(app, &location).await
}

async fn exchange(app: &Application<'_>, location: &str) -> Value {
    let body = json!({ "auth_code": parameter(location, "code"), "code_verifier": VERIFIER });
    app.post("/token?grant_type=pkce", body, None).await
}

/// Enrols a TOTP factor and verifies it.
pub(crate) async fn enrol_totp(app: &Application<'_>, session: &Value) {
    let token = Some(&session["access_token"]);
    let factor = app.post("/factors", json!({ "factor_type": "totp", "friendly_name": "Zoe's phone" }), token).await;
    let id = factor["id"].as_str().expect("an id");
    let issued = app.post(&format!("/factors/{id}/challenge"), json!({}), token).await;
    let code =
        app.world.test(Method::POST, "/authenticators/totp", Some(json!({ "secret": factor["totp"]["secret"] }))).await;
    let body = json!({ "challenge_id": issued["id"], "code": code["code"] });
    let raised = app.post(&format!("/factors/{id}/verify"), body, token).await;
    let response = app.send(Method::GET, "/user", None, Some(&raised["access_token"])).await;
    assert_eq!(response.status(), 200);
}

/// Registers a passkey and signs in with it.
pub(crate) async fn use_passkey(app: &Application<'_>, session: &Value) {
    let token = Some(&session["access_token"]);
    let started = app.post("/passkeys/registration/options", json!({}), token).await;
    let wanted = json!({ "options": started["options"], "origin": ORIGIN });
    let made = app.world.test(Method::POST, "/authenticators/passkeys", Some(wanted)).await;
    let body = json!({ "challenge_id": started["challenge_id"], "credential": made["credential"] });
    app.post("/passkeys/registration/verify", body, token).await;
    let started = app.post("/passkeys/authentication/options", json!({}), None).await;
    let wanted = json!({ "options": started["options"], "passkey": made["passkey"], "origin": ORIGIN });
    let used = app.world.test(Method::POST, "/authenticators/passkeys", Some(wanted)).await;
    let body = json!({ "challenge_id": started["challenge_id"], "credential": used["credential"] });
    app.post("/passkeys/authentication/verify", body, None).await;
}

/// Signs in at the simulated provider.
pub(crate) async fn sign_in_at_provider(app: &Application<'_>) {
    let query =
        format!("provider=github&redirect_to=http%3A%2F%2Flocalhost%3A3000%2Fback&code_challenge={}", challenge());
    let mut url = app.location(&format!("/authorize?{query}&code_challenge_method=s256")).await;
    let user = json!({ "sub": "77", "email": "octo@corp.example", "email_verified": true });
    app.world.test(Method::POST, "/providers/github/next", Some(user)).await;
    let callback = format!("{}/auth/v1/callback", app.world.text("url"));
    while !url.starts_with(&callback) {
        let response = app.world.client.get(&url).send().await.expect("an answer");
        response.headers()["location"].to_str().expect("text").clone_into(&mut url);
    }
    let location = app.location(&format!("/callback?{}", url.split_once('?').expect("a query").1)).await;
    exchange(app, &location).await;
}

/// Calls a function, which the world need not have.
pub(crate) async fn call_function(app: &Application<'_>) {
    let body = json!({ "otp": 98_123, "cvc": 737, "token": 12_345 });
    let request = app.world.client.post(format!("{}/functions/v1/pay", app.url)).json(&body);
    request.header("apikey", app.world.text("publishable_key")).send().await.expect("an answer");
}

/// Does all of it, in three flows.
pub(crate) async fn use_everything(world: &World, url: String) {
    let app = Application { world, url };
    app.name_flow("sign-up").await;
    let session = sign_up(&app, "zoe.private@corp.example").await;
    enrol_totp(&app, &session).await;
    call_function(&app).await;
    app.name_flow("magic-link").await;
    let session = follow_magic_link(&app, "magic.private@corp.example").await;
    use_passkey(&app, &session).await;
    app.name_flow("social").await;
    sign_in_at_provider(&app).await;
}
