//! The signing key rotates by overlap, while sessions continue on two servers.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures::StreamExt as _;
use reqwest::Client;
use serde_json::{Value, json};

use super::super::support::{Basalt, TempFolder, free_port, run};
use super::{eventually, keys};

const SESSIONS: usize = 1_000;
/// Requests at the same time.
const CONCURRENT: usize = 16;
const KEY: &str = "sb_publishable_0123456789abcdefghijkl";
const SECRET_KEY: &str = "sb_secret_0123456789abcdefghijkl";
const CONFIG: &str = "
[api]
external_url = \"http://127.0.0.1:9\"
[auth]
jwt_secret = \"a secret for the keys of a test, long enough\"
publishable_key = \"sb_publishable_0123456789abcdefghijkl\"
secret_key = \"sb_secret_0123456789abcdefghijkl\"
enable_anonymous_sign_ins = true
[auth.rate_limit]
anonymous_users = 1000000
token_refresh = 1000000
sign_in_sign_ups = 1000000
";

#[derive(Debug, Clone)]
struct Session {
    access_token: String,
    refresh_token: String,
}

/// Two servers on one database.
struct Replicas {
    _database: Basalt,
    servers: [Basalt; 2],
    urls: [String; 2],
    arguments: Vec<String>,
    folder: TempFolder,
}

impl Replicas {
    fn start() -> Self {
        let (database, folder) = (Basalt::serve(&["--ephemeral"]), TempFolder::new());
        let (config, url) = (folder.write("config.toml", CONFIG), database.text("database_url"));
        let ports = [free_port(), free_port()].map(|port| port.to_string());
        let servers = [0, 1].map(|number: usize| {
            let data = folder.path(&format!("data{number}"));
            Basalt::serve(&["--config", &config, "--data", &data, "--database-url", &url, "--port", &ports[number]])
        });
        let urls = ports.map(|port| format!("http://127.0.0.1:{port}/auth/v1"));
        let arguments = ["--config", &config, "--data", &folder.path("data0"), "--database-url", &url];
        let arguments = arguments.map(str::to_owned).to_vec();
        Self { _database: database, servers, urls, arguments, folder }
    }

    fn keys(&self, action: &[&str]) -> Result<Value, String> {
        let all: Vec<&str> = self.arguments.iter().map(String::as_str).chain(action.iter().copied()).collect();
        keys(&all)
    }

    /// Sends a request for every session, half of them to each server.
    async fn for_each<T, F: Future<Output = T>>(&self, send: impl Fn(Client, String, usize) -> F) -> Vec<T> {
        let requests = (0..SESSIONS)
            .map(|number| send(self.servers[number % 2].client.clone(), self.urls[number % 2].clone(), number));
        futures::stream::iter(requests).buffered(CONCURRENT).collect().await
    }

    /// Asserts how both servers answer each access token.
    async fn expect_access(&self, sessions: &[Session], expected: u16) {
        for offset in [0, 1] {
            let statuses = self.for_each(|_, _, number| {
                let at = (number + offset) % 2;
                get_user(&self.servers[at].client, &self.urls[at], &sessions[number].access_token)
            });
            let others = statuses.await.into_iter().filter(|status| *status != expected).count();
            assert_eq!(others, 0, "of {SESSIONS} access tokens, expected {expected}");
        }
    }

    async fn published_ids(&self) -> Vec<Vec<String>> {
        let mut all = Vec::new();
        for (server, url) in self.servers.iter().zip(&self.urls) {
            let answer = server.client.get(format!("{url}/.well-known/jwks.json")).send().await.expect("an answer");
            let published: Value = answer.json().await.expect("JSON");
            let ids = published["keys"].as_array().expect("keys").iter();
            all.push(ids.map(|key| key["kid"].as_str().expect("an id").to_owned()).collect());
        }
        all
    }

