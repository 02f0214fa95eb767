//! Each provider through the real door and at its own hosts: where a browser is sent, how the code is exchanged, what is
//! asked about the person, and the identity that comes of answers in the recorded shape.

mod by_id_token;
mod by_one_answer;
mod by_several_answers;
mod oauth1;
mod oddities;

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gotrue_rs::testing::{Sent, World};
use gotrue_rules::domain::policy::{ExternalProvider, Policy};
use serde_json::{Value, json};
use url::form_urlencoded;
use uuid::Uuid;

use crate::ports::internet::{Asked, Internet};

const CALLBACK: &str = "http://auth.example.com/callback";

/// What is agreed with a provider.
struct Contract {
    provider: &'static str,
    /// Where a browser is sent, and the scopes it takes along.
    sent_to: (&'static str, &'static str),
    /// Where the code is exchanged.
    token: &'static str,
    /// What the answer to the code holds besides the usual.
    in_token: Value,
    /// What is asked about the person, one after the other, and the answers.
    asks: Vec<(&'static str, Value)>,
    /// What the identity keeps; that no phone number is verified goes without saying.
    identity: Value,
}

impl Contract {
    /// With a provider that is at these two addresses.
    fn with(provider: &'static str, sent_to: (&'static str, &'static str), token: &'static str) -> Self {
        Self { provider, sent_to, token, in_token: json!({}), asks: Vec::new(), identity: Value::Null }
    }

    /// It is asked this about the person, and answers.
    fn asks(mut self, url: &'static str, answer: Value) -> Self {
        self.asks.push((url, answer));
        self
    }

    /// The person is a new account with this identity, whose address is confirmed.
    async fn makes(self, identity: Value) -> Vec<Asked> {
        self.makes_in(at_home, identity).await
    }

    /// The same in a world that differs.
    async fn makes_in(mut self, at_home: impl AsyncFn(&str) -> (World, Internet), identity: Value) -> Vec<Asked> {
        self.identity = identity;
        let (world, internet) = at_home(self.provider).await;
        internet.put(self.token, 200, &tokens(&self.in_token));
        for (url, answer) in &self.asks {
            internet.put(url.split('?').next().unwrap_or_default(), 200, answer);
        }
        let sent = sent(&world, self.provider, "").await;
        self.check_sent(&sent);
        let back = world.get(&format!("/callback?state={}&code=c0de", sent.query("state"))).await.expect(302);
        let asked = internet.asked();
        self.check_asked(&asked);
        self.check_account(&world, &Sent::by(&back)).await;
        asked
    }

    fn check_sent(&self, sent: &Sent) {
        let (url, scopes) = self.sent_to;
        assert_eq!((&*sent.base, sent.query("scope")), (url, scopes));
        assert_eq!(sent.query("client_id"), format!("{}-client", self.provider));
        assert_eq!((sent.query("redirect_uri"), sent.query("response_type")), (CALLBACK, "code"));
        assert!(Uuid::parse_str(sent.query("state")).is_ok(), "{sent:?}");
    }

    /// The code is exchanged with our id and secret in a header, and each question carries the access token.
    fn check_asked(&self, asked: &[Asked]) {
        let [exchange, questions @ ..] = asked else { panic!("nobody was asked") };
        assert_eq!((&*exchange.method, &*exchange.url), ("POST", self.token));
        let form = form(exchange);
        let usual = [("grant_type", "authorization_code"), ("code", "c0de"), ("redirect_uri", CALLBACK)];
        for (name, value) in usual {
            assert_eq!(form.get(name).map(String::as_str), Some(value), "{form:?}");
        }
        let urls: Vec<_> = questions.iter().map(|it| (&*it.method, &*it.url)).collect();
        assert_eq!(urls, self.asks.iter().map(|(url, _)| ("GET", *url)).collect::<Vec<_>>());
        for question in questions {
            assert_eq!(question.headers["authorization"], "Bearer upstream-access", "{}", question.url);
        }
    }

    async fn check_account(&self, world: &World, back: &Sent) {
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

/// A world in which people can sign in with that provider, which is at its own hosts.
async fn at_home(provider: &str) -> (World, Internet) {
    at_home_but(provider, |_| {}).await
}

/// The same with its policy changed.
async fn at_home_but(provider: &str, change: impl FnOnce(&mut Policy)) -> (World, Internet) {
    let internet = Internet::start().await;
    let settings = ExternalProvider {
        enabled: true,
        client_ids: vec![format!("{provider}-client")],
        secret: format!("{provider}-secret").as_str().into(),
        redirect_uri: CALLBACK.to_owned(),
        ..ExternalProvider::default()
    };
    let world = World::builder().outbound(internet.outbound()).policy(|policy| {
        policy.external.providers.insert(provider.to_owned(), settings);
        change(policy);
    });
    (world.build().await, internet)
}

/// Where a browser is sent that wants to sign in.
async fn sent(world: &World, provider: &str, query: &str) -> Sent {
    Sent::by(&world.get(&format!("/authorize?provider={provider}{query}")).await.expect(302))
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

fn form(asked: &Asked) -> BTreeMap<String, String> {
    form_urlencoded::parse(asked.body.as_bytes()).into_owned().collect()
}

/// Id and secret in a header.
fn basic(asked: &Asked) -> String {
    let header = asked.headers["authorization"].strip_prefix("Basic ").expect("a header of that kind");
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
