//! Parsing of mails.

use messages::mime::{Mailbox, ParsedMail};
use proptest::prelude::*;

fn parse(raw: &str) -> ParsedMail {
    ParsedMail::parse(raw.replace('\n', "\r\n").as_bytes())
}

#[test]
fn headers_are_unfolded_and_decoded() {
    let mail = parse(
        "Subject: =?UTF-8?B?R3LDvMOf?=\n =?utf-8?Q?e_?= =?iso-8859-1?q?=FC?= x =?bad\nX-Long: a\n\tb\nTo: \
         \"Ada, A.\" <ada@example.com>,\n bob@example.com, nobody\n\nbody",
    );
    assert_eq!(mail.header("subject"), "Grüße ü x =?bad");
    assert_eq!(mail.header("x-long"), "a b");
    let mailbox = |name: &str, address: &str| Mailbox { name: name.to_owned(), address: address.to_owned() };
    assert_eq!(mail.mailboxes("To"), [mailbox("Ada, A.", "ada@example.com"), mailbox("", "bob@example.com")]);
    assert_eq!(mail.text.as_deref(), Some("body"));
}

#[test]
fn nested_parts_become_bodies_and_attachments() {
    let mail = parse(
        "Content-Type: multipart/mixed; boundary=outer\n\npreamble\n--outer\nContent-Type: multipart/alternative; \
         boundary=\"in ner\"\n\n--in ner\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: \
         quoted-printable\n\nGr=C3=BC=\n=C3=9Fe =3D 1\n--in ner\nContent-Type: text/html; charset=windows-1252\n\
         Content-Transfer-Encoding: base64\n\nPGI+gDwvYj4\n--in ner--\n--outer\nContent-Type: image/png\nContent-ID: \
         <logo>\n\nPNG\n--outer\nContent-Type: application/pdf\nContent-Disposition: attachment; \
         filename*=UTF-8''%E2%82%AC%20rates.pdf\n\nPDF\n--outer--\nepilogue",
    );
    assert_eq!((mail.text.as_deref(), mail.html.as_str()), (Some("Grüße = 1"), "<b>€</b>"));
    let files: Vec<_> = mail
        .attachments
        .iter()
        .map(|attachment| {
            (attachment.name.as_str(), attachment.content_id.as_str(), attachment.is_inline, &*attachment.content)
        })
        .collect();
    assert_eq!(files, [("part-1", "logo", true, &b"PNG"[..]), ("€ rates.pdf", "", false, &b"PDF"[..])]);
}

#[test]
fn endless_nesting_and_many_parts_are_limited() {
    let nested = "Content-Type: multipart/mixed; boundary=b\n\n--b\n".repeat(1000);
    assert!(parse(&nested).attachments.len() <= 1);
    let many = format!("Content-Type: multipart/mixed; boundary=b\n\n{}", "--b\nContent-Type: a/b\n\nx\n".repeat(1000));
    assert!(parse(&many).attachments.len() <= 100);
}

#[test]
fn parts_with_missing_boundaries_are_parsed_in_time() {
    let part = |number: usize| format!("--b\nContent-Type: multipart/mixed; boundary=x{number}\n\nx\n");
    let raw = format!("Content-Type: multipart/mixed; boundary=b\n\n{}", (0..100_000).map(part).collect::<String>());
    assert_eq!(parse(&raw).attachments.len(), 100);
}

#[test]
fn text_is_decoded_by_its_character_set() {
    for (charset, encoded, text) in [
        ("us-ascii", "Gr=C3=BC=C3=9Fe", "Grüße"),
        ("shift_jis", "=83=6E=83=8D=81=5B", "ハロー"),
        ("unknown", "=C3=BC", "ü"),
    ] {
        let head = format!("Content-Type: text/plain; charset={charset}\nContent-Transfer-Encoding: quoted-printable");
        assert_eq!(parse(&format!("{head}\n\n{encoded}")).text.as_deref(), Some(text), "{charset}");
    }
}

#[test]
fn contents_of_attachments_stay_as_they_are() {
    let mail = parse(
        "Content-Type: multipart/mixed; boundary=outer\n\n--outer\nContent-Type: text/csv; charset=iso-8859-1\n\
         Content-Disposition: attachment; filename=a.csv\nContent-Transfer-Encoding: base64\n\n/OQ=\n--outer\n\
         Content-Type: message/rfc822\n\nSubject: inner\n\nbody\n--outer--",
    );
    let files: Vec<_> = mail.attachments.iter().map(|file| (file.name.as_str(), &*file.content)).collect();
    assert_eq!(files, [("a.csv", &b"\xfc\xe4"[..]), ("part-2", b"Subject: inner\r\n\r\nbody")]);
}

proptest! {
    #[test]
    fn any_bytes_are_parsed(raw in prop::collection::vec(any::<u8>(), 0..2000)) {
        let mail = ParsedMail::parse(&raw);
        prop_assert!(mail.attachments.len() <= 100);
    }

    #[test]
    fn anything_like_a_mail_is_parsed(
        lines in prop::collection::vec(
            prop_oneof![
                Just("Content-Type: multipart/mixed; boundary=b".to_owned()),
                Just("Content-Transfer-Encoding: base64".to_owned()),
                Just("Content-Transfer-Encoding: quoted-printable".to_owned()),
                Just("Content-Disposition: attachment; filename=\"a\\".to_owned()),
                Just("--b".to_owned()),
                Just("--b--".to_owned()),
                Just(String::new()),
                "[ -~é=?*;\"<>@,]{0,40}",
                "(To|Subject): (=\\?utf-8\\?[bqBQ]\\?[a-zA-Z0-9=_]{0,9}\\?= ?){0,3}",
            ],
            0..40,
        )
    ) {
        let mail = parse(&lines.join("\n"));
        let size: usize = mail.attachments.iter().map(|part| part.content.len()).sum();
        prop_assert!(size <= 4 * lines.join("\r\n").len());
        let _ = (mail.mailboxes("to"), mail.header("subject"));
    }

    #[test]
    fn plain_bodies_survive(body in "[a-zA-Z0-9 äöü€.\n]{0,200}", subject in "[a-zA-Z0-9 ]{0,50}") {
        let mail = parse(&format!("Subject: {subject}\nContent-Type: text/plain; charset=utf-8\n\n{body}"));
        prop_assert_eq!(mail.header("Subject"), subject.trim());
        prop_assert_eq!(mail.text, Some(body.replace('\n', "\r\n")));
    }
}
