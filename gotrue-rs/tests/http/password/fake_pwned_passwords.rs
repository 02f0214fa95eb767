//! A fake leaked-password service that records its requests.

use std::sync::{Arc, Mutex, PoisonError};

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

/// The behavior of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Behavior {
    /// Lists the leaked hashes.
    Answers,
    /// Returns only this status.
    Fails(u16),
    /// Sends an endless response.
    NeverEnds,
}

/// A fake leaked-password service.
#[derive(Clone)]
pub(super) struct LeakedPasswords {
    /// The base URL.
    pub base: String,
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    habit: Behavior,
    lines: Vec<String>,
    requested: Vec<RecordedLookup>,
}

/// A recorded request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RecordedLookup {
    pub path: String,
    pub user_agent: String,
    pub add_padding: String,
}

impl LeakedPasswords {
    /// A list of these passwords, and of padding.
    pub(super) async fn of(passwords: &[&str]) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let lines = passwords.iter().map(|password| format!("{}:{}", sha1(password), 31)).collect();
        let inner = Inner { habit: Behavior::Answers, lines, requested: Vec::new() };
        let list = Self { base, inner: Arc::new(Mutex::new(inner)) };
        let router = Router::new().fallback(answer).with_state(list.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        list
    }

    /// Adds a line of forty digits and a count.
    pub(super) fn add(&self, line: &str) {
        self.inner().lines.push(line.to_owned());
    }

    pub(super) fn set_behavior(&self, habit: Behavior) {
        self.inner().habit = habit;
    }

    /// The recorded requests, oldest first.
    pub(super) fn recorded_requests(&self) -> Vec<RecordedLookup> {
        self.inner().requested.clone()
    }

    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forty digits.
pub(super) fn sha1(password: &str) -> String {
    let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, password.as_bytes());
    hash.as_ref()
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(b"0123456789ABCDEF"[usize::from(digit)]))
        .collect()
}

async fn answer(State(list): State<LeakedPasswords>, request: Request) -> Response {
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let path = request.uri().path().to_owned();
    let (user_agent, add_padding) = (header("user-agent").to_owned(), header("add-padding").to_owned());
    let mut inner = list.inner();
    inner.requested.push(RecordedLookup { path: path.clone(), user_agent, add_padding });
    match inner.habit {
        Behavior::Fails(status) => StatusCode::from_u16(status).expect("a status").into_response(),
        Behavior::NeverEnds => {
            let endless = futures::stream::repeat_with(|| Ok::<_, std::io::Error>("0".repeat(1 << 16)));
            Body::from_stream(endless).into_response()
        }
        Behavior::Answers => {
            let prefix = path.strip_prefix("/range/").unwrap_or_default();
            let mut lines: Vec<&str> = inner.lines.iter().filter_map(|line| line.strip_prefix(prefix)).collect();
            lines.sort_unstable();
            format!("{}\r\nFFFFF:no line\r\n{}:0\r\n", lines.join("\r\n"), "0".repeat(35)).into_response()
        }
    }
}
