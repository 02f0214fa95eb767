//! A shop with a desk, and requests to its API.

use std::time::Duration;

use gotrue_rules::domain::mfa::totp::generate_code;
use platform::clock::{Clock, SystemClock};
use platform::software_authenticator::Authenticator;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use crate::support::{Basalt, TempFolder};

pub(crate) const EMAIL: &str = "owner@shop.example";
pub(crate) const PASSWORD: &str = "correct horse battery";
const SHOP: &str = "[basalt.shop]\nowner = \"owner@shop.example\"\n";

/// A server of a shop.
pub(crate) struct Shop {
    pub server: Basalt,
    _folder: TempFolder,
}

/// An answer of the API.
#[derive(Debug)]
pub(crate) struct Answer {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub body: Value,
}

impl Answer {
    pub(crate) fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.body[name].as_str().unwrap_or_else(|| panic!("no {name} in {}", self.body)).to_owned()
    }

    /// The cookie that the answer sets: its name and value.
    pub(crate) fn cookie(&self) -> String {
        let cookie = self.headers["set-cookie"].to_str().expect("text");
        cookie.split(';').next().expect("a pair").to_owned()
    }
}

/// A signed-in owner.
#[derive(Debug, Clone)]
pub(crate) struct SignedIn {
    pub cookie: String,
    pub csrf_token: String,
    pub secret: String,
    /// The code of the setup, which is used.
    pub code: String,
}

impl Shop {
    pub(crate) fn start() -> Self {
        Self::start_with("")
    }

    /// Starts a shop with further settings.
    pub(crate) fn start_with(settings: &str) -> Self {
        let folder = TempFolder::new();
        let config = folder.write("config.toml", &format!("{settings}\n{SHOP}"));
        let server = Basalt::serve(&["--config", &config, "--ephemeral"]);
        Self { server, _folder: folder }
    }

    /// The token of the link that the server printed.
    pub(crate) fn setup_token(&self) -> String {
        let link = self.server.text("desk_setup_url");
        link.split_once("/_desk/#setup=").expect("a link of the desk").1.to_owned()
    }

    /// A request of a page of the own site.
    pub(crate) fn request(&self, method: &Method, path: &str) -> RequestBuilder {
        let request = self.server.client.request(method.clone(), self.server.url(&format!("/_desk/api{path}")));
        if *method == Method::GET { request } else { request.header("origin", self.server.text("url")) }
    }

    pub(crate) async fn get(&self, path: &str, cookie: Option<&str>) -> Answer {
        let request = self.request(&Method::GET, path);
        send(cookie.iter().fold(request, |request, cookie| request.header("cookie", *cookie))).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        send(self.request(&Method::POST, path).json(&body)).await
    }

    /// A change by a signed-in owner.
    pub(crate) async fn change(&self, method: Method, path: &str, owner: &SignedIn, body: Value) -> Answer {
        let request = self.request(&method, path).header("cookie", &owner.cookie);
        send(request.header("x-desk-csrf", &owner.csrf_token).json(&body)).await
    }

    /// Makes the owner by the printed link.
    pub(crate) async fn set_up(&self) -> SignedIn {
        let body = json!({"token": self.setup_token(), "email": EMAIL, "password": PASSWORD});
        let made = self.post("/setup", body).await;
        assert_eq!(made.status, 200, "{}", made.body);
        let secret = made.body["totp"]["secret"].as_str().expect("a secret").to_owned();
        let (code, session) = loop {
            wait_for_long_step().await;
            let (step, code) = (current_step(), code_of(&secret, -1));
            let session = self.post("/setup/totp", json!({"ticket": made.text("ticket"), "code": code})).await;
            if session.status == 200 || step == current_step() {
                break (code, session);
            }
        };
        assert_eq!(session.status, 200, "{}", session.body);
        SignedIn { cookie: session.cookie(), csrf_token: session.text("csrf_token"), secret, code }
    }

