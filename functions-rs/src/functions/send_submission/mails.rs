//! The mails of submissions: what the owner is told, of one and of many, and what the visitor is told. Pure. What the visitor wrote stands in
//! the owner's mail alone, as text; the visitor's mail says nothing that a stranger could have put there.

use gotrue_rs::ports::mail::Message;
use gotrue_rules::domain::user::Time;
use uuid::Uuid;

use super::address::Address;
use super::store::Collected;
use super::text::Text;

/// How both mails look.
const LAYOUT: &str = include_str!("mails/layout.html");

/// What the mails tell of.
#[derive(Debug, Clone, Copy)]
pub struct Told<'a> {
    /// The submission's id.
    pub id: Uuid,
    /// When it came.
    pub now: Time,
    /// What the shop calls itself.
    pub shop: &'a str,
    /// The host of `Message-ID`s.
    pub host: &'a str,
}

/// Who sent a submission, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sender {
    /// The holder of an account.
    Account(Address),
    /// Whoever wrote an address in the text.
    Named(Address),
    /// Nobody that can be written to.
    Unknown,
}

impl Sender {
    /// Where an answer would go.
    pub fn address(&self) -> Option<&Address> {
        match self {
            Self::Account(address) | Self::Named(address) => Some(address),
            Self::Unknown => None,
        }
    }
}

/// Tells the owner what was sent and by whom.
pub fn notice(told: Told<'_>, owner: &str, text: &Text, sender: &Sender) -> Message {
    let who = match sender {
        Sender::Account(address) => format!("Sent by {}, who was signed in.", address.as_str()),
        Sender::Named(address) => format!("The details name one address: {}.", address.as_str()),
        Sender::Unknown => "The details name no address to answer to.".to_owned(),
    };
    let answer = sender.address().map_or("", |_| " Your reply to this mail goes to that address.");
    let came = told.now.format("%-d %B %Y, %H:%M UTC");
    let title = "New submission";
    let (id, shop) = (told.id, told.shop);
    let plain = format!(
        "A visitor of {shop} has sent these details:\n\n{}\n\n{who}{answer}\n\nReceived: {came}\nReference: {id}\n",
        readable(text.as_str())
    );
    let html = format!(
        "<p>A visitor of {} has sent these details:</p>\n<blockquote dir=\"auto\">{}</blockquote>\n<p>{}{answer}</p>\n\
         <p class=\"quiet\">Received: {came}<br>Reference: {id}</p>",
        escaped(shop),
        escaped(text.as_str()),
        escaped(&who),
    );
    let reply_to = sender.address().map(|address| ("Reply-To".to_owned(), address.as_str().to_owned()));
    let subject = format!("New submission for {shop}");
    let message = message(told, "submission_notice", owner, subject);
    Message { html: page(title, &html), text: Some(plain), headers: reply_to.into_iter().collect(), ..message }
}

/// Tells the visitor that the details arrived.
pub fn confirmation(told: Told<'_>, to: &Address, owner: Option<&str>) -> Message {
    let title = "We have received your details";
    let (id, shop) = (told.id, told.shop);
    let thanks = format!(
        "Thank you for your submission to {shop}. We have successfully received your details and will write to you at this address."
    );
    let stranger =
        "You did not write to us? Then somebody gave your address by mistake. There is nothing you need to do.";
    let plain = format!("{thanks}\n\n{stranger}\n\nReference: {id}\n");
    let html = format!("<p>{}</p>\n<p>{stranger}</p>\n<p class=\"quiet\">Reference: {id}</p>", escaped(&thanks));
    let reply_to = owner.and_then(Address::parse).map(|owner| ("Reply-To".to_owned(), owner.as_str().to_owned()));
    let automatic = ("Auto-Submitted".to_owned(), "auto-replied".to_owned());
    let message = message(told, "submission_confirmation", to.as_str(), title.to_owned());
    let headers = reply_to.into_iter().chain([automatic]).collect();
    Message { html: page(title, &html), text: Some(plain), headers, ..message }
}

/// Tells the owner how many submissions came beyond the `limit` of notices in an hour, and where they are.
pub fn digest(told: Told<'_>, owner: &str, collected: &Collected, limit: u16) -> Message {
    const TIME: &str = "%-d %B %Y, %H:%M:%S UTC";
    let Collected { count, first, last } = collected;
    let (first, last) = (first.format(TIME), last.format(TIME));
    let submissions = if *count == 1 { "submission" } else { "submissions" };
    let title = format!("{count} more {submissions}");
    let shop = told.shop;
    let why = format!(
        "{count} {submissions} for {shop} came without a mail of their own, because at most {limit} mails an hour are sent \
         about single submissions. The first came on {first}, the last on {last}."
    );
    let place = "Nothing is lost: they are in the table basalt.submissions, by the time they came (created_at).";
    let plain = format!("{why}\n\n{place}\n");
    let html = format!("<p>{}</p>\n<p>{place}</p>", escaped(&why));
    let automatic = ("Auto-Submitted".to_owned(), "auto-generated".to_owned());
    let message = message(told, "submission_digest", owner, format!("{title} for {shop}"));
    Message { html: page(&title, &html), text: Some(plain), headers: vec![automatic], ..message }
}

