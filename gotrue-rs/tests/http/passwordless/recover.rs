use chrono::TimeDelta;
use gotrue_rs::testing::{TestUser, World};
use platform::mail::MailError;
use serde_json::{Value, json};

use super::{VERIFIER, flow_code};
use crate::user::{Acting, create_user};

#[tokio::test]
async fn mailed_code_opens_a_session_once() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    let answer = world.post("/recover", json!({ "email": "ANN@example.com" })).await.expect(200);
    assert_eq!(answer.json, json!({}));
    assert_eq!(world.journal().statements(), ["users.by_email", "one_time_tokens.issue_recovery"]);
    let code = json!({ "type": "recovery", "email": ann.email, "token": world.code(&ann.email) });
    let session = world.post("/verify", code.clone()).await.expect(200);
    assert_eq!(session.str("/user/id"), ann.id);
    assert_eq!(world.post("/verify", code).await.refusal(), (403, "otp_expired"));
    assert_eq!(ann.log(&world).await[2..], ["user_recovery_requested", "login"]);
}

#[tokio::test]
async fn pkce_flow_completes_by_link() {
    let world = World::new().await;
    let TestUser { email, id, .. } = create_user(&world, "ann").await;
    let body = json!({ "email": email, "code_challenge": VERIFIER, "code_challenge_method": "plain" });
    world.post("/recover", body).await.expect(200);
    let code = flow_code(&world, &email).await;
    let exchange = json!({ "auth_code": code, "code_verifier": VERIFIER });
    let session = world.post("/token?grant_type=pkce", exchange).await.expect(200);
    assert_eq!(session.str("/user/id"), id);
}

/// The response does not reveal whether the e-mail address is known.
#[tokio::test]
async fn d3_unknown_email_gets_the_same_response() {
    let world = World::new().await;
    create_user(&world, "ann").await;
    let bodies: [fn(&str) -> Value; 2] = [
        |email| json!({ "email": email }),
        |email| json!({ "email": email, "code_challenge": VERIFIER, "code_challenge_method": "plain" }),
    ];
    for body in bodies {
        world.advance(TimeDelta::seconds(1));
        let known = world.post("/recover", body("ann@example.com")).await;
        let mails = world.mailbox.all().len();
        let unknown = world.post("/recover", body("unknown@example.com")).await;
        assert_eq!((known.status, &known.text), (unknown.status, &unknown.text));
        assert_eq!(world.mailbox.all().len(), mails, "no mail is sent");
    }
}

#[tokio::test]
async fn invalid_requests_are_refused() {
    let world = World::new().await;
    for body in [
        json!({}),
        json!({ "email": null }),
        json!({ "email": "ann at home" }),
        json!({ "email": "a@example.com", "code_challenge_method": "s256" }),
    ] {
        assert_eq!(world.post("/recover", body).await.refusal(), (400, "validation_failed"));
    }
    let off = World::with(|policy| policy.sign_up.email_enabled = false).await;
    assert_eq!(off.post("/recover", json!({})).await.refusal(), (400, "email_provider_disabled"));
}

#[tokio::test]
async fn refused_mail_stores_no_token() {
    let world = World::new().await;
    let ann = create_user(&world, "ann").await;
    world.mailbox.refuse_next(MailError::Failed("no route".into()));
    let answer = world.post("/recover", json!({ "email": ann.email })).await.expect(500);
    assert_eq!(answer.str("msg"), "Error sending recovery email");
    assert_eq!(ann.stored(&world, "recovery_token || coalesce(recovery_sent_at::text, '')").await, "");
}

#[tokio::test]
async fn unknown_challenge_method_is_refused_only_if_mail_is_sent() {
    let world = World::new().await;
    world.create_user("ann@example.com").await;
    let with = |body: serde_json::Value| {
        let mut body = body;
        body["code_challenge"] = json!("a".repeat(43));
        body["code_challenge_method"] = json!("sha256");
        body
    };
    world.post("/recover", with(json!({"email": "unknown@example.com"}))).await.expect(200);
    world.post("/recover", with(json!({"email": "ann@example.com"}))).await.expect(500);
    for (email, kind) in [("nobody", "signup"), ("ann", "signup"), ("ann", "email_change")] {
        let body = with(json!({"email": format!("{email}@example.com"), "type": kind}));
        world.post("/resend", body).await.expect(200);
    }
    let served = World::builder().as_served().build().await;
    let refused = served.post("/recover", with(json!({"email": "unknown@example.com"}))).await;
    assert_eq!(refused.status, 500, "where the answer must not tell who has an account it is the same for all");
}
