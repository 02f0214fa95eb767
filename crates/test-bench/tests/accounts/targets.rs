//! Faults of what the application uses: database, mail server, SMS sender, hooks and providers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::Request;
use foundation::secret::Secret;
use gotrue_rs::app::{App, EmailDelivery};
use gotrue_rs::ports::keys::KeySettings;
use gotrue_rs::testing::{PASSWORD, World};
use gotrue_rules::domain::policy::{Hook, HookTarget, Policy};
use http_body_util::BodyExt;
use platform::http_client::{HttpClient, HttpError, OutboundOptions, ResponseLimits};
use platform::mail::outbox::{MailDestination, Outbox};
use platform::store::outbox::OutboxTable;
use serde_json::{Value, json};
use test_bench::faults::{FaultRules, FaultyMailer, FaultySmsSender};
use tower::ServiceExt;

const EMAIL: &str = "ann@example.com";
const SECRET: &str = "a-secret-for-tests-that-is-long-enough";

/// A world whose requests go to an application with rules.
struct FaultyWorld {
    world: World,
    rules: Arc<FaultRules>,
    app: Arc<App>,
}

impl FaultyWorld {
    async fn start(rule: Value, change: impl FnOnce(&mut Policy)) -> Self {
        let world = World::builder().with_phones().policy(change).build().await;
        let rules = Arc::new(FaultRules::new(1));
        let secret = Secret::new(SECRET);
        let keys = KeySettings { jwks: &[], secret: &secret, key_id: "", valid_methods: None };
        let delivery = EmailDelivery::Synchronous(Arc::new(FaultyMailer::new(world.mailbox.clone(), rules.clone())));
        let http = Arc::new(HttpClient::new(OutboundOptions::default()).with_faults(rules.clone()));
        let mut app = world.app.reload(world.app.policy.clone(), keys, delivery, http).expect("a valid policy");
        app.sms.sender = Arc::new(FaultySmsSender::new(world.phones.clone(), rules.clone()));
        let app = Arc::new(app.with_faults(rules.clone()));
        rules.add(rule.to_string().as_bytes()).expect("a valid rule");
        Self { world, rules, app }
    }

