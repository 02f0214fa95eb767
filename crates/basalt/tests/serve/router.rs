//! Routing, API keys, metrics and `basalt status` of a running server.

use rustix::process::Signal;
use serde_json::Value;

use super::support::{Basalt, TempFolder, run};

#[tokio::test]
async fn shop_auth_functions_and_inbox_are_on_one_port() {
    let scratch = TempFolder::new();
    let config = scratch.write("config.toml", "[basalt.shop]\n");
    let server = Basalt::serve(&["--ephemeral", "--config", &config]);
    let get = |path: &str| server.client.get(server.url(path)).send();
    let page = get("/").await.expect("an answer");
    assert_eq!(page.status(), 200);
    assert!(page.text().await.expect("a page").contains(&server.text("publishable_key")));
    assert_eq!(get("/nothing/here").await.expect("an answer").status(), 404);
    assert_eq!(get("/auth/v1/settings").await.expect("an answer").status(), 401);
    assert_eq!(server.auth("/user", None).await.0, 403);
    assert_eq!(get("/auth/v1/health").await.expect("an answer").status(), 200);
    let function = server.client.post(server.url("/functions/v1/nothing")).send().await.expect("an answer");
    assert_eq!(function.status(), 404);
    let inbox = server.client.get(format!("{}.json", server.text("inbox_url"))).send().await.expect("an answer");
    assert_eq!(inbox.json::<Value>().await.expect("JSON"), serde_json::json!({ "messages": [] }));
    let state = get("/_dev/outbox.json").await.expect("an answer").json::<Value>().await.expect("JSON");
    assert_eq!(state["state"]["failed"], 0);
    let rebound = server.client.get(server.text("inbox_url")).header("host", "attacker.example");
    assert_eq!(rebound.send().await.expect("an answer").status(), 403);
}

#[tokio::test]
async fn api_key_becomes_token_in_every_location() {
    let server = Basalt::serve(&["--ephemeral"]);
    let user = server.url("/auth/v1/user");
    for key in ["secret_key", "service_role_key", "publishable_key", "anon_key"] {
        let key_itself = server.text(key);
        let requests = [
            server.client.get(&user).header("apikey", &key_itself),
            server.client.get(&user).bearer_auth(&key_itself),
            server.client.get(format!("{user}?apikey={key_itself}")),
        ];
        for request in requests {
            let answer: Value = request.send().await.expect("an answer").json().await.expect("JSON");
            // A valid token without a user: the auth server's response for such keys.
            assert_eq!(answer["msg"], "invalid claim: missing sub claim", "{key}");
        }
    }
}

#[tokio::test]
async fn metrics_are_served_on_their_own_port() {
    let scratch = TempFolder::new();
    let free =
        std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
    let config =
        scratch.write("config.toml", &format!("[basalt]\nmetrics_port = {free}\n[basalt.storage]\nquota = \"1GiB\"\n"));
    let server = Basalt::serve(&["--ephemeral", "--config", &config]);
    assert_eq!(server.auth("/health", None).await.0, 200);
    let figures = server.client.get(format!("http://127.0.0.1:{free}/metrics")).send().await.expect("an answer");
    let text = figures.text().await.expect("text");
    assert!(text.contains("basalt_outbox_mails{state=\"waiting\"} 0"), "{text}");
    let space = |kind: &str| {
        let name = format!("basalt_storage_space_bytes{{kind=\"{kind}\"}} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&name)).expect("the space for stored files");
        line.parse::<f64>().expect("a number")
    };
    assert!(space("available") > 0.0 && space("total") >= space("available"), "{text}");
    assert_eq!((space("used"), space("quota")), (0.0, 1_073_741_824.0), "{text}");
    assert!(
        text.contains(r#"basalt_http_requests_total{area="auth",route="/health",method="GET",status="2xx",code=""} 1"#),
        "{text}"
    );
    assert_eq!(server.client.get(server.url("/metrics")).send().await.expect("an answer").status(), 404);
}

#[test]
fn status_prints_announcement_of_serve() {
    let scratch = TempFolder::new();
    let data = scratch.path("data");
    let before = run(&["status", "--data", &data]);
    assert!(!before.status.success(), "no status before the first start");
    let server = Basalt::serve(&["--data", &data]);
    let status = || -> Value {
        let output = run(&["status", "--json", "--data", &data]);
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let running = status();
    assert_eq!(running["running"], true);
    for name in ["url", "publishable_key", "secret_key", "database_url"] {
        assert_eq!(running[name].as_str(), Some(server.text(name).as_str()), "{name}");
    }
    server.signal(Signal::TERM);
    assert!(server.wait_for_exit());
    assert_eq!(status()["running"], false);
}
