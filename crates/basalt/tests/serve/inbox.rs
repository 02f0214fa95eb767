//! The kept messages of a running server: page, APIs, SMTP, SMS, and what is not kept.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use super::support::{Basalt, TempFolder, free_port};

const PHONE: &str = "[auth.sms]\nenable_signup = true\n";
const CONFIRMATIONS: &str = "[auth.email]\nenable_confirmations = true\n";

fn serve(arguments: &[&str], config: &str) -> (Basalt, TempFolder) {
    let scratch = TempFolder::new();
    let file = scratch.write("config.toml", config);
    (Basalt::serve(&[arguments, &["--config", &file]].concat()), scratch)
}

/// Sends a request below the server's URL; returns status and body.
async fn send(server: &Basalt, method: Method, path: &str, body: Option<Value>) -> (StatusCode, String) {
    let request = server.client.request(method, server.url(path));
    let request = match body {
        Some(body) => request.json(&body),
        None => request,
    };
    let answer = request.send().await.expect("an answer");
    (answer.status(), answer.text().await.expect("a text"))
}

async fn get(server: &Basalt, path: &str) -> Value {
    let (status, body) = send(server, Method::GET, path, None).await;
    assert_eq!(status, StatusCode::OK, "{path}: {body}");
    serde_json::from_str(&body).unwrap_or(Value::String(body))
}

async fn sign_up(server: &Basalt, email: &str) {
    let (status, body) = server.auth("/signup", Some(json!({"email": email, "password": "correct horse"}))).await;
    assert_eq!(status, 200, "{body}");
}

#[tokio::test]
async fn message_api_returns_the_link_that_confirms_an_account() {
    let (server, _scratch) = serve(&["--test"], CONFIRMATIONS);
    let waiting = async { get(&server, "/_dev/messages?to=ada@example.com&kind=confirmation&wait=20").await };
    let (found, ()) = tokio::join!(waiting, sign_up(&server, "ada@example.com"));
    let message = &found["messages"][0];
    let link = message["link"].as_str().expect("a link");
    assert!(message["html"].as_str().is_some_and(|html| html.contains(&link.replace('&', "&amp;"))), "{message}");
    assert!(message["text"].as_str().is_some_and(|text| text.contains(link)), "{message}");
    let body = json!({"type": "email", "token_hash": message["token_hash"]});
    let (status, session) = server.auth("/verify", Some(body)).await;
    assert_eq!((status, &session["user"]["email"]), (200, &json!("ada@example.com")), "{session}");
    assert_eq!(send(&server, Method::DELETE, "/_dev/messages", None).await.0, StatusCode::NO_CONTENT);
    assert_eq!(get(&server, "/_dev/messages").await, json!({"messages": []}));
}

#[tokio::test]
async fn sms_without_a_sender_is_kept_and_signs_in() {
    for mode in ["--test", "--ephemeral"] {
        let (server, _scratch) = serve(&[mode], PHONE);
        let (status, body) = server.auth("/otp", Some(json!({"phone": "+15550100123"}))).await;
        assert_eq!(status, 200, "{mode}: {body}");
        let found = get(&server, "/_dev/messages?channel=sms&to=%2B15550100123").await;
        let message = &found["messages"][0];
        assert_eq!((&message["kind"], &message["to"]), (&json!("sms_otp"), &json!("15550100123")), "{found}");
        let code = message["code"].as_str().expect("a code");
        assert!(message["text"].as_str().is_some_and(|text| text.contains(code)), "{message}");
        let body = json!({"type": "sms", "phone": "+15550100123", "token": code});
        let (status, session) = server.auth("/verify", Some(body)).await;
        assert_eq!(status, 200, "{session}");
        assert_eq!(get(&server, "/_dev/inbox.json").await, json!({"messages": []}), "which lists mails only");
    }
}

