//! The message API: selection, waiting, parts, deletion, errors.

use std::time::{Duration, Instant};

use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use http::{Method, StatusCode};
use platform::mail::EmailMessage;
use serde_json::json;

use crate::fixture::{Backend, HASH, confirmation, text};

const ATTACHED: &str = "From: App <app@example.com>\r\nTo: ada@example.com\r\nSubject: =?utf-8?q?Rechnung_=E2=82=AC?=\r\n\
    MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"b\"\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\n\
    see https://app.example/invoice\r\n--b\r\nContent-Type: text/html; name=\"a.html\"\r\n\
    Content-Disposition: attachment; filename=\"a b\\\".html\"\r\nContent-Transfer-Encoding: base64\r\n\r\n\
    PHNjcmlwdD4=\r\n--b--\r\n";

async fn keep_attached(backend: &Backend) {
    backend
        .keep(|message| {
            message.purpose = "application";
            message.channel = "email";
            message.sender = Some("app@example.com".to_owned());
            "ada@example.com, bob@example.com".clone_into(&mut message.recipient);
            message.text = Some("see https://app.example/invoice".to_owned());
            message.code = None;
            message.raw = Some(ATTACHED.as_bytes().to_vec());
            message.attachment_count = 1;
        })
        .await;
}

#[tokio::test]
async fn message_has_the_members_of_the_contract() {
    let backend = Backend::new().await;
    backend.mail("ada").await;
    let mut message = backend.list("").await.remove(0);
    let stored = confirmation("ada");
    let id = message["id"].take();
    assert!(id.as_str().is_some_and(|id| id.len() == 36), "{id}");
    let expected = json!({
        "id": null,
        "channel": "email",
        "at": "2026-11-22T12:00:00Z",
        "from": "admin@email.com",
        "to": "ada@example.com",
        "subject": "Welcome, ada",
        "kind": "confirmation",
        "text": stored.text,
        "html": stored.html,
        "code": "123456",
        "token_hash": HASH,
        "link": stored.link,
        "links": [stored.link],
    });
    assert_eq!(message, expected);
}

#[tokio::test]
async fn messages_are_selected_and_paged_oldest_first() {
    let backend = Backend::new().await;
    for name in ["ada", "bob", "carl"] {
        backend.mail(name).await;
    }
    backend.keep(|_| {}).await;
    keep_attached(&backend).await;
    for (query, subjects) in [
        ("?channel=email&limit=3", &["Welcome, ada", "Welcome, bob", "Welcome, carl"][..]),
        ("?to=ADA@example.com", &["Welcome, ada", ""]),
        ("?to=bob@example.com&kind=application", &[""]),
        ("?subject=welcome,+B", &["Welcome, bob"]),
        ("?subject=100%25", &[]),
        ("?kind=recovery", &[]),
        ("?to=%2B491234567&kind=sms_otp&channel=sms", &[""]),
        ("?after=now", &[]),
    ] {
        assert_eq!(backend.list_member(query, "subject").await, subjects, "{query}");
    }
    let first = backend.list_member("?limit=1", "id").await.remove(0);
    assert_eq!(backend.list_member(&format!("?after={first}&limit=1"), "subject").await, ["Welcome, bob"]);
}

#[tokio::test]
async fn kind_of_reauthentication_is_that_of_its_template() {
    let backend = Backend::new().await;
    backend.mail_with(EmailMessage { purpose: "reauthenticate".into(), link: None, ..confirmation("ada") }).await;
    assert_eq!(backend.list_member("?kind=reauthentication", "kind").await, ["reauthentication"]);
}

