//! What a shop must have before it takes money.

use std::path::PathBuf;

use anyhow::{Context, bail};
use gotrue_rs::config::Config;
use orders::OrderService;
use orders::decision::Product;
use orders::products::ProductFolder;

use super::live_shop::DeskChanges;
use crate::assets::Shop;
use crate::profiles;
use crate::project::Project;

/// How the files of the templates are provided.
const REMEDY: &str = "Build them with `npm --prefix frontend run emails:ship`, or set products under [basalt.shop.payment] to \
                      the folder with the ZIP files and products.json";

/// Returns the configured folder of products, or the one beside the binary or of the package.
fn find_products(project: &Project) -> Option<PathBuf> {
    let configured = project.file.basalt.payment.products.as_ref().map(|folder| project.layout.folder.join(folder));
    configured.or_else(|| ProductFolder::find_default(&std::env::current_exe().ok()?))
}

/// Reads the products; `None` if there is no folder.
pub(super) fn read_products(project: &Project) -> anyhow::Result<Option<ProductFolder>> {
    let Some(folder) = find_products(project) else { return Ok(None) };
    let read = ProductFolder::read(&folder);
    read.map(Some).with_context(|| format!("reading {}/products.json, the index of what buyers get", folder.display()))
}

/// Returns whether a template without a file is sold at the payment simulator only.
///
/// With a payment provider, [`check_products`] refuses the start instead.
fn is_simulator_alone(project: &Project, config: &Config) -> bool {
    let basalt = &project.file.basalt;
    project.has_shop && !basalt.payment.has_provider() && profiles::has_development_pages(config, basalt)
}

/// Logs the templates on sale whose buyers would get no file at the payment simulator.
pub(super) fn warn_about_missing_products(project: &Project, config: &Config, orders: &OrderService, shop: &Shop) {
    let missing = orders.list_missing_files(&shop.list_for_sale());
    if is_simulator_alone(project, config) && !missing.is_empty() {
        tracing::warn!(
            templates = missing.join(", "),
            "buyers of these templates would get no file: build the files with `npm --prefix frontend run emails:ship`, or \
             upload them at the desk"
        );
    }
}

/// Returns a warning about the templates whose buyers would get no file from the folder of products, for `basalt check`.
pub(crate) fn describe_missing_products(project: &Project, config: &Config) -> Option<String> {
    if !is_simulator_alone(project, config) {
        return None;
    }
    // An unreadable folder is an error of the start.
    let folder = read_products(project).ok().flatten().unwrap_or_default();
    let missing = folder.list_missing(&project.catalogue.list_for_sale());
    (!missing.is_empty())
        .then(|| format!("buyers of these templates would get no file: {}. {REMEDY}", missing.join(", ")))
}

/// Returns a warning about payment links that lead nowhere.
pub(crate) fn describe_placeholders(project: &Project) -> Option<String> {
    let titles = project.catalogue.list_placeholders();
    (project.has_shop && !titles.is_empty()).then(|| {
        format!(
            "the payment links of these templates lead nowhere, give each a link in catalogue.toml: {}",
            titles.join(", ")
        )
    })
}

/// Returns what a public shop has to tell its buyers and `project` does not.
pub(crate) fn describe_missing_seller(project: &Project, is_public: bool) -> Option<String> {
    if !project.has_shop || !is_public {
        return None;
    }
    let seller = project.seller.as_deref();
    let lacks_document =
        |path: &str| seller.is_none_or(|seller| seller.documents.iter().all(|document| document.path != path));
    let missing: Vec<&str> = [
        ("address", seller.is_none_or(|seller| seller.address.is_none())),
        ("email", seller.is_none_or(|seller| seller.email.is_none())),
        ("terms", lacks_document("/terms")),
        ("privacy", lacks_document("/privacy")),
        ("refunds", lacks_document("/refunds")),
    ]
    .into_iter()
    .filter_map(|(key, is_missing)| is_missing.then_some(key))
    .collect();
    (!missing.is_empty()).then(|| {
        format!(
            "a public shop tells its buyers who sells and on what terms, set under [basalt.shop.seller]: {}",
            missing.join(", ")
        )
    })
}

