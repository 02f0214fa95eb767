//! The pages at `/`.

use std::sync::Arc;

use crate::api_keys::LiveApiKeys;
use crate::assets::{Shop, SiteConfig};
use crate::project::Project;

/// Builds the pages at `/`: the shop if the project has one, otherwise the status of the server.
///
/// In development, payment links that lead nowhere lead to the simulator.
pub(super) fn build_shop(project: &Project, keys: &LiveApiKeys, site_url: &str, is_development: bool) -> Shop {
    if project.has_shop {
        let site = SiteConfig { url: "", key: &keys.shown().publishable_key, site_url };
        let simulated = is_development.then(|| Arc::new(project.catalogue.with_simulated_payments()));
        Shop::load(&site, simulated.unwrap_or_else(|| Arc::clone(&project.catalogue)), project.seller.clone())
    } else {
        Shop::status_page()
    }
}