    /// The first step of a sign-in.
    pub(crate) async fn send_password(&self, email: &str, password: &str) -> Answer {
        self.post("/sign-in", json!({"email": email, "password": password})).await
    }

    /// Signs in with a code, whose step is counted from the current one: each counts once.
    pub(crate) async fn sign_in(&self, secret: &str, step: i64) -> Answer {
        let first = self.send_password(EMAIL, PASSWORD).await;
        assert_eq!((first.status, first.body["next"].as_str()), (200, Some("totp")), "{}", first.body);
        self.post("/sign-in/totp", json!({"ticket": first.text("ticket"), "code": code_of(secret, step)})).await
    }

    /// A device at the address of the shop that can have passkeys.
    pub(crate) fn authenticator(&self) -> Authenticator {
        let origin = self.server.text("url").replace("127.0.0.1", "localhost");
        Authenticator::new(&origin, "localhost").expect("a key")
    }

    /// Adds a passkey with the name `Laptop`.
    pub(crate) async fn add_passkey(&self, owner: &SignedIn, authenticator: &mut Authenticator) -> Answer {
        let offered = self.change(Method::POST, "/passkeys/options", owner, json!({})).await;
        assert_eq!(offered.status, 200, "{}", offered.body);
        assert_eq!(offered.body["options"]["authenticatorSelection"]["userVerification"], "required");
        let credential = authenticator.create(&offered.body["options"]);
        let body = json!({"ticket": offered.text("ticket"), "credential": credential, "name": "Laptop"});
        let made = self.change(Method::POST, "/passkeys", owner, body).await;
        assert_eq!((made.status, made.body["name"].as_str()), (200, Some("Laptop")), "{}", made.body);
        made
    }

    /// A request of an administrator to the auth API.
    pub(crate) async fn admin(&self, method: Method, path: &str, body: Value) -> Value {
        let request = self.server.client.request(method, self.server.url(&format!("/auth/v1/admin{path}")));
        let answer = request.header("apikey", self.server.text("secret_key")).json(&body).send().await;
        answer.expect("an answer").json().await.expect("JSON")
    }

    pub(crate) async fn database(&self) -> PgConnection {
        PgConnection::connect(&self.server.text("database_url")).await.expect("connected")
    }

    /// Runs SQL; returns the number of rows.
    pub(crate) async fn execute(&self, sql: &'static str) -> u64 {
        sqlx::query(sql).execute(&mut self.database().await).await.expect(sql).rows_affected()
    }

    /// Lets every row of the log of the desk fail.
    pub(crate) async fn refuse_events(&self) {
        self.execute("ALTER TABLE basalt.desk_events ADD CONSTRAINT none CHECK (false) NOT VALID").await;
    }

    /// Returns the text of one value.
    pub(crate) async fn query(&self, sql: &'static str) -> String {
        sqlx::query_scalar(sql).fetch_one(&mut self.database().await).await.expect(sql)
    }
}

/// The seconds of a time step.
const STEP: i64 = 30;

/// The number of the current time step.
fn current_step() -> i64 {
    SystemClock.now().timestamp() / STEP
}

/// Waits for the next time step if the current one is about to end, after which the code of the one before is refused.
async fn wait_for_long_step() {
    let left = STEP - SystemClock.now().timestamp() % STEP;
    if left < 3 {
        tokio::time::sleep(Duration::from_secs(left.unsigned_abs())).await;
    }
}

/// The code of a time step counted from the current one.
pub(crate) fn code_of(secret: &str, step: i64) -> String {
    generate_code(secret, SystemClock.now() + chrono::TimeDelta::seconds(STEP * step)).expect("a code")
}

pub(crate) async fn send(request: RequestBuilder) -> Answer {
    let answer = request.send().await.expect("an answer");
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    Answer { status, headers, body: answer.json().await.unwrap_or_default() }
}
