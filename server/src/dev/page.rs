//! The inbox as an HTML page, without scripts and without any markup of the mails.

use std::fmt::Write as _;

use gotrue_rules::wire::html::escape_html;

use super::inbox::InboxMessage;

/// The style sheet of this page and of the provider simulator's.
pub(super) const STYLE: &str = concat!(
    include_str!("../../../frontend/development/base.css"),
    include_str!("../../../frontend/development/inbox/page.css")
);

/// Formats all mails with their links and codes.
pub(super) fn format_inbox(mails: &[InboxMessage], to: Option<&str>, token: Option<&str>) -> String {
    let mut page = String::from(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>Inbox</title>\n<link rel=\"stylesheet\" href=\"/_dev/inbox.css",
    );
    let token = token.map(|token| format!("?token={}", escape_html(token))).unwrap_or_default();
    let _ = writeln!(page, "{token}\">\n<h1>Inbox</h1>");
    let shown = to.map_or_else(|| "all addresses".to_owned(), escape_html);
    let _ =
        writeln!(page, "<p>Mail that would have been sent, to {shown}, newest first. <a href=\"\">Look again</a></p>");
    if mails.is_empty() {
        page.push_str("<p>Nothing yet.</p>\n");
    }
    for mail in mails {
        format_mail(&mut page, mail, &token);
    }
    page
}

fn format_mail(page: &mut String, mail: &InboxMessage, token: &str) {
    let id = escape_html(&mail.id);
    let _ = writeln!(
        page,
        "<article>\n<h2>{}</h2>\n<p class=\"to\">to {}</p>",
        escape_html(&mail.subject),
        escape_html(&mail.to)
    );
    if let Some(code) = &mail.code {
        let _ = writeln!(page, "<p class=\"code\">{}</p>", escape_html(code));
    }
    if let Some(link) = mail.link.as_deref().filter(|link| link.starts_with("http://") || link.starts_with("https://"))
    {
        let link = escape_html(link);
        let _ = writeln!(page, "<p><a href=\"{link}\" rel=\"noreferrer\">{link}</a></p>");
    }
    let _ = writeln!(page, "<p><a href=\"/_dev/inbox/{id}{token}\">The whole mail</a></p>\n</article>");
}