#[tokio::test]
async fn link_and_hash_are_those_of_a_custom_template() {
    let backend = Backend::new().await;
    let own = format!("https://app.example/confirm?token_hash={HASH}&type=email");
    let deep = format!("myapp://confirm/{HASH}");
    for (html, link) in [
        (format!("<a href='https://a.example'>Us</a><a href=\"{}\">Go</a>", own.replace('&', "&amp;")), own.clone()),
        (format!("<p>Open {own} now.</p>"), own.clone()),
        (format!("<a href=\"https://a.example/?token=abc\">x</a><a href=\"{deep}\">Open</a>"), deep),
        ("<p>Your code is 123456</p>".to_owned(), confirmation("ada").link.expect("a link")),
    ] {
        let mail = EmailMessage { html: html.clone(), text: None, ..confirmation("ada") };
        backend.mail_with(EmailMessage { message_id: html.clone(), ..mail }).await;
        let message = backend.list("").await.pop().expect("a message");
        assert_eq!((&message["link"], &message["token_hash"]), (&json!(link), &json!(HASH)), "{html}");
        assert_eq!(message["code"], "123456", "{html}");
    }
}

#[tokio::test]
async fn waiting_call_returns_with_the_message_and_holds_no_connection() {
    let backend = Backend::new().await;
    backend.mail("ada").await;
    let waiting = (0..20).map(|_| backend.list_member("?to=bob@example.com&wait=30", "subject"));
    let started = Instant::now();
    let (found, ()) = tokio::join!(futures::future::join_all(waiting), async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        backend.mail("bob").await;
    });
    assert!(found.iter().all(|subjects| subjects == &["Welcome, bob"]), "{found:?}");
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn wait_after_now_ignores_earlier_messages() {
    let backend = Backend::new().await;
    backend.mail("ada").await;
    let (found, ()) = tokio::join!(backend.list_member("?after=now&wait=30", "to"), async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        backend.keep(|_| {}).await;
    });
    assert_eq!(found, ["491234567"]);
}

