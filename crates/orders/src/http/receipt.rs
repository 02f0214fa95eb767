//! `/shop/receipt/…`: the receipt of an order, to print or to save. The token of a download link opens it, also when the link has ended.

use axum::response::Response;
use foundation::error_chain::ErrorChain;
use foundation::language::Language;
use http::header::{REFERRER_POLICY, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use platform::store::Result;

use super::page;
use crate::order::{Order, OrderState};
use crate::service::OrderService;
use crate::store::find_order;

impl OrderService {
    /// Answers with the receipt of the order that the token names, or with a page that says why there is none.
    pub(super) async fn answer_receipt(&self, token: &str, language: Language) -> Response {
        let shop = &self.facts.name;
        let mut response = match self.find_order_of_link(token).await {
            Ok(Some(order)) => {
                let number = order.number.to_string();
                let lines = order.receipt(&number).list_lines(language, &self.facts);
                let content = page::format_receipt(language, order.state == OrderState::Refunded, &lines);
                page::respond_with(StatusCode::OK, language, page::receipt(language), &content, shop)
            }
            Ok(None) => page::respond_with(StatusCode::NOT_FOUND, language, page::unknown(language), "", shop),
            Err(error) => {
                tracing::error!(error = %ErrorChain(&error), "a receipt could not be read");
                let page = page::receipt_unavailable(language);
                let mut response = page::respond_with(StatusCode::SERVICE_UNAVAILABLE, language, page, "", shop);
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