#[tokio::test]
async fn test_server_keeps_sms_instead_of_calling_a_configured_sender() {
    let twilio =
        "[auth.sms.twilio]\nenabled = true\naccount_sid = \"AC1\"\nmessage_service_sid = \"MG1\"\nauth_token = \"x\"\n";
    let (server, _scratch) = serve(&["--test"], &format!("{PHONE}{twilio}"));
    let (status, body) = server.auth("/otp", Some(json!({"phone": "+15550100123"}))).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(get(&server, "/_dev/messages?channel=sms").await["messages"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn server_for_others_stores_no_codes_and_opens_no_ports() {
    let (port, smtp_port) = (free_port(), free_port());
    let config = format!(
        "[auth]\nsite_url = \"https://shop.example.com\"\n{CONFIRMATIONS}{PHONE}[local_smtp]\nport = {port}\nsmtp_port = \
         {smtp_port}\n"
    );
    let own_port = free_port().to_string();
    let (server, _scratch) = serve(&["--ephemeral", "--port", &own_port], &config);
    sign_up(&server, "ada@example.com").await;
    let (status, body) = server.auth("/otp", Some(json!({"phone": "+15550100123"}))).await;
    assert_eq!(status, 500, "{body}");
    let mut database = PgConnection::connect(&server.text("database_url")).await.expect("connected");
    let rows: Vec<(String, String, String)> =
        sqlx::query_as("SELECT channel, sent_to, concat(subject, html, text, code, link, raw) FROM basalt.outbox")
            .fetch_all(&mut database)
            .await
            .expect("rows");
    assert_eq!(rows, [("email".to_owned(), "discarded".to_owned(), String::new())]);
    for path in ["/_dev/messages", "/_dev/inbox", "/_dev/inbox/list", "/_dev/inbox/api/v1/messages"] {
        assert_eq!(send(&server, Method::GET, path, None).await.0, StatusCode::FORBIDDEN, "{path}");
    }
    for port in [port, smtp_port] {
        assert!(TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], port))).is_err(), "{port} is open");
    }
    assert_eq!((&server.announcement["mailpit_url"], &server.announcement["smtp_port"]), (&Value::Null, &Value::Null));
}

#[tokio::test]
async fn inbox_token_keeps_mails_but_no_sms() {
    let config = format!(
        "[auth]\nsite_url = \"https://shop.example.com\"\n{CONFIRMATIONS}{PHONE}[basalt.inbox]\ntoken = \"a-long-inbox-token\"\n"
    );
    let (server, _scratch) = serve(&["--ephemeral"], &config);
    sign_up(&server, "ada@example.com").await;
    let found = get(&server, "/_dev/messages?token=a-long-inbox-token&to=ada@example.com").await;
    assert_eq!(found["messages"].as_array().map(Vec::len), Some(1));
    assert_eq!(server.auth("/otp", Some(json!({"phone": "+15550100123"}))).await.0, 500);
}

#[tokio::test]
async fn ports_of_the_configuration_serve_mailpit_and_smtp() {
    let (own_port, port, smtp_port) = (free_port().to_string(), free_port(), free_port());
    let config = format!("[local_smtp]\nport = {port}\nsmtp_port = {smtp_port}\n");
    let (server, _scratch) = serve(&["--ephemeral", "--port", &own_port], &config);
    assert_eq!(server.text("mailpit_url"), format!("http://127.0.0.1:{port}"));
    let mut stream = TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], smtp_port))).expect("connected");
    let mail = "EHLO app\r\nMAIL FROM:<app@example.com>\r\nRCPT TO:<ada@example.com>\r\nDATA\r\nSubject: Hi\r\n\r\n\
                hello\r\n.\r\nQUIT\r\n";
    stream.write_all(mail.as_bytes()).expect("sent");
    let mut replies = String::new();
    stream.read_to_string(&mut replies).expect("answered");
    assert!(replies.contains("250 2.0.0 kept as"), "{replies}");
    for base in [server.text("mailpit_url"), server.url("/_dev/inbox")] {
        let list = server.client.get(format!("{base}/api/v1/messages")).send().await.expect("an answer");
        let list: Value = list.json().await.expect("JSON");
        assert_eq!(list["messages"][0]["Subject"], "Hi", "{base}: {list}");
        let foreign = server.client.get(format!("{base}/api/v1/messages")).header("origin", "https://evil.example");
        assert_eq!(foreign.send().await.expect("an answer").status(), StatusCode::FORBIDDEN, "{base}");
        let proxied = server.client.get(format!("{base}/api/v1/messages")).header("x-forwarded-for", "192.0.2.1");
        assert_eq!(proxied.send().await.expect("an answer").status(), StatusCode::FORBIDDEN, "{base}");
        let renamed = server.client.get(format!("{base}/api/v1/messages")).header("host", "evil.example");
        assert_ne!(renamed.send().await.expect("an answer").status(), StatusCode::OK, "{base}");
    }
}