#[tokio::test]
async fn wait_ends_at_its_limit_and_at_shutdown() {
    let backend = Backend::new().await;
    let started = Instant::now();
    assert_eq!(backend.list("?wait=0.2").await.len(), 0);
    assert!(started.elapsed() >= Duration::from_millis(200));
    let (found, ()) = tokio::join!(backend.list("?wait=60"), async {
        backend.closing.send_replace(true);
    });
    assert_eq!(found.len(), 0);
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn raw_form_headers_and_attachments_are_served() {
    let backend = Backend::new().await;
    backend.mail("ada").await;
    keep_attached(&backend).await;
    backend.keep(|_| {}).await;
    let ids = backend.list_member("", "id").await;
    let [mail, attached, sms] = &*ids else { panic!("{ids:?}") };

    let raw = text(backend.respond(Method::GET, &format!("/{mail}/raw")).await).await;
    assert!(raw.contains("From: Admin <admin@email.com>\r\n") && raw.contains("multipart/alternative"), "{raw}");
    let (_, headers) = backend.call(Method::GET, &format!("/{mail}/headers")).await;
    assert_eq!(headers["Message-ID"], json!(["<ada-3@shop.example>"]), "{headers}");

    assert_eq!(text(backend.respond(Method::GET, &format!("/{attached}/raw")).await).await, ATTACHED);
    let (_, headers) = backend.call(Method::GET, &format!("/{attached}/headers")).await;
    assert_eq!(headers["Subject"], json!(["Rechnung €"]));
    let (_, message) = backend.call(Method::GET, &format!("/{attached}")).await;
    let listed = json!([{"n": 0, "name": "a b\".html", "content_type": "text/html", "size": 8}]);
    assert_eq!((&message["attachments"], &message["link"]), (&listed, &json!("https://app.example/invoice")));
    let file = backend.respond(Method::GET, &format!("/{attached}/attachments/0")).await;
    assert_eq!(file.headers()[CONTENT_DISPOSITION], "attachment; filename=\"a b_.html\"");
    assert_eq!(
        (file.headers()[CONTENT_TYPE].clone(), text(file).await),
        ("text/html".parse().unwrap(), "<script>".into())
    );

    let raw = text(backend.respond(Method::GET, &format!("/{sms}/raw")).await).await;
    assert!(raw.contains("To: 491234567\r\n") && raw.ends_with("\r\n\r\nYour code is 654321\r\n"), "{raw}");
}

#[tokio::test]
async fn messages_are_deleted_by_selection_and_one_by_one() {
    let backend = Backend::new().await;
    for name in ["ada", "bob", "carl"] {
        backend.mail(name).await;
    }
    assert_eq!(backend.call(Method::DELETE, "?to=ada@example.com").await.0, StatusCode::NO_CONTENT);
    let ids = backend.list_member("", "id").await;
    assert_eq!(ids.len(), 2);
    assert_eq!(backend.call(Method::DELETE, &format!("/{}", ids[0])).await.0, StatusCode::NO_CONTENT);
    assert_eq!(backend.call(Method::DELETE, &format!("/{}", ids[0])).await.0, StatusCode::NOT_FOUND);
    assert_eq!(backend.list_member("", "subject").await, ["Welcome, carl"]);
    assert_eq!(backend.call(Method::DELETE, "").await.0, StatusCode::NO_CONTENT);
    assert_eq!(backend.list("").await.len(), 0);
}

#[tokio::test]
async fn wrong_requests_are_refused_with_a_hint() {
    let backend = Backend::new().await;
    backend.mail("ada").await;
    let id = backend.list_member("", "id").await.remove(0);
    let unknown = "00000000-0000-4000-8000-000000000000";
    for (method, path, status, code) in [
        (Method::GET, "?too=a@example.com".to_owned(), 400, "unknown_parameter"),
        (Method::GET, "?to=a@example.com&to=b@example.com".to_owned(), 400, "invalid_parameter"),
        (Method::GET, "?to=".to_owned(), 400, "invalid_parameter"),
        (Method::GET, "?to=%zz".to_owned(), 400, "invalid_parameter"),
        (Method::GET, "?channel=fax".to_owned(), 400, "invalid_parameter"),
        (Method::GET, "?kind=recovry".to_owned(), 400, "invalid_parameter"),
        (Method::GET, "?wait=61".to_owned(), 400, "invalid_parameter"),
        (Method::GET, "?wait=1e1".to_owned(), 400, "invalid_parameter"),
        (Method::GET, "?wait=-1".to_owned(), 400, "invalid_parameter"),
        (Method::GET, "?limit=0".to_owned(), 400, "invalid_parameter"),
        (Method::GET, "?limit=201".to_owned(), 400, "invalid_parameter"),
        (Method::GET, "?after=yesterday".to_owned(), 400, "invalid_parameter"),
        (Method::GET, format!("?after={unknown}"), 404, "message_not_found"),
        (Method::GET, format!("?subject={}", "a".repeat(5000)), 400, "invalid_parameter"),
        (Method::DELETE, "?wait=1".to_owned(), 400, "unknown_parameter"),
        (Method::DELETE, "?after=now".to_owned(), 400, "invalid_parameter"),
        (Method::POST, String::new(), 405, "method_not_allowed"),
        (Method::GET, format!("/{unknown}"), 404, "message_not_found"),
        (Method::GET, "/1".to_owned(), 404, "message_not_found"),
        (Method::GET, format!("/{id}?x=1"), 400, "unknown_parameter"),
        (Method::GET, format!("/{id}/attachments/0"), 404, "attachment_not_found"),
        (Method::GET, format!("/{id}/parts"), 404, "not_found"),
        (Method::PUT, format!("/{id}"), 405, "method_not_allowed"),
        (Method::DELETE, format!("/{id}/raw"), 405, "method_not_allowed"),
    ] {
        let (found, body) = backend.call(method, &path).await;
        assert_eq!((found.as_u16(), &body["code"]), (status, &json!(code)), "{path}: {body}");
        assert!(
            ["message", "hint"].iter().all(|name| body[name].as_str().is_some_and(|text| text.len() > 5)),
            "{body}"
        );
    }
    assert_eq!(backend.list("").await.len(), 1, "nothing is deleted by a wrong request");
}

#[tokio::test]
async fn database_error_is_answered() {
    let backend = Backend::new().await;
    backend.database.query("DROP TABLE basalt.outbox").await;
    let (status, body) = backend.call(Method::GET, "").await;
    assert_eq!((status.as_u16(), &body["code"]), (500, &json!("database_error")));
}
