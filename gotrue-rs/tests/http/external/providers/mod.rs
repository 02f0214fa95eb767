//! Each provider with its recorded contract.
//!
//! Checked are the redirect, the code exchange, the profile requests, and the identity made of the recorded responses.
//! The provider simulator makes an identity of the same form.

mod by_id_token;
mod by_one_answer;
mod by_several_answers;
mod oauth1;
mod oddities;
mod simulated;

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gotrue_rs::testing::{RedirectTarget, World};
use gotrue_rules::domain::policy::{ExternalProviderSettings, Policy};
use serde_json::{Value, json};
use url::form_urlencoded;
use uuid::Uuid;

use crate::ports::internet::{Internet, RecordedRequest};

const CALLBACK: &str = "http://auth.example.com/callback";

/// What is agreed with a provider.
struct ProviderContract {
    provider: &'static str,
    /// Where a browser is sent, and the scopes it takes along.
    sent_to: (&'static str, &'static str),
    /// Where the code is exchanged.
    token: &'static str,
    /// What the answer to the code holds besides the usual.
    in_token: Value,
    /// The profile requests in order, and their responses.
    asks: Vec<(&'static str, Value)>,
    /// What the identity keeps; that no phone number is verified goes without saying.
    identity: Value,
}

impl ProviderContract {
    /// With a provider that is at these two addresses.
    fn with(provider: &'static str, sent_to: (&'static str, &'static str), token: &'static str) -> Self {
        Self { provider, sent_to, token, in_token: json!({}), asks: Vec::new(), identity: Value::Null }
    }

    /// Adds a profile request and its response.
    fn asks(mut self, url: &'static str, answer: Value) -> Self {
        self.asks.push((url, answer));
        self
    }

    /// Asserts that a new user has this identity and a confirmed e-mail address.
    async fn makes(self, identity: Value) -> Vec<RecordedRequest> {
        self.makes_in(at_home, identity).await
    }

    /// The same in a world that differs.
    async fn makes_in(
        mut self,
        at_home: impl AsyncFn(&str) -> (World, Internet),
        identity: Value,
    ) -> Vec<RecordedRequest> {
        self.identity = identity;
        let (world, internet) = at_home(self.provider).await;
        internet.put(self.token, 200, &tokens(&self.in_token));
        for (url, answer) in &self.asks {
            internet.put(url.split('?').next().unwrap_or_default(), 200, answer);
        }
        let sent = sent(&world, self.provider, "").await;
        self.assert_redirect(&sent);
        let back = world.get(&format!("/callback?state={}&code=c0de", sent.query("state"))).await.expect(302);
        let requests = internet.take_requests();
        self.assert_profile_requests(&requests);
        self.assert_user(&world, &RedirectTarget::from_response(&back)).await;
        simulated::assert_same_form(self.provider, &self.identity, &json!({})).await;
        requests
    }

    fn assert_redirect(&self, sent: &RedirectTarget) {
        let (url, scopes) = self.sent_to;
        assert_eq!((&*sent.base, sent.query("scope")), (url, scopes));
        assert_eq!(sent.query("client_id"), format!("{}-client", self.provider));
        assert_eq!((sent.query("redirect_uri"), sent.query("response_type")), (CALLBACK, "code"));
        assert!(Uuid::parse_str(sent.query("state")).is_ok(), "{sent:?}");
    }

    /// Asserts the code exchange with basic authentication, and the access token in each profile request.
    fn assert_profile_requests(&self, requested: &[RecordedRequest]) {
        let [exchange, questions @ ..] = requested else { panic!("no request was sent") };
        assert_eq!((&*exchange.method, &*exchange.url), ("POST", self.token));
        let form = form(exchange);
        let usual = [("grant_type", "authorization_code"), ("code", "c0de"), ("redirect_uri", CALLBACK)];
        for (name, value) in usual {
            assert_eq!(form.get(name).map(String::as_str), Some(value), "{form:?}");
        }
        let urls: Vec<_> = questions.iter().map(|question| (&*question.method, &*question.url)).collect();
        assert_eq!(urls, self.asks.iter().map(|(url, _)| ("GET", *url)).collect::<Vec<_>>());
        for question in questions {
            assert_eq!(question.headers["authorization"], "Bearer upstream-access", "{}", question.url);
        }
    }

    async fn assert_user(&self, world: &World, back: &RedirectTarget) {
        assert_eq!(back.fragment("provider_token"), "upstream-access", "{back:?}");
        let user = world.get_as(back.fragment("access_token"), "/user").await.expect(200);
        let identity = &user.json["identities"][0];
        let mut data = identity["identity_data"].clone();
        assert_eq!(data.as_object_mut().and_then(|data| data.shift_remove("phone_verified")), Some(json!(false)));
        assert_eq!(data, self.identity);
        assert_eq!((&identity["provider"], &identity["id"]), (&json!(self.provider), &self.identity["sub"]));
        assert_eq!(user.json["email"], self.identity["email"]);
        assert_eq!(user.json["app_metadata"]["providers"], json!([self.provider]));
    }
}

/// A world with this provider enabled at its own hosts.
async fn at_home(provider: &str) -> (World, Internet) {
    at_home_but(provider, |_| {}).await
}

/// The same with its policy changed.
async fn at_home_but(provider: &str, change: impl FnOnce(&mut Policy)) -> (World, Internet) {
    let internet = Internet::start().await;
    let settings = ExternalProviderSettings {
        enabled: true,
        client_ids: vec![format!("{provider}-client")],
        secret: format!("{provider}-secret").as_str().into(),
        redirect_uri: CALLBACK.to_owned(),
        ..ExternalProviderSettings::default()
    };
    let world = World::builder().outbound(internet.outbound()).policy(|policy| {
        policy.external.providers.insert(provider.to_owned(), settings);
        change(policy);
    });
    (world.build().await, internet)
}

/// Where a browser is sent that wants to sign in.
async fn sent(world: &World, provider: &str, query: &str) -> RedirectTarget {
    RedirectTarget::from_response(&world.get(&format!("/authorize?provider={provider}{query}")).await.expect(302))
}

/// What a code is exchanged for.
fn tokens(more: &Value) -> Value {
    let mut tokens =
        json!({"access_token": "upstream-access", "refresh_token": "upstream-refresh", "token_type": "bearer"});
    for (name, value) in more.as_object().expect("members are an object") {
        tokens[name] = value.clone();
    }
    tokens
}

fn form(request: &RecordedRequest) -> BTreeMap<String, String> {
    form_urlencoded::parse(request.body.as_bytes()).into_owned().collect()
}

/// Id and secret in a header.
fn basic(request: &RecordedRequest) -> String {
    let header = request.headers["authorization"].strip_prefix("Basic ").expect("a header of that kind");
    String::from_utf8(STANDARD.decode(header).expect("base64")).expect("text")
}

/// Claims that most give: id, name and picture, by their older names too, and a confirmed address.
fn usual(issuer: &str, id: &str, more: &Value) -> Value {
    let mut claims = json!({"iss": issuer, "sub": id, "provider_id": id, "name": "Ann Example", "full_name": "Ann Example",
                            "picture": PICTURE, "avatar_url": PICTURE, "email": ANN, "email_verified": true});
    for (name, value) in more.as_object().expect("claims are an object") {
        match value {
            Value::Null => claims.as_object_mut().expect("claims are an object").shift_remove(name),
            value => claims.as_object_mut().expect("claims are an object").insert(name.clone(), value.clone()),
        };
    }
    claims
}

const ANN: &str = "ann@example.com";
const PICTURE: &str = "https://img.example.com/ann.png";
