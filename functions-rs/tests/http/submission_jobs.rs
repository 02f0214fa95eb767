//! The background jobs of submissions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::Redirect;
use axum::routing::{any, post};
use chrono::TimeDelta;
use foundation::secret::Secret;
use functions_rs::functions::send_submission::TemplateTitles;
use functions_rs::submissions::filter::SubmissionPage;
use functions_rs::submissions::input::ReplyInput;
use functions_rs::submissions::jobs::{DeliverEvent, Retention, SubmissionUpkeep, WebhookWorker, store};
use futures::future::BoxFuture;
use platform::entropy::Entropy;
use platform::event_webhook::EventWebhook;
use platform::http_client::{HttpClient, OutboundOptions};
use platform::store::leases::JobLease;
use platform::testing::check_statements;
use serde_json::Value;
use sqlx::ConnectOptions;
use uuid::Uuid;

use crate::shop::{Submission, TestShop, accepted_id};

const DAY: Duration = Duration::from_hours(24);

fn upkeep(shop: &TestShop, seed: u64, retention: Retention) -> SubmissionUpkeep {
    let (clock, entropy) = (Arc::new(shop.clock.clone()), Entropy::from_seed(seed));
    SubmissionUpkeep::new(shop.pool.clone(), shop.outbox.clone(), TestShop::settings(), clock, entropy)
        .with_retention(retention)
}

async fn digests(shop: &TestShop) -> Vec<String> {
    let query =
        "SELECT subject || '|' || text FROM basalt.outbox WHERE purpose = 'submission_daily_digest' ORDER BY number";
    shop.database.query(query).await
}

#[tokio::test]
async fn daily_digest_is_written_once_by_one_of_two_servers() {
    let shop = TestShop::start().await;
    let retention = Retention { has_daily_digest: true, submissions: None };
    let (here, there) = (upkeep(&shop, 30, retention), upkeep(&shop, 40, retention));
    here.run_due().await.expect("the database answers");
    assert!(digests(&shop).await.is_empty(), "nothing came and nothing waits");
    shop.submit("Hello").await;
    shop.submit("Hello again").await;
    let headers = [("apikey", "sb_publishable_test"), ("x-basalt-form-signs", "trap")];
    accepted_id(&shop.send_submission(Submission { headers: &headers, ..Submission::with_text("Spam") }).await);
    shop.clock.advance(TimeDelta::days(1));
    let (first, second) = tokio::join!(here.run_due(), there.run_due());
    first.and(second).expect("the database answers");
    here.run_due().await.expect("the database answers");
    let expected = "2 submissions on 21 November 2026 for Email Templates|2 submissions came to Email Templates on 21 November \
                    2026 (UTC). 1 more was put aside as spam.\n\n2 submissions of all days are still new.\n\nThey are at the \
                    owner’s desk of your site, /_desk, and in `basalt submissions list`.\n";
    assert_eq!(digests(&shop).await, [expected]);
    shop.clock.advance(TimeDelta::days(1));
    there.run_due().await.expect("the database answers");
    assert!(digests(&shop).await[1].contains("0 submissions came"), "two still wait");
}

#[tokio::test]
async fn replica_without_the_lease_does_nothing() {
    let shop = TestShop::start().await;
    shop.submit("Hello").await;
    shop.clock.advance(TimeDelta::days(10));
    let lease = |holder| Some(JobLease::new(shop.pool.clone(), "submissions", Uuid::from_u128(holder), DAY));
    let retention = Retention { has_daily_digest: false, submissions: Some(DAY) };
    lease(1).expect("a lease").acquire().await.expect("the database answers");
    upkeep(&shop, 30, retention).with_lease(lease(2)).run_due().await.expect("the database answers");
    assert_eq!(shop.counts().await.0, 1);
    upkeep(&shop, 40, retention).with_lease(lease(1)).run_due().await.expect("the database answers");
    assert_eq!(shop.counts().await.0, 0);
}

#[tokio::test]
async fn submissions_are_deleted_after_their_retention() {
    let shop = TestShop::start().await;
    let insert = "INSERT INTO basalt.submissions (id, description, created_at, peer) SELECT gen_random_uuid(), 'old', '2026-10-01', '192.0.2.1' FROM generate_series(1, 450) RETURNING id";
    shop.database.query(insert).await;
    let kept = shop.submit("Hello").await;
    let jobs = upkeep(&shop, 30, Retention { has_daily_digest: false, submissions: Some(30 * DAY) });
    jobs.run_due().await.expect("the database answers");
    assert_eq!(shop.database.query("SELECT id FROM basalt.submissions").await, [kept]);
}

