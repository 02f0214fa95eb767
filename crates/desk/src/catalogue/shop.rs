//! The shop whose catalogue the desk changes: what the program tells of it and does with it.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use orders::products::ProductSummary;
use platform::store::Connection;
use serde_json::{Map, Value};

use super::change::TemplateChange;
use crate::http::error::DeskError;

/// A template of the files, or one that was added at the desk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogueTemplate {
    pub id: u16,
    /// Whether the desk has added it: then it is in no file.
    pub is_added: bool,
    /// The values that owners can change, by their keys in `catalogue.toml`, as the files have them.
    pub values: Map<String, Value>,
}

/// The picture of a template, as the shop has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplatePicture {
    pub media_type: &'static str,
    pub content: Bytes,
}

/// What a visitor can do with a template, and what a buyer would get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaleState {
    /// It has a payment link and a file.
    Sells,
    /// It has no payment link: the visitor describes what the owner then makes.
    MadeToOrder,
    /// It has a payment link, and no file for the buyer.
    NoProductFile,
    /// Its payment link is that of the shipped catalogue, which leads nowhere.
    PlaceholderLink,
}

impl SaleState {
    /// Returns its name in the API.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sells => "sells",
            Self::MadeToOrder => "made_to_order",
            Self::NoProductFile => "no_product_file",
            Self::PlaceholderLink => "placeholder_link",
        }
    }
}

/// Whether a template is sold, and what its buyers get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sale {
    pub state: SaleState,
    /// The file for buyers.
    pub file: Option<ProductSummary>,
    /// Whether buyers get one without an upload, from the folder of products.
    pub has_folder_file: bool,
    /// Whether visitors can pay by the link, and this server then owes them the file.
    pub owes_file: bool,
}

/// Returns whether a template with this payment link is sold; the link is empty for none.
pub type FindSaleState = Arc<dyn Fn(u16, &str) -> Sale + Send + Sync>;

/// The catalogue of the files, and the shop that shows it with the changes.
pub trait EditedCatalogue: Send + Sync {
    /// Lists the templates of the files, hidden ones included.
    fn list(&self) -> Vec<CatalogueTemplate>;

    /// Returns the picture of a template, if the shop has one.
    fn find_picture(&self, id: u16) -> Option<TemplatePicture>;

    /// Checks the catalogue of the files with these changes.
    ///
    /// # Errors
    /// What does not fit, as sentences.
    fn check(&self, changes: &[TemplateChange]) -> Result<(), Vec<String>>;

    /// Makes an uploaded picture into one for pages.
    ///
    /// # Errors
    /// It cannot be used; the text says what to do.
    fn encode_picture(&self, content: Bytes) -> BoxFuture<'_, Result<Bytes, DeskError>>;

    /// Shows stored changes. Later revisions that are shown already stay.
    fn take_up(&self, changes: Vec<TemplateChange>, db: Connection) -> BoxFuture<'_, ()>;
}
