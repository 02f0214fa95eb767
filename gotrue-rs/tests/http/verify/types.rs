//! Every token type: requested, then redeemed once by code, by hash and by link.

use chrono::TimeDelta;
use gotrue_rs::testing::{PASSWORD, TestUser, World};
use http::Method;
use platform::testing::Answer;
use serde_json::{Value, json};

use super::hash_of;

const ANN: &str = "ann@example.com";
const NEW: &str = "new@example.com";
const NUMBER: &str = "15550100007";
const OTHER: &str = "15550100008";

/// A kind of mail that a secret is in.
#[derive(Debug, Clone, Copy, PartialEq)]
enum MailedToken {
    SignUp,
    MagicLink,
    Recovery,
    EmailChange,
}
use MailedToken::{EmailChange, MagicLink, Recovery, SignUp};

/// The mails, where they go, the words that redeem them, and the word that a session's link ends in.
const MAILED: [(MailedToken, &str, &[&str]); 4] = [
    (SignUp, ANN, &["signup", "invite", "email"]),
    (MagicLink, ANN, &["magiclink", "recovery", "email"]),
    (Recovery, ANN, &["recovery", "magiclink", "email"]),
    (EmailChange, NEW, &["email_change"]),
];

/// A world in which that mail has been sent.
async fn request_token(mailed: MailedToken) -> World {
    let world = World::with(|policy| policy.mail.secure_email_change = false).await;
    if mailed == SignUp {
        world.post("/signup", json!({"email": ANN, "password": PASSWORD})).await.expect(200);
        return world;
    }
    let ann = world.create_user(ANN).await;
    world.advance(TimeDelta::seconds(1));
    match mailed {
        EmailChange => world.put_as(&ann.access_token, "/user", json!({"email": NEW})).await,
        Recovery => world.post("/recover", json!({"email": ANN})).await,
        _ => world.post("/otp", json!({"email": ANN})).await,
    }
    .expect(200);
    world
}

fn by_code(world: &World, to: &str, kind: &str) -> Value {
    json!({"type": kind, "email": to, "token": world.code(to)})
}

fn by_hash(world: &World, to: &str, kind: &str) -> Value {
    json!({"type": kind, "token_hash": hash_of(&world.link(to))})
}

#[track_caller]
fn is_session(answer: &Answer, to: &str) {
    assert_eq!((answer.status.as_u16(), answer.str("user/email")), (200, to), "{}", answer.text);
}

#[tokio::test]
async fn every_mailed_token_is_redeemed_once_by_code_and_by_hash() {
    for (mailed, to, words) in MAILED {
        for kind in words {
            for body in [by_code, by_hash] {
                let world = request_token(mailed).await;
                let body = body(&world, to, kind);
                is_session(&world.post("/verify", body.clone()).await, to);
                assert_eq!(world.post("/verify", body).await.refusal(), (403, "otp_expired"), "{mailed:?} {kind}");
            }
        }
    }
}

#[tokio::test]
async fn every_mailed_link_works_once() {
    for (mailed, to, words) in MAILED {
        for kind in words {
            let world = request_token(mailed).await;
            let path = format!("/verify?type={kind}&token={}", hash_of(&world.link(to)));
            let first = world.get(&path).await.expect(303);
            let reported = match (*kind, mailed) {
                ("email", SignUp) => "signup",
                ("email", _) => "magiclink",
                (kind, _) => kind,
            };
            let location = first.header("location");
            assert!(location.contains("#access_token="), "{mailed:?} {kind}: {location}");
            assert!(location.ends_with(&format!("type={reported}")), "{mailed:?} {kind}: {location}");
            let again = world.get(&path).await.expect(303);
            assert!(again.header("location").contains("error_code=otp_expired"), "{mailed:?} {kind}");
        }
    }
}

#[tokio::test]
async fn concurrent_redemptions_of_a_mailed_token_succeed_once() {
    for (mailed, to, words) in MAILED {
        let world = request_token(mailed).await;
        let (code, hash) = (by_code(&world, to, words[0]), by_hash(&world, to, words[0]));
        let (one, other) = tokio::join!(world.post("/verify", code), world.post("/verify", hash));
        let won = [&one, &other].into_iter().filter(|answer| answer.status == 200).count();
        assert_eq!(won, 1, "{mailed:?}: {} {}", one.text, other.text);
    }
}

#[tokio::test]
async fn every_mailed_token_expires() {
    for (mailed, to, words) in MAILED {
        let world = request_token(mailed).await;
        world
            .advance(TimeDelta::from_std(world.app.policy.mail.otp_exp).expect("a short time") + TimeDelta::seconds(1));
        for body in [by_code(&world, to, words[0]), by_hash(&world, to, words[0])] {
            assert_eq!(world.post("/verify", body).await.refusal(), (403, "otp_expired"), "{mailed:?}");
        }
    }
}

async fn texting() -> World {
    World::builder().with_phones().build().await
}

fn texted(world: &World, kind: &str, number: &str) -> Value {
    json!({"type": kind, "phone": number, "token": world.phones.latest(number).code})
}

