//! The bytes of a mail: the reference's headers, and none that a user wrote.

use chrono::DateTime;
use platform::mail::compose::{MailSender, compose};
use platform::mail::{EmailMessage, MailError};
use proptest::prelude::*;

pub(super) fn message(to: &str) -> EmailMessage {
    EmailMessage {
        purpose: "confirmation".into(),
        to: to.to_owned(),
        subject: "Confirm your email address".to_owned(),
        html: "<p>Grüße</p>\n".to_owned(),
        text: None,
        message_id: "1@api.example.com".to_owned(),
        date: DateTime::from_timestamp(1_800_000_000, 0).expect("a date"),
        headers: Vec::new(),
        code: None,
        link: None,
    }
}

fn headers(bytes: &[u8]) -> Vec<(String, String)> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let (head, _) = text.split_once("\r\n\r\n").expect("a head and a body");
    let unfolded = head.replace("\r\n ", " ");
    unfolded
        .split("\r\n")
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn sender() -> MailSender {
    MailSender::new("Replay", "auth@example.com", &[]).expect("a sender")
}

#[test]
fn mail_has_gotrues_headers() {
    let (envelope, bytes) = compose(&sender(), &message("ann@example.com")).expect("a mail");
    let mut found = headers(&bytes);
    found.sort();
    let expected = [
        ("Content-Transfer-Encoding", "quoted-printable"),
        ("Content-Type", "text/html; charset=\"UTF-8\""),
        ("Date", "Fri, 15 Jan 2027 08:00:00 +0000"),
        ("From", "Replay <auth@example.com>"),
        ("MIME-Version", "1.0"),
        ("Message-ID", "<1@api.example.com>"),
        ("Subject", "Confirm your email address"),
        ("To", "ann@example.com"),
    ];
    assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert!(String::from_utf8_lossy(&bytes).contains("<p>Gr=C3=BC=C3=9Fe</p>"));
    assert_eq!(envelope.to().iter().map(ToString::to_string).collect::<Vec<_>>(), ["ann@example.com"]);
    assert_eq!(envelope.from().map(ToString::to_string).as_deref(), Some("auth@example.com"));
}

#[test]
fn configured_headers_contain_the_message_type_and_replace_none() {
    let of = |name: &str, values: &[&str]| (name.to_owned(), values.iter().map(|&value| value.to_owned()).collect());
    let more =
        [of("Reply-To", &["help@example.com"]), of("x-kind", &["auth/$messageType"]), of("X-Many", &["one", "two"])];
    let sender = MailSender::new("Läden, Büro", "Auth.Desk@example.com", &more).expect("a sender");
    let found = headers(&compose(&sender, &message("ann@example.com")).expect("a mail").1);
    let value = |name: &str| found.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str());
    assert_eq!(
        (value("Reply-To"), value("x-kind"), value("X-Many")),
        (Some("help@example.com"), Some("auth/confirmation"), Some("one, two"))
    );
    let from = value("From").expect("a sender");
    assert!(from.ends_with("<Auth.Desk@example.com>") && from.is_ascii(), "{from}");
    for name in ["To", "subject", "Content-Type", "Bcc", "no name", "colon:", "ümlaut", "", "new\nline"] {
        let refused = MailSender::new("", "auth@example.com", &[of(name, &["x"])]);
        assert!(matches!(refused, Err(MailError::Header(_))), "{name:?}");
    }
    assert!(matches!(MailSender::new("", "no address", &[]), Err(MailError::Header(_))));
}

#[test]
fn invalid_address_is_refused() {
    for to in [
        "",
        "ann",
        "ann@",
        "@example.com",
        "ann@example.com\r\nRCPT TO:<b@example.com>",
        "ann@example.com>, <b@example.com",
    ] {
        assert_eq!(compose(&sender(), &message(to)).map(drop), Err(MailError::Address), "{to:?}");
    }
    for to in ["ünïcödé@example.com", "ann+list.o'hara@localhost", &format!("{}@example.com", "a".repeat(200))] {
        let (envelope, bytes) = compose(&sender(), &message(to)).expect(to);
        assert_eq!(envelope.to().first().map(ToString::to_string).as_deref(), Some(to));
        assert!(String::from_utf8_lossy(&bytes).replace("\r\n ", "").contains(&format!("To: {to}")) || !to.is_ascii());
    }
}

