//! The mail with a reply of the owner: the text, and the submission quoted below it.

use foundation::html::escape_html;
use foundation::language::Language;
use foundation::time::Time;
use platform::mail::EmailMessage;
use platform::mail::layout::{MailPage, format_page, format_paragraph, format_quiet_paragraph, format_quote};
use uuid::Uuid;

use super::changes::QuotedSubmission;
use super::input::ReplyInput;
use crate::functions::send_submission::SubmissionSettings;
use crate::functions::send_submission::address::EmailAddress;
use crate::functions::send_submission::mails::replace_control_characters;

/// A reply to write.
#[derive(Debug, Clone, Copy)]
pub struct ReplyMail<'a> {
    /// Its id, which its `Message-ID` contains.
    pub id: Uuid,
    /// The time of writing.
    pub now: Time,
    /// The address, which the submission names.
    pub to: &'a EmailAddress,
    /// What the owner wrote.
    pub input: &'a ReplyInput,
    /// What it answers.
    pub quoted: &'a QuotedSubmission,
    /// The `Message-ID` of the confirmation that the visitor has got.
    pub confirmation: Option<&'a str>,
}

/// Builds the mail. Its headers contain nothing that the visitor wrote.
pub fn build_reply(settings: &SubmissionSettings, reply: ReplyMail<'_>) -> EmailMessage {
    let written = replace_control_characters(&reply.input.text);
    let quoted = replace_control_characters(&reply.quoted.description);
    let came = reply.quoted.created_at.format("%-d %B %Y, %H:%M UTC");
    let about = format!("On {came} you wrote to {}:", settings.shop);
    let quote: Vec<String> = quoted.lines().map(|line| format!("> {line}").trim_end().to_owned()).collect();
    let paragraphs =
        written.split("\n\n").map(|part| format_paragraph(&escape_html(part.trim()).replace('\n', "<br>\n")));
    let content = [
        paragraphs.collect::<String>(),
        format_quiet_paragraph(&escape_html(&about)),
        format_quote(&escape_html(&quoted)),
    ];
    let (title, shop) = (escape_html(&reply.input.subject), escape_html(&settings.shop));
    let page = MailPage {
        language: Language::English,
        title: &title,
        preview: &shop,
        default_name: &shop,
        content: &content.concat(),
    };
    EmailMessage {
        purpose: "submission_reply".into(),
        to: reply.to.as_str().to_owned(),
        subject: reply.input.subject.clone(),
        html: format_page(&settings.brand, page),
        text: Some(format!("{written}\n\n{about}\n{}\n", quote.join("\n"))),
        message_id: format!("submission_reply.{}@{}", reply.id.simple(), settings.host),
        date: reply.now,
        headers: list_headers(settings.owner.as_deref(), reply.confirmation),
        code: None,
        link: None,
    }
}

/// Returns where an answer goes, and the mail that the reply continues (RFC 5322 §3.6.4).
fn list_headers(owner: Option<&str>, confirmation: Option<&str>) -> Vec<(String, String)> {
    let owner = owner.and_then(EmailAddress::parse).map(|owner| ("Reply-To".to_owned(), owner.as_str().to_owned()));
    let thread = confirmation.map(|id| format!("<{id}>"));
    let continued = ["In-Reply-To", "References"].into_iter().zip(thread.into_iter().cycle());
    owner.into_iter().chain(continued.map(|(name, id)| (name.to_owned(), id))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn quoted(text: &str) -> QuotedSubmission {
        QuotedSubmission {
            description: text.to_owned(),
            created_at: "2026-11-21T12:00:00Z".parse().expect("a time"),
            account_email: None,
            senders: None,
        }
    }

    fn build(input: &ReplyInput, quoted: &QuotedSubmission, confirmation: Option<&str>) -> EmailMessage {
        let settings =
            SubmissionSettings { owner: Some("owner@shop.example".to_owned()), ..SubmissionSettings::default() };
        let to = EmailAddress::parse("ada@example.com").expect("an address");
        let now = "2026-11-22T12:00:00Z".parse().expect("a time");
        build_reply(&settings, ReplyMail { id: Uuid::from_u128(7), now, to: &to, input, quoted, confirmation })
    }

    #[test]
    fn submission_is_quoted_below_the_text() {
        let input = ReplyInput::new("ada@example.com", "Your newsletter", "Dear Ada,\n\nyes.").expect("a reply");
        let mail = build(&input, &quoted("Blue?\n<b>"), Some("a@b"));
        let text =
            "Dear Ada,\n\nyes.\n\nOn 21 November 2026, 12:00 UTC you wrote to Email Templates:\n> Blue?\n> <b>\n";
        assert_eq!(mail.text.as_deref(), Some(text));
        assert!(mail.html.contains("Blue?<br>\n&lt;b&gt;"), "{}", mail.html);
        let headers: Vec<_> = mail.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(headers, [("Reply-To", "owner@shop.example"), ("In-Reply-To", "<a@b>"), ("References", "<a@b>")]);
        assert_eq!(build(&input, &quoted("a"), None).headers.len(), 1);
    }

    proptest! {
        #[test]
        fn texts_add_no_markup_and_no_header(written in "\\PC{1,60}", text in "\\PC{0,80}") {
            let Ok(input) = ReplyInput::new("ada@example.com", "Subject", &written) else { return Ok(()) };
            let mail = build(&input, &quoted(&text), None);
            let plain = build(&ReplyInput::new("ada@example.com", "Subject", "x").expect("a reply"), &quoted("x"), None);
            prop_assert_eq!(mail.html.matches('<').count(), plain.html.matches('<').count());
            prop_assert_eq!(mail.headers, plain.headers);
        }
    }
}
