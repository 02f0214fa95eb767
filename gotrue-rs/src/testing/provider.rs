//! A provider for tests: a server on this machine that answers as it is told and keeps what it was asked.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use futures::future::BoxFuture;
use gotrue_rules::domain::policy::{ExternalProvider, Policy};
use gotrue_rules::domain::secret::Secret;
use http::{HeaderMap, Method, Uri};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use url::form_urlencoded;

use super::answer::Answer;
use super::receiver::said;
use super::world::World;

/// A provider.
#[derive(Clone)]
pub struct FakeProvider(Arc<Inner>);

struct Inner {
    address: String,
    answers: Mutex<HashMap<String, Answerer>>,
    asked: Mutex<Vec<Asked>>,
}

type Answerer = Arc<dyn Fn(&Asked) -> BoxFuture<'static, Response> + Send + Sync>;

/// A request that came.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The method.
    pub method: Method,
    /// The path.
    pub path: String,
    /// The query.
    pub query: BTreeMap<String, String>,
    /// The headers.
    pub headers: HeaderMap,
    /// The form, if there is one.
    pub form: BTreeMap<String, String>,
}

impl Asked {
    /// A header's text, empty if there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// A parameter of the form, empty if there is none.
    pub fn form(&self, name: &str) -> &str {
        self.form.get(name).map_or("", String::as_str)
    }
}

impl FakeProvider {
    /// Answers 404 to everything until it is told otherwise.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
        let address = format!("http://{}", listener.local_addr().expect("it has an address"));
        let provider = Self(Arc::new(Inner { address, answers: Mutex::default(), asked: Mutex::default() }));
        let router = axum::Router::new().fallback(receive).with_state(provider.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        provider
    }

    /// Its address, with a path below it.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.0.address)
    }

    /// Switches a provider on that is at this one's address, below its name.
    pub fn set_up(&self, policy: &mut Policy, name: &str) {
        policy.external.providers.insert(
            name.to_owned(),
            ExternalProvider {
                enabled: true,
                client_ids: vec![format!("{name}-client")],
                secret: Secret::new(format!("{name}-secret")),
                redirect_uri: "http://auth.example.com/callback".to_owned(),
                url: self.url(&format!("/{name}")),
                ..ExternalProvider::default()
            },
        );
    }

    /// From now on that path is answered with this JSON.
    pub fn answer(&self, path: &str, body: Value) {
        self.respond(path, move |_| said(200, &body));
    }

    /// From now on that path is answered like this.
    pub fn respond(&self, path: &str, with: impl Fn(&Asked) -> Response + Send + Sync + 'static) {
        self.respond_after(path, move |asked| {
            let response = with(asked);
            Box::pin(async { response })
        });
    }

    /// The same, once the future completes.
    pub fn respond_after(
        &self,
        path: &str,
        with: impl Fn(&Asked) -> BoxFuture<'static, Response> + Send + Sync + 'static,
    ) {
        locked(&self.0.answers).insert(path.to_owned(), Arc::new(with));
    }

    /// From now on GitHub knows this person, by one address, and gives tokens for every code.
    pub fn knows_on_github(&self, id: i64, email: &str, verified: bool) {
        let tokens =
            json!({"access_token": "github-access", "refresh_token": "github-refresh", "token_type": "bearer"});
        self.answer("/github/login/oauth/access_token", tokens);
        self.answer("/github/api/v3/user", json!({"id": id, "login": "ann", "name": "Ann Example"}));
        let email = json!([{"email": email, "primary": true, "verified": verified}]);
        self.answer("/github/api/v3/user/emails", email);
    }

    /// What it was asked since the last time, oldest first.
    pub fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut *locked(&self.0.asked))
    }
}

/// Where a browser is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The address up to its query.
    pub base: String,
    /// The query.
    pub query: BTreeMap<String, String>,
    /// The fragment.
    pub fragment: BTreeMap<String, String>,
}

impl Sent {
    /// Where that answer sends it.
    pub fn by(answer: &Answer) -> Self {
        let (rest, fragment) = answer.header("location").split_once('#').unwrap_or((answer.header("location"), ""));
        let (base, query) = rest.split_once('?').unwrap_or((rest, ""));
        Self { base: base.to_owned(), query: pairs(query.as_bytes()), fragment: pairs(fragment.as_bytes()) }
    }

    /// A parameter of the query, empty if there is none.
    pub fn query(&self, name: &str) -> &str {
        self.query.get(name).map_or("", String::as_str)
    }

    /// A parameter of the fragment, empty if there is none.
    pub fn fragment(&self, name: &str) -> &str {
        self.fragment.get(name).map_or("", String::as_str)
    }
}

impl World {
    /// The state with which a browser is sent to the provider that the query names.
    pub async fn begin(&self, query: &str) -> String {
        let answer = self.get(&format!("/authorize?provider={query}")).await.expect(302);
        Sent::by(&answer).query("state").to_owned()
    }

    /// Where a browser is sent that comes back with this state and some code.
    pub async fn finish(&self, state: &str) -> Sent {
        Sent::by(&self.get(&format!("/callback?state={state}&code=c0de-from-upstream")).await.expect(302))
    }
}

fn pairs(text: &[u8]) -> BTreeMap<String, String> {
    form_urlencoded::parse(text).into_owned().collect()
}

async fn receive(
    State(provider): State<FakeProvider>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let query = pairs(uri.query().unwrap_or_default().as_bytes());
    let asked = Asked { method, path: uri.path().to_owned(), query, headers, form: pairs(&body) };
    let answerer = locked(&provider.0.answers).get(&asked.path).cloned();
    locked(&provider.0.asked).push(asked.clone());
    match answerer {
        Some(answerer) => answerer(&asked).await,
        None => said(404, &json!({"error": "not found"})),
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
