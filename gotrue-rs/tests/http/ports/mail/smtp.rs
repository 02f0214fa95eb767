//! The SMTP client: commands, connection reuse, and silence without a server.

use std::time::{Duration, Instant};

use foundation::secret::Secret;
use platform::mail::compose::MailSender;
use platform::mail::smtp::{SmtpLimits, SmtpMailer, SmtpServer};
use platform::mail::{DiscardingMailer, MailError, Mailer};
use platform::testing::Recording;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::compose::message;
use super::server::{MailServer, ServerBehavior};

fn client(server: &MailServer, host: &str, user: &str) -> SmtpMailer {
    mailer(settings(server, host, user))
}

fn settings(server: &MailServer, host: &str, user: &str) -> SmtpServer {
    SmtpServer {
        host: host.to_owned(),
        port: server.port,
        user: user.to_owned(),
        password: Secret::new("sesame"),
        hello: "api.example.com".to_owned(),
        trusted_roots: Some(include_bytes!("tls/roots.pem").to_vec()),
    }
}

fn mailer(settings: SmtpServer) -> SmtpMailer {
    SmtpMailer::new(settings, MailSender::new("Shop", "auth@example.com", &[]).expect("a sender")).expect("a client")
}

#[tokio::test]
async fn mails_share_a_connection() {
    let server = MailServer::start(ServerBehavior { auth: "PLAIN LOGIN", ..ServerBehavior::default() }).await;
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
async fn delivery_span_names_host_and_outcome_without_address() {
    let server = MailServer::start(ServerBehavior::default()).await;
    Recording::start();
    client(&server, "127.0.0.1", "").send(&message("ann@example.com")).await.expect("sent");
    let unreachable = SmtpServer { port: 9, ..settings(&server, "127.0.0.1", "") };
    mailer(unreachable).send(&message("ann@example.com")).await.expect_err("no server listens");
    let recording = Recording::stop();
    let of = |name: &str| {
        recording.spans_named("mail_delivery").iter().map(|span| span.fields.get(name)).collect::<Vec<_>>()
    };
    assert_eq!((of("server.address"), of("outcome")), (vec!["127.0.0.1"; 2], vec!["sent", "failed"]));
    assert!(!recording.text().contains("ann@"), "{recording:?}");
}

#[tokio::test]
async fn closed_connection_is_reopened() {
    let server = MailServer::start(ServerBehavior { hangs_up_after: Some(1), ..ServerBehavior::default() }).await;
    let smtp = client(&server, "127.0.0.1", "");
    for _ in 0..3 {
        smtp.send(&message("ann@example.com")).await.expect("sent");
    }
    assert_eq!((server.count("(connected)"), server.count("DATA")), (3, 3));
}

#[tokio::test]
async fn concurrent_mails_use_several_connections() {
    let server = MailServer::start(ServerBehavior::default()).await;
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
    let server =
        MailServer::start(ServerBehavior { dawdles: Some(Duration::from_millis(20)), ..ServerBehavior::default() })
            .await;
    let smtp = client(&server, "127.0.0.1", "").with_limits(SmtpLimits { connections: 3, ..SmtpLimits::default() });
    let mails = vec![message("ann@example.com"); 12];
    let sent = futures::future::join_all(mails.iter().map(|mail| smtp.send(mail))).await;
    assert!(sent.iter().all(Result::is_ok), "{sent:?}");
    assert_eq!((server.count("(connected)"), server.count("DATA")), (3, 12));
}

#[tokio::test]
async fn slow_server_gets_concurrent_mails() {
    const SLOW: Duration = Duration::from_secs(1);
    let server = MailServer::start(ServerBehavior { dawdles: Some(SLOW), ..ServerBehavior::default() }).await;
    let smtp = client(&server, "127.0.0.1", "");
    let mails = vec![message("ann@example.com"); 64];
    let started = Instant::now();
    let sent = futures::future::join_all(mails.iter().map(|mail| smtp.send(mail))).await;
    assert!(sent.iter().all(Result::is_ok), "{sent:?}");
    assert!(started.elapsed() < 2 * SLOW, "{:?}", started.elapsed());
}

#[tokio::test]
async fn connection_limit_of_server_is_respected() {
    let habits = ServerBehavior {
        most_connections: Some(2),
        dawdles: Some(Duration::from_millis(50)),
        ..ServerBehavior::default()
    };
    let server = MailServer::start(habits).await;
    let smtp = client(&server, "127.0.0.1", "");
    smtp.send(&message("ann@example.com")).await.expect("sent");
    let mails = vec![message("ann@example.com"); 20];
    let sent = futures::future::join_all(mails.iter().map(|mail| smtp.send(mail))).await;
    assert!(sent.iter().all(Result::is_ok), "{sent:?}");
    assert!(server.count("(turned away)") > 0, "it got further commands");
    assert_eq!(server.count("DATA"), 21);
}

#[tokio::test]
async fn server_refusing_all_connections_fails_the_mail() {
    let server = MailServer::start(ServerBehavior { most_connections: Some(0), ..ServerBehavior::default() }).await;
    let error = client(&server, "127.0.0.1", "").send(&message("ann@example.com")).await.expect_err("turned away");
    assert!(!error.is_permanent(), "{error}");
}

#[tokio::test]
async fn unresponsive_server_times_out() {
    let short = Duration::from_millis(100);
    let long = Duration::from_mins(1);
    let none = SmtpLimits { connect: long, command: long, content: long, mail: long, connections: 1 };
    for (silent_at, limits) in [
        ("(connected)", SmtpLimits { connect: short, ..none }),
        ("EHLO", SmtpLimits { connect: short, ..none }),
        ("MAIL", SmtpLimits { command: short, ..none }),
        ("RCPT", SmtpLimits { command: short, ..none }),
        ("DATA", SmtpLimits { command: short, ..none }),
        (".", SmtpLimits { content: short, ..none }),
        ("RCPT", SmtpLimits { mail: short, ..none }),
    ] {
        let server =
            MailServer::start(ServerBehavior { falls_silent_at: Some(silent_at), ..ServerBehavior::default() }).await;
        let smtp = client(&server, "127.0.0.1", "").with_limits(limits);
        for _ in 0..2 {
            let sending = tokio::time::timeout(Duration::from_secs(20), async {
                smtp.send(&message("ann@example.com")).await.expect_err("silence")
            });
            let error = sending.await.unwrap_or_else(|_| panic!("{silent_at} has no limit"));
            assert!(!error.is_permanent(), "{silent_at}: {error}");
        }
    }
}

/// If it were two writes, the second would wait up to 40 ms for a delayed acknowledgement.
#[tokio::test]
async fn content_and_final_dot_are_one_write() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let mut server = MailServer::default();
    server.port = listener.local_addr().expect("an address").port();
    let smtp = client(&server, "127.0.0.1", "");
    let serving = async {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        for reply in ["220 here\r\n", "250 here\r\n", "250 fine\r\n", "250 fine\r\n", "354 go on\r\n"] {
            stream.write_all(reply.as_bytes()).await.expect("written");
            let mut received = vec![0; 60_000];
            let length = stream.read(&mut received).await.expect("read");
            if reply.starts_with("354") {
                stream.write_all(b"250 kept\r\n").await.expect("written");
                return String::from_utf8_lossy(&received[..length]).into_owned();
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
async fn offered_starttls_is_used_before_authentication() {
    let server = MailServer::start(ServerBehavior {
        auth: "LOGIN PLAIN",
        certificate: Some("localhost"),
        ..ServerBehavior::default()
    })
    .await;
    client(&server, "localhost", "shop").send(&message("ann@example.com")).await.expect("sent");
    let received = server.received_commands();
    let at =
        |start: &str| received.iter().position(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no {start}"));
    assert!(at("STARTTLS") < at("AUTH PLAIN") && at("AUTH PLAIN") < at("MAIL FROM"));
}

#[tokio::test]
async fn untrusted_certificate_is_refused() {
    let server = MailServer::start(ServerBehavior {
        auth: "PLAIN",
        certificate: Some("elsewhere.example.com"),
        ..ServerBehavior::default()
    })
    .await;
    let refused = client(&server, "localhost", "shop").send(&message("ann@example.com")).await;
    assert!(matches!(refused, Err(MailError::Failed(_))), "{refused:?}");
    assert_eq!((server.count("AUTH"), server.count("MAIL")), (0, 0), "nothing was sent to an impostor");
    let server =
        MailServer::start(ServerBehavior { certificate: Some("localhost"), ..ServerBehavior::default() }).await;
    let strict = mailer(SmtpServer { trusted_roots: None, ..settings(&server, "localhost", "") });
    assert!(strict.send(&message("ann@example.com")).await.is_err());
    assert_eq!(server.count("MAIL"), 0);
}

#[test]
fn roots_of_the_system_are_trusted() {
    // The variable replaces the system's roots, in a process of its own.
    let output = std::process::Command::new(std::env::current_exe().expect("a path"))
        .args(["ports::mail::smtp::mail_is_sent_with_roots_of_the_system", "--exact", "--ignored"])
        .env("SSL_CERT_FILE", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/http/ports/mail/tls/roots.pem"))
        .env_remove("SSL_CERT_DIR")
        .output()
        .expect("the test starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("1 passed"), "{printed}");
}

#[tokio::test]
#[ignore = "run by roots_of_the_system_are_trusted"]
async fn mail_is_sent_with_roots_of_the_system() {
    let server =
        MailServer::start(ServerBehavior { certificate: Some("localhost"), ..ServerBehavior::default() }).await;
    let smtp = mailer(SmtpServer { trusted_roots: None, ..settings(&server, "localhost", "") });
    smtp.send(&message("ann@example.com")).await.expect("sent");
    assert_eq!((server.count("STARTTLS"), server.count("MAIL")), (1, 1));
}

#[tokio::test]
async fn server_without_auth_gets_no_password() {
    let server = MailServer::start(ServerBehavior::default()).await;
    client(&server, "127.0.0.1", "shop").send(&message("ann@example.com")).await.expect("sent");
    assert_eq!(server.count("AUTH"), 0);
}

#[tokio::test]
async fn permanent_and_transient_errors_are_distinguished() {
    for (refuses, permanent) in [
        (("RCPT", "550 no such user"), true),
        (("RCPT", "450 try later"), false),
        (("MAIL", "421 shutting down"), false),
        (("AUTH", "535 wrong password"), true),
    ] {
        let server =
            MailServer::start(ServerBehavior { auth: "PLAIN", refuses: Some(refuses), ..ServerBehavior::default() })
                .await;
        let error =
            client(&server, "127.0.0.1", "shop").send(&message("ann@example.com")).await.expect_err("a refusal");
        assert_eq!(error.is_permanent(), permanent, "{refuses:?}: {error}");
        assert!(!error.to_string().contains("sesame") && !error.to_string().contains("ann@"), "{error}");
    }
    let mut unknown = MailServer::default();
    unknown.port = 9;
    let error =
        client(&unknown, "127.0.0.1", "").send(&message("ann@example.com")).await.expect_err("no server listens");
    assert!(!error.is_permanent(), "{error}");
}

#[tokio::test]
async fn a_refused_mail_leaves_no_half_used_connection() {
    let server =
        MailServer::start(ServerBehavior { refuses: Some(("RCPT", "550 no such user")), ..ServerBehavior::default() })
            .await;
    let smtp = client(&server, "127.0.0.1", "");
    for _ in 0..2 {
        smtp.send(&message("ann@example.com")).await.expect_err("a refusal");
    }
    assert_eq!(server.count("(connected)"), 2);
}

#[tokio::test]
async fn cancelled_send_discards_its_connection() {
    let server = MailServer::start(ServerBehavior::default()).await;
    let smtp = client(&server, "127.0.0.1", "");
    for _ in 0..20 {
        let gone = message("gone@example.com");
        drop(tokio::time::timeout(Duration::from_micros(300), smtp.send(&gone)).await);
    }
    smtp.send(&message("ann@example.com")).await.expect("sent");
    assert_eq!(server.count("RCPT TO:<ann@example.com>"), 1);
}

#[tokio::test]
async fn dot_lines_are_escaped() {
    let server = MailServer::start(ServerBehavior::default()).await;
    let mut mail = message("ann@example.com");
    mail.html = "one\n.\nRCPT TO:<b@example.com>\n".to_owned();
    client(&server, "127.0.0.1", "").send(&mail).await.expect("sent");
    assert_eq!(server.count("RCPT TO:"), 1);
}

#[tokio::test]
async fn mail_without_server_is_dropped_silently() {
    assert_eq!(DiscardingMailer.send(&message("ann@example.com")).await, Ok(()));
}
