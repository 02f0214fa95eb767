//! A `send-submission` gateway on a test database, and submissions of visitors.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use functions_rs::functions::send_submission::digest::DigestWriter;
use functions_rs::functions::send_submission::{SendSubmission, SubmissionSettings, TemplateTitles};
use functions_rs::submissions::Submissions;
use functions_rs::{Functions, router};
use http::Request;
use http_edge::request::TrustedProxies;
use platform::entropy::Entropy;
use platform::journal::Journal;
use platform::mail::inbox::{InboxMail, InboxQuery};
use platform::mail::outbox::{MailDestination, Outbox};
use platform::store::outbox::OutboxTable;
use platform::store::{Pool, PoolOptions, StatementMode};
use platform::testing::FakeClock;
use platform::testing::TestDatabase;
use serde_json::json;

use crate::support::{TestResponse, credential_verifier, noon, send};

/// The path of the function.
pub(crate) const PATH: &str = "/functions/v1/send-submission";

pub(crate) struct TestShop {
    pub database: Arc<TestDatabase>,
    pub pool: Pool,
    pub clock: FakeClock,
    pub outbox: Arc<Outbox>,
    digests: DigestWriter,
    router: Router,
}

/// One submission of a visitor.
#[derive(Clone, Copy)]
pub(crate) struct Submission<'a> {
    pub peer: &'a str,
    pub headers: &'a [(&'a str, &'a str)],
    pub text: &'a str,
}

impl<'a> Submission<'a> {
    pub(crate) fn with_text(text: &'a str) -> Self {
        Self { peer: "192.0.2.1", headers: &[("apikey", "sb_publishable_test")], text }
    }
}

impl TestShop {
    /// Creates a gateway whose mails stay in the inbox.
    pub(crate) async fn start() -> Self {
        Self::with_database(Arc::new(TestDatabase::clone_basalt().await), FakeClock::at(noon()), 1)
    }

    /// Creates another server on the same database; `seed` makes its ids differ.
    pub(crate) fn second_server(&self, seed: u64) -> Self {
        Self::with_database(self.database.clone(), self.clock.clone(), seed)
    }

    /// Creates a gateway with a single database connection.
    pub(crate) async fn with_one_connection() -> Self {
        let database = Arc::new(TestDatabase::clone_basalt().await);
        let pool = Pool::new(database.pool_options(Duration::ZERO).with_max_connections(1));
        Self::with_pool(database, pool, FakeClock::at(noon()), 1)
    }

    fn with_database(database: Arc<TestDatabase>, clock: FakeClock, seed: u64) -> Self {
        let pool = database.auth_pool();
        Self::with_pool(database, pool, clock, seed)
    }

    /// Creates a gateway whose statements are text with literals, as through a pooler in transaction mode.
    pub(crate) async fn behind_a_pooler() -> Self {
        let database = Arc::new(TestDatabase::clone_basalt().await);
        let options = database.pool_options(Duration::ZERO);
        let pool = Pool::new(PoolOptions { statement_mode: StatementMode::Text, ..options });
        Self::build(database, pool, FakeClock::at(noon()), (1, true))
    }

    /// Creates a gateway whose new submissions are events for a webhook.
    pub(crate) async fn with_webhook() -> Self {
        let database = Arc::new(TestDatabase::clone_basalt().await);
        let pool = database.auth_pool();
        Self::build(database, pool, FakeClock::at(noon()), (1, true))
    }

    /// Returns the settings of a shop with an owner.
    pub(crate) fn settings() -> SubmissionSettings {
        SubmissionSettings {
            owner: Some("owner@shop.example".to_owned()),
            host: "shop.example".to_owned(),
            ..SubmissionSettings::default()
        }
    }

    fn with_pool(database: Arc<TestDatabase>, pool: Pool, clock: FakeClock, seed: u64) -> Self {
        Self::build(database, pool, clock, (seed, false))
    }

