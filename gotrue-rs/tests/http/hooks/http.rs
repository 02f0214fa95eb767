use std::sync::Arc;

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use foundation::secret::Secret;
use gotrue_rs::testing::{HookCall, HookServer, World, json_response};
use gotrue_rules::domain::policy::{Hook, HookKind, HookTarget};
use http::HeaderValue;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{SECRET, confirmed_at_once};

const OTHER_SECRET: &str = "v1,whsec_cmVwbGF5LWhvb2stc2VjcmV0LW51bWJlci10d28tMDAwMg==";
const KIND: HookKind = HookKind::PasswordVerificationAttempt;

/// A signature as Standard Webhooks has it, worked out apart from the server.
fn signature(secret: &str, id: &str, timestamp: &str, body: &[u8]) -> String {
    let key = STANDARD.decode(secret.strip_prefix("v1,whsec_").expect("a secret")).expect("base64");
    let message = [id.as_bytes(), b".", timestamp.as_bytes(), b".", body].concat();
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), &message);
    format!("v1,{}", STANDARD.encode(tag.as_ref()))
}

fn signed(call: &HookCall, secret: &str) -> String {
    signature(secret, call.header("webhook-id"), call.header("webhook-timestamp"), &call.body)
}

async fn world_with(hook: Hook) -> World {
    World::with(|policy| {
        policy.mail.autoconfirm = true;
        policy.hooks.password_verification_attempt = Some(hook);
    })
    .await
}