#[tokio::test]
async fn sms_code_signs_up_and_in_once() {
    let world = texting().await;
    for _ in 0..2 {
        world.post("/otp", json!({"phone": NUMBER})).await.expect(200);
        let code = texted(&world, "sms", NUMBER);
        let session = world.post("/verify", code.clone()).await.expect(200);
        assert_eq!(session.str("user/phone"), NUMBER);
        assert_eq!(world.post("/verify", code).await.refusal(), (403, "otp_expired"));
        world.advance(TimeDelta::seconds(1));
    }
    assert_eq!(world.database.query("SELECT count(*) FROM auth.users").await.concat(), "1");
}

#[tokio::test]
async fn sms_code_expires() {
    let world = texting().await;
    world.post("/otp", json!({"phone": NUMBER})).await.expect(200);
    world.advance(TimeDelta::from_std(world.app.policy.sms.otp_exp).expect("a short time") + TimeDelta::seconds(1));
    assert_eq!(world.post("/verify", texted(&world, "sms", NUMBER)).await.refusal(), (403, "otp_expired"));
}

#[tokio::test]
async fn phone_change_code_works_once() {
    let world = texting().await;
    world.post("/otp", json!({"phone": NUMBER})).await.expect(200);
    let ann = TestUser::from_session(&world.post("/verify", texted(&world, "sms", NUMBER)).await);
    world.put_as(&ann.access_token, "/user", json!({"phone": OTHER})).await.expect(200);
    let code = texted(&world, "phone_change", OTHER);
    assert_eq!(world.post("/verify", code.clone()).await.expect(200).str("user/phone"), OTHER);
    assert_eq!(world.post("/verify", code).await.refusal(), (403, "otp_expired"));
}

/// An anonymous user with stored data.
async fn anonymous(world: &World) -> TestUser {
    TestUser::from_session(&world.post("/signup", json!({"data": {"cart": 3}})).await)
}

#[tokio::test]
async fn every_confirmation_makes_an_anonymous_user_permanent_and_keeps_data() {
    let world = World::builder().with_phones().policy(|policy| policy.sign_up.anonymous_enabled = true).build().await;
    for way in ["code", "hash", "link", "text"] {
        let unknown = anonymous(&world).await;
        let email = format!("{way}@example.com");
        let change = if way == "text" { json!({"phone": NUMBER}) } else { json!({"email": email}) };
        let waits = world.put_as(&unknown.access_token, "/user", change).await.expect(200);
        assert_eq!(waits.json["is_anonymous"], json!(true), "{way}");
        match way {
            "code" => world.post("/verify", by_code(&world, &email, "email_change")).await.expect(200),
            "hash" => world.post("/verify", by_hash(&world, &email, "email_change")).await.expect(200),
            "link" => world.get(&world.link(&email)).await.expect(303),
            _ => world.post("/verify", texted(&world, "phone_change", NUMBER)).await.expect(200),
        };
        let refreshed = world.refresh(&unknown.refresh_token).await.expect(200);
        assert_eq!(refreshed.str("user/id"), unknown.id);
        assert_eq!(refreshed.json["user"]["is_anonymous"], json!(false), "{way}");
        assert_eq!(refreshed.json["user"]["user_metadata"]["cart"], json!(3), "{way}");
        let provider = if way == "text" { "phone" } else { "email" };
        assert_eq!(refreshed.json["user"]["app_metadata"]["providers"], json!([provider]), "{way}");
    }
}

#[tokio::test]
async fn sms_code_makes_the_user_with_that_number_permanent() {
    let world = World::with(|policy| {
        policy.sign_up.anonymous_enabled = true;
        policy.sms.test_otp.insert(NUMBER.into(), "111222".into());
    })
    .await;
    let unknown = anonymous(&world).await;
    let path = format!("/admin/users/{}", unknown.id);
    world.put_as(&world.service_token(), &path, json!({"phone": NUMBER})).await.expect(200);
    let session = world.post("/verify", json!({"type": "sms", "phone": NUMBER, "token": "111222"})).await.expect(200);
    assert_eq!(session.json["user"]["is_anonymous"], false);
    assert_eq!(world.decode_claims(session.str("access_token"))["is_anonymous"], false);
}

#[tokio::test]
async fn email_change_of_another_audience_is_refused() {
    let world = request_token(EmailChange).await;
    let headers = [("x-jwt-aud", "other")];
    let refused = world.request(Method::POST, "/verify", &headers, Some(by_code(&world, NEW, "email_change"))).await;
    assert_eq!(refused.refusal(), (403, "otp_expired"));
    world.post("/verify", by_code(&world, NEW, "email_change")).await.expect(200);
}

#[tokio::test]
async fn user_made_permanent_can_sign_in_again() {
    let world = World::with(|policy| policy.sign_up.anonymous_enabled = true).await;
    let unknown = anonymous(&world).await;
    world.put_as(&unknown.access_token, "/user", json!({"email": ANN})).await.expect(200);
    world.post("/verify", by_code(&world, ANN, "email_change")).await.expect(200);
    world.advance(TimeDelta::seconds(1));
    world.post("/otp", json!({"email": ANN, "create_user": false})).await.expect(200);
    let session = world.post("/verify", by_code(&world, ANN, "email")).await.expect(200);
    assert_eq!(session.str("user/id"), unknown.id);
}
