//! The SMTP server: conversations, limits, and its parsers on any input.

use std::sync::Arc;

use messages::smtp::{Command, CommandError, Effect, Envelope, MailData, Session, serve};
use proptest::prelude::*;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::fixture::Backend;

/// Runs a conversation without I/O; returns the code of each reply, `keep` for a kept mail.
fn codes(session: &mut Session, text: &str) -> Vec<String> {
    let code = |effect: Effect| match effect {
        Effect::Reply(reply) => reply[..3].to_owned(),
        Effect::Close(reply) => format!("{} close", &reply[..3]),
        Effect::Keep(_) => "keep".to_owned(),
    };
    session.receive(text.as_bytes()).into_iter().map(code).collect()
}

async fn converse(text: &[u8], backend: &Backend) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (_closing, closed) = watch::channel(false);
    let store = backend.store.clone();
    let serving = tokio::spawn(serve(listener, Arc::new(move || Some(store.clone())), closed));
    let mut stream = TcpStream::connect(address).await.expect("connected");
    stream.write_all(text).await.expect("sent");
    let mut replies = String::new();
    stream.read_to_string(&mut replies).await.expect("answered");
    serving.abort();
    replies
}

#[tokio::test]
async fn mail_of_an_application_is_kept_with_its_content() {
    let backend = Backend::new().await;
    let mail = "From: App <app@example.com>\r\nTo: Ada <ada@example.com>\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n\r\n\
        Your code is 424242.\r\n..hidden dot\r\nhttps://app.example/go\r\n.\r\n";
    let text = format!(
        "EHLO app\r\nAUTH PLAIN AGEAYg==\r\nMAIL FROM:<bounce@example.com> SIZE=100 BODY=8BITMIME\r\n\
         RCPT TO:<ada@example.com>\r\nrcpt to: <bob@example.com>\r\nDATA\r\n{mail}QUIT\r\n"
    );
    let replies = converse(text.as_bytes(), &backend).await;
    assert!(replies.contains("\r\n250 2.0.0 kept as ") && replies.ends_with("221 2.0.0 closing\r\n"), "{replies}");
    let message = backend.list("?to=bob@example.com").await.remove(0);
    for (name, value) in [
        ("from", "app@example.com"),
        ("to", "ada@example.com, bob@example.com"),
        ("subject", "Grüße"),
        ("kind", "application"),
        ("channel", "email"),
        ("code", "424242"),
        ("link", "https://app.example/go"),
        ("text", "Your code is 424242.\r\n.hidden dot\r\nhttps://app.example/go\r\n"),
    ] {
        assert_eq!(message[name], json!(value), "{name}");
    }
}

#[tokio::test]
async fn number_of_kept_application_mails_is_limited() {
    let backend = Backend::new().await;
    backend.mail("ada").await;
    let mail =
        "MAIL FROM:<a@example.com>\r\nRCPT TO:<b@example.com>\r\nDATA\r\nSubject: x\r\n\r\nx\r\n.\r\n".repeat(502);
    converse(format!("EHLO app\r\n{mail}QUIT\r\n").as_bytes(), &backend).await;
    let count = backend.database.query("SELECT count(*) FROM basalt.outbox WHERE raw IS NOT NULL").await;
    assert_eq!(count, ["500"]);
    assert_eq!(backend.list("?kind=confirmation").await.len(), 1, "other messages are kept");
}

#[test]
fn wrong_order_and_wrong_commands_are_refused() {
    let mut session = Session::default();
    for (line, code) in [
        ("MAIL FROM:<a@example.com>\r\n", "503"),
        ("EHLO\r\n", "501"),
        ("EHLO app\r\n", "250"),
        ("RCPT TO:<a@example.com>\r\n", "503"),
        ("DATA\r\n", "503"),
        ("MAIL FROM:<a@example.com> SIZE=99999999999999999999\r\n", "552"),
        ("MAIL FROM:<a b@example.com>\r\n", "501"),
        ("MAIL FROM:<a@example.com> RET=FULL\r\n", "555"),
        ("MAIL FROM:<>\r\n", "250"),
        ("MAIL FROM:<a@example.com>\r\n", "503"),
        ("DATA\r\n", "503"),
        ("RCPT TO:<>\r\n", "501"),
        ("RCPT TO:<a@example.com, b@example.com>\r\n", "501"),
        ("RSET\r\n", "250"),
        ("NOOP\n", "500"),
        ("NOOP x\r\n", "250"),
        ("VRFY a\r\n", "252"),
    ] {
        assert_eq!(codes(&mut session, line), [code], "{line:?}");
    }
    let mut session = Session::default();
    assert_eq!(codes(&mut session, "POST / HTTP/1.1\r\nEHLO app\r\n"), ["421 close"], "a browser is disconnected");
    let mut session = Session::default();
    assert_eq!(codes(&mut session, &"X\r\n".repeat(20)).last().map(String::as_str), Some("500 close"));
    let mut session = Session::default();
    assert_eq!(codes(&mut session, &"a".repeat(5000)), ["500 close"]);
}