#[test]
fn text_part_makes_a_multipart_message() {
    let mail = EmailMessage { text: Some("Hello".to_owned()), ..message("ann@example.com") };
    let text = String::from_utf8_lossy(&compose(&sender(), &mail).expect("a mail").1).into_owned();
    assert!(text.contains("multipart/alternative") && text.contains("text/plain") && text.contains("text/html"));
}

#[test]
fn bodies_are_encoded_by_line() {
    let long = "a".repeat(80);
    let full = "a".repeat(76);
    for (text, expected) in [
        ("", ""),
        ("Hello = Ann", "Hello =3D Ann"),
        ("one\ntwo\r\nthree\n", "one\r\ntwo\r\nthree\r\n"),
        ("é\r\rx\t\n", "=C3=A9=0D=0Dx=09\r\n"),
        ("a \n b", "a=20\r\n b"),
        (".\n", ".\r\n"),
        (&long, &format!("{}=\r\naaaaa", "a".repeat(75))),
        (&full, &full),
    ] {
        let mail = EmailMessage { html: text.to_owned(), ..message("ann@example.com") };
        let (_, bytes) = compose(&sender(), &mail).expect("a mail");
        let mail = String::from_utf8(bytes).expect("ASCII");
        let (_, body) = mail.split_once("\r\n\r\n").expect("a head and a body");
        assert_eq!(body, expected, "{text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn user_input_never_creates_a_header(
        subject in "(\\PC|\r|\n|\u{85}|\u{2028}|: |Bcc: a@b\\.c){0,30}",
        name in "(\\PC|\r|\n|<|>|\"|Bcc: a@b\\.c){0,20}",
        value in "(\\PC|\r|\n|Bcc: a@b\\.c){0,30}",
        html in "(\\PC|\r|\n|\\.|Bcc: a@b\\.c){0,60}",
    ) {
        let sender = MailSender::new(&name, "auth@example.com", &[("X-Of-Mine".to_owned(), vec![value.clone()])]).expect("a sender");
        let mail = EmailMessage { subject, html, headers: vec![("X-Of-The-Mail".to_owned(), value.clone())], message_id: value, ..message("ann@example.com") };
        let (envelope, bytes) = compose(&sender, &mail).expect("a mail");
        let mut names: Vec<String> = headers(&bytes).into_iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
        names.sort();
        let expected = ["content-transfer-encoding", "content-type", "date", "from", "message-id", "mime-version", "subject", "to", "x-of-mine", "x-of-the-mail"];
        names.dedup();
        for name in &names {
            prop_assert!(expected.contains(&name.as_str()), "{name}");
        }
        prop_assert_eq!(envelope.to().len(), 1);
        prop_assert!(bytes.windows(2).all(|pair| (pair[1] == b'\n') == (pair[0] == b'\r') || (pair[1] != b'\n' && pair[0] != b'\r')), "a bare line break");
    }
}

#[test]
fn configured_from_header_replaces_the_default_and_empty_headers_are_omitted() {
    let of = |name: &str, values: &[&str]| (name.to_owned(), values.iter().map(|&value| value.to_owned()).collect());
    let more = [of("From", &["Shop <shop@example.com>"]), of("from", &["x"]), of("X-Kind", &["", "$messageType", ""])];
    let sender = MailSender::new("Replay", "auth@example.com", &more).expect("a sender");
    let (envelope, bytes) = compose(&sender, &message("ann@example.com")).expect("a mail");
    let found = headers(&bytes);
    let values = |name: &str| {
        found
            .iter()
            .filter(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
            .collect::<Vec<_>>()
    };
    assert_eq!(values("From"), ["Shop <shop@example.com>"]);
    assert_eq!(values("X-Kind"), ["confirmation"]);
    assert_eq!(envelope.from().map(ToString::to_string).as_deref(), Some("shop@example.com"));
}
