//! The log of a server that gets many invalid requests.

use platform::clock::{Clock, SystemClock};
use reqwest::redirect::Policy;
use reqwest::{Client, Method};
use serde_json::{Value, json};

use super::orders::{PRODUCTS, Shop};
use super::support::{Basalt, Gotrue, free_port};

/// How often each request is sent.
const REPETITIONS: usize = 20;
/// A token of the right form and claims, signed with another key.
const FORGED_TOKEN: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMDAwMDAwMC0wMDAwLTQwMDAtODAwMC0wMDAwMDAwMDAwMDEiLCJyb2xlIjoiYXV0aGVudGljYXRlZCIsImF1ZCI6ImF1dGhlbnRpY2F0ZWQiLCJleHAiOjQwMDAwMDAwMDB9.c2lnbmF0dXJl";

/// A request without a valid credential.
struct InvalidRequest {
    method: Method,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: Option<Value>,
}

impl InvalidRequest {
    fn new(method: Method, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), headers: Vec::new(), body: None }
    }

    fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    fn body(self, body: Value) -> Self {
        Self { body: Some(body), ..self }
    }
}

/// Requests to the auth API, which is at `mount`.
fn requests_to_auth(mount: &str, key: &str) -> Vec<InvalidRequest> {
    let long = "a".repeat(73);
    let get = |path: &str| InvalidRequest::new(Method::GET, format!("{mount}{path}")).header("apikey", key);
    let post =
        |path: &str, body| InvalidRequest::new(Method::POST, format!("{mount}{path}")).header("apikey", key).body(body);
    vec![
        get("/user").header("authorization", format!("Bearer {FORGED_TOKEN}")),
        get("/user").header("authorization", "Bearer x"),
        get("/admin/users").header("authorization", format!("Bearer {FORGED_TOKEN}")),
        get("/callback?state=x&code=y"),
        get(&format!("/callback?state={FORGED_TOKEN}&code=y")),
        get("/verify?type=signup&token=x&redirect_to=http://evil.example"),
        get("/verify?type=%00&token=%ff"),
        get("/authorize?provider=unknown"),
        get("/authorize?provider=custom:unknown"),
        get("/oauth/authorize?client_id=x"),
        post("/token?grant_type=password", json!({"email": "nobody@example.com", "password": long})),
        post("/token?grant_type=password", json!({"email": "nobody\u{0}@example.com", "password": "x\u{0}"})),
        post("/token?grant_type=refresh_token", json!({"refresh_token": "unknown"})),
        post("/token?grant_type=refresh_token", json!({"refresh_token": "v2\u{0}"})),
        post("/token?grant_type=id_token", json!({"provider": "google", "id_token": FORGED_TOKEN})),
        post("/token?grant_type=pkce", json!({"auth_code": "x", "code_verifier": "y"})),
        post("/token?grant_type=web3", json!({"chain": "solana", "message": "x", "signature": "y"})),
        post("/token?grant_type=\u{1}", json!([])),
        post("/signup", json!({"email": "long@example.com", "password": long})),
        post(
            "/signup",
            json!({"email": "nul@example.com", "password": "correct horse battery", "data": {"a": "\u{0}"}}),
        ),
        post("/signup", json!({"phone": "12345678", "password": "correct horse battery"})),
        post("/otp", json!({"phone": "15555550100"})),
        post("/otp", json!({"email": 5})),
        post("/verify", json!({"type": "sms", "phone": "15555550100", "token": "123456"})),
        post("/sso", json!({"domain": "unknown.example"})),
        post("/sso/saml/acs", json!({})),
        post("/passkeys/authentication/options", json!({})),
        post("/oauth/token", json!({"grant_type": "authorization_code", "client_id": "x"})),
        InvalidRequest::new(Method::TRACE, format!("{mount}/user")),
        InvalidRequest::new(Method::POST, format!("{mount}/signup")).header("apikey", "invalid"),
    ]
}

/// Requests to the other parts of `basalt serve`.
fn requests_to_shop(key: &str) -> Vec<InvalidRequest> {
    let now = SystemClock.now().timestamp();
    let get = |path: &str| InvalidRequest::new(Method::GET, path);
    let post = |path: &str| InvalidRequest::new(Method::POST, path).body(json!({"id": "x"}));
    vec![
        post("/shop/webhooks/stripe").header("stripe-signature", format!("t={now},v1={}", "00".repeat(32))),
        post("/shop/webhooks/stripe").header("stripe-signature", "t=1,v1=00"),
        post("/shop/webhooks/lemon-squeezy").header("x-signature", "00".repeat(32)),
        post("/shop/webhooks/paypal"),
        get("/shop/downloads/x"),
        post("/functions/v1/send-submission").header("authorization", format!("Bearer {FORGED_TOKEN}")),
        post("/functions/v1/send-submission").header("authorization", format!("Bearer {key}")),
        post("/functions/v1/unknown"),
        get("/rest/v1/users").header("apikey", FORGED_TOKEN),
        get("/storage/v1/object/public/a"),
        get("/storage/v1/object/public/a").header("via", "1.1 basalt, 1.1 basalt, 1.1 basalt"),
        InvalidRequest::new(Method::TRACE, "/storage/v1/object/public/a"),
        get("/_desk/api/session").header("cookie", "basalt_desk=x"),
        post("/_desk/api/sign-in"),
        post("/_desk/api/setup"),
        get("/%00/..%2f"),
    ]
}

/// Sends each request several times; returns what became of each once.
async fn send_all(url: &str, requests: &[InvalidRequest]) -> Vec<String> {
    let client = Client::builder().no_proxy().redirect(Policy::none()).build().expect("a client");
    let mut answers = Vec::new();
    for request in requests {
        let mut status = 0;
        for _ in 0..REPETITIONS {
            let mut sent = client.request(request.method.clone(), format!("{url}{}", request.path));
            for (name, value) in &request.headers {
                sent = sent.header(*name, value);
            }
            if let Some(body) = &request.body {
                sent = sent.json(body);
            }
            status = sent.send().await.expect("an answer").status().as_u16();
        }
        answers.push(format!("{status} {} {}", request.method, request.path));
    }
    answers
}

/// Fails if a request wrote more than one line at level `warn` or `error`.
fn assert_quiet(log: &str, answers: &[String]) {
    let is_loud = |line: &&str| line.contains("WARN") || line.contains("ERROR");
    let loud: Vec<&str> = log.lines().filter(is_loud).collect();
    assert!(loud.len() < REPETITIONS, "{} lines after {answers:#?}:\n{}", loud.len(), loud.join("\n"));
}

#[tokio::test]
async fn invalid_requests_do_not_fill_the_log() {
    let nowhere = format!("\n[basalt.upstreams]\nstorage = \"http://127.0.0.1:{}\"\n", free_port());
    let shop = Shop::start_with(PRODUCTS, &nowhere);
    let server = &shop.server;
    let key = server.text("publishable_key");
    let requests: Vec<_> = requests_to_auth("/auth/v1", &key).into_iter().chain(requests_to_shop(&key)).collect();
    let answers = send_all(&server.text("url"), &requests).await;
    assert_quiet(&server.log(), &answers);
}

#[tokio::test]
async fn invalid_requests_do_not_fill_the_log_of_the_auth_api() {
    let database = Basalt::serve(&["--ephemeral"]);
    let server = Gotrue::start(&database, &[("GOTRUE_RATE_LIMIT_HEADER", "x-client")]);
    let answers = send_all(&server.url, &requests_to_auth("", "unused")).await;
    assert_quiet(&server.text(), &answers);
}
