//! The HTML of branded mails: tables, inline styles, colours for dark mailboxes.

use foundation::html::escape_html;
use foundation::language::Language;
use foundation::mail_brand::MailBrand;

const LAYOUT: &str = include_str!("layout.html");
/// Repetitions of the space that keeps the text of the mail out of the preview of inboxes.
const PADDING_LENGTH: usize = 32;

/// The parts of a branded mail, as HTML.
#[derive(Debug, Clone, Copy)]
pub struct MailPage<'a> {
    /// The language of the texts.
    pub language: Language,
    /// The heading, also the title of the document.
    pub title: &'a str,
    /// The line that inboxes show after the subject.
    pub preview: &'a str,
    /// The name at the top if the brand has none.
    pub default_name: &'a str,
    /// The content below the heading.
    pub content: &'a str,
}

/// Returns the document of a mail.
///
/// Parts are inserted in one pass, so that placeholders in them have no effect.
pub fn format_page(brand: &MailBrand, page: MailPage<'_>) -> String {
    let color = brand.color.to_hexadecimal();
    let name = format_name(brand, page.default_name);
    let end = brand.address.as_deref().map(format_end).unwrap_or_default();
    let padding = "&nbsp;&zwnj;".repeat(PADDING_LENGTH);
    let mut html = String::with_capacity(LAYOUT.len() + page.content.len() + 1024);
    for (index, part) in LAYOUT.split("[[").enumerate() {
        let Some((placeholder, text)) = part.split_once("]]").filter(|_| index > 0) else {
            html.push_str(part);
            continue;
        };
        html.push_str(match placeholder {
            "language" => page.language.tag(),
            "title" => page.title,
            "preview" => page.preview,
            "padding" => &padding,
            "name" => &name,
            "color" => &color,
            "content" => page.content,
            _ => &end,
        });
        html.push_str(text);
    }
    html
}

/// Formats a paragraph of the text.
pub fn format_paragraph(html: &str) -> String {
    format!("<p class=\"text\" style=\"margin:0 0 16px;font-size:16px;line-height:24px;color:#3a3a42;\">{html}</p>\n")
}

/// Formats a paragraph of less importance.
pub fn format_quiet_paragraph(html: &str) -> String {
    format!("<p class=\"quiet\" style=\"margin:16px 0 0;font-size:14px;line-height:22px;color:#5c5c66;\">{html}</p>\n")
}

/// Formats a button as a filled table cell.
pub fn format_button(brand: &MailBrand, url: &str, label: &str) -> String {
    let (fill, text) = (brand.color.to_hexadecimal(), brand.color.text_color());
    format!(
        "<table role=\"presentation\" cellpadding=\"0\" cellspacing=\"0\" border=\"0\" style=\"margin:24px 0;\">\n<tr>\n\
         <td align=\"center\" bgcolor=\"{fill}\" style=\"background-color:{fill};mso-padding-alt:14px 28px;\">\n\
         <a href=\"{url}\" style=\"display:inline-block;padding:14px 28px;font-size:16px;line-height:20px;font-weight:600;\
         color:{text};text-decoration:none;\">{label}</a>\n</td>\n</tr>\n</table>\n"
    )
}

/// Formats an address to copy, for mail programs that show no buttons.
pub fn format_address(lead: &str, url: &str) -> String {
    format!(
        "<p class=\"quiet\" style=\"margin:0 0 16px;font-size:14px;line-height:22px;color:#5c5c66;\">{lead}<br>\n\
         <a href=\"{url}\" style=\"color:#5c5c66;overflow-wrap:anywhere;word-break:break-all;\">{url}</a></p>\n"
    )
}

/// Formats a code in a table cell.
pub fn format_code(code: &str) -> String {
    format!(
        "<table role=\"presentation\" width=\"100%\" cellpadding=\"0\" cellspacing=\"0\" border=\"0\" style=\"margin:24px 0;\">\n<tr>\n\
         <td class=\"code\" align=\"center\" bgcolor=\"#eeeef2\" style=\"padding:18px 8px;background-color:#eeeef2;text-align:center;\
         font-family:Consolas,Menlo,monospace;font-size:30px;line-height:40px;font-weight:700;letter-spacing:5px;color:#1a1a1f;\">\
         {code}</td>\n</tr>\n</table>\n"
    )
}

/// Formats quoted text in a table cell, with its line breaks.
pub fn format_quote(html: &str) -> String {
    format!(
        "<table role=\"presentation\" width=\"100%\" cellpadding=\"0\" cellspacing=\"0\" border=\"0\" style=\"margin:0 0 24px;\">\n<tr>\n\
         <td class=\"quote\" dir=\"auto\" bgcolor=\"#f4f4f6\" style=\"padding:16px 20px;background-color:#f4f4f6;border-left:4px solid #8a8a94;\
         font-size:16px;line-height:24px;color:#1a1a1f;overflow-wrap:anywhere;\">{}</td>\n</tr>\n</table>\n",
        html.replace('\n', "<br>\n")
    )
}

/// Formats the picture or the name at the top.
fn format_name(brand: &MailBrand, default_name: &str) -> String {
    let name = brand.name.as_deref().map(escape_html);
    let name = name.as_deref().unwrap_or(default_name);
    match &brand.logo_url {
        Some(url) => format!(
            "<img src=\"{}\" alt=\"{name}\" height=\"40\" border=\"0\" style=\"display:block;height:40px;width:auto;max-width:100%;\">",
            escape_html(url)
        ),
        None => name.to_owned(),
    }
}

fn format_end(address: &str) -> String {
    format!(
        "<tr><td class=\"end\" align=\"left\" style=\"padding:20px 40px 0;text-align:left;\
         font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:14px;line-height:22px;color:#5c5c66;\">{}</td></tr>\n",
        escape_html(address)
    )
}