    /// Asserts that a third server starts and signs with this key, and one with another secret does not.
    async fn expect_starts(&self, id: &Value) {
        let (data, port) = (self.folder.path("data2"), free_port().to_string());
        let mut arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        arguments[3] = &data;
        arguments.extend(["--port", &port]);
        let third = Basalt::serve(&arguments);
        let session = sign_in(&third.client, &format!("http://127.0.0.1:{port}/auth/v1")).await;
        assert_eq!(header(&session.access_token)["kid"], *id);
        drop(third);

        let other =
            self.folder.write("other.toml", &CONFIG.replace("a secret for the keys", "another secret for the keys"));
        arguments[1] = &other;
        let refused = run(&[&["serve"][..], &arguments].concat());
        let log = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && log.contains("were encrypted with another auth.jwt_secret"), "{log}");
    }

    /// Waits until both servers sign with this key.
    async fn wait_for_signer(&self, id: &Value) {
        for (server, url) in self.servers.iter().zip(&self.urls) {
            eventually("the server signs with the key in use", async || {
                let session = sign_in(&server.client, url).await;
                header(&session.access_token)["kid"] == *id
            })
            .await;
        }
    }
}

async fn sign_in(client: &Client, url: &str) -> Session {
    let request = client.post(format!("{url}/signup")).header("apikey", KEY).json(&json!({}));
    read_session(request.send().await.expect("an answer")).await
}

async fn refresh(client: &Client, url: &str, token: &str) -> Session {
    let url = format!("{url}/token?grant_type=refresh_token");
    let request = client.post(url).header("apikey", KEY).json(&json!({ "refresh_token": token }));
    read_session(request.send().await.expect("an answer")).await
}

async fn read_session(response: reqwest::Response) -> Session {
    let (status, body) = (response.status(), response.json::<Value>().await.expect("JSON"));
    assert_eq!(status, 200, "{body}");
    let text = |name: &str| body[name].as_str().expect("a token").to_owned();
    Session { access_token: text("access_token"), refresh_token: text("refresh_token") }
}

fn get_user(client: &Client, url: &str, token: &str) -> impl Future<Output = u16> + use<> {
    let request = client.get(format!("{url}/user")).header("apikey", KEY).bearer_auth(token);
    async move { request.send().await.expect("an answer").status().as_u16() }
}

fn header(token: &str) -> Value {
    let header = token.split('.').next().expect("a header");
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).expect("base64url")).expect("JSON")
}

async fn list_users(client: &Client, url: &str, key: &str) -> u16 {
    let request = client.get(format!("{url}/admin/users?per_page=1")).header("apikey", key);
    request.send().await.expect("an answer").status().as_u16()
}

