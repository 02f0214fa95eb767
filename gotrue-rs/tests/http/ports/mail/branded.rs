//! Built-in mails with a brand: languages, layout, and the operator's texts in their place.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use foundation::language::Language;
use foundation::mail_brand::{BrandColor, MailBrand};
use gotrue_rs::ports::mail::template::{MailTemplates, RenderedMail, TemplateVariables};
use gotrue_rules::domain::policy::{MailKind, MailPolicy, SitePolicy};
use platform::http_client::{HttpClient, OutboundOptions};
use platform::mail::layout::{MailPage, format_page};
use platform::mail::plain::to_plain_text;
use proptest::prelude::*;

use crate::ports::pages::Pages;

const LINK: &str = "https://api.example.com/verify?token=ab&type=signup";

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).expect("a date")
}

fn branded() -> MailPolicy {
    MailPolicy { brand: Some(MailBrand::default()), ..MailPolicy::default() }
}

async fn render(policy: &MailPolicy, kind: MailKind, language: Language) -> RenderedMail {
    let site = SitePolicy { site_url: "https://shop.example.com".to_owned(), ..SitePolicy::default() };
    let all = MailTemplates::new(policy, &site, &Arc::new(HttpClient::new(OutboundOptions::default())));
    let variables = TemplateVariables {
        language,
        email: "<i>ann@example.com",
        confirmation_url: has_link(kind).then_some(LINK),
        token: Some("123456"),
        new_email: Some("new@example.com"),
        old_email: Some("old@example.com"),
        phone: Some("15550002"),
        old_phone: Some("15550001"),
        provider: Some("github"),
        factor_type: Some("totp"),
        ..TemplateVariables::default()
    };
    all.render(kind, &variables, now()).await.expect("a mail")
}

#[tokio::test]
async fn every_kind_has_a_sound_document_in_every_language() {
    for kind in MailKind::ALL {
        let mut seen = Vec::new();
        for language in Language::ALL {
            let RenderedMail { subject, html } = render(&branded(), kind, language).await;
            let what = format!("{} in {}", kind.as_str(), language.tag());
            assert!(html.starts_with("<!doctype html>\n<html lang=\"") && html.ends_with("</html>\n"), "{what}");
            assert_eq!(html.matches(&format!("lang=\"{}\"", language.tag())).count(), 2, "{what}");
            for missing in ["{{", "[[", "<script", "<div class", "ZgotmplZ", "<i>", "src=", "url("] {
                assert!(!html.contains(missing), "{what}: {missing}");
            }
            for present in [
                "<!--[if mso]><table role=\"presentation\" width=\"560\"",
                "@media (prefers-color-scheme: dark)",
                "[data-ogsc]",
                "@media (max-width: 599px)",
                "shop.example.com",
            ] {
                assert!(html.contains(present), "{what}: {present}");
            }
            assert_eq!(html.matches("<table").count(), html.matches("</table>").count(), "{what}");
            assert_eq!(html.matches("<table").count(), html.matches("<table role=\"presentation\"").count(), "{what}");
            assert_eq!(html.matches("<!--[if").count(), html.matches("<![endif]-->").count(), "{what}");
            assert!(html.len() < 20_000 && (5..=78).contains(&subject.chars().count()), "{what}: {subject}");
            let text = to_plain_text(&html);
            let is_linked = html.contains("href=\"https://api.example.com/verify?token=ab&amp;type=signup\"");
            assert_eq!((is_linked, is_linked && text.contains(LINK)), (has_link(kind), has_link(kind)), "{what}");
            assert_eq!(html.contains(">123456</td>"), !kind.is_notification(), "{what}");
            assert_eq!(
                html.matches(">https://api.example.com/verify?token=ab&amp;type=signup</a>").count() == 1,
                has_link(kind)
            );
            seen.push((subject, text));
        }
        for (index, one) in seen.iter().enumerate() {
            assert!(seen[..index].iter().all(|other| other.0 != one.0 && other.1 != one.1), "{}", kind.as_str());
        }
    }
}

fn has_link(kind: MailKind) -> bool {
    !kind.is_notification() && kind != MailKind::Reauthentication
}

#[tokio::test]
async fn english_words_are_those_without_a_brand() {
    for kind in MailKind::ALL {
        let plain = render(&MailPolicy::default(), kind, Language::German).await;
        let with_brand = render(&branded(), kind, Language::English).await;
        assert_eq!(plain.subject, with_brand.subject);
        let words = |mail: &RenderedMail| {
            to_plain_text(&mail.html).split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ")
        };
        let (mut own, mut expected) = (words(&with_brand), words(&plain));
        if has_link(kind) {
            // Only mails with a brand have address and code beside the button, and say when both end.
            let from = own.find("If the button does not work").expect("the address");
            let to = own.find("and work once. ").expect("the end") + "and work once. ".len();
            own.replace_range(from..to, "");
            expected = expected
                .replace("The link works once, and only for a short time. ", "")
                .replace("forward it:", "forward the link:");
        }
        assert!(own.ends_with(&expected), "{}: {own} / {expected}", kind.as_str());
    }
}

