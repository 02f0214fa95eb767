//! Explanations of refused requests by `basalt serve`.

use reqwest::redirect::Policy;
use reqwest::{Client, Method, Response};
use serde_json::{Value, json};

use super::bench::TestServer;
use super::support::{Basalt, TempFolder};

/// A configuration with settings that refuse requests, for a site of another machine.
const CONFIG: &str = "[auth]\nsite_url = \"https://app.example.com\"\nenable_anonymous_sign_ins = true\n\
                      additional_redirect_urls = [\"https://app.example.com/**\"]\n[auth.rate_limit]\n\
                      anonymous_users = 1\n[auth.email]\nenable_confirmations = true\n[basalt]\n";

fn serve(config: &str) -> (Basalt, TempFolder) {
    let scratch = TempFolder::new();
    let file = scratch.write("config.toml", config);
    (Basalt::serve(&["--ephemeral", "--port", "0", "--config", &file]), scratch)
}

/// Sends a request with these headers.
async fn send(server: &Basalt, method: &str, path: &str, headers: &[(&str, &str)], body: Option<Value>) -> Response {
    let method = Method::from_bytes(method.as_bytes()).expect("a method");
    let client = Client::builder().no_proxy().redirect(Policy::none()).build().expect("a client");
    let mut request = client.request(method, server.url(path));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = if let Some(body) = body { request.json(&body) } else { request };
    request.send().await.expect("an answer")
}

fn link(response: &Response) -> Option<String> {
    Some(response.headers().get("x-basalt-explain")?.to_str().expect("text").to_owned())
}

/// Returns the explanation that a response links to.
async fn explanation(server: &Basalt, response: &Response) -> Value {
    let link = link(response).unwrap_or_else(|| panic!("no link: {response:?}"));
    let page = server.client.get(&link).send().await.expect("an answer");
    assert_eq!(
        (page.status().as_u16(), page.headers()["content-type"].to_str().ok()),
        (200, Some("text/html; charset=utf-8"))
    );
    let json = server.client.get(format!("{link}.json")).send().await.expect("an answer");
    json.json().await.expect("JSON")
}

/// Requests that are refused: method, path, headers besides the key, and body.
fn refused_requests() -> Vec<(&'static str, &'static str, Option<Value>)> {
    vec![
        ("GET", "/auth/v1/user", None),
        ("GET", "/auth/v1/nowhere", None),
        ("GET", "/auth/v1/verify?type=recovery&token=unknown", None),
        ("GET", "/auth/v1/authorize?provider=github", None),
        ("POST", "/auth/v1/signup", Some(json!({"email": "ann@example.com", "password": "x"}))),
        ("POST", "/auth/v1/token?grant_type=password", Some(json!({"email": "a@example.com", "password": "x"}))),
        ("POST", "/auth/v1/recover?redirect_to=https://evil.example", Some(json!({"email": "a@example.com"}))),
        ("POST", "/functions/v1/unknown", Some(json!({}))),
        ("GET", "/realtime/v1/api/broadcast", None),
    ]
}

#[tokio::test]
async fn production_server_sends_no_link_and_the_same_bodies() {
    let (production, _first) = serve(CONFIG);
    let (development, _second) = serve(&format!("{CONFIG}development_pages = true\n"));
    for (method, path, body) in refused_requests() {
        let mut answers = Vec::new();
        for server in [&production, &development] {
            let key = server.text("publishable_key");
            let response = send(server, method, path, &[("apikey", &key)], body.clone()).await;
            let (link, status) = (link(&response), response.status().as_u16());
            answers.push((link, status, response.bytes().await.expect("a body")));
        }
        let [(no_link, status, bytes), (link, same_status, same_bytes)] = &answers[..] else { panic!("two answers") };
        assert_eq!((status, bytes), (same_status, same_bytes), "{method} {path}");
        assert_eq!((no_link, link.is_some()), (&None, true), "{method} {path}");
    }
    let page = send(&production, "GET", "/", &[], None).await.text().await.expect("text");
    assert!(page.contains("/rest/v1") && !page.contains("/_dev"), "{page}");
    let page = send(&production, "GET", "/_dev/explain", &[], None).await;
    assert_eq!(page.status().as_u16(), 403);
}