/// A webhook that records payloads and fails for a number of calls.
#[derive(Default)]
struct FakeWebhook {
    failures: Mutex<usize>,
    calls: Mutex<Vec<(Uuid, Value)>>,
}

impl DeliverEvent for FakeWebhook {
    fn deliver<'a>(&'a self, id: Uuid, payload: &'a str) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            self.calls.lock().expect("no panic").push((id, serde_json::from_str(payload).expect("JSON")));
            let mut failures = self.failures.lock().expect("no panic");
            if *failures == 0 {
                return Ok(());
            }
            *failures -= 1;
            Err("the response has the status 500".to_owned())
        })
    }
}

fn worker(shop: &TestShop, webhook: &Arc<FakeWebhook>) -> WebhookWorker {
    let titles = TemplateTitles::new(|id| (id == 9).then(|| "Executive Report".to_owned()));
    WebhookWorker::new(
        shop.pool.clone(),
        Arc::clone(webhook) as Arc<dyn DeliverEvent>,
        titles,
        Arc::new(shop.clock.clone()),
    )
}

#[tokio::test]
async fn event_is_repeated_with_its_id_until_it_is_delivered() {
    let shop = TestShop::with_webhook().await;
    let webhook = Arc::new(FakeWebhook { failures: Mutex::new(2), ..FakeWebhook::default() });
    let worker = worker(&shop, &webhook);
    let body = serde_json::json!({ "description": "Blue: ada@example.com", "template": 9 }).to_string();
    let id = accepted_id(&shop.post("192.0.2.1", &[("apikey", "sb_publishable_test")], body).await);
    let headers = [("apikey", "sb_publishable_test"), ("x-basalt-form-signs", "trap")];
    accepted_id(&shop.send_submission(Submission { headers: &headers, ..Submission::with_text("Spam") }).await);
    for pause in [5, 10, 1] {
        assert_eq!(worker.deliver_due().await.expect("the database answers"), 1);
        assert_eq!(worker.deliver_due().await.expect("the database answers"), 0, "not before the pause");
        shop.clock.advance(TimeDelta::seconds(pause));
    }
    let calls = webhook.calls.lock().expect("no panic").clone();
    assert_eq!(calls.len(), 3);
    assert!(calls.iter().all(|call| *call == calls[0]), "{calls:?}");
    let payload = &calls[0].1;
    assert_eq!((&payload["type"], &payload["data"]["id"]), (&"submission.created".into(), &id.into()));
    assert_eq!(payload["data"]["senders"], serde_json::json!(["ada@example.com"]));
    assert_eq!(payload["data"]["template"]["title"], "Executive Report");
    assert_eq!(
        (&payload["data"]["description"], &payload["timestamp"]),
        (&"Blue: ada@example.com".into(), &"2026-11-21T12:00:00Z".into())
    );
}

#[tokio::test]
async fn redirect_of_the_webhook_delivers_nothing() {
    let moved = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&moved);
    let record = move |request: Request| {
        seen.lock().expect("no panic").push(format!("{} {}", request.method(), request.uri().path()));
        async {}
    };
    let router = Router::new()
        .route("/found", post(|| async { (StatusCode::FOUND, [(LOCATION, "/page")]) }))
        .route("/temporary", post(|| async { Redirect::temporary("/page") }))
        .route("/page", any(record));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, router).await });
    for (path, status) in [("/found", 302), ("/temporary", 307)] {
        let shop = TestShop::with_webhook().await;
        shop.submit("Hello").await;
        let (clock, secret) =
            (Arc::new(shop.clock.clone()), Secret::new("v1,whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"));
        let http = Arc::new(HttpClient::new(OutboundOptions::default()));
        let webhook = EventWebhook::new("submission_webhook", &format!("{base}{path}"), &secret, http, clock.clone());
        let worker = WebhookWorker::new(shop.pool.clone(), Arc::new(webhook), TemplateTitles::new(|_| None), clock);
        for attempts in 1..=2 {
            assert_eq!(worker.deliver_due().await.expect("the database answers"), 1);
            let state =
                "SELECT concat_ws('|', delivered_at IS NULL, last_error, attempts) FROM basalt.submission_events";
            let expected = format!("t|the response has the status {status}|{attempts}");
            assert_eq!(shop.database.query(state).await, [expected]);
            shop.clock.advance(TimeDelta::seconds(5));
        }
    }
    assert_eq!(*moved.lock().expect("no panic"), [""; 0], "no redirect is followed");
}

