//! The data API takes up rotated signing keys.

use serde_json::{Value, json};

use super::super::support::{Basalt, TempFolder, free_port};
use super::{eventually, keys};

const CONFIG: &str = "[auth]\nenable_anonymous_sign_ins = true\n[auth.rate_limit]\nanonymous_users = 1000\n";
const FUNCTION: &str = "CREATE FUNCTION public.who() RETURNS text LANGUAGE sql STABLE AS $$ SELECT auth.role() $$;";

async fn sign_up(server: &Basalt) -> String {
    let (status, session) = server.auth("/signup", Some(json!({}))).await;
    assert_eq!(status, 200, "{session}");
    session["access_token"].as_str().expect("a token").to_owned()
}

async fn call(server: &Basalt, token: &str) -> (u16, Value) {
    let request = server.client.post(server.url("/rest/v1/rpc/who")).header("apikey", server.text("publishable_key"));
    let response = request.bearer_auth(token).json(&json!({})).send().await.expect("an answer");
    (response.status().as_u16(), response.json().await.expect("JSON"))
}

#[tokio::test(flavor = "multi_thread")]
async fn rotation_and_retirement_of_signing_keys_reach_the_data_api() {
    let folder = TempFolder::new();
    std::fs::create_dir_all(folder.0.join("supabase/migrations")).expect("folders");
    let config = folder.write("supabase/config.toml", CONFIG);
    folder.write("supabase/migrations/20260101000000_who.sql", FUNCTION);
    let (data, port) = (folder.path("data"), free_port().to_string());
    let server = Basalt::serve(&["--config", &config, "--data", &data, "--port", &port]);
    let change = |action: &[&str]| {
        let all: Vec<&str> = ["--config", &config, "--data", &data].iter().chain(action).copied().collect();
        keys(&all).expect("the keys change")
    };
    let member = (200, json!("authenticated"));
    let before = sign_up(&server).await;
    assert_eq!(call(&server, &before).await, member);

    let id = change(&["add", "signing"])["key"]["id"].as_str().expect("an id").to_owned();
    change(&["rotate", "signing", "--now"]);
    let mut after = String::new();
    eventually("the server signs with the new key", async || {
        after = sign_up(&server).await;
        after.len() != before.len()
    })
    .await;
    assert_eq!(call(&server, &after).await, member, "a token of the new key {id}");
    assert_eq!(call(&server, &before).await, member, "the former key still verifies");

    change(&["retire", "jwt_secret", "--now"]);
    eventually("the retired key is refused", async || call(&server, &before).await.0 == 401).await;
    assert_eq!(call(&server, &after).await, member);
    // The gateway sends a key as the token of its role, which the new key signs now.
    let publishable = server.text("publishable_key");
    assert_eq!(call(&server, &publishable).await, (200, json!("anon")));
}
