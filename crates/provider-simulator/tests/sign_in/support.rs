//! A world whose providers are simulated.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use chrono::TimeDelta;
use gotrue_rs::testing::{RedirectTarget, World};
use gotrue_rules::domain::policy::{ExternalProviderSettings, PROVIDERS, Policy};
use http::{HeaderMap, Method, StatusCode};
use platform::clock::SharedClock;
use platform::entropy::Entropy;
use platform::testing::{Answer, FakeClock};
use provider_simulator::{NextSignIn, Simulator, SimulatorOptions};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use url::form_urlencoded::Serializer;

/// The page for choosing a user, reduced to its variables.
const PAGE: &str = "<form method=\"post\" action=\"{{action}}\"><input value=\"{{email}}\"><input value=\"{{name}}\">";
pub(crate) const CALLBACK: &str = "http://auth.example.com/callback";
pub(crate) const PICTURE: &str = "https://img.example.com/zoe.png";

/// A world, its simulator, and the clock of the simulator.
pub(crate) struct Trial {
    pub world: World,
    pub simulator: Arc<Simulator>,
    pub clock: FakeClock,
}

/// A response of the simulator.
#[derive(Debug)]
pub(crate) struct Response {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
    pub json: Value,
}

impl Trial {
    /// With all providers, which are not configured otherwise.
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// With all providers, after a change of the policy.
    pub(crate) async fn with(change: impl FnOnce(&mut Policy)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let clock = FakeClock::at("2026-06-01T12:00:00Z".parse().expect("a time"));
        let options = SimulatorOptions {
            base_url: format!("http://{}/_dev/provider", listener.local_addr().expect("an address")),
            auth_url: "http://auth.example.com".to_owned(),
            page: PAGE,
        };
        let shared: SharedClock = Arc::new(clock.clone());
        let simulator = Arc::new(Simulator::new(options, shared, Entropy::from_seed(1)).expect("a simulator"));
        let answering = simulator.clone();
        let router = axum::Router::new().fallback(move |request: Request| {
            let simulator = answering.clone();
            async move { simulator.answer(request).await }
        });
        tokio::spawn(async move { axum::serve(listener, router).await });
        let applied = simulator.clone();
        let world = World::builder().policy(move |policy| {
            change(policy);
            applied.apply(policy, PROVIDERS);
        });
        Self { world: world.build().await, simulator, clock }
    }

    /// Determines the next sign-in.
    pub(crate) fn set_next(&self, provider: &str, body: &Value) {
        let next = NextSignIn::parse(body).expect("a valid body");
        self.simulator.set_next(provider, next).expect("a sign-in of this provider");
    }

    /// Sends a request to the simulator, as a browser or an app does.
    pub(crate) async fn send(&self, method: Method, url: &str, headers: &[(&str, &str)], form: &str) -> Response {
        let mut request = http::Request::builder().method(method).uri(path_of(url));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.simulator.answer(request.body(Body::from(form.to_owned())).expect("a request")).await;
        let (parts, body) = response.into_parts();
        let bytes = axum::body::to_bytes(body, usize::MAX).await.expect("a body");
        let text = String::from_utf8(bytes.to_vec()).expect("text");
        let json = serde_json::from_str(&text).unwrap_or_default();
        Response { status: parts.status, headers: parts.headers, text, json }
    }

    /// Starts a sign-in at the auth API and returns the URL at the provider.
    pub(crate) async fn start(&self, provider: &str, query: &str) -> String {
        let answer = self.world.get(&format!("/authorize?provider={provider}{query}")).await.expect(302);
        answer.header("location").to_owned()
    }

    /// Follows the redirect of a response of the simulator to the auth API.
    pub(crate) async fn return_from(&self, response: &Response) -> RedirectTarget {
        assert_eq!(response.status, StatusCode::SEE_OTHER, "{}", response.text);
        let query = response.location().strip_prefix(CALLBACK).expect("the callback");
        RedirectTarget::from_response(&self.world.get(&format!("/callback{query}")).await.expect(302))
    }

    /// Posts the form of a page of the simulator to the auth API.
    pub(crate) async fn post_back(&self, response: &Response) -> RedirectTarget {
        assert!(response.text.contains(&format!("action=\"{CALLBACK}\"")), "{}", response.text);
        let request = http::Request::post("/callback").header("content-type", "application/x-www-form-urlencoded");
        let request = request.body(Body::from(response.hidden_fields())).expect("a request");
        RedirectTarget::from_response(&self.world.send(request).await.expect(302))
    }

    /// A whole sign-in without a page.
    pub(crate) async fn sign_in(&self, provider: &str, query: &str) -> RedirectTarget {
        let url = self.start(provider, query).await;
        let response = self.send(Method::GET, &url, &[], "").await;
        if response.status == StatusCode::OK {
            self.post_back(&response).await
        } else {
            self.return_from(&response).await
        }
    }

    /// A sign-in that a test determines.
    pub(crate) async fn sign_in_as(&self, provider: &str, body: &Value) -> RedirectTarget {
        self.set_next(provider, body);
        self.sign_in(provider, "").await
    }

    /// The user of a session in a redirect.
    pub(crate) async fn user(&self, back: &RedirectTarget) -> Answer {
        assert!(!back.fragment("access_token").is_empty(), "{back:?}");
        self.world.get_as(back.fragment("access_token"), "/user").await.expect(200)
    }

    /// Advances the clocks of world and simulator.
    pub(crate) fn advance(&self, by: TimeDelta) {
        self.clock.advance(by);
        self.world.advance(by);
    }

    /// The settings of a provider in the world.
    pub(crate) fn settings(&self, provider: &str) -> &ExternalProviderSettings {
        self.world.app.policy.external.provider(provider).expect("a provider")
    }
}

impl Response {
    /// The target of the redirect; empty if there is none.
    pub(crate) fn location(&self) -> &str {
        self.headers.get("location").map_or("", |location| location.to_str().expect("text"))
    }

    /// The hidden fields of a form, form-encoded.
    pub(crate) fn hidden_fields(&self) -> String {
        let mut form = Serializer::new(String::new());
        for field in self.text.split("<input type=\"hidden\" name=\"").skip(1) {
            let (name, rest) = field.split_once("\" value=\"").expect("a value");
            let (value, _) = rest.split_once('"').expect("a quotation mark");
            form.append_pair(name, &value.replace("&quot;", "\"").replace("&amp;", "&"));
        }
        form.finish()
    }
}

/// A user with all usual claims.
pub(crate) fn zoe() -> Value {
    json!({"sub": "70071", "email": "zoe@example.com", "claims": {"name": "Zoe Example", "picture": PICTURE}})
}

/// Path and query of a URL.
pub(crate) fn path_of(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest[rest.find('/').unwrap_or_default()..].to_owned()
}
