//! Services of a world besides the auth API: messages, providers, events, explanations.

use reqwest::Method;
use reqwest::redirect::Policy;
use serde_json::{Value, json};

use super::bench::{TestServer, World};

async fn get_json(server: &TestServer, url: &str) -> (u16, Value) {
    let answer = server.0.client.get(url).send().await.expect("an answer");
    (answer.status().as_u16(), answer.json().await.unwrap_or_default())
}

async fn ask_for_recovery(world: &World<'_>, email: &str) {
    let (status, body) = world.auth("/recover", Some(json!({"email": email}))).await;
    assert_eq!(status, 200, "{body}");
}

#[tokio::test]
async fn messages_of_a_world_are_its_own_by_every_api() {
    let server = TestServer::start();
    let (world, other) = (server.world(json!({})).await, server.world(json!({})).await);
    world.sign_up("ann@example.com").await;
    ask_for_recovery(&world, "ann@example.com").await;
    let read = world.ok(Method::GET, "/messages?wait=5&kind=recovery&to=ann@example.com", None).await;
    let message = &read["messages"][0];
    assert_eq!((&message["kind"], &message["channel"]), (&json!("recovery"), &json!("email")), "{read}");
    let link = message["link"].as_str().expect("a link");
    assert!(link.starts_with(&format!("{}/auth/v1/verify?", world.text("url"))), "{link}");
    assert_eq!(other.ok(Method::GET, "/messages", None).await["messages"], json!([]));

    let (status, mailpit) = get_json(&server, &format!("{}/api/v1/messages", world.text("url"))).await;
    assert_eq!((status, mailpit["total"].as_u64()), (200, Some(1)), "{mailpit}");
    let (_, mailbox) = get_json(&server, &format!("{}/api/v1/mailbox/ann", world.text("url"))).await;
    assert_eq!(mailbox.as_array().map(Vec::len), Some(1), "{mailbox}");
    let (_, of_server) = get_json(&server, &format!("{}/api/v1/messages", server.0.text("mailpit_url"))).await;
    assert_eq!(of_server["total"], 0, "the port is that of the default world: {of_server}");
}

#[tokio::test]
async fn ports_of_the_default_world_go_on_after_a_reset() {
    let server = TestServer::start();
    for round in 0..2 {
        let body = json!({"email": "ann@example.com", "password": "correct horse"});
        assert_eq!(server.0.auth("/signup", Some(body)).await.0, 200, "round {round}");
        assert_eq!(server.0.auth("/recover", Some(json!({"email": "ann@example.com"}))).await.0, 200);
        let (_, kept) = get_json(&server, &format!("{}/api/v1/messages", server.0.text("mailpit_url"))).await;
        assert_eq!(kept["total"], 1, "round {round}: {kept}");
        assert_eq!(server.call(Method::POST, "/worlds/default/reset", None).await.0, 200);
    }
}

#[tokio::test]
async fn providers_of_a_world_sign_in_the_user_that_the_test_names() {
    let server = TestServer::start();
    let github = json!({"enabled": true, "client_id": "app", "secret": "secret"});
    let world = server.world(json!({"config": {"auth": {"external": {"github": github}}}})).await;
    let next = json!({"sub": "4711", "email": "octo@example.com", "email_verified": true});
    world.ok(Method::POST, "/providers/github/next", Some(next)).await;
    let client = reqwest::Client::builder().no_proxy().redirect(Policy::none()).build().expect("a client");
    let mut url = format!("{}/auth/v1/authorize?provider=github", world.text("url"));
    let mut visited = Vec::new();
    while url.starts_with(world.text("url")) && visited.len() < 6 && !url.contains("access_token=") {
        let answer = client.get(&url).send().await.expect("an answer");
        let status = answer.status();
        let location = answer.headers().get("location").and_then(|value| value.to_str().ok());
        visited.push(url.clone());
        url = location.unwrap_or_else(|| panic!("{status} without redirect: {visited:?}")).to_owned();
    }
    assert!(url.contains("access_token="), "{url} after {visited:?}");
    assert_eq!(world.users().await, ["octo@example.com"]);
    let (status, error) = world.call(Method::POST, "/providers/google/next", Some(json!({"sub": "1"}))).await;
    assert_eq!((status, error["code"].as_str()), (400, Some("bad_request")), "{error}");
}

#[tokio::test]
async fn events_of_a_world_are_listed_and_streamed_over_a_reset() {
    let server = TestServer::start();
    let world = server.world(json!({})).await;
    let session = world.sign_up("ann@example.com").await;
    let id = session["user"]["id"].as_str().expect("an id");
    let requests = world.ok(Method::GET, &format!("/events?kind=request&user={id}"), None).await;
    assert_eq!(requests["events"].as_array().map(Vec::len), Some(1), "{requests}");
    let audit = world.ok(Method::GET, "/events?kind=audit", None).await;
    assert!(audit["events"].as_array().is_some_and(|events| !events.is_empty()), "{audit}");
    world.ok(Method::POST, "/reset", None).await;
    let url = format!("{}/worlds/{}/events?after=now&kind=request", server.0.text("test_url"), world.text("id"));
    let request = server.0.client.get(url).bearer_auth(server.0.text("test_key"));
    let mut answer = request.header("accept", "text/event-stream").send().await.expect("an answer");
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    world.sign_up("bob@example.com").await;
    let part = answer.chunk().await.expect("readable").expect("an event");
    let text = String::from_utf8(part.to_vec()).expect("text");
    assert!(text.starts_with("id: ") && text.contains("event: request") && text.contains("/signup"), "{text}");
    let (status, error) = world.call(Method::GET, "/events?kind=other", None).await;
    assert_eq!((status, error["code"].as_str()), (400, Some("bad_request")), "{error}");
}

#[tokio::test]
async fn refusals_of_a_world_are_explained_below_its_url() {
    let server = TestServer::start();
    let world = server.world(json!({"config": {"auth": {"enable_signup": false}}})).await;
    let url = format!("{}/auth/v1/signup", world.text("url"));
    let body = json!({"email": "ann@example.com", "password": "correct horse"});
    let request = server.0.client.post(url).header("apikey", world.text("publishable_key")).json(&body);
    let answer = request.send().await.expect("an answer");
    assert_eq!(answer.status(), 422);
    let link = answer.headers()["x-basalt-explain"].to_str().expect("text").to_owned();
    assert!(link.starts_with(world.text("url")), "{link}");
    let (status, explanation) = get_json(&server, &format!("{link}.json")).await;
    assert_eq!(status, 200);
    assert!(explanation.to_string().contains("auth.enable_signup"), "{explanation}");
}
