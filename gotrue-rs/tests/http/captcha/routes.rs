//! The routes that require a captcha, and the exempt callers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use axum::body::Body;
use gotrue_rs::routes::list_routes;
use gotrue_rs::testing::PASSWORD;
use gotrue_rules::domain::policy::CaptchaProvider;
use http::Request;
use serde_json::json;

use super::{HCAPTCHA, asking, with_token};

/// The protection of a route without a session against automated use.
enum Protection {
    Captcha,
    /// Another protection, described here.
    Other(&'static str),
}
use Protection::{Captcha, Other};

/// Every route without a session. A new route needs a row here.
const OPEN: &[(&str, Protection)] = &[
    ("GET /health", Other("the same response for all clients")),
    ("GET /settings", Other("the same response for all clients")),
    ("GET /.well-known/jwks.json", Other("the same response for all clients")),
    ("GET /.well-known/openid-configuration", Other("the same response for all clients")),
    ("GET /.well-known/oauth-authorization-server", Other("the same response for all clients")),
    ("POST /signup", Captcha),
    ("POST /token", Captcha),
    ("POST /otp", Captcha),
    ("POST /magiclink", Captcha),
    ("POST /recover", Captcha),
    ("POST /resend", Captcha),
    ("POST /sso", Captcha),
    ("POST /passkeys/authentication/options", Captcha),
    ("GET /verify", Other("wants a secret that was sent; limited by address and account")),
    ("POST /verify", Other("wants a secret that was sent; limited by address and account")),
    ("POST /passkeys/authentication/verify", Other("wants a challenge of the route before it, and a key's signature")),
    ("GET /authorize", Other("sends the browser to a provider, which knows its own captchas")),
    ("GET /callback", Other("wants a state of ours and a provider's code")),
    ("POST /callback", Other("wants a state of ours and a provider's code")),
    ("GET /sso/saml/metadata", Other("the same response for all clients")),
    ("POST /sso/saml/acs", Other("wants an identity provider's signature")),
    ("POST /oauth/clients/register", Other("for programs; limited by address")),
    ("GET /oauth/authorize", Other("sends the browser to a page that wants a session")),
    ("POST /oauth/token", Other("wants a client's secret or verifier")),
    ("GET /scim/v2/ServiceProviderConfig", Other("the same response for all clients")),
    ("GET /scim/v2/ResourceTypes", Other("the same response for all clients")),
    ("GET /scim/v2/Schemas", Other("the same response for all clients")),
];

#[test]
fn public_routes_require_captcha_as_documented() {
    let reported: BTreeMap<&str, bool> = OPEN.iter().map(|(route, by)| (*route, matches!(by, Captcha))).collect();
    for (route, by) in OPEN {
        assert!(!matches!(by, Other("")), "{route}: say what keeps machines off it");
    }
    let mut asking = BTreeSet::new();
    for line in list_routes() {
        let route = format!("{} {}", line.method, line.path);
        let asks = line.guards.contains(&"Captcha");
        if line.guards.contains(&"Caller") || line.guards.contains(&"Admin") {
            assert!(!asks, "{route} knows who asks");
            continue;
        }
        let expected = reported.get(&*route);
        assert_eq!(expected, Some(&asks), "{route}: does it send or check something? Say so in OPEN and in the table");
        if asks {
            asking.insert(route);
        }
    }
    assert!(asking.len() >= 3, "only {asking:?} ask: the table is not read");
}

#[tokio::test]
async fn routes_do_nothing_before_the_captcha_is_verified() {
    let (world, internet) = asking(CaptchaProvider::Hcaptcha, Duration::from_secs(10)).await;
    internet.put(HCAPTCHA, 200, &json!({"success": false, "error-codes": ["invalid-input-response"]}));
    for line in list_routes().iter().filter(|line| line.guards.contains(&"Captcha")) {
        let body = json!({"email": "ann@example.com", "password": PASSWORD, "type": "signup"});
        for (body, reason) in
            [(body.clone(), "no captcha_token found"), (with_token(body, "bad"), "invalid-input-response")]
        {
            let answer = world.post(&line.path, body).await;
            assert_eq!(answer.refusal(), (400, "captcha_failed"), "{line:?} {}", answer.text);
            assert!(answer.str("msg").ends_with(&format!("({reason})")), "{line:?} {}", answer.text);
        }
    }
    assert!(world.database.query("SELECT id FROM auth.users").await.is_empty());
    assert!(world.mailbox.all().is_empty());
    let served = world.journal().steps().into_iter().map(|step| format!("{step:?}"));
    assert!(served.clone().all(|step| !step.starts_with("Statement")), "{:?}", served.collect::<Vec<_>>());
}

#[tokio::test]
async fn only_administrators_are_exempt_from_captcha() {
    let (world, internet) = asking(CaptchaProvider::Hcaptcha, Duration::from_secs(10)).await;
    internet.put(HCAPTCHA, 200, &json!({"success": true}));
    let body = json!({"email": "ann@example.com", "password": PASSWORD});
    world.post("/signup", with_token(body.clone(), "solved")).await.expect(200);
    let session = world.post("/token?grant_type=password", with_token(body.clone(), "solved")).await.expect(200);
    internet.take_requests();

    world.post_as(&world.service_token(), "/token?grant_type=password", body.clone()).await.expect(200);
    let now = world.now().timestamp();
    let forged = world.service_token().rsplit_once('.').map(|(signed, _)| format!("{signed}.AAAA")).expect("a token");
    for token in [
        session.str("access_token").to_owned(),
        world.sign_claims(&json!({"role": "anon", "exp": now + 60})),
        world.sign_claims(&json!({"role": "service_role", "exp": now - 1})),
        world.sign_claims(&json!({"role": "service_role", "exp": now + 60, "session_id": uuid::Uuid::from_u128(7)})),
        forged,
    ] {
        let answer = world.post_as(&token, "/token?grant_type=password", body.clone()).await;
        assert_eq!(answer.refusal(), (400, "captcha_failed"), "{}", answer.text);
    }
    assert!(internet.take_requests().is_empty());
}

#[tokio::test]
async fn issued_secrets_exempt_only_their_own_grant_from_captcha() {
    let (world, internet) = asking(CaptchaProvider::Hcaptcha, Duration::from_secs(10)).await;
    internet.put(HCAPTCHA, 200, &json!({"success": true}));
    let body = json!({"email": "ann@example.com", "password": PASSWORD});
    let session = world.post("/signup", with_token(body.clone(), "solved")).await.expect(200);
    world.refresh(session.str("refresh_token")).await.expect(200);
    let answer = world.post("/token?grant_type=pkce", json!({"auth_code": "x", "code_verifier": "y"})).await;
    assert_ne!(answer.str("error_code"), "captcha_failed");

    // Whichever of two grants counts for the guard counts for the route.
    for query in ["grant_type=password&grant_type=refresh_token", "grant_type=password&Grant_Type=pkce"] {
        let answer = world.post(&format!("/token?{query}"), body.clone()).await;
        assert_eq!(answer.refusal(), (400, "captcha_failed"), "{query}");
    }
    let answer = world.post("/token?grant_type=refresh_token&grant_type=password", body.clone()).await;
    assert_ne!(answer.status, 200, "{}", answer.text);
    let form = Request::post("/token?grant_type=refresh_token")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(Body::from("grant_type=password&email=ann@example.com"));
    let answer = world.send(form.expect("a request")).await;
    assert_eq!(answer.refusal(), (400, "bad_json"), "the form's grant counts, and a form brings no captcha");
    for path in ["/signup?grant_type=refresh_token", "/recover?grant_type=pkce", "/signup/?grant_type=id_token"] {
        assert_eq!(world.post(path, body.clone()).await.refusal(), (400, "captcha_failed"), "{path}");
    }
}
