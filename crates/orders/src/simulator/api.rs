//! The APIs of simulated providers: refunds, orders of PayPal, items of checkouts at Stripe.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Checkout, Simulator};

impl Simulator {
    /// Answers a call of a provider's API; the path is that below the base URL.
    ///
    /// Refunds are accepted without an event: the caller stores them.
    pub fn answer_api(&self, method: &Method, path: &str) -> (StatusCode, Value) {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        match (method.as_str(), parts.as_slice()) {
            ("POST", ["v1", "refunds"]) => (StatusCode::OK, json!({ "object": "refund", "status": "succeeded" })),
            ("POST", ["v2", "payments", "captures", id, "refund"]) => {
                (StatusCode::CREATED, json!({ "id": id, "status": "COMPLETED" }))
            }
            ("POST", ["v1", "orders", id, "refund"]) => {
                (StatusCode::OK, json!({ "data": { "type": "orders", "id": id, "attributes": { "refunded": true } } }))
            }
            ("POST", ["v1", "oauth2", "token"]) => {
                (StatusCode::OK, json!({ "access_token": "simulated", "expires_in": 300 }))
            }
            ("GET", ["v1", "checkout", "sessions", id, "line_items"]) => match self.find_checkout(id) {
                Some(checkout) => (
                    StatusCode::OK,
                    json!({ "object": "list", "data": [{ "object": "item", "quantity": checkout.quantity }] }),
                ),
                None => (StatusCode::NOT_FOUND, json!({ "error": { "message": "No such checkout session." } })),
            },
            ("GET", ["v2", "checkout", "orders", id]) => match self.find_checkout(id) {
                Some(Checkout { email, quantity }) => {
                    let items = json!([{ "quantity": quantity.to_string() }]);
                    let (payer, units) = (json!({ "email_address": email }), json!([{ "items": items }]));
                    (
                        StatusCode::OK,
                        json!({ "id": id, "status": "COMPLETED", "payer": payer, "purchase_units": units }),
                    )
                }
                None => (
                    StatusCode::NOT_FOUND,
                    json!({ "name": "RESOURCE_NOT_FOUND", "message": "There is no such order." }),
                ),
            },
            _ => (StatusCode::NOT_FOUND, json!({ "message": "This call is not simulated." })),
        }
    }
}
