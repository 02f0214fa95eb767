//! The inbox as an HTML page, without scripts and without any markup of the mails.

use std::fmt::Write as _;

use gotrue_rules::wire::html::escape_html;

use super::inbox::InboxMessage;

/// The page's style sheet.
pub const STYLE: &str = "\
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 48rem; margin: 2rem auto; padding: 0 1rem; }
article { border: 1px solid color-mix(in oklab, currentColor 25%, transparent); border-radius: 8px; padding: 1rem; margin: 1rem 0; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin: 0; }
p { margin: .5rem 0; overflow-wrap: anywhere; }
.code { font: 600 1.5rem ui-monospace, monospace; letter-spacing: .2em; }
.to { opacity: .75; }
.people { list-style: none; padding: 0; }
.people li { margin: .5rem 0; }
button, input:not([type=checkbox]) { font: inherit; padding: .75rem 1rem; border-radius: 8px; max-width: 100%; box-sizing: border-box;
  border: 1px solid color-mix(in oklab, currentColor 55%, transparent); background: transparent; color: inherit; }
button { cursor: pointer; text-align: left; min-height: 44px; }
.people button, input:not([type=checkbox]) { width: 100%; }
input[type=checkbox] { width: 1.25rem; height: 1.25rem; vertical-align: middle; }
button:hover { background: color-mix(in oklab, currentColor 8%, transparent); }
:focus-visible { outline: 3px solid Highlight; outline-offset: 2px; }
";

/// Formats all mails with their links and codes.
pub fn format_inbox(mails: &[InboxMessage], to: Option<&str>, token: Option<&str>) -> String {
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