#[test]
fn both_forms_of_authentication_are_accepted() {
    for (text, replies) in [
        ("AUTH PLAIN\r\nAGEAYg==\r\n", vec!["334", "235"]),
        ("AUTH LOGIN\r\nYQ==\r\nYg==\r\n", vec!["334", "334", "235"]),
        ("AUTH LOGIN YQ==\r\nYg==\r\n", vec!["334", "235"]),
        ("AUTH LOGIN\r\n*\r\nNOOP\r\n", vec!["334", "501", "250"]),
        ("AUTH CRAM-MD5\r\n", vec!["555"]),
    ] {
        assert_eq!(codes(&mut Session::default(), text), replies, "{text:?}");
    }
}

#[test]
fn recipients_and_size_are_limited() {
    let mut session = Session::default();
    let recipients: Vec<String> = (0..101).map(|n| format!("RCPT TO:<a{n}@example.com>\r\n")).collect();
    let recipients = recipients.concat();
    let replies = codes(&mut session, &format!("EHLO a\r\nMAIL FROM:<a@example.com>\r\n{recipients}DATA\r\n"));
    assert_eq!((replies.iter().filter(|code| *code == "250").count(), replies[102].as_str()), (102, "452"));
    let line = format!("{}\r\n", "a".repeat(998));
    for _ in 0..11_000 {
        assert_eq!(codes(&mut session, &line), [""; 0]);
    }
    assert_eq!(codes(&mut session, ".\r\nNOOP\r\n"), ["552", "250"]);
}

/// The content of a mail as a client sends it (RFC 5321 §4.5.2).
fn stuff(content: &str) -> Vec<u8> {
    let lines =
        content.split("\r\n").map(|line| if line.starts_with('.') { format!(".{line}") } else { line.to_owned() });
    format!("{}\r\n.\r\n", lines.collect::<Vec<_>>().join("\r\n")).into_bytes()
}

proptest! {
    #[test]
    fn any_line_is_a_command_or_refused(line in prop::collection::vec(any::<u8>(), 0..100)) {
        if let Ok(Command::Recipient(to)) = Command::parse(&line) {
            prop_assert!(to.contains('@') && !to.contains([',', ' ', '\r', '\n', '<', '>']));
        }
    }

    #[test]
    fn anything_like_a_command_is_parsed(line in "(?i:mail from|rcpt to|auth|data|ehlo|quit)[: ]{0,2}[<>a-z@. =0-9,\"]{0,40}") {
        match Command::parse(line.as_bytes()) {
            Ok(Command::Mail { from: address, .. } | Command::Recipient(address)) => {
                prop_assert!(!address.contains([',', ' ', '<', '>', '"']), "{}", address);
            }
            Ok(_) => {}
            Err(error) => prop_assert!(error != CommandError::Http),
        }
    }

    #[test]
    fn content_survives_any_division(content in "[a.\r\n]{0,60}", sizes in prop::collection::vec(1_usize..5, 1..80)) {
        // A content that contains the end itself cannot be sent, and a CR before the end would be part of it.
        prop_assume!(!content.ends_with('\r'));
        let sent = [stuff(&content), b"NOOP\r\n".to_vec()].concat();
        let mut data = MailData::new(1000);
        let (mut at, mut rest) = (0, None);
        for size in sizes.iter().cycle() {
            let chunk = &sent[at..(at + size).min(sent.len())];
            if let Some(used) = data.receive(chunk) {
                rest = Some(sent.len() - at - used);
                break;
            }
            at += chunk.len();
        }
        prop_assert_eq!(rest, Some(6));
        prop_assert_eq!(data.into_content(), Some(format!("{content}\r\n").into_bytes()));
    }

    #[test]
    fn any_bytes_never_exceed_the_limits(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..20)) {
        let mut session = Session::default();
        let start = "EHLO a\r\nMAIL FROM:<a@example.com>\r\nRCPT TO:<b@example.com>\r\nDATA\r\n";
        session.receive(start.as_bytes());
        for chunk in chunks {
            for effect in session.receive(&chunk) {
                if let Effect::Keep(Envelope { recipients, content, .. }) = effect {
                    prop_assert!(recipients.len() == 1 && content.len() <= 1200);
                }
            }
        }
    }
}
