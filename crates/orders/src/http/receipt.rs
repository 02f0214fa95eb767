//! `/shop/receipt/…`: the receipt of an order, to print or to save. The token of a download link opens it, also when the link has ended.
//!
//! A form adds an addressee, such as a company with its VAT number. It is shown in the answer, and not stored.

use axum::response::{IntoResponse, Response};
use foundation::error_chain::ErrorChain;
use http::StatusCode;
use http::header::{REFERRER_POLICY, RETRY_AFTER};
use platform::store::Result;

use super::extract::{OwnForm, Visit};
use super::page;
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

/// Answers with the receipt.
pub(super) async fn show(visit: Visit) -> Response {
    answer(&visit, "").await
}

/// Answers the form of a receipt: the receipt with the lines that were entered.
pub(super) async fn show_addressed(visit: Visit, form: OwnForm<MAX_FORM>) -> Response {
    let entered = form.find(page::ADDRESSEE_FIELD).map(|entered| clean_addressee(&entered));
    answer(&visit, &entered.unwrap_or_default()).await
}

/// Answers with the receipt of the order that the token names, or with a page that says why there is none.
///
/// `addressee`: name and address, in lines; empty if nothing was entered.
async fn answer(visit: &Visit, addressee: &str) -> Response {
    let Visit { service, language, token } = visit;
    let (language, facts) = (*language, &service.facts);
    let response = match service.find_order_of_link(token).await {
        Ok(Some(order)) => {
            let number = order.number.to_string();
            let mut lines = order.receipt(&number).list_lines(language, facts);
            if !addressee.is_empty() {
                lines.insert(LINES_BEFORE_ITEM, (page::addressee_texts(language).line, addressee.to_owned()));
            }
            let is_refunded = order.state == OrderState::Refunded;
            let content = page::format_receipt(language, is_refunded, &lines, facts.contact())
                + &page::format_addressee_form(language, &format!("{RECEIPTS}{token}"), addressee);
            visit.respond(StatusCode::OK, page::receipt, &content)
        }
        Ok(None) => visit.respond(StatusCode::NOT_FOUND, page::unknown, ""),
        Err(error) => {
            tracing::error!(error = %ErrorChain(&error), "a receipt could not be read");
            let page = visit.respond(StatusCode::SERVICE_UNAVAILABLE, page::receipt_unavailable, "");
            ([(RETRY_AFTER, "30")], page).into_response()
        }
    };
    ([(REFERRER_POLICY, "no-referrer")], response).into_response()
}

impl OrderService {
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
