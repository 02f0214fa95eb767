//! The page at `/_dev`, and the links between the development pages that this server has.

use axum::response::Response;
use foundation::html::escape_html;
use http::{StatusCode, Uri};
use orders::simulator::SIMULATOR_PATH;
use platform::explanation::EXPLANATION_PATH;
use url::form_urlencoded;

use super::responses::{DEFAULT_POLICY, response};

/// A link of the page.
pub(super) struct DevLink {
    /// Path from the root.
    pub path: &'static str,
    /// Label.
    pub title: &'static str,
    /// Label in the header of the pages.
    pub short: &'static str,
    /// What the page is for.
    pub purpose: &'static str,
}

const HOME: &str = "/_dev";
/// The links, in their order; a server has some of the pages.
pub(super) const INBOX: DevLink = DevLink {
    path: "/_dev/inbox",
    title: "Inbox",
    short: "Inbox",
    purpose: "The mails and messages that this server keeps.",
};
pub(super) const MAILS: DevLink = DevLink {
    path: super::mails::PATH,
    title: "Mails",
    short: "Mails",
    purpose: "Each mail of this server with your templates, in each language, light and dark.",
};
pub(super) const USERS: DevLink = DevLink {
    path: super::users::PATH,
    title: "Users",
    short: "Users",
    purpose: "The accounts: addresses, providers, what is not confirmed, the last sign-in.",
};
pub(super) const OUTBOX: DevLink = DevLink {
    path: "/_dev/outbox.json",
    title: "Outbox",
    short: "Outbox",
    purpose: "How many mails wait, were sent and failed, as JSON.",
};
pub(super) const PAYMENT: DevLink = DevLink {
    path: SIMULATOR_PATH,
    title: "Payment simulator",
    short: "Payment",
    purpose: "Buys and refunds templates by signed events of the providers, without money.",
};
pub(super) const PROVIDER: DevLink = DevLink {
    path: "/_dev/provider",
    title: "Provider simulator",
    short: "Provider",
    purpose: "The users that stand in for accounts at Google, GitHub and others.",
};
pub(super) const CONSENT: DevLink = DevLink {
    path: super::consent::PATH,
    title: "Consent page",
    short: "Consent",
    purpose: "Asks users about OAuth clients; a client opens it with its request.",
};
pub(super) const EXPLANATIONS: DevLink = DevLink {
    path: EXPLANATION_PATH,
    title: "Explanations",
    short: "Explanations",
    purpose: "Why requests were refused: the setting, its value and what to change.",
};

/// Returns the way from a page to the root: test environments have a path before `/_dev`, so that links are relative.
fn find_root(path: &str) -> String {
    "../".repeat(path.matches('/').count().saturating_sub(1))
}

/// Formats the header of the page at `uri`: links to the home page and to all others.
///
/// The token of the inbox opens the messages and the explanations alone, and is part of these links.
pub(super) fn format_header(uri: &Uri, links: &[DevLink]) -> String {
    let (root, path) = (find_root(uri.path()), uri.path().trim_end_matches('/'));
    let token = uri.query().unwrap_or_default().split('&').find(|pair| pair.starts_with("token="));
    let query = token.map(|token| format!("?{}", escape_html(token))).unwrap_or_default();
    let format = |target: &str, label: &str| {
        let below = path.strip_prefix(target).filter(|_| target != HOME || path == HOME);
        let is_current = below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let current = if is_current { " aria-current=\"page\"" } else { "" };
        format!("<a href=\"{root}{}{query}\"{current}>{label}</a>\n", target.trim_start_matches('/'))
    };
    let home = if token.is_none() { format(HOME, "Development pages") } else { String::new() };
    let opened = links.iter().filter(|link| token.is_none() || [INBOX.path, EXPLANATIONS.path].contains(&link.path));
    let others: String = opened.map(|link| format(link.path, link.short)).collect();
    format!("<nav class=\"development\" aria-label=\"Development pages\">\n{home}{others}</nav>\n")
}

/// Returns whether a request is for this page. One with the token of the inbox is for the inbox, which is all that it opens.
pub(super) fn is_home(uri: &Uri) -> bool {
    let has_token = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).any(|(name, _)| name == "token");
    matches!(uri.path(), "/_dev" | "/_dev/") && !has_token
}

/// Answers with the page, which needs no header: it lists the same links.
pub(super) fn answer(path: &str, links: &[DevLink]) -> Response {
    let root = find_root(path);
    let relative = |path: &str| format!("{root}{}", path.trim_start_matches('/'));
    let items = links.iter().map(|link| {
        let DevLink { path, title, purpose, .. } = link;
        format!("<li><a href=\"{}\">{title}</a><p>{purpose}</p></li>\n", relative(path))
    });
    let items = items.collect::<Vec<_>>().concat();
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Development pages</title>\n\
         <link rel=\"stylesheet\" href=\"{}\">\n</head>\n<body>\n<main>\n<h1>Development pages</h1>\n\
         <p>For this machine only. Public servers do not have them.</p>\n<ul class=\"links\">\n{items}</ul>\n</main>\n</body>\n</html>\n",
        relative("/_dev/inbox.css")
    );
    response(StatusCode::OK, "text/html; charset=utf-8", DEFAULT_POLICY, html.into_bytes())
}
