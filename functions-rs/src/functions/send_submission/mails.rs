//! The mails of submissions: notice and digest for the owner, confirmation for the visitor.
//! The submitted text is in the owner's notice only, escaped; the confirmation contains nothing that the submitter
//! controls.

use foundation::html::escape_html;
use foundation::language::Language;
use foundation::mail_brand::MailBrand;
use foundation::time::Time;
use platform::mail::EmailMessage;
use platform::mail::layout::{MailPage, format_page, format_paragraph, format_quiet_paragraph, format_quote};
use uuid::Uuid;

use super::address::EmailAddress;
use super::store::CollectedSubmissions;
use super::text::SubmissionText;

/// The data common to all mails.
#[derive(Debug, Clone, Copy)]
pub struct MailContext<'a> {
    /// The submission's id.
    pub id: Uuid,
    /// The time of the submission.
    pub now: Time,
    /// The shop's name.
    pub shop: &'a str,
    /// The look of the mails.
    pub brand: &'a MailBrand,
    /// The host of `Message-ID`s.
    pub host: &'a str,
}

/// The submitter, as far as known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Submitter {
    /// A signed-in user.
    SignedIn(EmailAddress),
    /// The only address in the text.
    AddressInText(EmailAddress),
    /// The text has several addresses, so that none is certain.
    SeveralAddressesInText,
    /// No address is known.
    Unknown,
}

impl Submitter {
    /// Returns the address for replies.
    pub fn address(&self) -> Option<&EmailAddress> {
        match self {
            Self::SignedIn(address) | Self::AddressInText(address) => Some(address),
            Self::SeveralAddressesInText | Self::Unknown => None,
        }
    }
}

/// The sentence for the owner if no confirmation is sent because the text has several addresses.
const SEVERAL_ADDRESSES: &str =
    "The details name several addresses, so it is not known which is the sender’s: nobody was sent a confirmation.";

/// Builds the mail to the owner about one submission; `about` is a sentence that names its template.
pub fn build_notice(
    reported: MailContext<'_>,
    owner: &str,
    text: &SubmissionText,
    sender: &Submitter,
    about: Option<&str>,
) -> EmailMessage {
    let who = match sender {
        Submitter::SignedIn(address) => format!("Sent by {}, who was signed in.", address.as_str()),
        Submitter::AddressInText(address) => format!("The details name one address: {}.", address.as_str()),
        Submitter::SeveralAddressesInText => SEVERAL_ADDRESSES.to_owned(),
        Submitter::Unknown => "The details name no address to answer to.".to_owned(),
    };
    let answer = sender.address().map_or("", |_| " Your reply to this mail goes to that address.");
    let about = about.map_or_else(String::new, |about| format!(" {about}"));
    let came = reported.now.format("%-d %B %Y, %H:%M UTC");
    let title = "New submission";
    let (id, shop) = (reported.id, reported.shop);
    let plain = format!(
        "A visitor of {shop} has sent these details:\n\n{}\n\n{who}{answer}{about}\n\nReceived: {came}\nReference: {id}\n",
        replace_control_characters(text.as_str())
    );
    let content = [
        format_paragraph(&format!("A visitor of {} has sent these details:", escape_submitted(shop))),
        format_quote(&escape_submitted(text.as_str())),
        format_paragraph(&format!("{}{answer}{}", escape_submitted(&who), escape_submitted(&about))),
        format_quiet_paragraph(&format!("Received: {came}<br>Reference: {id}")),
    ];
    let reply_to = sender.address().map(|address| ("Reply-To".to_owned(), address.as_str().to_owned()));
    let subject = format!("New submission for {shop}");
    let message = build_message(reported, "submission_notice", owner, subject);
    EmailMessage {
        html: format_html(reported, Language::English, title, &content.concat()),
        text: Some(plain),
        headers: reply_to.into_iter().collect(),
        ..message
    }
}

/// The texts of a confirmation; `{shop}` is the name of the shop.
struct ConfirmationTexts {
    title: &'static str,
    thanks: &'static str,
    unrelated: &'static str,
    reference: &'static str,
}

