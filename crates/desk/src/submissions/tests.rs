//! The endpoints over a test database.

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use chrono::{DateTime, Utc};
use functions_rs::functions::send_submission::SubmissionSettings;
use gotrue_rs::testing::World;
use gotrue_rules::domain::user::User;
use http::Method;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use http_body_util::BodyExt;
use platform::entropy::Entropy;
use platform::mail::outbox::{MailDestination, Outbox};
use platform::store::outbox::OutboxTable;
use platform::testing::FakeClock;
use serde_json::Value;
use tower::ServiceExt;

use super::*;
use crate::auth_client::Sender;
use crate::guards::Admitted;
use crate::http::origin::OwnOrigin;
use crate::section::Sections;
use crate::session::DeskSession;
use crate::visit::Visit;

const ADA: &str = "00000000-0000-0000-0000-00000000000a";

struct TestSection {
    router: Router,
    world: World,
}

impl TestSection {
    /// Creates a section with one submission, which names an address.
    async fn start() -> Self {
        let world = World::new().await;
        let database = &world.database;
        let insert = format!(
            "INSERT INTO basalt.submissions (id, description, created_at, peer, senders)
             VALUES ('{ADA}', 'Blue, please: ada@example.com', '2026-11-21T11:00:00Z', '192.0.2.1', '{{ada@example.com}}')
             RETURNING id"
        );
        database.query(&insert).await;
        let now: DateTime<Utc> = "2026-11-21T12:00:00Z".parse().expect("a time");
        let (pool, clock) = (database.auth_pool(), Arc::new(FakeClock::at(now)));
        let table = OutboxTable::new(pool.clone());
        let outbox = Outbox::new(table, clock.clone(), Entropy::from_seed(1), MailDestination::Inbox);
        let settings = SubmissionSettings::default();
        let submissions = Submissions::new(pool, Arc::new(outbox), settings, clock, Entropy::from_seed(2));
        let sections = Sections::default().with(SubmissionsSection::new(Arc::new(submissions)));
        Self { router: sections.into_router().into(), world }
    }

    /// Answers a request that the guards have let through.
    async fn answer(&self, method: Method, path: &str, body: Value) -> Response {
        let path = if path.is_empty() || path.starts_with('?') { path.to_owned() } else { format!("/{path}") };
        let bytes = if body.is_null() { String::new() } else { body.to_string() };
        let request = Request::builder().method(method).uri(format!("/submissions{path}"));
        let request = request.header(CONTENT_TYPE, "application/json").body(Body::from(bytes)).expect("a request");
        let (mut head, body) = request.into_parts();
        let app = Arc::clone(&self.world.app);
        let visit = Visit { now: app.clock.now(), sender: Sender::of(&head), app, device: None };
        let user = User { email: Some("owner@shop.example".to_owned()), ..User::default() };
        let session = Arc::new(DeskSession::of_user(user));
        head.extensions.insert(Admitted { visit, session, origin: OwnOrigin { is_https: false } });
        let answered = self.router.clone().oneshot(Request::from_parts(head, body)).await;
        answered.unwrap_or_else(|never| match never {})
    }

    /// Returns status and body; an empty body is null.
    async fn send(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let response = self.answer(method, path, body).await;
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.expect("a body").to_bytes();
        (status, serde_json::from_slice(&bytes).unwrap_or_default())
    }
}

#[tokio::test]
async fn submission_is_answered_and_deleted() {
    let desk = TestSection::start().await;
    let (status, list) = desk.send(Method::GET, "?status=new&search=blue", Value::Null).await;
    assert_eq!((status, &list["submissions"][0]["id"], &list["counts"]["new"]), (200, &ADA.into(), &1.into()));
    let (status, note) = desk.send(Method::POST, &format!("{ADA}/notes"), json!({ "text": "called" })).await;
    assert_eq!((status, &note["author"]), (201, &"owner@shop.example".into()));
    let reply = json!({ "to": "ada@example.com", "subject": "Yes", "text": "Blue it is." });
    let (status, sent) = desk.send(Method::POST, &format!("{ADA}/reply"), reply).await;
    assert_eq!((status, &sent["message"]["kind"], &sent["message"]["state"]), (202, &"reply".into(), &"held".into()));
    let (_, details) = desk.send(Method::GET, ADA, Value::Null).await;
    assert_eq!((&details["status"], &details["replies"]), (&"answered".into(), &1.into()));
    assert_eq!(details["messages"][0]["text"], "Blue it is.");
    let (status, closed) = desk.send(Method::PATCH, ADA, json!({ "status": "closed" })).await;
    assert_eq!((status, &closed["status"]), (200, &"closed".into()));
    let path = format!("{ADA}/notes/{}", note["id"].as_str().expect("an id"));
    assert_eq!(desk.send(Method::DELETE, &path, Value::Null).await.0, 204);
    assert_eq!(desk.send(Method::DELETE, ADA, Value::Null).await.0, 204);
    assert_eq!(desk.send(Method::DELETE, ADA, Value::Null).await.0, 404);
    assert_eq!(desk.send(Method::POST, "delete", json!({ "ids": [ADA] })).await, (200, json!({ "deleted": 0 })));
}

#[tokio::test]
async fn refusals_have_code_and_hint() {
    let desk = TestSection::start().await;
    let reply = json!({ "to": "eve@example.com", "subject": "Yes", "text": "Hello" });
    let (status, refused) = desk.send(Method::POST, &format!("{ADA}/reply"), reply).await;
    assert_eq!((status, &refused["code"]), (400, &"recipient_not_named".into()));
    assert_eq!(refused["hint"], "The submission names ada@example.com");
    for (method, path, body, expected) in [
        (Method::GET, "?limit=201", Value::Null, (400, "validation_failed")),
        (Method::GET, "?before=x", Value::Null, (400, "validation_failed")),
        (Method::GET, "?order=asc", Value::Null, (400, "validation_failed")),
        (Method::GET, "?limit=1&limit=2", Value::Null, (400, "validation_failed")),
        (Method::GET, "?format=csv", Value::Null, (400, "validation_failed")),
        (Method::GET, "export?format=csv&order=asc", Value::Null, (400, "validation_failed")),
        (Method::GET, "export?format=xml", Value::Null, (400, "validation_failed")),
        (Method::PATCH, ADA, json!({ "status": "open" }), (400, "validation_failed")),
        (Method::GET, "none", Value::Null, (404, "not_found")),
        (Method::POST, "", Value::Null, (405, "method_not_allowed")),
        (Method::PUT, ADA, Value::Null, (405, "method_not_allowed")),
    ] {
        let (status, refused) = desk.send(method, path, body).await;
        assert_eq!((status, refused["code"].as_str().unwrap_or_default()), expected, "{path}");
    }
}

#[tokio::test]
async fn export_is_a_file() {
    let desk = TestSection::start().await;
    let response = desk.answer(Method::GET, "export?format=csv&status=new", Value::Null).await;
    assert_eq!(response.headers()[CONTENT_DISPOSITION], "attachment; filename=\"submissions.csv\"");
    let bytes = response.into_body().collect().await.expect("a body").to_bytes();
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.contains("\"Blue, please: ada@example.com\"\r\n"), "{text}");
}
