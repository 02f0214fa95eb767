//! `basalt keys --gotrue` prints the next value of `GOTRUE_JWT_KEYS`, which servers use.

use std::io::{BufRead, BufReader};
use std::process::{Child, Output, Stdio};

use serde_json::{Value, json};

use super::super::support::{Basalt, TempFolder, basalt, run};

const SECRET: &str = "a secret for the keys of gotrue, long enough";

/// A server of the auth API with a value of `GOTRUE_JWT_KEYS`.
struct Gotrue {
    child: Child,
    url: String,
}

impl Gotrue {
    fn start(database: &Basalt, folder: &TempFolder, keys: &str) -> Self {
        let file = |name: &str, text: &str| folder.write(name, &format!("{text}\n"));
        let mut child = basalt()
            .args(["gotrue", "serve"])
            .env("GOTRUE_DB_DRIVER", "postgres")
            .env("DATABASE_URL_FILE", file("url", &database.text("database_url")))
            .env("GOTRUE_SITE_URL", "http://localhost:3000")
            .env("API_EXTERNAL_URL", "http://localhost:9999")
            .env("GOTRUE_JWT_SECRET_FILE", file("secret", SECRET))
            .env("GOTRUE_JWT_KEYS_FILE", file("keys", keys))
            .env("GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED", "true")
            .env("GOTRUE_API_HOST", "127.0.0.1")
            .env("PORT", "0")
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines().map_while(Result::ok);
        let address = lines
            .find_map(|line| serde_json::from_str::<Value>(&line).ok()?["address"].as_str().map(str::to_owned))
            .expect("the address is logged");
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, url: format!("http://{address}") }
    }

    async fn sign_in(&self, client: &reqwest::Client) -> String {
        let answer = client.post(format!("{}/signup", self.url)).json(&json!({})).send().await.expect("an answer");
        answer.json::<Value>().await.expect("JSON")["access_token"].as_str().expect("a token").to_owned()
    }

    async fn get_user(&self, client: &reqwest::Client, token: &str) -> u16 {
        let request = client.get(format!("{}/user", self.url)).bearer_auth(token);
        request.send().await.expect("an answer").status().as_u16()
    }
}

impl Drop for Gotrue {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn change(keys: &str, action: &[&str]) -> Output {
    let arguments = [&["keys", "--gotrue"][..], action].concat();
    basalt().args(arguments).env("GOTRUE_JWT_SECRET", SECRET).env("GOTRUE_JWT_KEYS", keys).output().expect("it runs")
}

fn next(keys: &str, action: &[&str]) -> String {
    let output = change(keys, action);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").trim_end().to_owned()
}

/// Returns the key ids with the operations.
fn operations(keys: &str) -> Vec<(Value, Value)> {
    let keys: Vec<Value> = serde_json::from_str(keys).expect("a list");
    keys.iter().map(|key| (key["kid"].clone(), key["key_ops"].clone())).collect()
}

#[tokio::test]
async fn values_of_a_rotation_accept_each_other() {
    let database = Basalt::serve(&["--ephemeral"]);
    let folder = TempFolder::new();
    let (sign, verify) = (json!(["sign", "verify"]), json!(["verify"]));
    let added = next("[]", &["add", "signing", "--algorithm", "es256"]);
    let id = operations(&added)[1].0.clone();
    assert_eq!(operations(&added), [(Value::Null, sign.clone()), (id.clone(), verify.clone())]);
    let rotated = next(&added, &["rotate", "signing"]);
    assert_eq!(operations(&rotated), [(Value::Null, verify), (id.clone(), sign.clone())]);
    let retired = next(&rotated, &["retire", "jwt_secret"]);
    assert_eq!(operations(&retired), [(id.clone(), sign)]);

    let client = &database.client;
    let servers = ["[]", &added, &rotated, &retired].map(|keys| Gotrue::start(&database, &folder, keys));
    let mut accepted = Vec::new();
    for server in &servers {
        let token = server.sign_in(client).await;
        let mut statuses = Vec::new();
        for other in &servers {
            statuses.push(other.get_user(client, &token).await);
        }
        accepted.push(statuses);
    }
    // A row for each server that signs: neighbours accept the tokens of each other.
    assert_eq!(
        accepted,
        [[200, 200, 200, 403], [200, 200, 200, 403], [403, 200, 200, 200], [403, 200, 200, 200]]
            .map(|row| row.to_vec())
    );
    let published = client.get(format!("{}/.well-known/jwks.json", servers[1].url)).send().await.expect("an answer");
    let published: Value = published.json().await.expect("JSON");
    assert_eq!((&published["keys"][0]["kid"], published["keys"][0].get("d")), (&id, None));
}

#[test]
fn invalid_steps_are_refused_without_a_value() {
    let added = next("", &["add", "signing"]);
    for (keys, action, expected) in [
        ("", &["rotate", "signing"][..], "add one first"),
        (&*added, &["retire", "jwt_secret"], "signs access tokens"),
        (&*added, &["add", "secret"], "a list has signing keys only"),
        ("{", &["list"], "not a JSON list"),
    ] {
        let output = change(keys, action);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && output.stdout.is_empty(), "{action:?}");
        assert!(error.contains(expected), "{action:?}: {error}");
        assert!(!error.contains(SECRET), "{error}");
    }
}

#[test]
fn file_of_signing_keys_is_changed_like_the_variable() {
    let folder = TempFolder::new();
    let file = folder.write("keys.json", "[]");
    let mut ids = Vec::new();
    for action in [&["add", "signing"][..], &["add", "signing"], &["rotate", "signing"]] {
        let output = run(&[&["keys", "--file", &file][..], action].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("text");
        ids.push(operations(&text));
        folder.write("keys.json", &text);
    }
    assert_eq!(ids[0].len(), 1, "the first key of an empty list signs");
    let (first, second) = (&ids[1][0].0, &ids[1][1].0);
    assert_eq!(ids[2], [(first.clone(), json!(["verify"])), (second.clone(), json!(["sign", "verify"]))]);
}
