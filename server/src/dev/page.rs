//! The inbox as an HTML page, without scripts and without any markup of the mails.

use std::fmt::Write as _;

use gotrue_rules::wire::html::escape_html;

use super::inbox::InboxMessage;

/// The style sheet of this page and of the development provider's.
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

/// Replaces each `{{name}}` of a template with the escaped value of that name.
/// Values are not searched for further names.
pub(super) fn fill_template<'v>(template: &str, value_of: impl Fn(&str) -> &'v str) -> String {
    let mut parts = template.split("{{");
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        if let Some((name, rest)) = part.split_once("}}") {
            filled.push_str(&escape_html(value_of(name)));
            filled.push_str(rest);
        } else {
            filled.push_str("{{");
            filled.push_str(part);
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fill_template_escapes_values_and_fills_each_place_once() {
        let value_of = |name: &str| if name == "a" { "{{b}}\"<" } else { "x" };
        assert_eq!(fill_template("<p>{{a}}</p>{{b}}{{a}}", value_of), "<p>{{b}}&quot;&lt;</p>x{{b}}&quot;&lt;");
        assert_eq!(fill_template("plain { {{ braces", value_of), "plain { {{ braces");
    }
}