#[tokio::test]
async fn setting_has_its_key_and_line() {
    let (server, _scratch) = serve(&format!("{CONFIG}development_pages = true\n"));
    let key = server.text("publishable_key");
    let headers = [("apikey", key.as_str())];
    let path = "/auth/v1/recover?redirect_to=https://other.example.com/welcome";
    let response = send(&server, "POST", path, &headers, Some(json!({"email": "ann@example.com"}))).await;
    let shown = explanation(&server, &response).await;
    let setting = &shown["setting"];
    assert_eq!((&setting["name"], &setting["line"]), (&json!("auth.additional_redirect_urls"), &json!(4)), "{shown}");
    assert!(setting["file"].as_str().is_some_and(|file| file.ends_with("config.toml")), "{shown}");
    let remedy = "Add \"https://other.example.com/welcome\" to auth.additional_redirect_urls, or send a target that is \
                  listed.";
    assert_eq!(shown["remedy"], remedy);

    send(&server, "POST", "/auth/v1/signup", &headers, Some(json!({}))).await;
    let response = send(&server, "POST", "/auth/v1/signup", &headers, Some(json!({}))).await;
    assert_eq!(response.status().as_u16(), 429);
    let shown = explanation(&server, &response).await;
    assert_eq!(
        (&shown["setting"]["name"], &shown["setting"]["line"]),
        (&json!("auth.rate_limit.anonymous_users"), &json!(6))
    );
    assert_eq!(shown["decision"]["inputs"]["remaining"], 0);
    assert!(shown["decision"]["inputs"]["reset_seconds"].as_u64().is_some_and(|seconds| seconds > 3_000), "{shown}");
    assert!(!shown["remedy"].to_string().contains("GOTRUE_"), "{shown}");
}

#[tokio::test]
async fn switches_are_explained_as_the_configuration_writes_them() {
    let (server, _scratch) = serve(&format!("{CONFIG}development_pages = true\n"));
    let key = server.text("publishable_key");
    let headers = [("apikey", key.as_str())];
    let account = json!({"email": "ann@example.com", "password": "correct horse battery"});
    send(&server, "POST", "/auth/v1/signup", &headers, Some(account.clone())).await;
    let response = send(&server, "POST", "/auth/v1/token?grant_type=password", &headers, Some(account)).await;
    let shown = explanation(&server, &response).await;
    assert_eq!(shown["code"], "email_not_confirmed", "{shown}");
    assert_eq!(shown["request"]["path"], "/auth/v1/token");
    send(&server, "GET", "/auth/v1/nowhere", &headers, None).await;
    let list = send(&server, "GET", "/_dev/explain", &[], None).await.text().await.expect("text");
    assert!(list.contains("GET /auth/v1/nowhere") && list.contains(" UTC · "), "{list}");
    assert!(!list.contains("null") && !list.contains("<p></p>"), "{list}");
    assert_eq!(
        (&shown["setting"]["name"], &shown["setting"]["value"]),
        (&json!("auth.email.enable_confirmations"), &json!("true"))
    );
}

#[tokio::test]
async fn api_keys_are_explained_without_their_text() {
    let server = Basalt::serve(&["--test"]);
    let response = send(&server, "GET", "/auth/v1/settings", &[], None).await;
    let shown = explanation(&server, &response).await;
    assert_eq!(shown["decision"]["name"], "api_key.missing");
    assert_eq!(shown["request"]["path"], "/auth/v1/settings");
    let nonsense = [("apikey", "nonsense")];
    let shown = explanation(&server, &send(&server, "GET", "/auth/v1/settings", &nonsense, None).await).await;
    let reason = "What is in the header apikey is no API key: neither a publishable key, a secret key nor a token.";
    assert_eq!(shown["decision"]["reason"], reason);
    let foreign = [("apikey", "sb_secret_of-another-project")];
    let shown = explanation(&server, &send(&server, "GET", "/auth/v1/settings", &foreign, None).await).await;
    assert_eq!(shown["decision"]["name"], "api_key.invalid");
    assert_eq!(shown["decision"]["reason"], "The secret key in the header apikey is not one of this server.");
    assert!(!shown.to_string().contains("of-another-project"), "{shown}");
    // {"exp":1000} with the header {"alg":"HS256"}.
    let expired = [("apikey", "eyJhbGciOiJIUzI1NiJ9.eyJleHAiOjEwMDB9.c2ln")];
    let shown = explanation(&server, &send(&server, "GET", "/auth/v1/settings", &expired, None).await).await;
    assert_eq!(shown["decision"]["name"], "token.expired");
    assert_eq!(shown["decision"]["inputs"]["expires_at"], "1970-01-01T00:16:40+00:00");
}

#[tokio::test]
async fn unknown_function_lists_the_served_ones() {
    let server = Basalt::serve(&["--test"]);
    let key = server.text("publishable_key");
    let response = send(&server, "POST", "/functions/v1/send-mail", &[("apikey", &key)], Some(json!({}))).await;
    let shown = explanation(&server, &response).await;
    assert_eq!((&shown["code"], &shown["decision"]["name"]), (&json!("NOT_FOUND"), &json!("function.unknown")));
    let inputs = &shown["decision"]["inputs"];
    assert_eq!((&inputs["requested"], &inputs["served"]), (&json!("send-mail"), &json!(["send-submission"])));
    let response = send(&server, "POST", "/functions/v1/send-submission", &[("apikey", "sb_secret_x")], None).await;
    assert_eq!(explanation(&server, &response).await["decision"]["name"], "api_key.invalid");
}

