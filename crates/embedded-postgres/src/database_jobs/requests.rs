//! Sends the requests of `net.http_request_queue` and stores their responses in `net._http_response`, as `pg_net` does.

use std::sync::Arc;
use std::time::Duration;

use foundation::error_chain::ErrorChain;
use futures::StreamExt;
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue, Method};
use platform::clock::SharedClock;
use platform::http_client::{HttpClient, HttpError, HttpResponse, ResponseLimits};
use serde_json::{Map, Value};
use sqlx::{PgPool, Row};
use url::Url;

use super::missing_table::is_missing_table;

/// The largest number of requests that are taken from the queue, and that are under way, at a time.
const BATCH: i64 = 200;
const CONCURRENT: usize = 32;
/// The largest response, in bytes; the rest is cut off.
const MAX_RESPONSE_BYTES: usize = 4 << 20;
/// How long responses are kept, in hours.
const RESPONSE_HOURS: i32 = 6;
/// Attempts to connect to a host, and the pause between them.
const MAX_ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(300);
/// Hosts by which containers of the local Supabase reach its API.
const LOCAL_API_HOSTS: [&str; 3] = ["kong", "host.docker.internal", "api.supabase.internal"];

/// Where requests of the database may go.
#[derive(Debug, Clone)]
pub struct RequestTargets {
    /// The server's own URL for clients, and the one by which this machine reaches it.
    pub own: [String; 2],
    /// Whether hosts of the local network may be called, as in development.
    pub allows_private: bool,
}

/// The queue of a database.
#[derive(Clone)]
pub(super) struct RequestQueue {
    pub pool: PgPool,
    pub http: Arc<HttpClient>,
    pub clock: SharedClock,
    pub targets: Arc<RequestTargets>,
}

/// A row of the queue.
struct QueuedRequest {
    id: i64,
    method: String,
    url: String,
    headers: Option<Value>,
    body: Option<Vec<u8>>,
    time: Duration,
}

/// What is stored when a request has ended.
enum Ended {
    Response(HttpResponse),
    TimedOut(Duration),
    Failed(String),
}

impl RequestQueue {
    /// Sends all requests that are in the queue.
    ///
    /// A request is removed before it is sent: it is sent once at most.
    pub(super) async fn send_all(&self) -> Result<(), sqlx::Error> {
        loop {
            let requests = self.take().await?;
            if requests.is_empty() {
                return Ok(());
            }
            let stored = futures::stream::iter(requests).map(|request| async move {
                let ended = self.send(&request).await;
                self.store(request.id, ended).await
            });
            let outcomes: Vec<Result<(), sqlx::Error>> = stored.buffer_unordered(CONCURRENT).collect().await;
            outcomes.into_iter().collect::<Result<(), _>>()?;
        }
    }