fn confirmation_texts(language: Language) -> ConfirmationTexts {
    match language {
        Language::English => ConfirmationTexts {
            title: "We have received your details",
            thanks: "Thank you for your submission to {shop}. We have successfully received your details and will write to you \
                     at this address.",
            unrelated: "You did not write to us? Then somebody gave your address by mistake. There is nothing you need to do.",
            reference: "Reference",
        },
        Language::German => ConfirmationTexts {
            title: "Wir haben Ihre Angaben erhalten",
            thanks: "Danke für Ihre Nachricht an {shop}. Wir haben Ihre Angaben erhalten und schreiben Ihnen an diese Adresse.",
            unrelated: "Sie haben uns nicht geschrieben? Dann hat jemand versehentlich Ihre Adresse angegeben. Sie müssen nichts tun.",
            reference: "Kennung",
        },
        Language::French => ConfirmationTexts {
            title: "Nous avons reçu votre demande",
            thanks: "Merci de votre message à {shop}. Nous avons bien reçu votre demande et vous écrirons à cette adresse.",
            unrelated: "Vous ne nous avez pas écrit ? Quelqu’un a donné votre adresse par erreur. Vous n’avez rien à faire.",
            reference: "Référence",
        },
        Language::Spanish => ConfirmationTexts {
            title: "Hemos recibido tus datos",
            thanks: "Gracias por tu mensaje a {shop}. Hemos recibido tus datos y te escribiremos a esta dirección.",
            unrelated: "¿No nos has escrito? Alguien ha dado tu dirección por error. No tienes que hacer nada.",
            reference: "Referencia",
        },
    }
}

/// Builds the confirmation to the visitor.
pub fn build_confirmation(
    reported: MailContext<'_>,
    to: &EmailAddress,
    owner: Option<&str>,
    language: Language,
) -> EmailMessage {
    let ConfirmationTexts { title, thanks, unrelated, reference } = confirmation_texts(language);
    let id = reported.id;
    let thanks = thanks.replace("{shop}", reported.shop);
    let plain = format!("{thanks}\n\n{unrelated}\n\n{reference}: {id}\n");
    let content = [
        format_paragraph(&escape_submitted(&thanks)),
        format_paragraph(unrelated),
        format_quiet_paragraph(&format!("{reference}: {id}")),
    ];
    let reply_to = owner.and_then(EmailAddress::parse).map(|owner| ("Reply-To".to_owned(), owner.as_str().to_owned()));
    let automatic = ("Auto-Submitted".to_owned(), "auto-replied".to_owned());
    let message = build_message(reported, "submission_confirmation", to.as_str(), title.to_owned());
    let headers = reply_to.into_iter().chain([automatic]).collect();
    let html = format_html(reported, language, title, &content.concat());
    EmailMessage { html, text: Some(plain), headers, ..message }
}

/// Builds the mail to the owner about the submissions beyond the hourly `limit`.
pub fn build_digest(
    reported: MailContext<'_>,
    owner: &str,
    collected: &CollectedSubmissions,
    limit: u16,
) -> EmailMessage {
    const TIME: &str = "%-d %B %Y, %H:%M:%S UTC";
    let CollectedSubmissions { count, first, last } = collected;
    let (first, last) = (first.format(TIME), last.format(TIME));
    let submissions = if *count == 1 { "submission" } else { "submissions" };
    let title = format!("{count} more {submissions}");
    let shop = reported.shop;
    let why = format!(
        "{count} {submissions} for {shop} came without a mail of their own, because at most {limit} mails an hour are sent \
         about single submissions. The first came on {first}, the last on {last}."
    );
    let place = "Nothing is lost: they are in the table basalt.submissions, by the time they came (created_at).";
    build_owner_mail(reported, "submission_digest", owner, &title, &[&why, place])
}

/// Builds a mail of paragraphs to the owner, whose subject is the title with the shop's name.
pub(crate) fn build_owner_mail(
    reported: MailContext<'_>,
    purpose: &'static str,
    owner: &str,
    title: &str,
    paragraphs: &[&str],
) -> EmailMessage {
    let content: String = paragraphs.iter().map(|text| format_paragraph(&escape_submitted(text))).collect();
    let automatic = ("Auto-Submitted".to_owned(), "auto-generated".to_owned());
    let message = build_message(reported, purpose, owner, format!("{title} for {}", reported.shop));
    let html = format_html(reported, Language::English, title, &content);
    EmailMessage { html, text: Some(paragraphs.join("\n\n") + "\n"), headers: vec![automatic], ..message }
}

fn build_message(reported: MailContext<'_>, purpose: &'static str, to: &str, subject: String) -> EmailMessage {
    EmailMessage {
        purpose: purpose.into(),
        to: to.to_owned(),
        subject,
        html: String::new(),
        text: None,
        message_id: format!("{purpose}.{}@{}", reported.id.simple(), reported.host),
        date: reported.now,
        headers: Vec::new(),
        code: None,
        link: None,
    }
}

/// Formats the HTML of a mail; inboxes show the shop's name after the subject.
fn format_html(reported: MailContext<'_>, language: Language, title: &str, content: &str) -> String {
    let shop = escape_submitted(reported.shop);
    let page = MailPage { language, title, preview: &shop, default_name: &shop, content };
    format_page(reported.brand, page)
}

/// Makes control characters visible, because they might affect a terminal or a mail reader.
pub(crate) fn replace_control_characters(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c }).collect()
}

