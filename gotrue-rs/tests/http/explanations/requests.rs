//! The header of refused requests, the log line, and the events of requests.

use gotrue_rs::testing::World;
use http::Method;
use platform::events::{Event, EventFilter, EventKind};
use platform::testing::{Answer, Recording};
use serde_json::{Value, json};
use tracing::Level;

use super::explanation;

/// Sends requests that are refused for various reasons.
async fn refused_requests(world: &World) -> Vec<Answer> {
    let ann = world.create_user("ann@example.com").await;
    vec![
        world.get("/user").await,
        world.get("/nowhere").await,
        world.get("/verify?type=recovery&token=unknown&redirect_to=https://other.example.com/a").await,
        world.get("/authorize?provider=github").await,
        world.post("/signup", json!({"email": "ben@example.com", "password": "x"})).await,
        world.post("/token?grant_type=password", json!({"email": "ann@example.com", "password": "wrong"})).await,
        world.post("/token?grant_type=password", json!({"email": "no@example.com", "password": "wrong"})).await,
        world.put_as(&ann.access_token, "/user", json!({"app_metadata": {"a": 1}})).await,
        world.request(Method::PATCH, "/user", &[], None).await,
        world.post("/recover?redirect_to=https://other.example.com/a", json!({"email": "ann@example.com"})).await,
    ]
}

/// A response without the headers that differ between two requests.
fn comparable(answer: &Answer) -> (u16, String, Vec<(String, String)>) {
    let is_same = |name: &&str| !["x-basalt-explain"].contains(name);
    let headers = answer.headers.keys().map(http::HeaderName::as_str).filter(is_same);
    let headers = headers.map(|name| (name.to_owned(), answer.headers[name].to_str().unwrap_or_default().to_owned()));
    (answer.status.as_u16(), answer.text.clone(), headers.collect())
}

#[tokio::test]
async fn responses_are_the_same_with_and_without_explanations() {
    let (plain, explained) = (World::new().await, World::builder().with_explanations().build().await);
    let (plain, explained) = (refused_requests(&plain).await, refused_requests(&explained).await);
    for (plain, explained) in plain.iter().zip(&explained) {
        assert_eq!(comparable(plain), comparable(explained));
        assert!(!plain.headers.contains_key("x-basalt-explain"));
        assert!(explained.headers.contains_key("x-basalt-explain"), "{}", explained.text);
    }
}

#[tokio::test]
async fn accepted_request_has_no_explanation() {
    let world = World::builder().with_explanations().build().await;
    let ann = world.create_user("ann@example.com").await;
    let answer = world.get_as(&ann.access_token, "/user").await.expect(200);
    assert!(!answer.headers.contains_key("x-basalt-explain"));
}

#[tokio::test]
async fn explanation_has_request_guards_statements_and_documentation() {
    let world = World::builder().with_explanations().policy(|policy| policy.security.manual_linking_enabled = false);
    let world = world.build().await;
    let ann = world.create_user("ann@example.com").await;
    let answer = world.get_as(&ann.access_token, "/user/identities/authorize?provider=github").await.expect(404);
    let shown = explanation(&world, &answer);
    assert_eq!(shown["request"]["route"], "/user/identities/authorize");
    assert_eq!((&shown["request"]["status"], &shown["request"]["user_id"]), (&json!(404), &json!(ann.id)));
    assert_eq!((&shown["guards_passed"], &shown["refusing_guard"]), (&json!(["Caller"]), &json!("ManualLinking")));
    assert_eq!(shown["code"], "manual_linking_disabled");
    assert_eq!(shown["setting"]["variable"], "GOTRUE_SECURITY_MANUAL_LINKING_ENABLED");
    assert_eq!(shown["setting"]["value"], "false");
    assert_eq!(shown["documentation"]["file"], "docs/errors.md#user-updates");
    let statement = &shown["statements"][0];
    assert_eq!((&statement["name"], &statement["rows"]), (&json!("users.with_session"), &json!(1)), "{shown}");
    assert!(statement["duration_ms"].as_f64().is_some_and(|duration| duration > 0.0));
}

