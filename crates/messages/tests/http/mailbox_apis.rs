//! The APIs of Mailpit and Inbucket.

use http::{Method, StatusCode};
use messages::mailbox_apis::{MailboxApis, MailboxRequest};
use serde_json::{Value, json};

use crate::fixture::{Backend, text};

struct Mailboxes {
    apis: MailboxApis,
    backend: Backend,
}

impl Mailboxes {
    async fn new() -> Self {
        let backend = Backend::new().await;
        Self { apis: MailboxApis::new(backend.store.clone()), backend }
    }

    async fn send(&self, method: Method, target: &str, body: &Value) -> (StatusCode, String) {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let response = self.apis.answer(MailboxRequest { method: &method, path, query, body: &body }).await;
        (response.status(), text(response).await)
    }

    async fn get(&self, target: &str) -> Value {
        let (status, body) = self.send(Method::GET, target, &Value::Null).await;
        assert_eq!(status, StatusCode::OK, "{target}: {body}");
        serde_json::from_str(&body).unwrap_or(Value::String(body))
    }

    async fn change(&self, method: Method, target: &str, body: Value) {
        let (status, answer) = self.send(method, target, &body).await;
        assert_eq!(status, StatusCode::OK, "{target}: {answer}");
    }

    async fn subjects(&self, target: &str) -> Vec<String> {
        let found = self.get(target).await;
        let list = found["messages"].as_array().expect("a list");
        list.iter().map(|message| message["Subject"].as_str().expect("a subject").to_owned()).collect()
    }
}

#[tokio::test]
async fn mailpit_lists_newest_first_and_pages() {
    let mailboxes = Mailboxes::new().await;
    for name in ["ada", "bob", "carl"] {
        mailboxes.backend.mail(name).await;
    }
    mailboxes.backend.keep(|_| {}).await;
    let page = mailboxes.get("/api/v1/messages?start=1&limit=1").await;
    assert_eq!(
        (&page["total"], &page["unread"], &page["messages_count"], &page["count"], &page["start"]),
        (&json!(3), &json!(3), &json!(3), &json!(1), &json!(1)),
        "an SMS is no mail: {page}"
    );
    let message = &page["messages"][0];
    assert_eq!(message["Subject"], "Welcome, bob");
    assert_eq!(message["From"], json!({"Name": "Admin", "Address": "admin@email.com"}));
    assert_eq!(message["To"], json!([{"Name": "", "Address": "bob@example.com"}]));
    assert_eq!(message["MessageID"], "bob-3@shop.example");
    assert!(message["Snippet"].as_str().is_some_and(|text| text.starts_with("Hello Confirm: http")), "{message}");
    assert_eq!(mailboxes.get("/api/v1/info").await["Messages"], 3);
}

#[tokio::test]
async fn mailpit_search_selects_deletes_and_marks() {
    let mailboxes = Mailboxes::new().await;
    for name in ["ada", "bob", "carl"] {
        mailboxes.backend.mail(name).await;
    }
    for (query, subjects) in [
        ("to:ADA@example.com", &["Welcome, ada"][..]),
        ("subject:%22welcome,%20bob%22", &["Welcome, bob"]),
        ("from:admin@email.com+-to:carl", &["Welcome, bob", "Welcome, ada"]),
        ("123456", &["Welcome, carl", "Welcome, bob", "Welcome, ada"]),
        ("is:read", &[]),
        ("after:2026-11-23", &[]),
        ("after:2026-11-22+before:2026-11-23+bob", &["Welcome, bob"]),
        ("tag:x", &[]),
    ] {
        assert_eq!(mailboxes.subjects(&format!("/api/v1/search?query={query}")).await, subjects, "{query}");
    }
    mailboxes.change(Method::PUT, "/api/v1/messages", json!({"Read": true, "Search": "to:ada"})).await;
    assert_eq!(mailboxes.subjects("/api/v1/search?query=is:read").await, ["Welcome, ada"]);
    mailboxes.change(Method::DELETE, "/api/v1/search?query=to:carl", Value::Null).await;
    assert_eq!(mailboxes.subjects("/api/v1/messages").await, ["Welcome, bob", "Welcome, ada"]);
    let (status, _) = mailboxes.send(Method::DELETE, "/api/v1/search?query=", &Value::Null).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "an empty search deletes nothing");
    mailboxes.backend.keep(|_| {}).await;
    mailboxes.change(Method::DELETE, "/api/v1/messages", Value::Null).await;
    assert_eq!(mailboxes.subjects("/api/v1/messages").await, [""; 0]);
    assert_eq!(mailboxes.backend.list("").await.len(), 1, "an SMS is no mail and stays");
}

