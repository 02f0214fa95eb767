//! The mail server.

use super::super::draft::header_lists;
use super::super::setting::{Put, Setting};
use super::{Section, between, or_seconds, secret, span, switch, text};

pub(super) const SECTION: Section = Section {
    title: "Mail server",
    intro: "",
    rows: &[
        text("GOTRUE_SMTP_HOST", |d, _, v| d.smtp.host = v)
            .doc("Host of the mail server; empty: mail is dropped without a word.", "smtp.example.com"),
        between("GOTRUE_SMTP_PORT", 0, 65_535, |d, _, n| d.smtp.port = u16::try_from(n).unwrap_or(0))
            .default("587")
            .doc("Its port; 465: TLS from the first byte, otherwise STARTTLS where it is offered.", "465"),
        text("GOTRUE_SMTP_USER", |d, _, v| d.smtp.user = v).doc("Who we are there; empty: no sign-in.", "apikey"),
        secret("GOTRUE_SMTP_PASS", |d, _, v| d.smtp.pass = v).doc("The password.", "the-password"),
        text("GOTRUE_SMTP_ADMIN_EMAIL", |d, _, v| d.smtp.admin_email = v)
            .doc("Address of the sender.", "auth@example.com"),
        text("GOTRUE_SMTP_SENDER_NAME", |d, _, v| d.smtp.sender_name = v).doc("Name of the sender.", "The Shop"),
        span("GOTRUE_SMTP_MAX_FREQUENCY", |d, _, v| d.policy.mail.max_frequency = or_seconds(v, 60))
            .default("1m")
            .doc("Shortest time between two mails of a kind to one account; 0s means the default.", "30s"),
        Setting::new(
            "GOTRUE_SMTP_HEADERS",
            Put::Own("a JSON object of lists of texts", |d, _, v| {
                match header_lists(v) {
                    Some(headers) => d.smtp.headers = headers,
                    None if v.is_empty() => {}
                    None => d.warn(
                        "GOTRUE_SMTP_HEADERS",
                        "is not a JSON object of lists of texts and is left out of account",
                    ),
                }
                Ok(())
            }),
        )
        .doc(
            "More headers: a JSON object of lists; `$messageType` stands for the kind of mail.",
            "{\"X-Kind\":[\"$messageType\"]}",
        ),
        switch("GOTRUE_SMTP_LOGGING_ENABLED", |d, _, v| d.smtp.logging_enabled = v)
            .default("false")
            .doc("The sending of each mail is logged.", "true"),
    ],
};
