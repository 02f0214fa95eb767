//! The HTML of the pages: complete without a script, and not stored by caches.

use std::fmt::Write as _;
use std::sync::LazyLock;

use aws_lc_rs::digest::{SHA256, digest};
use axum::body::Body;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use foundation::html::escape_html;
use foundation::language::Language;
use foundation::mail_brand::MailBrand;
use gotrue_rules::domain::password::{CharacterKind, required_kinds};
use gotrue_rules::domain::policy::PasswordPolicy;
use http::header::{
    CACHE_CONTROL, CONTENT_LANGUAGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, VARY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderName, HeaderValue, StatusCode};

use super::texts::{LinkTexts, PageText, find_texts};

/// Where the forms are sent.
pub(super) const FORM_PATH: &str = "/auth/v1/verify/link";

const STYLE: &str = include_str!("page.css");

/// The project as the pages show it.
#[derive(Debug, Clone)]
pub(super) struct LinkBrand {
    pub name: String,
    /// Colour and picture.
    pub brand: MailBrand,
    /// The site's URL, to which pages lead on.
    pub site_url: String,
    /// The site's host, or the name of the project for an address of digits.
    pub address: String,
}

/// A page in one language.
#[derive(Debug)]
pub(super) struct LinkPage<'a> {
    project: &'a LinkBrand,
    language: Language,
    /// The texts of the language.
    pub texts: &'static LinkTexts,
    status: StatusCode,
    title: String,
    body: String,
}

impl<'a> LinkPage<'a> {
    /// Begins a page with a heading and a paragraph.
    pub(super) fn new(project: &'a LinkBrand, language: Language, find: impl Fn(&LinkTexts) -> PageText) -> Self {
        let texts = find_texts(language);
        let PageText { title, text } = find(texts);
        let mut page =
            Self { project, language, texts, status: StatusCode::OK, title: String::new(), body: String::new() };
        page.title = page.fill(title);
        let text = page.fill(text);
        page.push_paragraph("", &text);
        page
    }

    /// Sets the status.
    #[must_use]
    pub(super) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// Replaces `{number}` in the texts before.
    #[must_use]
    pub(super) fn with_number(mut self, number: u64) -> Self {
        self.body = self.body.replace("{number}", &number.to_string());
        self
    }

    /// Adds a sentence about what is wrong.
    #[must_use]
    pub(super) fn with_alert(mut self, text: &str) -> Self {
        let text = self.fill(text);
        self.push_paragraph(" role=\"alert\" id=\"problem\"", &text);
        self
    }

    /// Adds a sentence about what has happened.
    #[must_use]
    pub(super) fn with_notice(mut self, text: &str) -> Self {
        let text = self.fill(text);
        self.push_paragraph(" role=\"status\"", &text);
        self
    }

    /// Adds a code to copy.
    #[must_use]
    pub(super) fn with_code(mut self, code: &str) -> Self {
        self.push_paragraph(" class=\"code\"", &escape_html(code));
        self
    }

    /// Adds a link to the site, or to this address.
    #[must_use]
    pub(super) fn with_way_on(mut self, location: Option<&str>) -> Self {
        let label = self.fill(self.texts.go_on_label);
        let target = escape_html(location.unwrap_or(&self.project.site_url));
        let _ = writeln!(self.body, "<p><a class=\"button\" href=\"{target}\">{label}</a></p>");
        self
    }

    /// Adds a form with hidden values, a field and a button.
    #[must_use]
    pub(super) fn with_form(mut self, form: &Form<'_>) -> Self {
        let _ = writeln!(self.body, "<form method=\"post\" action=\"{FORM_PATH}\">");
        for (name, value) in form.hidden {
            let value = escape_html(value);
            let _ = writeln!(self.body, "<input type=\"hidden\" name=\"{name}\" value=\"{value}\">");
        }
        self.body.push_str(&form.field);
        let class = if form.is_other_way { "button quiet" } else { "button" };
        let _ = writeln!(self.body, "<button class=\"{class}\" type=\"submit\">{}</button>\n</form>", form.label);
        self
    }

    fn push_paragraph(&mut self, attributes: &str, html: &str) {
        let _ = writeln!(self.body, "<p{attributes}>{html}</p>");
    }

    fn fill(&self, text: &str) -> String {
        text.replace("{address}", &escape_html(&self.project.address))
            .replace("{name}", &escape_html(&self.project.name))
    }

