//! `/_dev/mails`: each mail of the auth API and of the shop as it is sent, in each language, at two widths, light and dark.
//!
//! The texts are the configured ones, filled in with values of an example. Nothing is sent.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::response::Response;
use foundation::error_chain::ErrorChain;
use foundation::html::escape_html;
use foundation::language::Language;
use functions_rs::functions::send_submission::SubmissionSettings;
use functions_rs::submissions::sample_mails::{self as submission_mails, SubmissionMail};
use gotrue_rs::app::App;
use gotrue_rs::ports::mail::template::TemplateVariables;
use gotrue_rules::domain::policy::MailKind;
use http::{Method, StatusCode, Uri};
use orders::OrderService;
use orders::sample_mails::{self as order_mails, OrderMail};
use tokio::sync::watch;
use url::form_urlencoded;

use super::responses::{is_read, response, text};

/// The path of the page.
pub(super) const PATH: &str = "/_dev/mails";
/// What the frame shows.
const BODY_PATH: &str = "/_dev/mails/body";
const STYLE_PATH: &str = "/_dev/mails/page.css";
const STYLE: &str = concat!(
    include_str!("../../../../frontend/development/base.css"),
    include_str!("../../../../frontend/development/mails/page.css")
);

/// The policy of the page, whose frame is of this server.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// The policy of a mail: nothing of it runs, and pictures of the operator load as in a mail program.
const BODY_POLICY: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src http: https: data:; font-src https:; frame-ancestors 'self'";
/// The windows of mail programs: a phone, and a pane of a desktop.
const WIDTHS: [&str; 2] = ["375", "600"];
const COLOURS: [&str; 2] = ["light", "dark"];
/// The condition of the styles for dark windows.
const DARK_CONDITION: &str = "(prefers-color-scheme: dark)";

pub(crate) struct MailPreview {
    app: watch::Receiver<Arc<App>>,
    /// `None` without a shop.
    shop: Option<ShopMails>,
}

/// What the mails of a shop are made of.
pub(crate) struct ShopMails {
    pub orders: Arc<OrderService>,
    pub submissions: SubmissionSettings,
}

/// A mail that can be shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ShownMail {
    Auth(MailKind),
    Order(OrderMail),
    Submission(SubmissionMail),
}

/// The mail and the window that the parameters of the page choose.
#[derive(Clone, Copy)]
struct Selection {
    mail: ShownMail,
    language: Language,
    width: &'static str,
    colours: &'static str,
}

/// What a mail shows.
struct MailContent {
    subject: String,
    html: String,
}

impl MailPreview {
    /// Creates the preview of what `app` and the shop send; that of `app` changes with the configuration.
    pub(crate) fn new(app: watch::Receiver<Arc<App>>, shop: Option<ShopMails>) -> Self {
        Self { app, shop }
    }

    /// Answers a request for the page or a part of it.
    pub(super) async fn answer(&self, method: &Method, uri: &Uri, header: &str) -> Response {
        if !is_read(method) {
            return text(StatusCode::METHOD_NOT_ALLOWED, "the page is only read\n");
        }
        if uri.path() == STYLE_PATH {
            return response(StatusCode::OK, "text/css; charset=utf-8", PAGE_POLICY, STYLE.as_bytes().to_vec());
        }
        let mails = self.list_mails();
        let selection = Selection::parse(uri.query().unwrap_or_default(), &mails);
        match (self.render(selection).await, uri.path() == BODY_PATH) {
            (Ok(mail), true) => {
                let html = selection.choose_colours(&mail.html).into_bytes();
                response(StatusCode::OK, "text/html; charset=utf-8", BODY_POLICY, html)
            }
            (Ok(mail), false) => {
                let html = selection.format_page(&mails, &mail.subject, header).into_bytes();
                response(StatusCode::OK, "text/html; charset=utf-8", PAGE_POLICY, html)
            }
            (Err(reason), _) => text(StatusCode::INTERNAL_SERVER_ERROR, &reason),
        }
    }

    /// Returns the mails that this server sends.
    fn list_mails(&self) -> Vec<ShownMail> {
        let of_orders = OrderMail::ALL.into_iter().map(ShownMail::Order);
        let of_shop = of_orders.chain(SubmissionMail::ALL.into_iter().map(ShownMail::Submission));
        MailKind::ALL.into_iter().map(ShownMail::Auth).chain(of_shop.filter(|_| self.shop.is_some())).collect()
    }

