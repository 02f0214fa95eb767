//! Flows that end in a code (PKCE), for everything that is mailed.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::TimeDelta;
use gotrue_rs::testing::{PASSWORD, World};
use serde_json::{Map, Value, json};

const ANN: &str = "ann@example.com";
const NEW: &str = "new@example.com";
const VERIFIER: &str = "a-verifier-that-is-long-enough-to-be-a-challenge";

/// The flows: request, recipient of the mail, and the authentication method of the session.
const FLOWS: [(&str, &str, &str); 6] = [
    ("/signup", ANN, "email/signup"),
    ("/otp", ANN, "magiclink"),
    ("/magiclink", ANN, "magiclink"),
    ("/recover", ANN, "recovery"),
    ("/resend", NEW, "email_change"),
    ("/user", NEW, "email_change"),
];

/// Asks in a flow with that challenge.
async fn request_flow(path: &str, challenge: &str, method: &str) -> World {
    let world = World::with(|policy| policy.mail.secure_email_change = false).await;
    let with = |body: Value| {
        let mut body: Map<String, Value> = serde_json::from_value(body).expect("an object");
        body.insert("code_challenge".into(), challenge.into());
        body.insert("code_challenge_method".into(), method.into());
        Value::Object(body)
    };
    if path == "/signup" {
        world.post(path, with(json!({"email": ANN, "password": PASSWORD}))).await.expect(200);
        return world;
    }
    let ann = world.create_user(ANN).await;
    world.advance(TimeDelta::seconds(1));
    if path == "/resend" {
        world.put_as(&ann.access_token, "/user", json!({"email": NEW})).await.expect(200);
        world.advance(TimeDelta::seconds(1));
    }
    match path {
        "/user" => world.put_as(&ann.access_token, path, with(json!({"email": NEW}))).await,
        "/resend" => world.post(path, with(json!({"email": ANN, "type": "email_change"}))).await,
        _ => world.post(path, with(json!({"email": ANN}))).await,
    }
    .expect(200);
    world
}

fn s256(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()))
}

async fn code_of(world: &World, to: &str) -> String {
    let followed = world.get(&world.link(to)).await.expect(303);
    let location = url::Url::parse(followed.header("location")).expect("a URL");
    assert_eq!(location.fragment(), None, "no token travels with a code");
    let code = location.query_pairs().find(|(name, _)| name == "code").map(|(_, code)| code.into_owned());
    code.unwrap_or_else(|| panic!("no code in {location}"))
}

#[tokio::test]
async fn every_flow_ends_in_a_session_with_plain_and_s256_challenges() {
    for (path, to, method) in FLOWS {
        for (challenge, how) in [(VERIFIER.to_owned(), "plain"), (s256(VERIFIER), "S256")] {
            let world = request_flow(path, &challenge, how).await;
            let exchange = json!({"auth_code": code_of(&world, to).await, "code_verifier": VERIFIER});
            let session = world.post("/token?grant_type=pkce", exchange.clone()).await.expect(200);
            assert_eq!(session.str("user/email"), to, "{path} {how}");
            let claims = session.str("access_token").split('.').nth(1).expect("a token").to_owned();
            let claims = URL_SAFE_NO_PAD.decode(claims).expect("base64url");
            let claims: Value = serde_json::from_slice(&claims).expect("JSON");
            assert_eq!(claims["amr"][0]["method"], json!(method), "{path} {how}");
            let again = world.post("/token?grant_type=pkce", exchange).await;
            assert_eq!(again.refusal(), (404, "flow_state_not_found"), "{path} {how}");
        }
    }
}

#[tokio::test]
async fn wrong_verifier_keeps_the_code_valid() {
    for (challenge, how, wrong) in [
        (VERIFIER.to_owned(), "plain", "another-verifier-that-is-long-enough-to-be-one"),
        (s256(VERIFIER), "s256", &s256(VERIFIER)),
    ] {
        let world = request_flow("/otp", &challenge, how).await;
        let code = code_of(&world, ANN).await;
        let refused = world.post("/token?grant_type=pkce", json!({"auth_code": code, "code_verifier": wrong})).await;
        assert_eq!(refused.refusal(), (400, "bad_code_verifier"));
        let right = json!({"auth_code": code, "code_verifier": VERIFIER});
        world.post("/token?grant_type=pkce", right).await.expect(200);
    }
}

#[tokio::test]
async fn token_hash_or_code_needs_no_pkce_exchange() {
    for (path, to, method) in FLOWS {
        let kind = method.rsplit('/').next().unwrap_or_default();
        for by_hash in [true, false] {
            let world = request_flow(path, VERIFIER, "plain").await;
            let body = if by_hash {
                let hash = super::hash_of(&world.link(to));
                assert!(hash.starts_with("pkce_"), "{hash}");
                json!({"type": kind, "token_hash": hash})
            } else {
                json!({"type": kind, "email": to, "token": world.code(to)})
            };
            let session = world.post("/verify", body).await.expect(200);
            assert_eq!(session.str("user/email"), to, "{path}");
        }
    }
}

#[tokio::test]
async fn unknown_challenge_method_sends_nothing_on_every_route() {
    let world = World::new().await;
    world.create_user(ANN).await;
    world.advance(TimeDelta::seconds(1));
    let mails = world.mailbox.all().len();
    for (path, email) in [("/otp", ANN), ("/otp", NEW), ("/magiclink", ANN), ("/magiclink", NEW), ("/recover", ANN)] {
        let body = json!({"email": email, "code_challenge": VERIFIER, "code_challenge_method": "sha1"});
        world.post(path, body).await.expect(500);
    }
    assert_eq!(world.mailbox.all().len(), mails);
    assert_eq!(world.database.query("SELECT count(*) FROM auth.users").await.concat(), "1");
    assert_eq!(world.database.query("SELECT count(*) FROM auth.flow_state").await.concat(), "0");
}
