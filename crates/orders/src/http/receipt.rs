//! `/shop/receipt/…`: the receipt of an order, to print or to save. The token of a download link opens it, also when the link has ended.
//!
//! A form adds an addressee, such as a company with its VAT number. It is shown in the answer, and not stored.

use axum::extract::Request;
use axum::response::Response;
use foundation::error_chain::ErrorChain;
use foundation::language::Language;
use http::header::{REFERRER_POLICY, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use http_edge::request::{BODY_DEADLINE, is_same_origin, read_body};
use platform::store::Result;

use super::{page, plain};
use crate::order::{Order, OrderState};
use crate::paths::RECEIPTS;
use crate::receipt::LINES_BEFORE_ITEM;
use crate::service::OrderService;
use crate::store::find_order;

/// The largest form, in bytes.
const MAX_FORM: usize = 8 * 1024;
/// The most lines of an addressee, and characters of a line.
const MAX_LINES: usize = 8;
const MAX_LINE: usize = 120;

impl OrderService {
    /// Answers the form of a receipt: the receipt with the lines that were entered.
    pub(super) async fn answer_addressed_receipt(&self, request: Request, token: &str, language: Language) -> Response {
        if !is_same_origin(request.headers()) {
            return plain(StatusCode::FORBIDDEN, "The form was not sent by this page. Open the page and try again.\n");
        }
        let Ok(body) = read_body(request.into_body(), MAX_FORM, BODY_DEADLINE).await else {
            return plain(StatusCode::BAD_REQUEST, "The form was not received.\n");
        };
        let mut pairs = url::form_urlencoded::parse(&body).filter(|(name, _)| name == page::ADDRESSEE_FIELD);
        let entered = pairs.next().map(|(_, value)| clean_addressee(&value)).unwrap_or_default();
        self.answer_receipt(token, language, &entered).await
    }

    /// Answers with the receipt of the order that the token names, or with a page that says why there is none.
    ///
    /// `addressee`: name and address, in lines; empty if nothing was entered.
    pub(super) async fn answer_receipt(&self, token: &str, language: Language, addressee: &str) -> Response {
        let facts = &self.facts;
        let mut response = match self.find_order_of_link(token).await {
            Ok(Some(order)) => {
                let number = order.number.to_string();
                let mut lines = order.receipt(&number).list_lines(language, facts);
                if !addressee.is_empty() {
                    lines.insert(LINES_BEFORE_ITEM, (page::addressee_texts(language).line, addressee.to_owned()));
                }
                let is_refunded = order.state == OrderState::Refunded;
                let content = page::format_receipt(language, is_refunded, &lines, facts.contact())
                    + &page::format_addressee_form(language, &format!("{RECEIPTS}{token}"), addressee);
                page::respond_with(StatusCode::OK, language, page::receipt(language), &content, facts)
            }
            Ok(None) => page::respond_with(StatusCode::NOT_FOUND, language, page::unknown(language), "", facts),
            Err(error) => {
                tracing::error!(error = %ErrorChain(&error), "a receipt could not be read");
                let page = page::receipt_unavailable(language);
                let mut response = page::respond_with(StatusCode::SERVICE_UNAVAILABLE, language, page, "", facts);
                response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("30"));
                response
            }
        };
        response.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        response
    }

    /// Finds the order of a link that this shop has signed.
    async fn find_order_of_link(&self, token: &str) -> Result<Option<Order>> {
        let Some(grant) = self.download_key().await?.verify(token) else { return Ok(None) };
        find_order(&mut self.connection(), grant.order).await
    }
}

/// Returns the lines that were entered, without empty ones and control characters, and in the limits.
fn clean_addressee(entered: &str) -> String {
    let clean = |line: &str| line.chars().filter(|one| !one.is_control()).take(MAX_LINE).collect::<String>();
    let lines = entered.lines().map(|line| clean(line.trim())).filter(|line| !line.is_empty());
    lines.take(MAX_LINES).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addressee_has_few_short_lines() {
        assert_eq!(clean_addressee(" Mill Ltd \r\n\n\t1 Mill Lane\u{7}\n"), "Mill Ltd\n1 Mill Lane");
        let long = clean_addressee(&format!("{}\n", "é".repeat(500)).repeat(20));
        assert_eq!((long.lines().count(), long.chars().count()), (MAX_LINES, MAX_LINES * (MAX_LINE + 1) - 1));
        assert_eq!(clean_addressee(" \n\t"), "");
    }
}