#[tokio::test]
async fn refusal_is_one_line_of_the_log() {
    let world = World::with(|policy| policy.sign_up.disabled = true).await;
    Recording::start();
    world.post("/signup", json!({"email": "ann@example.com", "password": "correct horse"})).await.expect(422);
    let recording = Recording::stop();
    let is_refusal = |message: &str| message == "request refused";
    let lines: Vec<_> = recording.events.iter().filter(|event| is_refusal(event.fields.get("message"))).collect();
    let [line] = lines[..] else { panic!("not one line: {recording:?}") };
    let values = ["code", "setting", "value", "status"].map(|name| line.fields.get(name));
    assert_eq!(line.level, Level::INFO);
    assert_eq!(values, ["signup_disabled", "GOTRUE_DISABLE_SIGNUP", "true", "422"]);
    assert!(line.fields.get("remedy").starts_with("The operator enables it"), "{line:?}");
}

#[tokio::test]
async fn log_of_a_wrong_password_is_the_same_for_known_and_unknown_accounts() {
    let world = World::new().await;
    world.create_user("ann@example.com").await;
    let mut lines = Vec::new();
    for email in ["ann@example.com", "unknown@example.com"] {
        Recording::start();
        world.post("/token?grant_type=password", json!({"email": email, "password": "wrong"})).await.expect(400);
        let recording = Recording::stop();
        let info = recording.events.iter().filter(|event| event.level == Level::INFO);
        let fields = ["message", "code", "decision", "setting", "value", "remedy"];
        lines.push(info.map(|event| fields.map(|name| event.fields.get(name).to_owned())).collect::<Vec<_>>());
    }
    assert_eq!(lines[0], lines[1]);
}

fn to_json(event: &Event) -> Value {
    serde_json::from_str(event.as_json()).expect("JSON")
}

#[tokio::test]
async fn events_report_requests_audit_entries_and_messages() {
    let world = World::builder().with_explanations().build().await;
    let log = world.app.explanations.events().expect("a log").clone();
    let account = json!({"email": "ann@example.com", "password": "correct horse"});
    world.post("/signup", account).await.expect(200);
    world.get("/user").await.expect(401);
    let data = |kind| -> Vec<Value> {
        let filter = EventFilter { kind: Some(kind), user_id: None };
        log.list(0, filter).iter().map(|event| to_json(event)).collect()
    };
    let [message] = &data(EventKind::Message)[..] else { panic!("one message") };
    let expected = json!({"channel": "email", "kind": "confirmation", "to": "ann@example.com",
        "subject": message["data"]["subject"]});
    assert_eq!(message["data"], expected);
    let audit: Vec<Value> = data(EventKind::Audit).iter().map(|event| event["data"]["action"].clone()).collect();
    assert_eq!(audit, ["user_confirmation_requested"]);
    let [sign_up, user] = &data(EventKind::Request)[..] else { panic!("two requests") };
    assert_eq!((&sign_up["data"]["method"], &sign_up["data"]["route"]), (&json!("POST"), &json!("/signup")));
    assert_eq!(message["request_id"], sign_up["request_id"]);
    assert_eq!(user["data"]["status"], 401);
    let [decision] = &data(EventKind::Decision)[..] else { panic!("one decision") };
    assert_eq!(decision["data"]["code"], "no_authorization");
}

#[tokio::test]
async fn audit_entries_of_a_refresh_are_events_of_its_user() {
    let world = World::builder().with_explanations().build().await;
    let ann = world.create_user("ann@example.com").await;
    let log = world.app.explanations.events().expect("a log").clone();
    let after = log.latest_id();
    world.refresh(&ann.refresh_token).await.expect(200);
    let filter = EventFilter { kind: Some(EventKind::Audit), user_id: ann.id.parse().ok() };
    let actions: Vec<Value> =
        log.list(after, filter).iter().map(|event| to_json(event)["data"]["action"].clone()).collect();
    assert_eq!(actions, ["token_refreshed", "token_revoked"]);
}

#[tokio::test]
async fn change_that_is_rolled_back_is_no_event() {
    let world = World::builder().with_explanations().with_outbox().build().await;
    let log = world.app.explanations.events().expect("a log").clone();
    world.faults.fail("one_time_tokens.issue_confirmation", 1);
    let account = json!({"email": "ann@example.com", "password": "correct horse"});
    world.post("/signup", account).await.expect(500);
    let kinds: Vec<&str> = log.list(0, EventFilter::default()).iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["decision", "request"]);
}
