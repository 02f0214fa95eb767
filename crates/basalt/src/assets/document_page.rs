//! The pages with the terms, in the look of the pages after a payment.

use foundation::html::escape_html;
use orders::http::STYLE_SHEET;

use crate::seller::{Document, Seller};

/// Formats the page of a document.
pub(super) fn format_document(seller: &Seller, document: &Document, origin: &str) -> String {
    let (shop, language) = (escape_html(&seller.shop), escape_html(&seller.language));
    let address = escape_html(&format!("{origin}{}", document.path));
    let Document { title, html, .. } = document;
    format!(
        "<!doctype html>\n<html lang=\"{language}\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title} – {shop}</title>\n\
         <link rel=\"canonical\" href=\"{address}\">\n<link rel=\"icon\" href=\"/favicon.svg\">\n\
         <link rel=\"stylesheet\" href=\"{STYLE_SHEET}\">\n</head>\n<body>\n<header><a href=\"/\">{shop}</a></header>\n\
         <main class=\"document\">\n{html}</main>\n<footer>\n{}</footer>\n</body>\n</html>\n",
        format_seller(seller)
    )
}

/// Formats the seller, and the links to the documents.
fn format_seller(seller: &Seller) -> String {
    let address = seller.address.as_deref().map(|address| format!(", {}", escape_html(address))).unwrap_or_default();
    let email = seller.email.as_deref().map(escape_html);
    let email = email.map(|email| format!("<li><a href=\"mailto:{email}\">{email}</a></li>\n")).unwrap_or_default();
    let links = seller
        .documents
        .iter()
        .map(|document| format!("<li><a href=\"{}\">{}</a></li>\n", document.path, document.title));
    let links = links.collect::<Vec<_>>().concat();
    format!("<p>{}{address}</p>\n<ul>\n{email}{links}</ul>\n", escape_html(&seller.name))
}
