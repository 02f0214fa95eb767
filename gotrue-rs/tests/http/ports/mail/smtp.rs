//! The way to a mail server: what is said, over which connection, and when nothing is.

use std::time::{Duration, Instant};

use gotrue_rs::ports::mail::compose::Sender;
use gotrue_rs::ports::mail::smtp::{Limits, Server, Smtp};
use gotrue_rs::ports::mail::{MailError, Mailer, Nobody};
use gotrue_rules::domain::secret::Secret;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::compose::message;
use super::server::{Habits, MailServer};

fn client(server: &MailServer, host: &str, user: &str) -> Smtp {
    let settings = Server {
        host: host.to_owned(),
        port: server.port,
        user: user.to_owned(),
        password: Secret::new("sesame"),
        hello: "api.example.com".to_owned(),
        trusted_roots: Some(include_bytes!("tls/roots.pem").to_vec()),
    };
    Smtp::new(settings, Sender::new("Shop", "auth@example.com", &[]).expect("a sender")).expect("a client")
}

#[tokio::test]
async fn mails_share_a_connection() {
    let server = MailServer::start(Habits { auth: "PLAIN LOGIN", ..Habits::default() }).await;
    let smtp = client(&server, "127.0.0.1", "shop");
    for _ in 0..3 {
        smtp.send(&message("ann@example.com")).await.expect("sent");
    }
    assert_eq!(
        (server.count("(connected)"), server.count("EHLO api.example.com"), server.count("AUTH PLAIN")),
        (1, 1, 1)
    );
    assert_eq!((server.count("MAIL FROM:<auth@example.com>"), server.count("RCPT TO:<ann@example.com>")), (3, 3));
    assert_eq!(server.count("  Subject: Confirm your email address"), 3);
}

#[tokio::test]
async fn a_server_that_hung_up_is_called_again() {
    let server = MailServer::start(Habits { hangs_up_after: Some(1), ..Habits::default() }).await;
    let smtp = client(&server, "127.0.0.1", "");
    for _ in 0..3 {
        smtp.send(&message("ann@example.com")).await.expect("sent");
    }
    assert_eq!((server.count("(connected)"), server.count("DATA")), (3, 3));
}

#[tokio::test]
async fn mails_at_once_use_several_connections_and_all_arrive() {
    let server = MailServer::start(Habits::default()).await;
    let smtp = client(&server, "127.0.0.1", "");
    let mails: Vec<_> = (0..30).map(|number| message(&format!("ann{number}@example.com"))).collect();
    let sent = futures::future::join_all(mails.iter().map(|mail| smtp.send(mail))).await;
    assert!(sent.iter().all(Result::is_ok), "{sent:?}");
    for mail in &mails {
        assert_eq!(server.count(&format!("RCPT TO:<{}>", mail.to)), 1);
    }
}

#[tokio::test]
async fn connections_are_bounded() {
    let server = MailServer::start(Habits { dawdles: Some(Duration::from_millis(20)), ..Habits::default() }).await;
    let smtp = client(&server, "127.0.0.1", "").limited(Limits { connections: 3, ..Limits::default() });
    let mails = vec![message("ann@example.com"); 12];
    let sent = futures::future::join_all(mails.iter().map(|mail| smtp.send(mail))).await;
    assert!(sent.iter().all(Result::is_ok), "{sent:?}");
    assert_eq!((server.count("(connected)"), server.count("DATA")), (3, 12));
}

