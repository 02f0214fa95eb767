//! Who sells: the name, address and contact below every page, and the pages with the terms.

mod markdown;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use orders::{SellerDocument, SellerIdentity};
use serde::Serialize;

use crate::config_file::SellerSettings;
use crate::problem::Problem;
use markdown::render_markdown;

/// The largest Markdown file, in bytes.
const MAX_BYTES: u64 = 256 * 1024;

/// What pages show of the seller.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Seller {
    /// Name of the person or company.
    pub name: String,
    /// Postal address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Public e-mail address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Their pages, in the order of the links.
    pub documents: Vec<Document>,
    /// Language of the documents.
    #[serde(skip)]
    pub language: String,
    /// Name of the shop.
    #[serde(skip)]
    pub shop: String,
}

/// A text of the seller's, such as the terms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Document {
    /// Path of its page.
    pub path: &'static str,
    /// Label of its link.
    pub title: &'static str,
    /// The text, with its heading.
    #[serde(skip)]
    pub html: String,
}

impl Seller {
    /// Reads the seller of the settings with the files in `folder`; `None` if nothing is set.
    ///
    /// # Errors
    /// A file cannot be used; each problem names its key.
    pub(crate) fn load(
        settings: &SellerSettings,
        identity: SellerIdentity,
        shop: String,
        folder: &Path,
    ) -> Result<Option<Self>, Vec<Problem>> {
        if *settings == SellerSettings::default() {
            return Ok(None);
        }
        let (mut documents, mut problems) = (Vec::new(), Vec::new());
        for (document, file) in settings.list_documents() {
            let (key, title) = match document {
                SellerDocument::Terms => ("terms", "Terms"),
                SellerDocument::Privacy => ("privacy", "Privacy"),
                SellerDocument::Refunds => ("refunds", "Refunds"),
            };
            let path = document.path();
            match read_text(&folder.join(file)).and_then(|text| render_markdown(title, &text)) {
                Ok(html) => documents.push(Document { path, title, html }),
                Err(text) => problems
                    .push(Problem { line: None, text: format!("basalt.shop.seller.{key}: {} {text}", file.display()) }),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let SellerIdentity { name, address, email, .. } = identity;
        Ok(Some(Self {
            name,
            address,
            email,
            documents,
            language: settings.language.clone().unwrap_or_else(|| "en".to_owned()),
            shop,
        }))
    }
}

/// Reads a text file of limited size.
fn read_text(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let file = File::open(path).map_err(|error| format!("cannot be read: {error}"))?;
    let read =
        file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(|error| format!("cannot be read: {error}"))?;
    if read as u64 > MAX_BYTES {
        return Err(format!("has more than {MAX_BYTES} bytes"));
    }
    Ok(text)
}
