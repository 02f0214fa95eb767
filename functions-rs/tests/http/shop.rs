//! A shop: the function over a database of its own, and visitors who send things.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use functions_rs::functions::send_submission::digest::Digests;
use functions_rs::functions::send_submission::{SendSubmission, Settings};
use functions_rs::{Functions, TrustedProxies, router};
use gotrue_rs::journal::Journal;
use gotrue_rs::ports::entropy::Entropy;
use gotrue_rs::ports::mail::inbox::{Query, Received};
use gotrue_rs::ports::mail::outbox::{Destination, Outbox};
use gotrue_rs::store::Pool;
use gotrue_rs::store::outbox::Table;
use gotrue_rs::testing::{FakeClock, TestDatabase};
use http::Request;
use serde_json::json;

use crate::support::{Seen, credentials, noon, send};

/// Where submissions go.
pub const PATH: &str = "/functions/v1/send-submission";

pub struct Shop {
    pub database: Arc<TestDatabase>,
    pub pool: Pool,
    pub clock: FakeClock,
    pub outbox: Arc<Outbox>,
    digests: Digests,
    router: Router,
}

/// One thing a visitor sends.
#[derive(Clone, Copy)]
pub struct Visit<'a> {
    pub peer: &'a str,
    pub headers: &'a [(&'a str, &'a str)],
    pub text: &'a str,
}

impl<'a> Visit<'a> {
    pub fn saying(text: &'a str) -> Self {
        Self { peer: "192.0.2.1", headers: &[("apikey", "sb_publishable_test")], text }
    }
}

impl Shop {
    /// A shop whose mails land in the inbox.
    pub async fn open() -> Self {
        Self::on(Arc::new(TestDatabase::migrated().await), FakeClock::at(noon()), 1)
    }

    /// Another server on the same database; `seed` makes its ids differ.
    pub fn second_server(&self, seed: u64) -> Self {
        Self::on(self.database.clone(), self.clock.clone(), seed)
    }

    /// The same with one connection to its database.
    pub async fn with_one_connection() -> Self {
        let database = Arc::new(TestDatabase::migrated().await);
        let pool = Pool::new(database.pool_options(Duration::ZERO).max_connections(1));
        Self::over(database, pool, FakeClock::at(noon()), 1)
    }

    fn on(database: Arc<TestDatabase>, clock: FakeClock, seed: u64) -> Self {
        let pool = database.auth_pool();
        Self::over(database, pool, clock, seed)
    }

    fn over(database: Arc<TestDatabase>, pool: Pool, clock: FakeClock, seed: u64) -> Self {
        let shared = Arc::new(clock.clone());
        let table = Table::new(pool.clone());
        let outbox = Arc::new(Outbox::new(table, shared.clone(), Entropy::from_seed(seed), Destination::Inbox));
        let settings = Settings {
            owner: Some("owner@shop.example".to_owned()),
            host: "shop.example".to_owned(),
            ..Settings::default()
        };
        let entropy = Entropy::from_seed(seed + 2);
        let digests = Digests::new(pool.clone(), outbox.clone(), settings.clone(), shared.clone(), entropy);
        let function = SendSubmission::new(pool.clone(), outbox.clone(), settings);
        let functions = Functions::new(Arc::new(credentials()), shared, Entropy::from_seed(seed + 1))
            .with(function, false)
            .trusting(TrustedProxies::new(["10.0.0.0/8".parse().expect("a network")]));
        Self { database, pool, clock, outbox, digests, router: router(functions) }
    }

    /// Sends bytes.
    pub async fn post(&self, peer: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> Seen {
        let request = Request::post(PATH).header("content-type", "application/json");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let mut request = request.body(body.into()).expect("a request");
        let address: IpAddr = peer.parse().expect("an address");
        request.extensions_mut().insert(ConnectInfo(SocketAddr::new(address, 40_000)));
        send(&self.router, request).await
    }

    /// Sends a text; what comes of it is noted in that journal.
    pub async fn visit_noting(&self, visit: Visit<'_>, journal: Arc<Journal>) -> Seen {
        let request = Request::post(PATH).header("content-type", "application/json");
        let request = visit.headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let address: IpAddr = visit.peer.parse().expect("an address");
        let request = request.extension(ConnectInfo(SocketAddr::new(address, 40_000))).extension(journal);
        let body = json!({ "description": visit.text }).to_string();
        send(&self.router, request.body(Body::from(body)).expect("a request")).await
    }

    /// Sends a request without a body from nowhere.
    pub async fn send(&self, request: http::request::Builder) -> Seen {
        send(&self.router, request.body(Body::empty()).expect("a request")).await
    }

    /// Sends a text.
    pub async fn visit(&self, visit: Visit<'_>) -> Seen {
        self.post(visit.peer, visit.headers, json!({ "description": visit.text }).to_string()).await
    }

    /// Sends a text as the usual visitor; returns the id.
    pub async fn submit(&self, text: &str) -> String {
        taken(&self.visit(Visit::saying(text)).await)
    }

    /// The mails to an address, the newest first.
    pub async fn mails(&self, to: &str) -> Vec<Received> {
        let query = Query { to: Some(to.to_owned()), after: None };
        self.outbox.inbox().list(&query).await.expect("the table answers")
    }

    /// Writes the digest if one is due; how many submissions it names.
    pub async fn digest(&self) -> u64 {
        self.digests.write_due().await.expect("the database answers")
    }

    /// How many submissions and mails there are.
    pub async fn counts(&self) -> (usize, usize) {
        let submissions = self.database.query("SELECT id FROM basalt.submissions").await.len();
        (submissions, self.database.query("SELECT id FROM basalt.outbox").await.len())
    }
}

/// The id of a submission that was taken.
#[track_caller]
pub fn taken(seen: &Seen) -> String {
    assert_eq!(seen.status, 200, "{}", String::from_utf8_lossy(&seen.body));
    seen.json()["id"].as_str().expect("an id").to_owned()
}