#[tokio::test]
async fn brand_sets_name_color_picture_and_last_line() {
    let mut policy = branded();
    policy.brand = Some(MailBrand {
        name: Some("Paper & <Post> {{ .Token }}".to_owned()),
        color: BrandColor::parse("#ffd400").expect("a color"),
        logo_url: None,
        address: Some("1 Mill Lane, \"Bath\"".to_owned()),
    });
    let html = render(&policy, MailKind::Recovery, Language::English).await.html;
    assert!(html.contains("Paper &amp; &lt;Post&gt; {{ .Token }}</td>"), "{html}");
    assert!(html.contains("1 Mill Lane, &quot;Bath&quot;</td>"), "{html}");
    assert!(html.contains("bgcolor=\"#ffd400\"") && html.contains("color:#000000;text-decoration:none"), "{html}");
    policy.brand.as_mut().expect("a brand").logo_url = Some("https://example.com/a.png?b=\"c\"".to_owned());
    let html = render(&policy, MailKind::Recovery, Language::English).await.html;
    let picture =
        "<img src=\"https://example.com/a.png?b=&quot;c&quot;\" alt=\"Paper &amp; &lt;Post&gt; {{ .Token }}\"";
    assert!(html.contains(picture), "{html}");
}

#[tokio::test]
async fn configured_texts_replace_those_of_all_languages() {
    let mut policy = branded();
    policy.subjects.insert(MailKind::Invite, "Hello {{ .Email }}".to_owned());
    let mail = render(&policy, MailKind::Invite, Language::German).await;
    assert_eq!(mail.subject, "Hello &lt;i&gt;ann@example.com");
    assert!(mail.html.contains("Einladung annehmen"), "the body stays the built-in one");

    let pages = Pages::serve(&[("/invite.html", "<p>{{ .Token }}</p>")]).await;
    policy.templates.insert(MailKind::Invite, format!("{}/invite.html", pages.base));
    let mail = render(&policy, MailKind::Invite, Language::German).await;
    assert_eq!((mail.subject.as_str(), mail.html.as_str()), ("Hello &lt;i&gt;ann@example.com", "<p>123456</p>"));

    let mut policy = branded();
    policy.subjects.insert(MailKind::Invite, "{{ .Email".to_owned());
    let mail = render(&policy, MailKind::Invite, Language::Spanish).await;
    assert_eq!(mail.subject, "Tienes una invitación", "an invalid subject is not used");
}

proptest! {
    #[test]
    fn settings_add_no_markup(name in "\\PC{0,60}", address in "\\PC{0,60}", content in "[a-z\\[\\]]{0,20}") {
        let page = MailPage {
            language: Language::English,
            title: "A title",
            preview: "A preview",
            default_name: "shop.example.com",
            content: &content,
        };
        let format = |name: &str, address: &str| {
            let brand = MailBrand {
                name: Some(name.to_owned()),
                address: Some(address.to_owned()),
                ..MailBrand::default()
            };
            format_page(&brand, page)
        };
        let (html, plain) = (format(&name, &address), format("x", "x"));
        prop_assert_eq!(html.matches('<').count(), plain.matches('<').count());
        prop_assert_eq!(html.matches('"').count(), plain.matches('"').count());
        prop_assert!(html.contains(&content));
    }
}

#[tokio::test]
async fn mail_with_a_link_says_when_it_ends() {
    for (seconds, english, german) in [
        (600, "Link and code end in 10 minutes", "Link und Code enden in 10 Minuten"),
        (3_600, "Link and code end in an hour", "Link und Code enden in einer Stunde"),
        (7_200, "Link and code end in 2 hours", "Link und Code enden in 2 Stunden"),
        (86_400, "Link and code end tomorrow", "Link und Code enden morgen"),
        (604_800, "Link and code end in 7 days", "Link und Code enden in 7 Tagen"),
    ] {
        let mut policy = branded();
        policy.otp_exp = std::time::Duration::from_secs(seconds);
        for (language, expected) in [(Language::English, english), (Language::German, german)] {
            let html = render(&policy, MailKind::Recovery, language).await.html;
            assert!(html.contains(expected), "{expected}: {html}");
        }
    }
}
