//! The pages: the form that lets the developer choose a user, and the form that a browser posts back.

use std::fmt::Write as _;
use std::sync::LazyLock;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use foundation::html::escape_html;

/// The page for choosing a user has no script.
/// `form-action` stays unrestricted because the form redirects to the app in the end.
pub(crate) const CHOOSER_POLICY: &str =
    "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; frame-ancestors 'none'";

/// The script of the page that posts its form.
const SUBMIT_SCRIPT: &str = "document.forms[0].submit()";

/// The policy of the page that posts its form, which allows its script by its digest.
pub(crate) static FORM_POST_POLICY: LazyLock<String> = LazyLock::new(|| {
    let hashed = STANDARD.encode(digest(&SHA256, SUBMIT_SCRIPT.as_bytes()));
    format!("default-src 'none'; script-src 'sha256-{hashed}'; base-uri 'none'; frame-ancestors 'none'")
});

/// Fills the page for choosing a user.
/// `action` is the URL of its forms, `email` and `name` are the initial values for another user.
pub(crate) fn format_chooser(template: &str, action: &str, email: &str, name: &str) -> String {
    fill_template(template, |variable| match variable {
        "action" => action,
        "email" => email,
        "name" => name,
        _ => "",
    })
}

/// Formats a page that posts these fields to a URL, with a button for browsers without scripts.
pub(crate) fn format_form_post(action: &str, fields: &[(&str, &str)]) -> String {
    let mut inputs = String::new();
    for (name, value) in fields {
        let (name, value) = (escape_html(name), escape_html(value));
        let _ = writeln!(inputs, "<input type=\"hidden\" name=\"{name}\" value=\"{value}\">");
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Signing in</title>\n\
         <form method=\"post\" action=\"{}\">\n{inputs}<button>Continue</button>\n</form>\n\
         <script>{SUBMIT_SCRIPT}</script>\n",
        escape_html(action)
    )
}

/// Replaces each `{{name}}` of a template with the escaped value of that name.
/// Values are not searched for further names.
pub fn fill_template<'v>(template: &str, value_of: impl Fn(&str) -> &'v str) -> String {
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

    #[test]
    fn posted_form_escapes_its_values() {
        let page = format_form_post("http://h/?a=1&b=\"", &[("state", "\"><script>")]);
        assert!(page.contains("action=\"http://h/?a=1&amp;b=&quot;\""), "{page}");
        assert!(page.contains("value=\"&quot;&gt;&lt;script&gt;\""), "{page}");
        assert_eq!(page.matches("<script>").count(), 1);
    }
}