#[tokio::test]
async fn a_slow_server_takes_many_mails_at_once() {
    const SLOW: Duration = Duration::from_secs(1);
    let server = MailServer::start(Habits { dawdles: Some(SLOW), ..Habits::default() }).await;
    let smtp = client(&server, "127.0.0.1", "");
    let mails = vec![message("ann@example.com"); 64];
    let started = Instant::now();
    let sent = futures::future::join_all(mails.iter().map(|mail| smtp.send(mail))).await;
    assert!(sent.iter().all(Result::is_ok), "{sent:?}");
    assert!(started.elapsed() < 2 * SLOW, "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_server_that_allows_few_connections_gets_all_mails_over_those() {
    let habits = Habits { most_connections: Some(2), dawdles: Some(Duration::from_millis(50)), ..Habits::default() };
    let server = MailServer::start(habits).await;
    let smtp = client(&server, "127.0.0.1", "");
    smtp.send(&message("ann@example.com")).await.expect("sent");
    let mails = vec![message("ann@example.com"); 20];
    let sent = futures::future::join_all(mails.iter().map(|mail| smtp.send(mail))).await;
    assert!(sent.iter().all(Result::is_ok), "{sent:?}");
    assert!(server.count("(turned away)") > 0, "it was asked for more");
    assert_eq!(server.count("DATA"), 21);
}

#[tokio::test]
async fn a_server_that_turns_everybody_away_fails_the_mail() {
    let server = MailServer::start(Habits { most_connections: Some(0), ..Habits::default() }).await;
    let error = client(&server, "127.0.0.1", "").send(&message("ann@example.com")).await.expect_err("turned away");
    assert!(!error.is_permanent(), "{error}");
}

#[tokio::test]
async fn a_silent_server_holds_a_mail_for_as_long_as_the_limit() {
    let short = Duration::from_millis(100);
    let long = Duration::from_mins(1);
    let none = Limits { connect: long, command: long, content: long, mail: long, connections: 1 };
    for (silent_at, limits) in [
        ("(connected)", Limits { connect: short, ..none }),
        ("EHLO", Limits { connect: short, ..none }),
        ("MAIL", Limits { command: short, ..none }),
        ("RCPT", Limits { command: short, ..none }),
        ("DATA", Limits { command: short, ..none }),
        (".", Limits { content: short, ..none }),
        ("RCPT", Limits { mail: short, ..none }),
    ] {
        let server = MailServer::start(Habits { falls_silent_at: Some(silent_at), ..Habits::default() }).await;
        let smtp = client(&server, "127.0.0.1", "").limited(limits);
        for _ in 0..2 {
            let sending = tokio::time::timeout(Duration::from_secs(20), async {
                smtp.send(&message("ann@example.com")).await.expect_err("silence")
            });
            let error = sending.await.unwrap_or_else(|_| panic!("{silent_at} has no limit"));
            assert!(!error.is_permanent(), "{silent_at}: {error}");
        }
    }
}

/// Written in two parts, the second waits until the server acknowledges the first, which it may delay by 40 ms.
#[tokio::test]
async fn content_is_written_together_with_its_final_dot() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let mut server = MailServer::default();
    server.port = listener.local_addr().expect("an address").port();
    let smtp = client(&server, "127.0.0.1", "");
    let serving = async {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        for reply in ["220 here\r\n", "250 here\r\n", "250 fine\r\n", "250 fine\r\n", "354 go on\r\n"] {
            stream.write_all(reply.as_bytes()).await.expect("heard");
            let mut heard = vec![0; 60_000];
            let length = stream.read(&mut heard).await.expect("said");
            if reply.starts_with("354") {
                stream.write_all(b"250 kept\r\n").await.expect("heard");
                return String::from_utf8_lossy(&heard[..length]).into_owned();
            }
        }
        unreachable!("the last reply returns")
    };
    let mail = message("ann@example.com");
    let (sent, content) = futures::future::join(smtp.send(&mail), serving).await;
    sent.expect("sent");
    assert!(content.starts_with("From: ") && content.ends_with("\r\n.\r\n"), "{content}");
}

