//! A local OAuth provider that keeps every request and returns configured responses.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use foundation::secret::Secret;
use futures::future::BoxFuture;
use gotrue_rules::domain::policy::{ExternalProviderSettings, Policy};
use http::{HeaderMap, Method, Uri};
use platform::testing::Answer;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use url::form_urlencoded;

use super::receiver::json_response;
use super::world::World;

/// A local OAuth provider.
#[derive(Clone)]
pub struct FakeProvider(Arc<Inner>);

struct Inner {
    address: String,
    answers: Mutex<HashMap<String, Answerer>>,
    requests: Mutex<Vec<RecordedRequest>>,
}

type Answerer = Arc<dyn Fn(&RecordedRequest) -> BoxFuture<'static, Response> + Send + Sync>;

/// A received request.
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    pub method: Method,
    pub path: String,
    pub query: BTreeMap<String, String>,
    pub headers: HeaderMap,
    /// The members of a form body.
    pub form: BTreeMap<String, String>,
}

impl RecordedRequest {
    /// The text of a header; empty if it is missing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// A form member; empty if it is missing.
    pub fn form(&self, name: &str) -> &str {
        self.form.get(name).map_or("", String::as_str)
    }
}

impl FakeProvider {
    /// Starts a server that answers 404 on every path.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
        let address = format!("http://{}", listener.local_addr().expect("it has an address"));
        let provider = Self(Arc::new(Inner { address, answers: Mutex::default(), requests: Mutex::default() }));
        let router = axum::Router::new().fallback(handle_request).with_state(provider.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        provider
    }

    /// The URL of a path of the server.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.0.address)
    }

    /// Enables the provider `name` with the URL `/{name}` of this server.
    pub fn enable_provider(&self, policy: &mut Policy, name: &str) {
        policy.external.providers.insert(
            name.to_owned(),
            ExternalProviderSettings {
                enabled: true,
                client_ids: vec![format!("{name}-client")],
                secret: Secret::new(format!("{name}-secret")),
                redirect_uri: "http://auth.example.com/callback".to_owned(),
                url: self.url(&format!("/{name}")),
                ..ExternalProviderSettings::default()
            },
        );
    }

    /// Answers requests of that path with this JSON.
    pub fn answer(&self, path: &str, body: Value) {
        self.respond(path, move |_| json_response(200, &body));
    }

    /// Answers requests of that path with a function.
    pub fn respond(&self, path: &str, with: impl Fn(&RecordedRequest) -> Response + Send + Sync + 'static) {
        self.respond_after(path, move |request| {
            let response = with(request);
            Box::pin(async { response })
        });
    }

    /// Answers requests of that path with an asynchronous function.
    pub fn respond_after(
        &self,
        path: &str,
        with: impl Fn(&RecordedRequest) -> BoxFuture<'static, Response> + Send + Sync + 'static,
    ) {
        lock(&self.0.answers).insert(path.to_owned(), Arc::new(with));
    }

    /// Adds a GitHub user with one e-mail address; every code is exchanged for tokens.
    pub fn add_github_user(&self, id: i64, email: &str, verified: bool) {
        let tokens =
            json!({"access_token": "github-access", "refresh_token": "github-refresh", "token_type": "bearer"});
        self.answer("/github/login/oauth/access_token", tokens);
        self.answer("/github/api/v3/user", json!({"id": id, "login": "ann", "name": "Ann Example"}));
        let email = json!([{"email": email, "primary": true, "verified": verified}]);
        self.answer("/github/api/v3/user/emails", email);
    }

    /// Takes the requests since the last call, oldest first.
    pub fn take_requests(&self) -> Vec<RecordedRequest> {
        std::mem::take(&mut *lock(&self.0.requests))
    }
}

/// Where a response redirects to, in parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedirectTarget {
    /// The URL up to its query.
    pub base: String,
    pub query: BTreeMap<String, String>,
    pub fragment: BTreeMap<String, String>,
}

impl RedirectTarget {
    /// The target of a redirect response.
    pub fn from_response(answer: &Answer) -> Self {
        let (rest, fragment) = answer.header("location").split_once('#').unwrap_or((answer.header("location"), ""));
        let (base, query) = rest.split_once('?').unwrap_or((rest, ""));
        Self { base: base.to_owned(), query: pairs(query.as_bytes()), fragment: pairs(fragment.as_bytes()) }
    }

    /// A query parameter; empty if it is missing.
    pub fn query(&self, name: &str) -> &str {
        self.query.get(name).map_or("", String::as_str)
    }

    /// A fragment parameter; empty if it is missing.
    pub fn fragment(&self, name: &str) -> &str {
        self.fragment.get(name).map_or("", String::as_str)
    }
}

impl World {
    /// Starts a sign-in with the provider of the query and returns the `state`.
    pub async fn start_provider_sign_in(&self, query: &str) -> String {
        let answer = self.get(&format!("/authorize?provider={query}")).await.expect(302);
        RedirectTarget::from_response(&answer).query("state").to_owned()
    }

    /// Calls the callback with this `state` and a code, and returns the redirect target.
    pub async fn finish_provider_sign_in(&self, state: &str) -> RedirectTarget {
        RedirectTarget::from_response(
            &self.get(&format!("/callback?state={state}&code=c0de-from-upstream")).await.expect(302),
        )
    }
}

fn pairs(text: &[u8]) -> BTreeMap<String, String> {
    form_urlencoded::parse(text).into_owned().collect()
}

async fn handle_request(
    State(provider): State<FakeProvider>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let query = pairs(uri.query().unwrap_or_default().as_bytes());
    let request = RecordedRequest { method, path: uri.path().to_owned(), query, headers, form: pairs(&body) };
    let answerer = lock(&provider.0.answers).get(&request.path).cloned();
    lock(&provider.0.requests).push(request.clone());
    match answerer {
        Some(answerer) => answerer(&request).await,
        None => json_response(404, &json!({"error": "not found"})),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