#[test]
fn signature_matches_the_standard_webhooks_example() {
    let secret = "v1,whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let worked_out = signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", br#"{"test": 2432232314}"#);
    assert_eq!(worked_out, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

#[tokio::test]
async fn call_is_signed_with_every_secret_and_has_timestamp_and_type() {
    let receiver = HookServer::start().await;
    let world = world_with(receiver.hook("/hook", &[SECRET, OTHER_SECRET])).await;
    let ann = world.create_user("ann@example.com").await;
    world.sign_in(&ann.email).await;
    let call = receiver.calls().remove(0);
    let both = format!("{}, {}", signed(&call, SECRET), signed(&call, OTHER_SECRET));
    assert_eq!(call.header("webhook-signature"), both);
    assert_eq!(call.header("webhook-timestamp"), world.now().timestamp().to_string());
    assert_eq!((call.header("content-type"), call.header("accept-encoding")), ("application/json", "identity"));
    assert_eq!(call.header("user-agent"), "basalt");
    let metadata = &call.json()["metadata"];
    assert_eq!((&metadata["name"], &metadata["ip_address"]), (&json!("password-verification"), &json!("127.0.0.1")));
    assert_ne!(metadata["uuid"], call.header("webhook-id"));
}

#[tokio::test]
async fn without_secrets_the_signature_is_empty() {
    let receiver = HookServer::start().await;
    let world = world_with(receiver.hook("/hook", &[])).await;
    world.create_user("ann@example.com").await;
    world.sign_in("ann@example.com").await;
    assert_eq!(receiver.calls()[0].headers.get("webhook-signature"), Some(&HeaderValue::from_static("")));
}

#[tokio::test]
async fn asymmetric_secret_makes_no_call() {
    let receiver = HookServer::start().await;
    let keys = format!("v1a,whpk_{0}:whsk_{0}", "a".repeat(44));
    let world = world_with(receiver.hook("/hook", &[SECRET, &keys])).await;
    world.create_user("ann@example.com").await;
    let answer = world.try_password("ann@example.com", "correct horse").await;
    assert_eq!(answer.status, 500);
    assert_eq!(answer.str("msg"), "Error generating signatures: invalid signature format");
    assert!(receiver.calls().is_empty());
}

#[tokio::test]
async fn retry_after_response_is_retried_three_times_with_new_ids() {
    let receiver = HookServer::start().await;
    let world = confirmed_at_once(&receiver, KIND).build().await;
    world.create_user("ann@example.com").await;
    receiver.respond("/hook", |_| {
        let mut busy = json_response(503, &json!({}));
        busy.headers_mut().insert("retry-after", HeaderValue::from_static("1"));
        busy
    });
    let answer = world.try_password("ann@example.com", "correct horse").await;
    assert_eq!((answer.status.as_u16(), answer.str("msg")), (500, "Service currently unavailable due to hook"));
    let calls = receiver.calls();
    assert_eq!(calls.len(), 3);
    assert!(calls[0].header("webhook-id") != calls[1].header("webhook-id") && calls[0].body == calls[2].body);
    assert!(calls.iter().all(|call| call.header("webhook-signature") == signed(call, SECRET)));
}

#[tokio::test]
async fn unresponsive_hook_times_out_after_five_seconds() {
    let receiver = HookServer::start().await;
    let world = confirmed_at_once(&receiver, KIND).build().await;
    world.create_user("ann@example.com").await;
    receiver.respond_after("/hook", |_| Box::pin(std::future::pending()));
    let time = async {
        receiver.wait_for_calls(1).await;
        world.advance(TimeDelta::seconds(5));
    };
    let (answer, ()) = tokio::join!(world.try_password("ann@example.com", "correct horse"), time);
    assert_eq!(answer.refusal(), (422, "hook_timeout"));
    assert_eq!(answer.str("msg"), "Failed to reach hook within maximum time of 5.000000 seconds");
    assert_eq!(receiver.calls().len(), 1);
}

#[tokio::test]
async fn unreachable_hook_is_retried_every_two_seconds() {
    let unknown = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/hook", unknown.local_addr().expect("an address"));
    drop(unknown);
    let secrets = vec![Secret::new(SECRET)];
    let world = world_with(Hook { uri: url.clone(), target: HookTarget::Http { url }, secrets }).await;
    world.create_user("ann@example.com").await;
    let before = world.clock.sleeps();
    let time = async {
        // The first two sleeps are the request's deadline and the hook's limit of five seconds.
        for sleeps in [3, 4] {
            world.clock.wait_for_sleeps(before + sleeps).await;
            world.advance(TimeDelta::seconds(2));
        }
    };
    let (answer, ()) = tokio::join!(world.try_password("ann@example.com", "correct horse"), time);
    assert_eq!(answer.refusal(), (422, "hook_timeout_after_retry"));
}

#[tokio::test]
async fn url_without_usable_host_or_port_is_unreachable() {
    for url in ["https://", "https://hook.example.com:70000/"].map(str::to_owned) {
        let secrets = vec![Secret::new(SECRET)];
        let world = world_with(Hook { uri: url.clone(), target: HookTarget::Http { url }, secrets }).await;
        world.create_user("ann@example.com").await;
        let answer = world.try_password("ann@example.com", "correct horse").await;
        assert_eq!(answer.refusal(), (422, "hook_timeout_after_retry"));
    }
}

#[tokio::test]
async fn broken_response_is_reported_without_secrets_of_the_url() {
    let broken = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = broken.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = broken.accept().await {
            let mut head = [0; 4096];
            // The body ends before its length.
            let _ = stream.read(&mut head).await;
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{").await;
        }
    });
    let url = format!("http://ann:hunter2@{address}/hook?key=TOPSECRET#part");
    let secrets = vec![Secret::new(SECRET)];
    let world = world_with(Hook { uri: url.clone(), target: HookTarget::Http { url }, secrets }).await;
    world.create_user("ann@example.com").await;
    let answer = world.try_password("ann@example.com", "correct horse").await;
    assert_eq!(answer.status, 500);
    assert_eq!(answer.str("msg"), format!("Error running hook URI: http://{address}/hook"));
}

#[tokio::test]
async fn redirect_is_followed_with_the_body() {
    let receiver = HookServer::start().await;
    let world = confirmed_at_once(&receiver, KIND).build().await;
    let ann = world.create_user("ann@example.com").await;
    receiver.respond("/hook", |_| {
        let mut moved = json_response(307, &json!({}));
        moved.headers_mut().insert("location", HeaderValue::from_static("/moved"));
        moved
    });
    world.sign_in(&ann.email).await;
    assert_eq!(receiver.bodies("/moved")[0]["user_id"], ann.id);
}

/// RFC 9110 §6.4.1; a 204 keeps the content type, as in the reference.
#[tokio::test]
async fn refusal_with_status_304_or_204_has_no_content() {
    let receiver = HookServer::start().await;
    let world = confirmed_at_once(&receiver, HookKind::BeforeUserCreated).build().await;
    for (status, kind) in [(304, ""), (204, "application/json"), (410, "application/json")] {
        receiver.answer("/hook", json!({"error": {"http_code": status, "message": "No"}}));
        let answer = world.post("/signup", json!({"email": "ann@example.com", "password": "correct horse"})).await;
        assert_eq!((answer.status.as_u16(), answer.header("content-type")), (status, kind));
        assert_eq!(answer.text.is_empty(), status != 410);
    }
}

#[tokio::test]
async fn response_over_200_kib_is_refused() {
    let receiver = HookServer::start().await;
    let world = confirmed_at_once(&receiver, KIND).build().await;
    world.create_user("ann@example.com").await;
    receiver.answer("/hook", json!({ "message": "x".repeat(200 * 1024) }));
    let answer = world.try_password("ann@example.com", "correct horse").await;
    assert_eq!(answer.refusal(), (422, "hook_payload_over_size_limit"));
    assert_eq!(world.try_password("ann@example.com", "wrong horse").await.status, 422);
}

#[tokio::test]
async fn debug_output_hides_secrets() {
    let receiver = HookServer::start().await;
    let world = Arc::new(confirmed_at_once(&receiver, KIND).build().await);
    assert!(!format!("{:?}", world.app).contains("cmVwbGF5"));
}
