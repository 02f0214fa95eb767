//! The built-in mails with the operator's brand, in several languages.
//!
//! A file per language has the texts; [`platform::mail::layout`] has the HTML, which mails of functions share.

mod english;
mod french;
mod german;
mod spanish;
mod texts;

use std::sync::Arc;
use std::time::Duration;

use foundation::html::escape_html;
use foundation::language::Language;
use foundation::mail_brand::MailBrand;
use gotmpl::html::Template;
use gotrue_rules::domain::policy::MailKind;
use platform::mail::layout::{
    MailPage, format_address, format_button, format_code, format_page, format_paragraph, format_quiet_paragraph,
};

use texts::{CommonTexts, MailTexts};

/// Returns the texts of this kind.
fn texts(kind: MailKind, language: Language) -> &'static MailTexts {
    let all = match language {
        Language::English => &english::TEXTS,
        Language::German => &german::TEXTS,
        Language::French => &french::TEXTS,
        Language::Spanish => &spanish::TEXTS,
    };
    &all[kind as usize]
}

fn common_texts(language: Language) -> &'static CommonTexts {
    match language {
        Language::English => &english::COMMON,
        Language::German => &german::COMMON,
        Language::French => &french::COMMON,
        Language::Spanish => &spanish::COMMON,
    }
}

/// Says when link and code end.
fn describe_lifetime(texts: &CommonTexts, lifetime: Duration) -> String {
    const HOUR: u64 = 60;
    const DAY: u64 = 24 * HOUR;
    let minutes = lifetime.as_secs().div_ceil(60);
    let (text, number) = match minutes {
        60 => (texts.hour, 1),
        _ if minutes >= 2 * DAY => (texts.days, minutes / DAY),
        _ if minutes >= DAY => (texts.tomorrow, 1),
        _ if minutes >= 2 * HOUR => (texts.hours, minutes / HOUR),
        _ => (texts.minutes, minutes),
    };
    text.replace("{number}", &number.to_string())
}

/// The templates that texts call: `place`, `way` and `step`.
fn phrases(language: Language) -> &'static str {
    match language {
        Language::English => english::PHRASES,
        Language::German => german::PHRASES,
        Language::French => french::PHRASES,
        Language::Spanish => spanish::PHRASES,
    }
}

/// Returns the built-in subject of this kind.
pub(super) fn subject(kind: MailKind, language: Language) -> &'static str {
    texts(kind, language).subject
}

/// Returns the content of the built-in body of this kind, below the heading.
///
/// `lifetime` is that of links and codes.
pub(super) fn content(
    kind: MailKind,
    language: Language,
    brand: &MailBrand,
    lifetime: Duration,
) -> gotmpl::Result<Template> {
    let (texts, common) = (texts(kind, language), common_texts(language));
    let mut content = format_paragraph(texts.lead);
    if !texts.label.is_empty() {
        content += &format_button(brand, "{{ .ConfirmationURL }}", texts.label);
        content += &format_address(common.address, "{{ .ConfirmationURL }}");
        content += "{{ if .Token }}";
        content += &format_paragraph(common.code);
        content += &format_code("{{ .Token }}");
        content += "{{ end }}";
        content += &format_paragraph(&describe_lifetime(common, lifetime));
    }
    if kind == MailKind::Reauthentication {
        content += &format_code("{{ .Token }}");
    }
    if !texts.note.is_empty() {
        content += &format_paragraph(texts.note);
    }
    content += &format_quiet_paragraph(texts.closing);
    Template::new("body").parse(&content)?.parse(phrases(language))
}

/// The document around the rendered content of a mail.
///
/// It is no template, because templates lose the conditional comments for Outlook.
#[derive(Debug, Clone)]
pub(super) struct MailFrame {
    pub kind: MailKind,
    /// The language of its texts.
    pub language: Language,
    /// The look.
    pub brand: Arc<MailBrand>,
}

impl MailFrame {
    /// Returns the document with this content; `site_host` is the name of a brand without one.
    pub(super) fn wrap(&self, content: &str, site_host: &str) -> String {
        let texts = texts(self.kind, self.language);
        let default_name = escape_html(site_host);
        let page = MailPage {
            language: self.language,
            title: texts.title,
            preview: texts.preview,
            default_name: &default_name,
            content,
        };
        format_page(&self.brand, page)
    }
}