    async fn render(&self, selection: Selection) -> Result<MailContent, String> {
        let Selection { mail, language, .. } = selection;
        let app = Arc::clone(&self.app.borrow());
        let message = match (mail, &self.shop) {
            (ShownMail::Auth(kind), _) => {
                let variables = TemplateVariables { language, ..TemplateVariables::sample() };
                let rendered = app.email_templates.render(kind, &variables, app.clock.now()).await;
                let rendered = rendered.map_err(|error| format!("{}\n", ErrorChain(&error)))?;
                return Ok(MailContent { subject: rendered.subject, html: rendered.html });
            }
            (ShownMail::Order(mail), Some(shop)) => order_mails::build_sample_mail(&shop.orders, mail, language),
            (ShownMail::Submission(mail), Some(shop)) => {
                submission_mails::build_sample_mail(&shop.submissions, app.clock.now(), mail, language)
            }
            (_, None) => return Err("this server has no shop\n".to_owned()),
        };
        Ok(MailContent { subject: message.subject, html: message.html })
    }
}

/// Returns whether a path belongs to the preview.
pub(super) fn is_mails_path(path: &str) -> bool {
    [PATH, BODY_PATH, STYLE_PATH].contains(&path)
}

impl ShownMail {
    /// Returns its name in URLs.
    fn as_str(self) -> &'static str {
        match self {
            Self::Auth(kind) => kind.as_str(),
            Self::Order(OrderMail::Delivery) => "order_delivery",
            Self::Order(OrderMail::Refund) => "order_refund",
            Self::Order(OrderMail::PartialRefund) => "order_partial_refund",
            Self::Order(OrderMail::Notice) => "order_notice",
            Self::Submission(SubmissionMail::Confirmation) => "submission_confirmation",
            Self::Submission(SubmissionMail::Reply) => "submission_reply",
            Self::Submission(SubmissionMail::Notice) => "submission_notice",
            Self::Submission(SubmissionMail::Digest) => "submission_digest",
        }
    }

    /// Returns the languages in which it is sent.
    fn languages(self) -> &'static [Language] {
        let is_in_english = match self {
            Self::Auth(_) => false,
            Self::Order(mail) => mail.is_to_owner(),
            Self::Submission(mail) => mail.is_in_english(),
        };
        if is_in_english { &[Language::English] } else { &Language::ALL }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Auth(kind) => title(kind),
            Self::Order(OrderMail::Delivery) => "Order with download",
            Self::Order(OrderMail::Refund) => "Refund",
            Self::Order(OrderMail::PartialRefund) => "Partial refund",
            Self::Order(OrderMail::Notice) => "Payment to look at (owner)",
            Self::Submission(SubmissionMail::Confirmation) => "Submission received",
            Self::Submission(SubmissionMail::Reply) => "Reply to a submission",
            Self::Submission(SubmissionMail::Notice) => "New submission (owner)",
            Self::Submission(SubmissionMail::Digest) => "More submissions (owner)",
        }
    }

    /// Returns what the mail is part of.
    fn group(self) -> &'static str {
        match self {
            Self::Auth(_) => "Accounts",
            Self::Order(_) => "Orders",
            Self::Submission(_) => "Submissions",
        }
    }
}