/// Refuses links that lead nowhere on a public site, and payments without a mail server.
pub(crate) fn check_payments(project: &Project, config: &Config) -> anyhow::Result<()> {
    if !project.has_shop {
        return Ok(());
    }
    let basalt = &project.file.basalt;
    let is_development = profiles::has_development_pages(config, basalt);
    if let Some(warning) = describe_placeholders(project) {
        if !is_development && !basalt.payment.allow_placeholder_links {
            bail!("{warning}. A shop without payments sets allow_placeholder_links = true under [basalt.shop.payment]");
        }
        let templates = project.catalogue.list_placeholders().join(", ");
        if is_development {
            tracing::info!(templates, "payment links that lead nowhere lead to the payment simulator");
        } else {
            tracing::warn!(
                templates,
                "payment links lead nowhere: give each of these templates a link in catalogue.toml"
            );
        }
    }
    if !basalt.payment.has_provider() {
        return Ok(());
    }
    if config.smtp.is_none() && !is_development && basalt.inbox_token.is_none() {
        bail!("[basalt.shop.payment] needs a mail server for download links: set [auth.email.smtp]");
    }
    Ok(())
}

/// Refuses to sell what cannot be delivered: neither the folder of products nor the desk has a file for it.
///
/// What only the desk has put on sale is logged: its owner is told there, and a restart must not end the shop.
pub(super) fn check_products(project: &Project, changes: &DeskChanges) -> anyhow::Result<()> {
    if !project.has_shop || !project.file.basalt.payment.has_provider() {
        return Ok(());
    }
    let folder = read_products(project)?;
    let (shown, _) = project.catalogue_source.build_fitting(&changes.revisions, &changes.pictures, &project.catalogue);
    let is_missing = |product: &Product| changes.find_product(product.template).is_none();
    let on_sale: Vec<Product> = shown.list_for_sale().into_iter().filter(is_missing).collect();
    let of_files = project.catalogue.list_for_sale();
    let (of_files, of_desk): (Vec<Product>, Vec<Product>) =
        on_sale.into_iter().partition(|product| of_files.iter().any(|known| known.template == product.template));
    if let Some(text) = describe_missing_files(folder.as_ref(), &of_files) {
        bail!(text);
    }
    let templates = folder.unwrap_or_default().list_missing(&of_desk).join(", ");
    if !templates.is_empty() {
        tracing::error!(
            templates,
            "buyers of these templates would get no file: upload the files at the desk, or hide them"
        );
    }
    Ok(())
}

/// Describes what `basalt check` can say without the database: which files have to be uploaded at the desk, or missing ones.
///
/// # Errors
/// There is no desk, so the start is refused.
pub(crate) fn check_folder(project: &Project) -> anyhow::Result<Option<String>> {
    if !project.has_shop || !project.file.basalt.payment.has_provider() {
        return Ok(None);
    }
    let missing = describe_missing_files(read_products(project)?.as_ref(), &project.catalogue.list_for_sale());
    match missing {
        Some(text) if !project.has_desk() => bail!(text),
        Some(text) => Ok(Some(format!("unless they are uploaded at the desk, the start is refused: {text}"))),
        None => Ok(None),
    }
}

/// Describes the products without a file in the folder; there may be no folder.
fn describe_missing_files(folder: Option<&ProductFolder>, products: &[Product]) -> Option<String> {
    let missing = folder.cloned().unwrap_or_default().list_missing(products).join(", ");
    if missing.is_empty() {
        return None;
    }
    Some(match folder {
        None => format!(
            "[basalt.shop.payment] needs the files for buyers of these templates, and there is no folder products beside the \
             binary, none in the checkout that built it, and no /usr/share/basalt/products: {missing}. {REMEDY}, or upload \
             the files at the desk"
        ),
        Some(folder) => format!(
            "{} has no file for these templates, which have a payment link: {missing}. Add the files to it and to \
             products.json, upload them at the desk, or make the templates custom designs by link = \"\" in catalogue.toml",
            folder.path.display(),
        ),
    })
}