/// Escapes submitted text for HTML.
fn escape_submitted(text: &str) -> String {
    escape_html(&replace_control_characters(text))
}

#[cfg(test)]
mod tests {
    use foundation::mail_brand::BrandColor;
    use proptest::prelude::*;

    use super::*;

    const BRAND: &MailBrand = &MailBrand { name: None, color: BrandColor::DEFAULT, logo_url: None, address: None };

    fn mail_context() -> MailContext<'static> {
        let now = "2026-11-21T12:00:00Z".parse().expect("a time");
        MailContext { id: Uuid::from_u128(7), now, shop: "Email Templates", brand: BRAND, host: "shop.example" }
    }

    fn ada() -> EmailAddress {
        EmailAddress::parse("ada@example.com").expect("an address")
    }

    #[test]
    fn submitted_text_is_escaped_in_notice() {
        let text =
            SubmissionText::new("<a href=\"https://evil.example\" onclick='x()'>{content}</a> & {title}\u{1b}[2J")
                .expect("a text");
        let mail = build_notice(mail_context(), "owner@example.com", &text, &Submitter::Unknown, None);
        let inert = "&lt;a href=&quot;https://evil.example&quot; onclick=&#39;x()&#39;&gt;{content}&lt;/a&gt; &amp; {title}\u{fffd}[2J";
        assert!(mail.html.contains(inert), "{}", mail.html);
        assert!(mail.text.expect("a plain part").contains("{content}</a> & {title}\u{fffd}[2J"));
    }

    #[test]
    fn notice_names_submitter_and_sets_reply_to() {
        let text = SubmissionText::new("Please call").expect("a text");
        for (sender, stated, reply_to) in [
            (
                Submitter::SignedIn(ada()),
                "Sent by ada@example.com, who was signed in. Your reply",
                Some("ada@example.com"),
            ),
            (
                Submitter::AddressInText(ada()),
                "The details name one address: ada@example.com. Your reply",
                Some("ada@example.com"),
            ),
            (Submitter::SeveralAddressesInText, "nobody was sent a confirmation", None),
            (Submitter::Unknown, "The details name no address to answer to.", None),
        ] {
            let mail = build_notice(mail_context(), "owner@example.com", &text, &sender, None);
            assert!(mail.html.contains(stated) && mail.text.as_deref().is_some_and(|text| text.contains(stated)));
            let headers: Vec<_> = mail.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            assert_eq!(headers, reply_to.map(|to| ("Reply-To", to)).into_iter().collect::<Vec<_>>());
            assert_eq!(mail.subject, "New submission for Email Templates");
            assert_eq!(mail.message_id, "submission_notice.00000000000000000000000000000007@shop.example");
        }
    }

    #[test]
    fn confirmation_has_reply_to_and_auto_submitted() {
        let mail = build_confirmation(mail_context(), &ada(), Some("owner@example.com"), Language::English);
        assert_eq!((mail.to.as_str(), mail.subject.as_str()), ("ada@example.com", "We have received your details"));
        let headers: Vec<_> = mail.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(headers, [("Reply-To", "owner@example.com"), ("Auto-Submitted", "auto-replied")]);
    }

    #[test]
    fn digest_contains_count_period_and_table() {
        let first = "2026-11-21T10:30:00Z".parse().expect("a time");
        let mail = build_digest(
            mail_context(),
            "owner@example.com",
            &CollectedSubmissions { count: 47, first, last: mail_context().now },
            60,
        );
        assert_eq!(mail.subject, "47 more submissions for Email Templates");
        let text = mail.text.expect("a plain part");
        for value in [
            "47 submissions",
            "at most 60 mails an hour",
            "21 November 2026, 10:30:00 UTC",
            "12:00:00 UTC",
            "basalt.submissions",
        ] {
            assert!(text.contains(value) && mail.html.contains(value), "{value}: {text}");
        }
        let one = build_digest(
            mail_context(),
            "owner@example.com",
            &CollectedSubmissions { count: 1, first, last: first },
            60,
        );
        assert_eq!(one.subject, "1 more submission for Email Templates");
    }

    proptest! {
        #[test]
        fn submitted_text_adds_no_markup(text in "\\PC{1,200}") {
            let Ok(text) = SubmissionText::new(&text) else { return Ok(()) };
            let mail = build_notice(mail_context(), "owner@example.com", &text, &Submitter::Unknown, None);
            let plain = build_notice(mail_context(), "owner@example.com", &SubmissionText::new("x").expect("a text"), &Submitter::Unknown, None);
            prop_assert_eq!(mail.html.matches('<').count(), plain.html.matches('<').count());
            prop_assert_eq!(mail.html.matches('"').count(), plain.html.matches('"').count());
        }
    }
}