    fn build(database: Arc<TestDatabase>, pool: Pool, clock: FakeClock, (seed, has_webhook): (u64, bool)) -> Self {
        let shared = Arc::new(clock.clone());
        let table = OutboxTable::new(pool.clone());
        let outbox = Arc::new(Outbox::new(table, shared.clone(), Entropy::from_seed(seed), MailDestination::Inbox));
        let settings = SubmissionSettings { has_webhook, ..Self::settings() };
        let entropy = Entropy::from_seed(seed + 2);
        let digests = DigestWriter::new(pool.clone(), outbox.clone(), settings.clone(), shared.clone(), entropy);
        let function = SendSubmission::new(pool.clone(), outbox.clone(), settings)
            .with_template_titles(TemplateTitles::new(|id| (id == 9).then(|| "Executive Report".to_owned())));
        let functions = Functions::new(Arc::new(credential_verifier()), shared, Entropy::from_seed(seed + 1))
            .with_function(function, false)
            .with_trusted_proxies(TrustedProxies::new(["10.0.0.0/8".parse().expect("a network")]));
        Self { database, pool, clock, outbox, digests, router: router(functions) }
    }

    /// Returns the submissions for their owner, whose mails stay in the inbox; `seed` makes ids differ.
    pub(crate) fn submissions(&self, seed: u64) -> Submissions {
        self.submissions_with(seed, MailDestination::Inbox)
    }

    /// The same with another destination of replies.
    pub(crate) fn submissions_with(&self, seed: u64, destination: MailDestination) -> Submissions {
        let (clock, table) = (Arc::new(self.clock.clone()), OutboxTable::new(self.pool.clone()));
        let outbox = Outbox::new(table, clock.clone(), Entropy::from_seed(seed), destination);
        Submissions::new(self.pool.clone(), Arc::new(outbox), Self::settings(), clock, Entropy::from_seed(seed + 1))
            .with_template_titles(TemplateTitles::new(|id| (id == 9).then(|| "Executive Report".to_owned())))
    }

    pub(crate) async fn post(&self, peer: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> TestResponse {
        let request = Request::post(PATH).header("content-type", "application/json");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let mut request = request.body(body.into()).expect("a request");
        let address: IpAddr = peer.parse().expect("an address");
        request.extensions_mut().insert(ConnectInfo(SocketAddr::new(address, 40_000)));
        send(&self.router, request).await
    }

    /// Submits a text; the steps of the call are recorded in `journal`.
    pub(crate) async fn send_submission_with_journal(
        &self,
        visit: Submission<'_>,
        journal: Arc<Journal>,
    ) -> TestResponse {
        let request = Request::post(PATH).header("content-type", "application/json");
        let request = visit.headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let address: IpAddr = visit.peer.parse().expect("an address");
        let request = request.extension(ConnectInfo(SocketAddr::new(address, 40_000))).extension(journal);
        let body = json!({ "description": visit.text }).to_string();
        send(&self.router, request.body(Body::from(body)).expect("a request")).await
    }

    /// Sends a request without a body and without a peer address.
    pub(crate) async fn send(&self, request: http::request::Builder) -> TestResponse {
        send(&self.router, request.body(Body::empty()).expect("a request")).await
    }

    /// Submits a text.
    pub(crate) async fn send_submission(&self, visit: Submission<'_>) -> TestResponse {
        self.post(visit.peer, visit.headers, json!({ "description": visit.text }).to_string()).await
    }

    /// Submits a text as the default visitor; returns the id.
    pub(crate) async fn submit(&self, text: &str) -> String {
        accepted_id(&self.send_submission(Submission::with_text(text)).await)
    }

    /// Returns the mails to an address, newest first.
    pub(crate) async fn mails(&self, to: &str) -> Vec<InboxMail> {
        let query = InboxQuery { to: Some(to.to_owned()), after: None };
        self.outbox.inbox().list(&query).await.expect("the table answers")
    }

    /// Writes the digest if one is due; returns the number of submissions in it.
    pub(crate) async fn write_digest(&self) -> u64 {
        self.digests.write_due().await.expect("the database answers")
    }

    /// Returns the numbers of submissions and mails.
    pub(crate) async fn counts(&self) -> (usize, usize) {
        let submissions = self.database.query("SELECT id FROM basalt.submissions").await.len();
        (submissions, self.database.query("SELECT id FROM basalt.outbox").await.len())
    }
}

/// Returns the id of an accepted submission.
#[track_caller]
pub(crate) fn accepted_id(seen: &TestResponse) -> String {
    assert_eq!(seen.status, 200, "{}", String::from_utf8_lossy(&seen.body));
    seen.json()["id"].as_str().expect("an id").to_owned()
}