impl Selection {
    /// Reads the parameters of the page; unknown values are the first of their list.
    fn parse(query: &str, mails: &[ShownMail]) -> Self {
        let find = |name: &str| form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name);
        let value = |name: &str| find(name).map(|(_, value)| value.into_owned()).unwrap_or_default();
        let (kind, language, width, colours) = (value("kind"), value("language"), value("width"), value("colours"));
        let mail = mails.iter().copied().find(|known| known.as_str() == kind);
        Self {
            mail: mail.unwrap_or(ShownMail::Auth(MailKind::Confirmation)),
            language: Language::ALL.into_iter().find(|known| known.tag() == language).unwrap_or_default(),
            width: WIDTHS.into_iter().find(|known| *known == width).unwrap_or(WIDTHS[1]),
            colours: COLOURS.into_iter().find(|known| *known == colours).unwrap_or(COLOURS[0]),
        }
    }

    fn to_query(self) -> String {
        let Self { mail, language, width, colours } = self;
        format!("kind={}&amp;language={}&amp;width={width}&amp;colours={colours}", mail.as_str(), language.tag())
    }

    /// Has the styles for dark windows apply always or never, whatever the browser prefers.
    fn choose_colours(self, html: &str) -> String {
        html.replace(DARK_CONDITION, if self.colours == "dark" { "all" } else { "not all" })
    }

    /// Formats the links to all mails, by what they are part of.
    fn format_mails(self, mails: &[ShownMail]) -> String {
        let groups = mails.chunk_by(|one, next| one.group() == next.group());
        let groups = groups.map(|group| {
            let links = group.iter().map(|mail| (mail.title(), Self { mail: *mail, ..self }, *mail == self.mail));
            let heading = group.first().map_or("", |mail| mail.group());
            format!("<h2>{heading}</h2>\n{}", format_links(links))
        });
        groups.collect()
    }

    fn format_page(self, mails: &[ShownMail], subject: &str, header: &str) -> String {
        let shown = self.mail.languages();
        let language = if shown.contains(&self.language) { self.language } else { Language::English };
        let languages = shown.iter().map(|known| {
            let label = native_name(*known);
            (label, Self { language: *known, ..self }, *known == language)
        });
        let widths = WIDTHS.map(|width| (format!("{width} px"), Self { width, ..self }, width == self.width));
        let colours = COLOURS.map(|colours| {
            let label = if colours == "dark" { "Dark" } else { "Light" };
            (label, Self { colours, ..self }, colours == self.colours)
        });
        let Self { width, colours: shown_colours, .. } = self;
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Mails</title>\n\
             <link rel=\"stylesheet\" href=\"mails/page.css\">\n</head>\n<body>\n{header}<header>\n\
             <h1>Mails</h1>\n<p>What this server sends, with your templates and your brand, filled in with an example. Nothing is sent.</p>\n</header>\n\
             <nav aria-label=\"Mail\">\n{}</nav>\n<main>\n<div class=\"choices\">\n\
             <nav aria-label=\"Language\">\n{}</nav>\n<nav aria-label=\"Width\">\n{}</nav>\n<nav aria-label=\"Colours\">\n{}</nav>\n</div>\n\
             <h2>{}</h2>\n<div class=\"window\" role=\"region\" aria-label=\"Window\" tabindex=\"0\"><iframe title=\"The mail\" class=\"{shown_colours}\" width=\"{width}\" height=\"720\" src=\"mails/body?{}\"></iframe></div>\n\
             </main>\n</body>\n</html>\n",
            self.format_mails(mails),
            format_links(languages),
            format_links(widths),
            format_links(colours),
            escape_html(subject),
            self.to_query(),
        )
    }
}

/// Formats links, of which one is that of the page.
fn format_links<T: std::fmt::Display>(links: impl IntoIterator<Item = (T, Selection, bool)>) -> String {
    let mut items = String::new();
    for (label, selection, is_current) in links {
        let current = if is_current { " aria-current=\"page\"" } else { "" };
        let _ = writeln!(items, "<li><a href=\"?{}\"{current}>{label}</a></li>", selection.to_query());
    }
    format!("<ul>\n{items}</ul>\n")
}

fn title(kind: MailKind) -> &'static str {
    match kind {
        MailKind::Invite => "Invitation",
        MailKind::Confirmation => "Confirmation of a sign-up",
        MailKind::Recovery => "New password",
        MailKind::MagicLink => "Sign-in link",
        MailKind::EmailChange => "Change of the address",
        MailKind::Reauthentication => "Code before a change",
        MailKind::PasswordChanged => "Password changed",
        MailKind::EmailChanged => "Address changed",
        MailKind::PhoneChanged => "Number changed",
        MailKind::IdentityLinked => "Account linked",
        MailKind::IdentityUnlinked => "Account unlinked",
        MailKind::MfaFactorEnrolled => "Second factor added",
        MailKind::MfaFactorUnenrolled => "Second factor removed",
    }
}

fn native_name(language: Language) -> &'static str {
    match language {
        Language::English => "English",
        Language::German => "Deutsch",
        Language::French => "Français",
        Language::Spanish => "Español",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_choose_what_is_shown() {
        let mails = [ShownMail::Auth(MailKind::Recovery), ShownMail::Order(OrderMail::Notice)];
        let selection = Selection::parse("kind=recovery&language=de&width=375&colours=dark", &mails);
        let page = selection.format_page(&mails, "A & B", "");
        assert!(page.contains("<h2>A &amp; B</h2>") && page.contains("width=\"375\""), "{page}");
        assert_eq!(page.matches("aria-current=\"page\"").count(), 4, "{page}");
        assert!(
            page.contains("src=\"mails/body?kind=recovery&amp;language=de&amp;width=375&amp;colours=dark\""),
            "{page}"
        );
        let styles = "@media (prefers-color-scheme: dark) { a { color: red } }";
        assert!(selection.choose_colours(styles).starts_with("@media all {"));
        let other = Selection::parse("kind=%22%3E&language=xx&width=1e9&colours=none", &mails);
        assert!(other.choose_colours(styles).starts_with("@media not all {"));
        let unknown = other.mail == ShownMail::Auth(MailKind::Confirmation);
        assert!(!other.format_page(&mails, "", "").contains("%22") && unknown);
        let to_owner = Selection::parse("kind=order_notice&language=de", &mails).format_page(&mails, "", "");
        assert!(to_owner.contains(">English</a>") && !to_owner.contains(">Deutsch</a>"), "{to_owner}");
    }
}