    /// Deletes responses that are too old.
    pub(super) async fn delete_old_responses(&self) -> Result<(), sqlx::Error> {
        const DELETE: &str = "DELETE FROM net._http_response WHERE created < $1 - make_interval(hours => $2)
            AND NOT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'pg_net' AND extversion <> 'basalt')";
        sqlx::query(DELETE).bind(self.clock.now()).bind(RESPONSE_HOURS).execute(&self.pool).await.map(drop)
    }

    async fn take(&self) -> Result<Vec<QueuedRequest>, sqlx::Error> {
        const TAKE: &str = "DELETE FROM net.http_request_queue AS q
            USING (
                SELECT id FROM net.http_request_queue
                WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'pg_net' AND extversion <> 'basalt')
                ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED
            ) AS next
            WHERE q.id = next.id
            RETURNING q.id, q.method::text, q.url, q.headers, q.body, q.timeout_milliseconds";
        let rows = match sqlx::query(TAKE).bind(BATCH).fetch_all(&self.pool).await {
            Err(error) if is_missing_table(&error) => return Ok(Vec::new()),
            rows => rows?,
        };
        let read = |row: &sqlx::postgres::PgRow| {
            let milliseconds: i32 = row.try_get(5)?;
            Ok(QueuedRequest {
                id: row.try_get(0)?,
                method: row.try_get(1)?,
                url: row.try_get(2)?,
                headers: row.try_get(3)?,
                body: row.try_get(4)?,
                time: Duration::from_millis(u64::try_from(milliseconds).unwrap_or(1).max(1)),
            })
        };
        rows.iter().map(read).collect()
    }

    async fn send(&self, queued: &QueuedRequest) -> Ended {
        let limits = ResponseLimits { bytes: MAX_RESPONSE_BYTES, time: queued.time };
        let attempts = async {
            let mut attempt = 1;
            loop {
                match self.send_once(queued, limits).await {
                    // Nothing was sent yet.
                    Err(HttpError::Transport(error)) if error.is_connect() && attempt < MAX_ATTEMPTS => {
                        attempt += 1;
                        self.clock.timeout(PAUSE).await;
                    }
                    outcome => return outcome,
                }
            }
        };
        tokio::select! {
            outcome = attempts => match outcome {
                Ok(response) => Ended::Response(response),
                Err(error) if error.is_timeout() => Ended::TimedOut(queued.time),
                Err(HttpError::Transport(error)) => Ended::Failed(ErrorChain(&error.without_url()).to_string()),
                Err(error) => Ended::Failed(ErrorChain(&error).to_string()),
            },
            () = self.clock.timeout(queued.time) => Ended::TimedOut(queued.time),
        }
    }

    async fn send_once(&self, queued: &QueuedRequest, limits: ResponseLimits) -> Result<HttpResponse, HttpError> {
        let (url, is_trusted) = self.targets.resolve(&queued.url);
        let method = Method::from_bytes(queued.method.to_ascii_uppercase().as_bytes()).unwrap_or(Method::GET);
        let mut request = self.http.get_trusted_client()?.request(method, url);
        for (name, value) in queued.headers.iter().filter_map(Value::as_object).flatten() {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(text)) {
                request = request.header(name, value);
            }
        }
        if let Some(body) = &queued.body {
            request = request.body(body.clone());
        }
        let request = request.build()?;
        if is_trusted {
            self.http.send_without_redirects("pg_net", request, limits).await
        } else {
            self.http.send_untrusted("pg_net", request, limits).await
        }
    }

    async fn store(&self, id: i64, ended: Ended) -> Result<(), sqlx::Error> {
        const STORE: &str = "INSERT INTO net._http_response
                (id, status_code, content_type, headers, content, timed_out, error_msg, created)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING";
        let query = sqlx::query(STORE).bind(id);
        let query = match ended {
            Ended::Response(response) => {
                let mut headers = Map::new();
                for (name, value) in &response.headers {
                    headers.insert(name.to_string(), String::from_utf8_lossy(value.as_bytes()).into());
                }
                let kind = response
                    .headers
                    .get(CONTENT_TYPE)
                    .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
                // PostgreSQL's text has no NUL.
                let content = String::from_utf8_lossy(&response.body).replace('\0', "\u{fffd}");
                query
                    .bind(i32::from(response.status))
                    .bind(kind)
                    .bind(Value::Object(headers))
                    .bind(content)
                    .bind(false)
                    .bind(None::<String>)
            }
            Ended::TimedOut(time) => {
                let text = format!("Timeout of {} ms reached", time.as_millis());
                query
                    .bind(None::<i32>)
                    .bind(None::<String>)
                    .bind(None::<Value>)
                    .bind(None::<String>)
                    .bind(true)
                    .bind(Some(text))
            }
            Ended::Failed(text) => query
                .bind(None::<i32>)
                .bind(None::<String>)
                .bind(None::<Value>)
                .bind(None::<String>)
                .bind(None::<bool>)
                .bind(Some(text)),
        };
        query.bind(self.clock.now()).execute(&self.pool).await.map(drop)
    }
}

impl RequestTargets {
    /// Returns the URL to call, and whether it may be one that is not public.
    fn resolve(&self, url: &str) -> (String, bool) {
        let Ok(parsed) = Url::parse(url) else { return (url.to_owned(), false) };
        let is_own = self.own.iter().filter_map(|own| Url::parse(own).ok()).any(|own| own.origin() == parsed.origin());
        if is_own {
            return (url.to_owned(), true);
        }
        let names_local_api = parsed.host_str().is_some_and(|host| LOCAL_API_HOSTS.contains(&host))
            && matches!(parsed.port(), Some(8000 | 54321));
        if self.allows_private && names_local_api {
            let rest = &parsed[url::Position::BeforePath..];
            return (format!("{}{rest}", self.own[1].trim_end_matches('/')), true);
        }
        (url.to_owned(), self.allows_private)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_own_server_and_development_may_reach_private_hosts() {
        let own = ["https://api.example.com".to_owned(), "http://127.0.0.1:54321".to_owned()];
        let public = RequestTargets { own, allows_private: false };
        let development = RequestTargets { allows_private: true, ..public.clone() };
        for (url, in_public, in_development) in [
            ("https://api.example.com/functions/v1/a", true, true),
            ("http://127.0.0.1:54321/rest/v1/", true, true),
            ("http://127.0.0.1:54322/", false, true),
            ("http://169.254.169.254/latest", false, true),
            ("https://api.example.com.evil.example/", false, true),
            ("not a URL", false, false),
        ] {
            assert_eq!(public.resolve(url), (url.to_owned(), in_public), "{url}");
            assert_eq!(development.resolve(url), (url.to_owned(), in_development), "{url}");
        }
        let container = "http://host.docker.internal:54321/functions/v1/a?b=c";
        assert_eq!(development.resolve(container), ("http://127.0.0.1:54321/functions/v1/a?b=c".to_owned(), true));
        assert_eq!(public.resolve(container), (container.to_owned(), false));
    }
}