#[tokio::test]
async fn taken_port_does_not_prevent_the_start() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let (own_port, port) = (free_port().to_string(), taken.local_addr().expect("an address").port());
    let config = format!("[inbucket]\nport = {port}\n");
    let (server, _scratch) = serve(&["--ephemeral", "--port", &own_port], &config);
    assert_eq!(server.announcement["mailpit_url"], Value::Null);
    assert_eq!(get(&server, "/_dev/messages").await, json!({"messages": []}));
}

#[tokio::test]
async fn free_port_of_the_server_means_free_ports_for_mails() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let config = format!("[inbucket]\nport = {port}\nsmtp_port = {port}\n");
    let (server, _scratch) = serve(&["--ephemeral", "--port", "0"], &config);
    let list = server.client.get(format!("{}/api/v1/messages", server.text("mailpit_url")));
    assert_eq!(list.send().await.expect("an answer").status(), StatusCode::OK);
    assert!(
        server.announcement["smtp_port"].as_u64().is_some_and(|smtp| smtp != u64::from(port)),
        "{}",
        server.announcement
    );
}

#[tokio::test]
async fn page_lists_marks_and_displays_messages_in_a_sandbox() {
    let (server, _scratch) = serve(&["--test"], CONFIRMATIONS);
    sign_up(&server, "ada@example.com").await;
    let page = server.client.get(server.url("/_dev/inbox")).send().await.expect("an answer");
    let policy = page.headers()["content-security-policy"].to_str().expect("text").to_owned();
    assert!(policy.starts_with("default-src 'none'; script-src 'self';") && !policy.contains("unsafe"), "{policy}");
    for file in ["/_dev/inbox/page.js", "/_dev/inbox/page.css"] {
        get(&server, file).await;
    }
    let list = get(&server, "/_dev/inbox/list").await;
    let message = &list["messages"][0];
    assert_eq!((&message["to"], &message["is_read"]), (&json!("ada@example.com"), &json!(false)), "{list}");
    let id = message["id"].as_str().expect("an id");
    let mail = server.client.get(server.url(&format!("/_dev/inbox/{id}"))).send().await.expect("an answer");
    let policy = mail.headers()["content-security-policy"].to_str().expect("text");
    assert!(
        policy.starts_with("sandbox; default-src 'none';") && policy.ends_with("frame-ancestors 'self'"),
        "{policy}"
    );
    let marked = send(&server, Method::POST, "/_dev/inbox/read", Some(json!({"ids": [id], "read": true}))).await;
    assert_eq!(marked, (StatusCode::OK, "{\"changed\":1}".to_owned()));
    assert_eq!(get(&server, "/_dev/inbox/list").await["messages"][0]["is_read"], true);
    for body in [json!({}), json!({"ids": ["x"], "read": true}), json!({"ids": [id]})] {
        assert_eq!(send(&server, Method::POST, "/_dev/inbox/read", Some(body)).await.0, StatusCode::BAD_REQUEST);
    }
    for (method, path) in [(Method::POST, "/_dev/inbox"), (Method::DELETE, "/_dev/inbox/list")] {
        assert_eq!(send(&server, method, path, None).await.0, StatusCode::METHOD_NOT_ALLOWED, "{path}");
    }
    let foreign = server.client.delete(server.url("/_dev/messages")).header("origin", "http://localhost:3000");
    assert_eq!(foreign.send().await.expect("an answer").status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn inbox_json_filters_by_address_and_waits() {
    let (server, _scratch) = serve(&["--test"], CONFIRMATIONS);
    sign_up(&server, "bob@example.com").await;
    let waiting = async { get(&server, "/_dev/inbox.json?to=a%2Bb@example.com&wait=20").await };
    let (found, ()) = tokio::join!(waiting, sign_up(&server, "a+b@example.com"));
    let message = &found["messages"][0];
    assert_eq!((&message["to"], &message["kind"]), (&json!("a+b@example.com"), &json!("confirmation")), "{found}");
    let members: Vec<&String> = message.as_object().expect("an object").keys().collect();
    assert_eq!(members, ["id", "to", "subject", "kind", "link", "code", "text", "html"]);
    assert_eq!(get(&server, "/_dev/inbox.json?wait=soon&to=nobody@example.com").await, json!({"messages": []}));
}