    /// Answers with the page.
    pub(super) fn respond(self) -> Response {
        let mut response = Response::new(Body::from(self.to_html()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        for (name, value) in [
            (CONTENT_TYPE, "text/html; charset=utf-8"),
            (CACHE_CONTROL, "no-store"),
            (REFERRER_POLICY, "no-referrer"),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (X_FRAME_OPTIONS, "DENY"),
            (VARY, "accept-language"),
            (CONTENT_LANGUAGE, self.language.tag()),
            (HeaderName::from_static("x-robots-tag"), "noindex"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        let policy = HeaderValue::try_from(content_security_policy(&self.project.brand));
        headers.insert(CONTENT_SECURITY_POLICY, policy.unwrap_or(HeaderValue::from_static("default-src 'none'")));
        response
    }

    fn to_html(&self) -> String {
        let (language, name) = (self.language.tag(), escape_html(&self.project.name));
        let Self { title, body, .. } = self;
        let style = format_style(&self.project.brand);
        let head = match &self.project.brand.logo_url {
            Some(url) => format!("<img src=\"{}\" alt=\"{name}\">", escape_html(url)),
            None => name.clone(),
        };
        format!(
            "<!doctype html>\n<html lang=\"{language}\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"robots\" content=\"noindex\">\n\
             <title>{title} – {name}</title>\n<style>{style}</style>\n</head>\n<body>\n<div>\n<header>{head}</header>\n<main>\n<h1>{title}</h1>\n\
             {body}</main>\n</div>\n</body>\n</html>\n"
        )
    }
}

/// A form of a page.
pub(super) struct Form<'a> {
    /// Names and values that are not shown.
    pub hidden: &'a [(&'static str, &'a str)],
    /// The HTML of the field; empty for none.
    pub field: String,
    /// The label of the button, as HTML.
    pub label: &'a str,
    /// Whether the button leads to another way than the main one.
    pub is_other_way: bool,
}

/// Formats the field of a new password with its rule.
pub(super) fn format_password_field(texts: &LinkTexts, policy: &PasswordPolicy, is_invalid: bool) -> String {
    let (rule, min_length) = (escape_html(&describe_rule(texts, policy)), policy.min_length);
    format!(
        "<p><label for=\"password\">{}</label>\n<input id=\"password\" name=\"password\" type=\"password\" required minlength=\"{min_length}\" \
         autocomplete=\"new-password\" aria-describedby=\"{}rule\"{}></p>\n<p class=\"hint\" id=\"rule\">{rule}</p>\n",
        texts.password_field,
        if is_invalid { "problem " } else { "" },
        if is_invalid { " aria-invalid=\"true\"" } else { "" },
    )
}

/// Tells all that a password needs.
fn describe_rule(texts: &LinkTexts, policy: &PasswordPolicy) -> String {
    let names = texts.characters;
    let kinds: Vec<String> = required_kinds(policy)
        .into_iter()
        .map(|kind| match kind {
            CharacterKind::SmallLetter => names.small_letter.to_owned(),
            CharacterKind::CapitalLetter => names.capital_letter.to_owned(),
            CharacterKind::Letter => names.letter.to_owned(),
            CharacterKind::Digit => names.digit.to_owned(),
            CharacterKind::Symbol(_) => names.symbol.to_owned(),
            CharacterKind::Other(set) => names.other.replace("{set}", set),
        })
        .collect();
    let listed = match kinds.as_slice() {
        [] => None,
        [only] => Some(only.clone()),
        [all @ .., last] => Some(format!("{}{}{last}", all.join(", "), names.and)),
    };
    let mut rule = texts.password_rule.replace("{number}", &policy.min_length.to_string());
    for sentence in [
        listed.map(|kinds| texts.password_kinds.replace("{kinds}", &kinds)),
        policy.hibp.enabled.then(|| texts.never_stolen.to_owned()),
    ] {
        rule.extend(sentence.map(|sentence| format!(" {sentence}")));
    }
    rule
}

/// The code of a second step.
pub(super) struct CodeField {
    /// The label, as HTML.
    pub label: String,
    /// Whether the code has digits only.
    pub is_numeric: bool,
    pub is_invalid: bool,
}

/// Formats the field of a code.
pub(super) fn format_code_field(field: &CodeField) -> String {
    let CodeField { label, is_numeric, is_invalid } = field;
    format!(
        "<p><label for=\"code\">{label}</label>\n<input id=\"code\" name=\"code\" required maxlength=\"60\" autocapitalize=\"none\" \
         spellcheck=\"false\" {}{}></p>\n",
        if *is_numeric { "inputmode=\"numeric\" autocomplete=\"one-time-code\"" } else { "autocomplete=\"off\"" },
        if *is_invalid { " aria-invalid=\"true\" aria-describedby=\"problem\"" } else { "" },
    )
}

pub(super) fn format_address_field(texts: &LinkTexts, is_invalid: bool) -> String {
    format!(
        "<p><label for=\"email\">{}</label>\n<input id=\"email\" name=\"email\" type=\"email\" required maxlength=\"255\" autocomplete=\"email\"{}></p>\n",
        texts.address_field,
        if is_invalid { " aria-invalid=\"true\" aria-describedby=\"problem\"" } else { "" },
    )
}

/// Returns the style sheet with the colour of the project.
fn format_style(brand: &MailBrand) -> String {
    static COMPACT: LazyLock<String> = LazyLock::new(|| STYLE.lines().map(str::trim).collect::<Vec<_>>().join("\n"));
    format!(":root{{--brand:{};--on-brand:{}}}\n{}", brand.color.to_hexadecimal(), brand.color.text_color(), *COMPACT)
}

/// Allows the style sheet by its digest and pictures from the host of the logo; forms may lead anywhere, as links do.
fn content_security_policy(brand: &MailBrand) -> String {
    let style = STANDARD.encode(digest(&SHA256, format_style(brand).as_bytes()));
    let pictures = brand.logo_url.as_deref().and_then(|url| url::Url::parse(url).ok());
    let pictures = pictures.map_or("'none'".to_owned(), |url| url.origin().ascii_serialization());
    format!(
        "default-src 'none'; style-src 'sha256-{style}'; img-src {pictures}; base-uri 'none'; frame-ancestors 'none'"
    )
}