#[tokio::test]
async fn mailpit_ids_that_exist_nowhere_delete_nothing() {
    let mailboxes = Mailboxes::new().await;
    mailboxes.backend.mail("ada").await;
    mailboxes.change(Method::DELETE, "/api/v1/messages", json!({"IDs": ["unknown"]})).await;
    assert_eq!(mailboxes.subjects("/api/v1/messages").await.len(), 1);
}

#[tokio::test]
async fn mailpit_message_has_bodies_parts_and_source() {
    let mailboxes = Mailboxes::new().await;
    let sent = json!({
        "From": {"Email": "app@example.com", "Name": "Äpp"},
        "To": [{"Email": "ada@example.com", "Name": "Ada, A."}],
        "Bcc": ["bob@example.com"],
        "Subject": "Grüße\r\nX-Injected: 1",
        "Text": "see below",
        "HTML": "<b>below</b>",
        "Headers": {"X-Own": "1"},
        "Attachments": [{"Filename": "a.txt", "Content": "aGVsbG8=", "ContentType": "text/plain"}],
    });
    let (_, answer) = mailboxes.send(Method::POST, "/api/v1/send", &sent).await;
    let id = serde_json::from_str::<Value>(&answer).expect("JSON")["ID"].as_str().expect("an id").to_owned();
    assert_eq!(mailboxes.get("/api/v1/messages").await["unread"], 1);
    let message = mailboxes.get(&format!("/api/v1/message/{id}")).await;
    for (name, value) in [
        ("From", json!({"Name": "Äpp", "Address": "app@example.com"})),
        ("To", json!([{"Name": "Ada, A.", "Address": "ada@example.com"}])),
        ("Bcc", json!([{"Name": "", "Address": "bob@example.com"}])),
        ("Subject", json!("Grüße\r\nX-Injected: 1")),
        ("Text", json!("see below")),
        ("HTML", json!("<b>below</b>")),
    ] {
        assert_eq!(message[name], value, "{name}");
    }
    assert_eq!(mailboxes.get("/api/v1/messages").await["unread"], 0, "it is read now");
    let headers = mailboxes.get("/api/v1/message/latest/headers").await;
    assert_eq!((&headers["X-Own"], &headers["X-Injected"]), (&json!(["1"]), &Value::Null));
    let checksums = json!({
        "MD5": "5d41402abc4b2a76b9719d911017c592",
        "SHA1": "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d",
        "SHA256": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
    });
    assert_eq!(message["Attachments"][0]["Checksums"], checksums);
    let of_inbucket = mailboxes.get(&format!("/api/v1/mailbox/ada/{id}")).await;
    assert_eq!(of_inbucket["attachments"][0]["md5"], checksums["MD5"]);
    let part = message["Attachments"][0]["PartID"].as_str().expect("a part");
    assert_eq!(mailboxes.get(&format!("/api/v1/message/{id}/part/{part}")).await, "hello");
    assert!(mailboxes.get(&format!("/api/v1/message/{id}/raw")).await.to_string().contains("Content-Type: text/html"));
    assert_eq!(mailboxes.get("/view/latest.html").await, "<b>below</b>");
    assert_eq!(mailboxes.get("/view/latest.txt").await, "see below");
}