#[tokio::test]
async fn tls_is_used_where_it_is_offered_and_the_password_goes_through_it() {
    let server =
        MailServer::start(Habits { auth: "LOGIN PLAIN", certificate: Some("localhost"), ..Habits::default() }).await;
    client(&server, "localhost", "shop").send(&message("ann@example.com")).await.expect("sent");
    let heard = server.heard();
    let at =
        |start: &str| heard.iter().position(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no {start}"));
    assert!(at("STARTTLS") < at("AUTH PLAIN") && at("AUTH PLAIN") < at("MAIL FROM"));
}

#[tokio::test]
async fn a_certificate_of_another_name_or_of_unknown_roots_ends_it() {
    let server =
        MailServer::start(Habits { auth: "PLAIN", certificate: Some("elsewhere.example.com"), ..Habits::default() })
            .await;
    let refused = client(&server, "localhost", "shop").send(&message("ann@example.com")).await;
    assert!(matches!(refused, Err(MailError::Failed(_))), "{refused:?}");
    assert_eq!((server.count("AUTH"), server.count("MAIL")), (0, 0), "nothing was said to an impostor");
    let server = MailServer::start(Habits { certificate: Some("localhost"), ..Habits::default() }).await;
    let settings = Server {
        host: "localhost".to_owned(),
        port: server.port,
        user: String::new(),
        password: Secret::default(),
        hello: String::new(),
        trusted_roots: None,
    };
    let strict = Smtp::new(settings, Sender::new("", "auth@example.com", &[]).expect("a sender")).expect("a client");
    assert!(strict.send(&message("ann@example.com")).await.is_err());
    assert_eq!(server.count("MAIL"), 0);
}

#[tokio::test]
async fn a_server_without_auth_is_not_told_the_password() {
    let server = MailServer::start(Habits::default()).await;
    client(&server, "127.0.0.1", "shop").send(&message("ann@example.com")).await.expect("sent");
    assert_eq!(server.count("AUTH"), 0);
}

#[tokio::test]
async fn what_will_not_change_is_told_from_what_may() {
    for (refuses, permanent) in [
        (("RCPT", "550 no such user"), true),
        (("RCPT", "450 try later"), false),
        (("MAIL", "421 shutting down"), false),
        (("AUTH", "535 wrong password"), true),
    ] {
        let server = MailServer::start(Habits { auth: "PLAIN", refuses: Some(refuses), ..Habits::default() }).await;
        let error =
            client(&server, "127.0.0.1", "shop").send(&message("ann@example.com")).await.expect_err("a refusal");
        assert_eq!(error.is_permanent(), permanent, "{refuses:?}: {error}");
        assert!(!error.to_string().contains("sesame") && !error.to_string().contains("ann@"), "{error}");
    }
    let mut nobody = MailServer::default();
    nobody.port = 9;
    let error = client(&nobody, "127.0.0.1", "").send(&message("ann@example.com")).await.expect_err("nobody listens");
    assert!(!error.is_permanent(), "{error}");
}

#[tokio::test]
async fn a_refused_mail_leaves_no_half_used_connection() {
    let server = MailServer::start(Habits { refuses: Some(("RCPT", "550 no such user")), ..Habits::default() }).await;
    let smtp = client(&server, "127.0.0.1", "");
    for _ in 0..2 {
        smtp.send(&message("ann@example.com")).await.expect_err("a refusal");
    }
    assert_eq!(server.count("(connected)"), 2);
}

#[tokio::test]
async fn a_caller_that_leaves_midway_spoils_nothing() {
    let server = MailServer::start(Habits::default()).await;
    let smtp = client(&server, "127.0.0.1", "");
    for _ in 0..20 {
        let gone = message("gone@example.com");
        drop(tokio::time::timeout(Duration::from_micros(300), smtp.send(&gone)).await);
    }
    smtp.send(&message("ann@example.com")).await.expect("sent");
    assert_eq!(server.count("RCPT TO:<ann@example.com>"), 1);
}

#[tokio::test]
async fn a_line_that_is_a_dot_does_not_end_the_mail() {
    let server = MailServer::start(Habits::default()).await;
    let mut mail = message("ann@example.com");
    mail.html = "one\n.\nRCPT TO:<b@example.com>\n".to_owned();
    client(&server, "127.0.0.1", "").send(&mail).await.expect("sent");
    assert_eq!(server.count("RCPT TO:"), 1);
}

#[tokio::test]
async fn without_a_server_mail_is_dropped_without_a_word() {
    assert_eq!(Nobody.send(&message("ann@example.com")).await, Ok(()));
}
