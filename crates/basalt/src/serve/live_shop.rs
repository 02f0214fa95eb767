//! The shop in effect: the catalogue of the files with the changes of the desk.

use std::sync::{Arc, Mutex, PoisonError};

use desk::{CatalogueTemplate, EditedCatalogue, TemplateChange, TemplatePicture, list_changes};
use gotrue_rules::domain::error::chain::ErrorChain;
use platform::store::{Connection, Pool};
use tokio::sync::watch;

use crate::api_keys::LiveApiKeys;
use crate::assets::{Shop, SiteConfig};
use crate::catalogue::{Catalogue, CatalogueSource, format_for_desk};
use crate::project::Project;
use crate::seller::Seller;

/// What the pages at `/` are built from, without the changes of the desk.
pub(super) struct ShopSettings {
    has_shop: bool,
    catalogue: Arc<Catalogue>,
    source: Arc<CatalogueSource>,
    seller: Option<Arc<Seller>>,
    site_url: String,
    /// Whether payment links that lead nowhere lead to the simulator.
    is_development: bool,
}

impl ShopSettings {
    /// Returns those of a project.
    pub(super) fn of_project(project: &Project, site_url: &str, is_development: bool) -> Self {
        Self {
            has_shop: project.has_shop,
            catalogue: Arc::clone(&project.catalogue),
            source: Arc::clone(&project.catalogue_source),
            seller: project.seller.clone(),
            site_url: site_url.to_owned(),
            is_development,
        }
    }
}

struct State {
    settings: ShopSettings,
    /// The latest known revisions.
    changes: Vec<TemplateChange>,
}

/// Builds the pages at `/`, again whenever their settings or the changes of the desk differ.
pub(super) struct LiveShop {
    keys: LiveApiKeys,
    state: Mutex<State>,
    pages: watch::Sender<Arc<Shop>>,
}

impl LiveShop {
    /// Builds the pages: the shop if the project has one, otherwise the status of the server.
    pub(super) fn new(settings: ShopSettings, changes: Vec<TemplateChange>, keys: LiveApiKeys) -> Self {
        let shop = build(&settings, &changes, &keys);
        Self { keys, state: Mutex::new(State { settings, changes }), pages: watch::Sender::new(Arc::new(shop)) }
    }

    /// Returns the present pages and later ones.
    pub(super) fn subscribe(&self) -> watch::Receiver<Arc<Shop>> {
        self.pages.subscribe()
    }

    /// Builds the pages by other settings.
    pub(super) fn replace_settings(&self, settings: ShopSettings) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.settings = settings;
        self.rebuild(&state);
    }

    /// Shows changes that another server has stored; a failure is tried again at the next call.
    pub(super) async fn poll(&self, pool: &Pool) {
        if !self.state.lock().unwrap_or_else(PoisonError::into_inner).settings.has_shop {
            return;
        }
        match list_changes(&mut Connection::pooled(pool.clone(), Arc::default())).await {
            Ok(changes) => self.take_up(changes),
            Err(error) => tracing::debug!(error = %ErrorChain(&error), "changes of the catalogue could not be loaded"),
        }
    }

    /// Publishes while the state is locked, so that an earlier state never replaces a later one.
    fn rebuild(&self, state: &State) {
        self.pages.send_replace(Arc::new(build(&state.settings, &state.changes, &self.keys)));
    }
}

impl EditedCatalogue for LiveShop {
    fn list(&self) -> Vec<CatalogueTemplate> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).settings.source.list()
    }

    fn find_picture(&self, id: u16) -> Option<TemplatePicture> {
        self.pages.borrow().find_picture(id)
    }

    fn check(&self, changes: &[TemplateChange]) -> Result<(), Vec<String>> {
        let source = Arc::clone(&self.state.lock().unwrap_or_else(PoisonError::into_inner).settings.source);
        let built = source.build_with(changes).map(drop);
        built.map_err(|problems| problems.into_iter().map(format_for_desk).collect())
    }

    fn take_up(&self, changes: Vec<TemplateChange>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut is_changed = false;
        for change in changes {
            // What was read before a later change was stored may arrive after it.
            match state.changes.iter_mut().find(|known| known.template == change.template) {
                Some(known) if known.revision >= change.revision => continue,
                Some(known) => *known = change,
                None => state.changes.push(change),
            }
            is_changed = true;
        }
        if is_changed {
            self.rebuild(&state);
            tracing::info!("the catalogue has changed");
        }
    }
}

fn build(settings: &ShopSettings, changes: &[TemplateChange], keys: &LiveApiKeys) -> Shop {
    if !settings.has_shop {
        return Shop::status_page();
    }
    let catalogue = build_catalogue(&settings.source, &settings.catalogue, changes);
    let shown = if settings.is_development { Arc::new(catalogue.with_simulated_payments()) } else { catalogue };
    let key = &keys.shown().publishable_key;
    Shop::load(&SiteConfig { url: "", key, site_url: &settings.site_url }, shown, settings.seller.clone())
}

/// Returns the catalogue of the files with the changes of the desk.
///
/// A change that no longer fits is left out, and logged.
pub(crate) fn build_catalogue(
    source: &CatalogueSource,
    of_file: &Arc<Catalogue>,
    changes: &[TemplateChange],
) -> Arc<Catalogue> {
    if changes.is_empty() {
        return Arc::clone(of_file);
    }
    let (catalogue, left_out) = source.build_fitting(changes, of_file);
    if !left_out.is_empty() {
        let templates = left_out.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
        tracing::error!(templates, "changes of the desk do not fit to catalogue.toml and have no effect");
    }
    Arc::new(catalogue)
}
