//! The mail server.

use super::super::draft::parse_header_lists;
use super::super::setting::{Setting, ValueType};
use super::rows::{Section, between, or_seconds, secret, span, switch, text};

pub(super) const SECTION: Section = Section {
    title: "Mail server",
    intro: "",
    rows: &[
        text("GOTRUE_SMTP_HOST", |d, _, v| d.smtp.host = v)
            .doc("Host of the mail server; empty: mail is dropped silently.", "smtp.example.com"),
        between("GOTRUE_SMTP_PORT", 0, 65_535, |d, _, n| d.smtp.port = u16::try_from(n).unwrap_or(0))
            .default("587")
            .doc("Port of the mail server; 465: implicit TLS, otherwise STARTTLS if it is offered.", "465"),
        text("GOTRUE_SMTP_USER", |d, _, v| d.smtp.user = v).doc("User name; empty: no authentication.", "apikey"),
        secret("GOTRUE_SMTP_PASS", |d, _, v| d.smtp.pass = v).doc("Password of that user.", "the-password"),
        text("GOTRUE_SMTP_ADMIN_EMAIL", |d, _, v| d.smtp.admin_email = v).doc("Sender's address.", "auth@example.com"),
        text("GOTRUE_SMTP_SENDER_NAME", |d, _, v| d.smtp.sender_name = v).doc("Sender's name.", "The Shop"),
        span("GOTRUE_SMTP_MAX_FREQUENCY", |d, _, v| d.policy.mail.max_frequency = or_seconds(v, 60))
            .default("1m")
            .doc("Minimum interval between two mails of a kind to one user; 0s means the default.", "30s"),
        Setting::new(
            "GOTRUE_SMTP_HEADERS",
            ValueType::Custom("a JSON object of lists of texts", |d, _, v| {
                match parse_header_lists(v) {
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
            "Additional headers: a JSON object of lists; `$messageType` is replaced by the kind of mail.",
            "{\"X-Kind\":[\"$messageType\"]}",
        ),
        switch("GOTRUE_SMTP_LOGGING_ENABLED", |d, _, v| d.smtp.logging_enabled = v)
            .default("false")
            .doc("The sending of each mail is logged.", "true"),
    ],
};