#[tokio::test]
async fn refused_preflights_and_unserved_services_are_explained() {
    let server = Basalt::serve(&["--test"]);
    let origin = ("origin", "https://app.example.com");
    for path in ["/auth/v1/token", "/functions/v1/send-submission"] {
        let headers = [origin, ("access-control-request-method", "PURGE")];
        let shown = explanation(&server, &send(&server, "OPTIONS", path, &headers, None).await).await;
        assert_eq!(shown["decision"]["name"], "cors.preflight", "{path}");
        assert_eq!(shown["decision"]["inputs"]["method"], "PURGE");
        let headers = [origin, ("access-control-request-method", "POST")];
        assert_eq!(link(&send(&server, "OPTIONS", path, &headers, None).await), None, "{path}");
    }
    let shown = explanation(&server, &send(&server, "GET", "/graphql/v1", &[], None).await).await;
    assert_eq!(shown["decision"]["name"], "service.not_served");
}

#[tokio::test]
async fn explanation_of_a_world_is_below_its_address() {
    let server = TestServer::start();
    let (world, other) = (server.world(json!({})).await, server.world(json!({})).await);
    let url = format!("{}/auth/v1/settings", world.text("url"));
    let response = server.0.client.get(url).send().await.expect("an answer");
    let found = link(&response).expect("a link");
    let path = found.strip_prefix(world.text("url")).expect("below the world's address");
    assert_eq!(explanation(&server.0, &response).await["decision"]["name"], "api_key.missing");
    let foreign = server.0.client.get(format!("{}{path}", other.text("url"))).send().await.expect("an answer");
    assert_eq!(foreign.status().as_u16(), 404);
    let style = server.0.client.get(format!("{}/_dev/explain/style.css", world.text("url"))).send().await;
    assert_eq!(style.expect("an answer").status().as_u16(), 200);
}

#[tokio::test]
async fn explanations_are_for_clients_on_this_machine() {
    let server = Basalt::serve(&["--test"]);
    let found = link(&send(&server, "GET", "/auth/v1/settings", &[], None).await).expect("a link");
    for headers in
        [[("x-forwarded-for", "192.0.2.1")], [("host", "attacker.example")], [("sec-fetch-site", "cross-site")]]
    {
        let request =
            headers.iter().fold(server.client.get(&found), |request, (name, value)| request.header(*name, *value));
        assert_eq!(request.send().await.expect("an answer").status().as_u16(), 403, "{headers:?}");
    }
}

#[tokio::test]
async fn gotrue_worlds_explain_refusals_to_pages_and_scripts() {
    let server = TestServer::start();
    let world = server.world(json!({"profile": "gotrue"})).await;
    let url = format!("{}/auth/v1/user", world.text("url"));
    let request = server.0.client.get(url).header("origin", "https://app.example.com");
    let response = request.send().await.expect("an answer");
    assert_eq!(response.status().as_u16(), 401);
    let exposed = response.headers()["access-control-expose-headers"].to_str().expect("text").to_owned();
    assert_eq!(exposed, "X-Total-Count, Link, X-Supabase-Api-Version, X-Basalt-Explain");
    let found = link(&response).expect("a link");
    assert!(found.starts_with(world.text("url")), "{found}");
    assert_eq!(explanation(&server.0, &response).await["code"], "no_authorization");
    let proxied = server.0.client.get(&found).header("x-forwarded-for", "192.0.2.1").send().await;
    assert_eq!(proxied.expect("an answer").status().as_u16(), 403);
    let list = server.0.client.get(format!("{}/_dev/explain.json", world.text("url"))).send().await;
    let list: Value = list.expect("an answer").json().await.expect("JSON");
    assert_eq!(list["explanations"].as_array().map(Vec::len), Some(1), "{list}");
}

#[tokio::test]
async fn scripts_may_read_the_link_where_there_is_one() {
    let server = Basalt::serve(&["--test"]);
    let exposed = |response: &Response| {
        let names = response.headers()["access-control-expose-headers"].to_str().expect("text").to_owned();
        names.contains("X-Basalt-Explain")
    };
    assert!(exposed(&send(&server, "GET", "/auth/v1/settings", &[], None).await));
    let key = server.text("publishable_key");
    assert!(!exposed(&send(&server, "GET", "/auth/v1/settings", &[("apikey", &key)], None).await));
}
