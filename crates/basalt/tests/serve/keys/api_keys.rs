//! API keys rotate by overlap on a server with an embedded database.

use serde_json::Value;

use super::super::support::{Basalt, TempFolder, run};
use super::{eventually, keys};

async fn status(server: &Basalt, path: &str, key: &str) -> u16 {
    let request = server.client.get(server.url(path)).header("apikey", key);
    request.send().await.expect("an answer").status().as_u16()
}

async fn wait_for(server: &Basalt, path: &str, key: &str, expected: u16) {
    eventually("the server takes up the change", async || status(server, path, key).await == expected).await;
}

fn text(value: &Value) -> &str {
    value.as_str().expect("text")
}

#[tokio::test]
async fn api_keys_overlap_until_they_are_retired() {
    let folder = TempFolder::new();
    let data = folder.path("data");
    let place = ["--config", &folder.write("config.toml", ""), "--data", &data];
    let keys = |action: &[&str]| keys(&[&place[..], action].concat());
    let refused = keys(&["list"]).expect_err("nothing was started");
    assert!(refused.contains("nothing was started yet"), "{refused}");
    let server = Basalt::serve(&place);
    for (kind, name, path) in
        [("secret", "secret_key", "/auth/v1/admin/users"), ("publishable", "publishable_key", "/auth/v1/settings")]
    {
        let old = server.text(name);
        let added = keys(&["add", kind]).expect("added");
        let (id, new) = (text(&added["key"]["id"]), text(&added["key"]["key"]));
        assert!(new.starts_with(&format!("sb_{kind}_")), "{new}");
        wait_for(&server, path, new, 200).await;
        assert_eq!(status(&server, path, &old).await, 200);
        let early = keys(&["retire", name]).expect_err("in use");
        assert!(early.contains(&format!("basalt keys rotate {kind}")), "{early}");
        keys(&["rotate", kind]).expect("rotated");
        eventually("the new key is shown", async || {
            let shown = run(&[&["status", "--json"][..], &place].concat());
            serde_json::from_slice::<Value>(&shown.stdout).expect("JSON")[name] == new
        })
        .await;
        assert_eq!(status(&server, path, &old).await, 200);
        let retired = keys(&["retire", name]).expect("retired");
        assert_eq!(retired["is_refused"], true, "{retired}");
        assert_eq!(status(&server, path, &old).await, 401, "the command ends when the server refuses the key");
        assert_eq!(status(&server, path, new).await, 200);
        let again = keys(&["retire", id]).expect_err("in use");
        assert!(again.contains("is in use"), "{again}");
    }
    let listed = run(&[&["keys"][..], &place, &["list"]].concat());
    let table = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(table.contains("retired   secret_key") && !table.contains(&server.text("secret_key")), "{table}");
}

#[tokio::test]
async fn publishable_key_in_pages_is_retired_after_a_restart() {
    let folder = TempFolder::new();
    let data = folder.path("data");
    let place = ["--config", &folder.write("config.toml", "[basalt.shop]\n"), "--data", &data];
    let keys = |action: &[&str]| keys(&[&place[..], action].concat());
    let server = Basalt::serve(&place);
    let old = server.text("publishable_key");
    keys(&["add", "publishable"]).expect("added");
    keys(&["rotate", "publishable"]).expect("rotated");
    let refused = keys(&["retire", "publishable_key"]).expect_err("the shop has it");
    assert!(refused.contains("restart it first"), "{refused}");
    drop(server);
    let server = Basalt::serve(&place);
    assert_ne!(server.text("publishable_key"), old);
    keys(&["retire", "publishable_key"]).expect("retired");
    wait_for(&server, "/auth/v1/settings", &old, 401).await;
    assert_eq!(status(&server, "/auth/v1/settings", &server.text("publishable_key")).await, 200);
}