#[tokio::test(flavor = "multi_thread")]
async fn thousand_sessions_survive_a_rotation_on_two_servers() {
    let replicas = Replicas::start();
    let before = replicas.for_each(|client, url, _| async move { sign_in(&client, &url).await }).await;
    assert_eq!(header(&before[0].access_token)["alg"], "HS256");

    let added = replicas.keys(&["add", "signing"]).expect("added");
    let id = &added["key"]["id"];
    let published = id.as_str().map(str::to_owned);
    eventually("both publish the key on standby", async || {
        replicas.published_ids().await.iter().all(|ids| ids.first() == published.as_ref())
    })
    .await;
    let session = sign_in(&replicas.servers[0].client, &replicas.urls[0]).await;
    assert_eq!(header(&session.access_token)["alg"], "HS256", "a key on standby does not sign");
    let early = replicas.keys(&["rotate", "signing"]).expect_err("too early");
    assert!(early.contains("less than 10 minutes ago"), "{early}");

    let rotation = replicas.keys(&["rotate", "signing", "--now"]).expect("rotated");
    assert_eq!(rotation, json!({ "current": id, "previous": "jwt_secret" }));
    replicas.wait_for_signer(id).await;
    replicas.expect_access(&before, 200).await;
    let refresh_all = |client: Client, url: String, number: usize| {
        let token = before[number].refresh_token.clone();
        async move { refresh(&client, &url, &token).await }
    };
    let after = replicas.for_each(refresh_all).await;
    assert!(after.iter().all(|session| header(&session.access_token)["kid"] == *id));
    replicas.expect_access(&after, 200).await;

    let refused = replicas.keys(&["retire", id.as_str().expect("text"), "--now"]).expect_err("it signs");
    assert!(refused.contains("signs access tokens"), "{refused}");
    let early = replicas.keys(&["retire", "jwt_secret"]).expect_err("too early");
    assert!(early.contains("live for 3600 s"), "{early}");
    let service_role_key = replicas.servers[0].text("service_role_key");
    assert_eq!(list_users(&replicas.servers[0].client, &replicas.urls[0], &service_role_key).await, 200);
    let retired = replicas.keys(&["retire", "jwt_secret", "--now"]).expect("retired");
    assert!(retired["warning"].as_str().is_some_and(|warning| warning.contains("service_role_key")), "{retired}");
    for (server, url) in replicas.servers.iter().zip(&replicas.urls) {
        let client = &server.client;
        let status = get_user(client, url, &before[0].access_token).await;
        assert_ne!(status, 200, "the command ends when all servers refuse the key");
        assert_eq!(list_users(client, url, &service_role_key).await, 401, "a token of the secret");
        assert_eq!(list_users(client, url, SECRET_KEY).await, 200);
    }
    replicas.expect_access(&before, 403).await;
    replicas.expect_access(&after, 200).await;
    let last = &after[SESSIONS - 1];
    let renewed = refresh(&replicas.servers[0].client, &replicas.urls[0], &last.refresh_token).await;
    assert_eq!(header(&renewed.access_token)["alg"], "ES256");
    assert_eq!(
        replicas.published_ids().await,
        [[published.clone()], [published]].map(|ids| ids.map(Option::unwrap_or_default))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn rotation_waits_for_a_server_that_does_not_accept_the_key() {
    let replicas = Replicas::start();
    let added = replicas.keys(&["add", "signing", "--algorithm", "rs256"]).expect("added");
    // A stopped process still counts as running, and cannot take up the key.
    replicas.servers[1].signal(rustix::process::Signal::STOP);
    let added_while_stopped = replicas.keys(&["add", "signing"]).expect("added");
    let id = added_while_stopped["key"]["id"].as_str().expect("text").to_owned();
    let arguments: Vec<String> = replicas.arguments.clone();
    let rotating = tokio::task::spawn_blocking(move || {
        let all: Vec<&str> = arguments.iter().map(String::as_str).collect();
        keys(&[&all[..], &["rotate", "signing", "--now", "--key", &id]].concat())
    });
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    assert!(!rotating.is_finished(), "the stopped server does not accept the key");
    replicas.servers[1].signal(rustix::process::Signal::CONT);
    let rotation = rotating.await.expect("the command ran").expect("rotated");
    assert_eq!(rotation["current"], added_while_stopped["key"]["id"]);
    replicas.wait_for_signer(&rotation["current"]).await;

    let rotated_back =
        replicas.keys(&["rotate", "signing", "--now", "--key", added["key"]["id"].as_str().expect("text")]);
    let rotated_back = rotated_back.expect("rotated");
    replicas.wait_for_signer(&rotated_back["current"]).await;
    let listed = replicas.keys(&["list"]).expect("a list");
    let states: Vec<[&str; 2]> = (listed["keys"].as_array().expect("keys").iter())
        .filter(|key| key["type"] == "signing")
        .map(|key| ["state", "algorithm"].map(|name| key[name].as_str().expect("text")))
        .collect();
    assert_eq!(states, [["previous", "HS256"], ["current", "RS256"], ["previous", "ES256"]]);
    replicas.expect_starts(&rotated_back["current"]).await;
}