fn message(told: Told<'_>, purpose: &'static str, to: &str, subject: String) -> Message {
    Message {
        purpose: purpose.into(),
        to: to.to_owned(),
        subject,
        html: String::new(),
        text: None,
        message_id: format!("{purpose}.{}@{}", told.id.simple(), told.host),
        date: told.now,
        headers: Vec::new(),
        code: None,
        link: None,
    }
}

/// The content goes in last, so that nothing in it is taken for a place to fill.
fn page(title: &str, content: &str) -> String {
    LAYOUT.replace("{title}", title).replace("{content}", content)
}

/// Characters that are not shown and might steer a terminal or a mail reader become visible.
fn readable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c }).collect()
}

/// Text as HTML, in content and in quoted attributes alike.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in readable(text).chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            other => html.push(other),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told() -> Told<'static> {
        let now = "2026-11-21T12:00:00Z".parse().expect("a time");
        Told { id: Uuid::from_u128(7), now, shop: "Email Templates", host: "shop.example" }
    }

    fn ada() -> Address {
        Address::parse("ada@example.com").expect("an address")
    }

    #[test]
    fn a5_what_a_visitor_wrote_is_inert_in_the_notice() {
        let text = Text::new("<a href=\"https://evil.example\" onclick='x()'>{content}</a> & {title}\u{1b}[2J")
            .expect("a text");
        let mail = notice(told(), "owner@example.com", &text, &Sender::Unknown);
        let inert = "&lt;a href=&quot;https://evil.example&quot; onclick=&#39;x()&#39;&gt;{content}&lt;/a&gt; &amp; {title}\u{fffd}[2J";
        assert!(mail.html.contains(inert), "{}", mail.html);
        assert!(mail.text.expect("a plain part").contains("{content}</a> & {title}\u{fffd}[2J"));
    }

    #[test]
    fn the_notice_says_who_and_answers_go_there() {
        let text = Text::new("Please call").expect("a text");
        for (sender, said, reply_to) in [
            (Sender::Account(ada()), "Sent by ada@example.com, who was signed in. Your reply", Some("ada@example.com")),
            (
                Sender::Named(ada()),
                "The details name one address: ada@example.com. Your reply",
                Some("ada@example.com"),
            ),
            (Sender::Unknown, "The details name no address to answer to.", None),
        ] {
            let mail = notice(told(), "owner@example.com", &text, &sender);
            assert!(mail.html.contains(said) && mail.text.as_deref().is_some_and(|text| text.contains(said)));
            let headers: Vec<_> = mail.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            assert_eq!(headers, reply_to.map(|to| ("Reply-To", to)).into_iter().collect::<Vec<_>>());
            assert_eq!(mail.subject, "New submission for Email Templates");
            assert_eq!(mail.message_id, "submission_notice.00000000000000000000000000000007@shop.example");
        }
    }

    #[test]
    fn the_confirmation_is_answered_by_the_owner_and_marked_as_automatic() {
        let mail = confirmation(told(), &ada(), Some("owner@example.com"));
        assert_eq!((mail.to.as_str(), mail.subject.as_str()), ("ada@example.com", "We have received your details"));
        let headers: Vec<_> = mail.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(headers, [("Reply-To", "owner@example.com"), ("Auto-Submitted", "auto-replied")]);
    }

    #[test]
    fn the_digest_says_how_many_came_when_and_where_they_are() {
        let first = "2026-11-21T10:30:00Z".parse().expect("a time");
        let mail = digest(told(), "owner@example.com", &Collected { count: 47, first, last: told().now }, 60);
        assert_eq!(mail.subject, "47 more submissions for Email Templates");
        let text = mail.text.expect("a plain part");
        for said in [
            "47 submissions",
            "at most 60 mails an hour",
            "21 November 2026, 10:30:00 UTC",
            "12:00:00 UTC",
            "basalt.submissions",
        ] {
            assert!(text.contains(said) && mail.html.contains(said), "{said}: {text}");
        }
        let one = digest(told(), "owner@example.com", &Collected { count: 1, first, last: first }, 60);
        assert_eq!(one.subject, "1 more submission for Email Templates");
    }

    proptest! {
        #[test]
        fn a5_no_text_makes_markup(text in "\\PC{1,200}") {
            let Ok(text) = Text::new(&text) else { return Ok(()) };
            let mail = notice(told(), "owner@example.com", &text, &Sender::Unknown);
            let plain = notice(told(), "owner@example.com", &Text::new("x").expect("a text"), &Sender::Unknown);
            prop_assert_eq!(mail.html.matches('<').count(), plain.html.matches('<').count());
            prop_assert_eq!(mail.html.matches('"').count(), plain.html.matches('"').count());
        }
    }
}
