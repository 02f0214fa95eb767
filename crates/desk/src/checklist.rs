//! `GET /checklist`: what a shop needs before it sells.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use serde_json::{Value, json};
use utoipa_axum::routes;

use crate::document::Refusal;
use crate::http::error::DeskError;
use crate::http::respond;
use crate::section::{OwnerCall, OwnerRoutes, Section, unknown_path};
use crate::store::checklist as store;
use crate::store::recovery_codes::{self, RecoveryCodes};

/// What the server knows about its shop.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShopReadiness {
    /// Whether mails leave the machine.
    pub has_mail_server: bool,
    /// The address of the shop for visitors, and whether other machines reach it.
    pub address: String,
    /// Whether that address is a public one.
    pub is_address_public: bool,
    /// The titles of templates on sale whose buyers would get no file.
    pub missing_files: Vec<String>,
    /// Whether a payment provider is configured.
    pub has_provider: bool,
    /// The titles of templates whose payment link leads nowhere.
    pub unpayable: Vec<String>,
}

/// Returns what the server knows now.
pub type FindReadiness = Arc<dyn Fn() -> ShopReadiness + Send + Sync>;

/// Answers `GET /checklist`.
pub struct Checklist(FindReadiness);

impl Checklist {
    /// Creates the section.
    pub fn new(find_readiness: FindReadiness) -> Self {
        Self(find_readiness)
    }
}

impl Section for Checklist {
    const NAME: &'static str = "checklist";

    fn routes() -> OwnerRoutes<Self> {
        OwnerRoutes::new(unknown_path).calls(routes!(show_checklist))
    }
}

/// Returns what the shop lacks before it sells.
#[utoipa::path(
    get, path = "/", tag = "checklist",
    responses((status = 200, description = "The items", body = Object), Refusal)
)]
async fn show_checklist(State(checklist): State<Arc<Checklist>>, call: OwnerCall) -> Result<Response, DeskError> {
    let stored = StoredReadiness {
        recovery_codes: recovery_codes::count(&mut call.db(), call.owner.id).await?,
        has_test_order: store::has_test_order(&mut call.db()).await?,
    };
    Ok(respond::ok(&build(&(checklist.0)(), stored)))
}

/// What the database knows.
#[derive(Debug, Clone, Copy)]
struct StoredReadiness {
    recovery_codes: RecoveryCodes,
    has_test_order: bool,
}

/// Lists the items in the order in which they are done.
fn build(shop: &ShopReadiness, stored: StoredReadiness) -> Value {
    let item = |id: &str, is_done: bool, details: Value| json!({ "id": id, "done": is_done, "details": details });
    let has_codes = stored.recovery_codes.left > 0 && !stored.recovery_codes.are_unconfirmed;
    let has_files = shop.missing_files.is_empty();
    let items = [
        item("recovery_codes", has_codes, json!([])),
        item("products", has_files, json!(shop.missing_files)),
        item("test_order", stored.has_test_order, json!([])),
        item("mail_server", shop.has_mail_server, json!([])),
        item("address", shop.is_address_public, json!([shop.address])),
        item("payment", shop.has_provider && shop.unpayable.is_empty(), json!(shop.unpayable)),
    ];
    let done = items.iter().filter(|item| item["done"] == true).count();
    json!({ "items": items, "done": done, "has_provider": shop.has_provider })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(shop: &ShopReadiness, stored: StoredReadiness) -> Vec<String> {
        let built = build(shop, stored);
        let items = built["items"].as_array().expect("items").clone();
        assert_eq!(items.len(), 6);
        items
            .iter()
            .filter(|item| item["done"] == true)
            .map(|item| item["id"].as_str().expect("an id").to_owned())
            .collect()
    }

    #[test]
    fn items_are_done_one_by_one() {
        let empty = ShopReadiness { missing_files: vec!["One (1)".into()], ..ShopReadiness::default() };
        let codes = |left, are_unconfirmed| RecoveryCodes { left, are_unconfirmed };
        let nothing = StoredReadiness { recovery_codes: codes(0, false), has_test_order: false };
        assert!(done(&empty, nothing).is_empty());
        let unseen = StoredReadiness { recovery_codes: codes(10, true), has_test_order: false };
        assert!(done(&empty, unseen).is_empty(), "codes that the owner has not kept");
        assert_eq!(build(&empty, nothing)["items"][1]["details"], json!(["One (1)"]));
        let provider = ShopReadiness { has_provider: true, unpayable: vec!["One".into()], ..empty };
        assert!(done(&provider, nothing).is_empty(), "a provider without links is not enough");
        let complete = ShopReadiness {
            has_mail_server: true,
            address: "https://shop.example".into(),
            is_address_public: true,
            missing_files: Vec::new(),
            has_provider: true,
            unpayable: Vec::new(),
        };
        let stored = StoredReadiness { recovery_codes: codes(10, false), has_test_order: true };
        assert_eq!(
            done(&complete, stored),
            ["recovery_codes", "products", "test_order", "mail_server", "address", "payment"]
        );
    }
}