#[tokio::test]
async fn mailpit_calls_that_cannot_be_answered_are_refused() {
    let mailboxes = Mailboxes::new().await;
    mailboxes.backend.mail("ada").await;
    for (method, target, body, status) in [
        (Method::GET, "/", Value::Null, 404),
        (Method::GET, "/api/v1/other", Value::Null, 404),
        (Method::GET, "/api/v1/message/unknown", Value::Null, 404),
        (Method::GET, "/api/v1/message/latest/part/1", Value::Null, 404),
        (Method::GET, "/api/v1/message/latest/html-check", Value::Null, 501),
        (Method::GET, "/api/v1/messages?limit=x", Value::Null, 400),
        (Method::GET, "/api/v1/search?query=is:new", Value::Null, 400),
        (Method::PUT, "/api/v1/tags", json!({"IDs": []}), 501),
        (Method::POST, "/api/v1/message/latest/release", json!([]), 501),
        (Method::POST, "/api/v1/messages", Value::Null, 405),
        (Method::POST, "/api/v1/send", json!({"From": {"Email": "a@example.com"}}), 400),
        (Method::POST, "/api/v1/send", json!({"From": {"Email": "a\r\nb@example.com"}, "Bcc": ["c@example.com"]}), 400),
        (Method::DELETE, "/api/v1/messages", json!({"IDs": "all"}), 400),
    ] {
        let (found, answer) = mailboxes.send(method, target, &body).await;
        assert_eq!(found.as_u16(), status, "{target}: {answer}");
        assert!(serde_json::from_str::<Value>(&answer).expect("JSON")["Error"].is_string(), "{answer}");
    }
    assert_eq!(mailboxes.subjects("/api/v1/messages").await.len(), 1);
}

#[tokio::test]
async fn inbucket_serves_mailboxes_by_local_part_and_address() {
    let mailboxes = Mailboxes::new().await;
    for name in ["ada", "ada+tag", "bob"] {
        mailboxes.backend.mail(name).await;
    }
    let list = mailboxes.get("/api/v1/mailbox/ada").await;
    let subjects: Vec<_> = list.as_array().expect("a list").iter().map(|message| &message["subject"]).collect();
    assert_eq!(subjects, ["Welcome, ada", "Welcome, ada+tag"]);
    assert_eq!(mailboxes.get("/api/v1/mailbox/ada%2Btag@example.com").await.as_array().map(Vec::len), Some(1));
    let first = &list[0];
    assert_eq!((&first["mailbox"], &first["from"]), (&json!("ada"), &json!("Admin <admin@email.com>")));
    assert_eq!((&first["to"], &first["seen"]), (&json!(["<ada@example.com>"]), &json!(false)));
    let id = first["id"].as_str().expect("an id");
    let message = mailboxes.get(&format!("/api/v1/mailbox/ada/{id}")).await;
    assert!(message["body"]["text"].as_str().is_some_and(|text| text.contains("123456")), "{message}");
    assert_eq!(message["header"]["Subject"], json!(["Welcome, ada"]));
    assert_eq!(message["header"]["Mime-Version"], json!(["1.0"]), "spelled as by the original");
    let source = mailboxes.get(&format!("/api/v1/mailbox/ada/{id}/source")).await;
    assert!(source.as_str().is_some_and(|source| source.contains("Subject: Welcome, ada")), "{source}");
    mailboxes.change(Method::PATCH, &format!("/api/v1/mailbox/ada/{id}"), json!({"seen": true})).await;
    assert_eq!(mailboxes.get("/api/v1/mailbox/ada").await[0]["seen"], true);
    let (status, _) = mailboxes.send(Method::GET, &format!("/api/v1/mailbox/bob/{id}"), &Value::Null).await;
    assert_eq!(status, StatusCode::NOT_FOUND, "it is in another mailbox");
    assert_eq!(mailboxes.get("/api/v1/mailbox/ada/latest").await["subject"], "Welcome, ada+tag");
    mailboxes.change(Method::DELETE, &format!("/api/v1/mailbox/ada/{id}"), Value::Null).await;
    mailboxes.change(Method::DELETE, "/api/v1/mailbox/bob", Value::Null).await;
    assert_eq!(mailboxes.subjects("/api/v1/messages").await, ["Welcome, ada+tag"]);
}