    async fn send(&self, method: &str, path: &str, token: &str, body: Value) -> (u16, Value) {
        let request = Request::builder().method(method).uri(path).header("authorization", format!("Bearer {token}"));
        let request = request.body(Body::from(body.to_string())).expect("a request");
        let response =
            gotrue_rs::router(self.app.clone()).oneshot(request).await.unwrap_or_else(|never| match never {});
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.expect("a body").to_bytes();
        (status, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    async fn sign_up(&self) -> (u16, Value) {
        self.send("POST", "/signup", "", json!({"email": EMAIL, "password": PASSWORD})).await
    }

    fn hits(&self) -> Value {
        self.rules.list()["faults"][0]["hits"].clone()
    }
}

#[tokio::test]
async fn failing_database_answers_503_and_recovers() {
    for failure in ["serialization_failure", "lost_connection"] {
        let rule = json!({"target": "database", "count": 1, "do": {"failure": failure}});
        let faulty = FaultyWorld::start(rule, |_| {}).await;
        let user = faulty.world.create_user(EMAIL).await;
        let (status, body) = faulty.send("GET", "/user", &user.access_token, json!({})).await;
        assert_eq!((status, &body["error_code"]), (503, &json!("database_unavailable")), "{failure}");
        assert_eq!(faulty.send("GET", "/user", &user.access_token, json!({})).await.0, 200, "{failure}");
        assert_eq!(faulty.hits(), 1);
    }
}

#[tokio::test]
async fn read_only_database_reads_and_does_not_write() {
    let faulty = FaultyWorld::start(json!({"target": "database", "do": {"failure": "read_only"}}), |_| {}).await;
    let user = faulty.world.create_user(EMAIL).await;
    assert_eq!(faulty.send("GET", "/user", &user.access_token, json!({})).await.0, 200);
    let (status, body) = faulty.send("PUT", "/user", &user.access_token, json!({"data": {"a": 1}})).await;
    assert_eq!((status, &body["error_code"]), (503, &json!("database_unavailable")));
}

#[tokio::test]
async fn slow_database_delays_each_statement() {
    let rule = json!({"target": "database", "do": {"failure": "slow", "delay_ms": 80}});
    let faulty = FaultyWorld::start(rule, |_| {}).await;
    let user = faulty.world.create_user(EMAIL).await;
    let started = Instant::now();
    assert_eq!(faulty.send("GET", "/user", &user.access_token, json!({})).await.0, 200);
    assert!(started.elapsed() >= Duration::from_millis(80));
}

#[tokio::test]
async fn refused_mail_fails_the_request_and_bounced_one_does_not_arrive() {
    let faulty = FaultyWorld::start(json!({"target": "smtp", "do": {"failure": "refuse"}}), |_| {}).await;
    let (status, body) = faulty.sign_up().await;
    assert_eq!((status, &body["msg"]), (500, &json!("Error sending confirmation email")));
    faulty.rules.clear(None).expect("cleared");
    faulty.rules.add(br#"{"target": "smtp", "do": {"failure": "bounce"}, "count": 1}"#).expect("a valid rule");
    assert_eq!(faulty.sign_up().await.0, 200);
    assert!(faulty.world.mailbox.all().is_empty());
    faulty.world.advance(chrono::TimeDelta::seconds(1));
    let resent = faulty.send("POST", "/resend", "", json!({"type": "signup", "email": EMAIL})).await;
    assert_eq!((resent.0, faulty.world.mailbox.all().len()), (200, 1));
}

#[tokio::test]
async fn withheld_mail_is_not_in_the_inbox() {
    let world = World::new().await;
    let rules = Arc::new(FaultRules::new(1));
    rules.add(br#"{"target": "smtp", "count": 1, "do": {"failure": "refuse"}}"#).expect("a valid rule");
    let table = OutboxTable::new(world.app.pool.clone());
    let outbox = Outbox::new(table, world.app.clock.clone(), world.app.entropy.fork(), MailDestination::Inbox);
    let outbox = Arc::new(outbox.with_faults(rules));
    let secret = Secret::new(SECRET);
    let keys = KeySettings { jwks: &[], secret: &secret, key_id: "", valid_methods: None };
    let (delivery, http) = (EmailDelivery::Outbox(outbox), world.app.http.clone());
    let app = Arc::new(world.app.reload(world.app.policy.clone(), keys, delivery, http).expect("a valid policy"));
    for email in ["ann@example.com", "bob@example.com"] {
        let body = json!({"email": email, "password": PASSWORD}).to_string();
        let request = Request::builder().method("POST").uri("/signup").body(Body::from(body)).expect("a request");
        let response = gotrue_rs::router(app.clone()).oneshot(request).await.unwrap_or_else(|never| match never {});
        assert_eq!(response.status().as_u16(), 200);
    }
    let delivered = world.database.query("SELECT recipient FROM basalt.outbox WHERE sent_to = 'inbox'").await;
    assert_eq!(delivered, ["bob@example.com"]);
    assert_eq!(world.database.query("SELECT count(*) FROM basalt.outbox").await, ["2"]);
}

#[tokio::test]
async fn refused_sms_fails_the_request() {
    let rule = json!({"target": "sms", "count": 1, "do": {"failure": "refuse"}});
    let faulty = FaultyWorld::start(rule, |_| {}).await;
    let (status, body) = faulty.send("POST", "/otp", "", json!({"phone": "15550100"})).await;
    assert_eq!((status, &body["error_code"]), (422, &json!("sms_send_failed")), "{body}");
    assert_eq!(faulty.send("POST", "/otp", "", json!({"phone": "15550100"})).await.0, 200);
    assert_eq!(faulty.world.phones.all().len(), 1);
}

fn hook() -> Hook {
    let url = "http://127.0.0.1:9/hook".to_owned();
    Hook {
        uri: url.clone(),
        target: HookTarget::Http { url },
        secrets: vec![Secret::new("v1,whsec_cmVwbGF5LWhvb2stc2VjcmV0LW51bWJlci1vbmUtMDAwMQ==")],
    }
}

#[tokio::test]
async fn hook_answers_as_the_rule_says() {
    let refusal = json!({"error": {"http_code": 418, "message": "no tea"}});
    let rule = json!({"target": "hook:before_user_created", "do": {"status": 200, "body": refusal}});
    let faulty = FaultyWorld::start(rule, |policy| policy.hooks.before_user_created = Some(hook())).await;
    let (status, body) = faulty.sign_up().await;
    assert_eq!((status, &body["msg"]), (418, &json!("no tea")), "{body}");
    faulty.rules.clear(None).expect("cleared");
    let other = br#"{"target": "hook:send_sms", "do": {"status": 200}}"#;
    faulty.rules.add(other).expect("a valid rule");
    assert_eq!(faulty.hits(), 0);
}

#[tokio::test]
async fn provider_refuses_hangs_or_answers() {
    let rules = Arc::new(FaultRules::new(1));
    let client = HttpClient::new(OutboundOptions::default()).with_faults(rules.clone());
    let limits = ResponseLimits { bytes: 5, time: Duration::from_millis(50) };
    for (action, expected) in [
        (json!({"status": 500, "body": "broken", "retry_after": 3}), "500 broke true 3"),
        (json!({"drop": true}), "refused"),
        (json!({"failure": "refuse"}), "refused"),
        (json!({"failure": "hang"}), "timed out"),
    ] {
        rules.clear(None).expect("cleared");
        let rule = json!({"target": "provider:google", "do": action});
        rules.add(rule.to_string().as_bytes()).expect("a valid rule");
        let outcome = match client.get_trusted("google", "http://127.0.0.1:9/", limits).await {
            Ok(response) => {
                let retry_after =
                    response.headers.get("retry-after").and_then(|value| value.to_str().ok()).unwrap_or_default();
                let body = String::from_utf8_lossy(&response.body);
                format!("{} {body} {} {retry_after}", response.status, response.is_truncated)
            }
            Err(HttpError::InjectedRefusal) => "refused".to_owned(),
            Err(error) if error.is_timeout() => "timed out".to_owned(),
            Err(error) => error.to_string(),
        };
        assert_eq!(outcome, expected, "{rule}");
    }
    let other = client.get_trusted("github", "http://127.0.0.1:9/", limits).await;
    assert!(matches!(other, Err(HttpError::Transport(_))));
}