#[tokio::test]
async fn event_is_given_up_after_three_days() {
    let shop = TestShop::with_webhook().await;
    let webhook = Arc::new(FakeWebhook { failures: Mutex::new(usize::MAX), ..FakeWebhook::default() });
    let worker = worker(&shop, &webhook);
    shop.submit("Hello").await;
    for _ in 0..100 {
        worker.deliver_due().await.expect("the database answers");
        shop.clock.advance(TimeDelta::hours(1));
    }
    let state = "SELECT concat_ws('|', failed_at IS NOT NULL, last_error, attempts > 20) FROM basalt.submission_events";
    assert_eq!(shop.database.query(state).await, ["t|the response has the status 500|t"]);
}

#[tokio::test]
async fn two_workers_deliver_each_event_once() {
    let shop = TestShop::with_webhook().await;
    let webhook = Arc::new(FakeWebhook::default());
    let (here, there) = (worker(&shop, &webhook), worker(&shop, &webhook));
    for number in 0..12 {
        shop.submit(&format!("text {number}")).await;
    }
    for _ in 0..6 {
        let (first, second) = tokio::join!(here.deliver_due(), there.deliver_due());
        first.and(second).expect("the database answers");
    }
    let mut counts: HashMap<Uuid, usize> = HashMap::new();
    for (id, _) in webhook.calls.lock().expect("no panic").iter() {
        *counts.entry(*id).or_default() += 1;
    }
    assert!(counts.len() == 12 && counts.values().all(|count| *count == 1), "{counts:?}");
}

#[tokio::test]
async fn event_of_a_killed_server_is_delivered_by_another() {
    let shop = TestShop::with_webhook().await;
    let webhook = Arc::new(FakeWebhook::default());
    shop.submit("Hello").await;
    let mut db = platform::store::Connection::pooled(shop.pool.clone(), Arc::default());
    let now = crate::support::noon();
    let held = store::lease(&mut db, now, now + TimeDelta::seconds(30), 4).await.expect("the database answers");
    assert_eq!(held.len(), 1);
    let worker = worker(&shop, &webhook);
    assert_eq!(worker.deliver_due().await.expect("the database answers"), 0);
    shop.clock.advance(TimeDelta::seconds(30));
    assert_eq!(worker.deliver_due().await.expect("the database answers"), 1);
    assert_eq!(webhook.calls.lock().expect("no panic")[0].0, held[0].id);
}

#[tokio::test]
async fn handling_and_jobs_work_through_a_pooler() {
    let shop = TestShop::behind_a_pooler().await;
    let submissions = shop.submissions(50);
    let id: Uuid = shop.submit("It's \\ blue: ada@example.com").await.parse().expect("an id");
    submissions.add_note(id, "a 'note'", "owner").await.expect("a note");
    let input = ReplyInput::new("ada@example.com", "Yes", "It's \\ blue").expect("a reply");
    submissions.reply(id, &input, "owner").await.expect("a reply");
    let page = [("search", "blue"), ("status", "answered"), ("from", "2026-11-21")];
    let page = SubmissionPage::parse(page).expect("valid parameters");
    assert_eq!(submissions.list_json(&page).await.expect("a list")["submissions"][0]["senders"][0], "ada@example.com");
    assert_eq!(submissions.find(id).await.expect("it").messages.len(), 3);
    let webhook = Arc::new(FakeWebhook { failures: Mutex::new(1), ..FakeWebhook::default() });
    assert_eq!(worker(&shop, &webhook).deliver_due().await.expect("the database answers"), 1);
    shop.clock.advance(TimeDelta::days(2));
    assert_eq!(worker(&shop, &webhook).deliver_due().await.expect("the database answers"), 1);
    let retention = Retention { has_daily_digest: true, submissions: Some(DAY) };
    upkeep(&shop, 60, retention).run_due().await.expect("the database answers");
    assert_eq!((shop.counts().await.0, digests(&shop).await.len()), (0, 0));
}

#[tokio::test]
async fn statements_of_jobs_match_schema() {
    let shop = TestShop::start().await;
    let mut connection = shop.pool.connect_options().connect().await.expect("the test server answers");
    assert_eq!(check_statements(&mut connection, store::list_statements()).await, [""; 0]);
}
