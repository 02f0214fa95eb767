//! The shop in effect: the catalogue of the files with the changes of the desk.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use desk::{
    CatalogueTemplate, DeskError, EditedCatalogue, TemplateChange, TemplatePicture, list_changes, load_picture,
};
use foundation::error_chain::ErrorChain;
use futures::FutureExt;
use futures::future::BoxFuture;
use orders::products::UploadedProduct;
use platform::store::{self, Connection, Pool};
use tokio::sync::watch;
use uuid::Uuid;

use crate::api_keys::LiveApiKeys;
use crate::assets::{ServedPaths, Shop, SiteConfig};
use crate::catalogue::{
    Catalogue, CatalogueSource, PictureFile, UploadedPictures, find_uploaded_picture, format_for_desk,
};
use crate::project::Project;
use crate::seller::Seller;
use crate::serve::uploaded_pictures::PictureEncoder;

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

/// What owners have changed at the desk.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeskChanges {
    /// The latest known revisions.
    pub revisions: Vec<TemplateChange>,
    /// The pictures that they name.
    pub pictures: UploadedPictures,
}

impl DeskChanges {
    /// Loads them from the database.
    ///
    /// # Errors
    /// The database returned an error or was unreachable.
    pub(crate) async fn load(db: &mut Connection) -> store::Result<Self> {
        let revisions = list_changes(db).await?;
        let pictures = load_pictures(db, &Self::default().list_missing_pictures(&revisions)).await?;
        Ok(Self { revisions, pictures })
    }

    /// Returns the file that owners have uploaded for buyers of a template.
    pub(super) fn find_product(&self, template: u16) -> Option<&UploadedProduct> {
        self.revisions.iter().find(|revision| revision.template == template)?.product.as_ref()
    }

    /// Returns the pictures of later revisions that are not loaded.
    fn list_missing_pictures(&self, revisions: &[TemplateChange]) -> Vec<Uuid> {
        let is_known = |change: &TemplateChange| {
            self.revisions.iter().any(|known| known.template == change.template && known.revision >= change.revision)
        };
        let named = revisions.iter().filter(|change| !is_known(change)).filter_map(find_uploaded_picture);
        named.filter(|id| !self.pictures.contains_key(id)).collect()
    }

    /// Adds later revisions, and forgets pictures that none names; returns whether something differs.
    fn take_up(&mut self, revisions: Vec<TemplateChange>, pictures: UploadedPictures) -> bool {
        self.pictures.extend(pictures);
        let mut is_changed = false;
        for change in revisions {
            // What was read before a later change was stored may arrive after it.
            match self.revisions.iter_mut().find(|known| known.template == change.template) {
                Some(known) if known.revision >= change.revision => continue,
                Some(known) => *known = change,
                None => self.revisions.push(change),
            }
            is_changed = true;
        }
        let named: Vec<Uuid> = self.revisions.iter().filter_map(find_uploaded_picture).collect();
        self.pictures.retain(|id, _| named.contains(id));
        is_changed
    }
}

/// Loads pictures; those that are not there or cannot be used are left out, and logged.
async fn load_pictures(db: &mut Connection, ids: &[Uuid]) -> store::Result<UploadedPictures> {
    let mut pictures = UploadedPictures::new();
    for id in ids {
        let found = load_picture(db, *id).await?.ok_or_else(|| "is missing".to_owned());
        match found.and_then(PictureFile::parse) {
            Ok(picture) => drop(pictures.insert(*id, picture)),
            Err(problem) => tracing::error!(picture = %id, problem, "a picture of the desk cannot be shown"),
        }
    }
    Ok(pictures)
}

struct State {
    settings: ShopSettings,
    changes: DeskChanges,
}

/// Builds the pages at `/`, again whenever their settings or the changes of the desk differ.
pub(super) struct LiveShop {
    keys: LiveApiKeys,
    served: ServedPaths,
    state: Mutex<State>,
    pages: watch::Sender<Arc<Shop>>,
    encoder: PictureEncoder,
}

impl LiveShop {
    /// Builds the pages: the shop if the project has one, otherwise the status of the server, which names what is `served`.
    pub(super) fn new(settings: ShopSettings, changes: DeskChanges, keys: LiveApiKeys, served: ServedPaths) -> Self {
        let shop = build(&settings, &changes, &keys, served);
        let state = Mutex::new(State { settings, changes });
        Self { keys, served, state, pages: watch::Sender::new(Arc::new(shop)), encoder: PictureEncoder::default() }
    }

    /// Returns the file that owners have uploaded for buyers of a template, whether it is visible or not.
    pub(super) fn find_product(&self, template: u16) -> Option<UploadedProduct> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).changes.find_product(template).cloned()
    }

    /// Returns what owners have changed, as it is known now.
    pub(super) fn changes(&self) -> DeskChanges {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).changes.clone()
    }

    /// Returns the files' catalogue, which is read and checked outside the lock.
    fn source(&self) -> Arc<CatalogueSource> {
        Arc::clone(&self.state.lock().unwrap_or_else(PoisonError::into_inner).settings.source)
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
        let mut db = Connection::pooled(pool.clone(), Arc::default());
        let loaded = match list_changes(&mut db).await {
            Ok(changes) => self.load_and_take_up(changes, &mut db).await,
            Err(error) => Err(error),
        };
        if let Err(error) = loaded {
            tracing::debug!(error = %ErrorChain(&error), "changes of the catalogue could not be loaded");
        }
    }

    /// Loads the pictures that are new, outside the lock, and shows the changes.
    async fn load_and_take_up(&self, changes: Vec<TemplateChange>, db: &mut Connection) -> store::Result<()> {
        let missing = {
            let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.changes.list_missing_pictures(&changes)
        };
        let pictures = load_pictures(db, &missing).await?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.changes.take_up(changes, pictures) {
            self.rebuild(&state);
            tracing::info!("the catalogue has changed");
        }
        Ok(())
    }

    /// Publishes while the state is locked, so that an earlier state never replaces a later one.
    fn rebuild(&self, state: &State) {
        self.pages.send_replace(Arc::new(build(&state.settings, &state.changes, &self.keys, self.served)));
    }
}

impl EditedCatalogue for LiveShop {
    fn list(&self) -> Vec<CatalogueTemplate> {
        self.source().list()
    }

    fn find_picture(&self, id: u16) -> Option<TemplatePicture> {
        let uploaded = {
            let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let change = state.changes.revisions.iter().find(|revision| revision.template == id);
            let picture = change.and_then(find_uploaded_picture);
            picture.and_then(|picture| state.changes.pictures.get(&picture)).map(PictureFile::to_template_picture)
        };
        uploaded.or_else(|| self.pages.borrow().find_picture(id))
    }

    fn encode_picture(&self, content: Bytes) -> BoxFuture<'_, Result<Bytes, DeskError>> {
        self.encoder.encode(content).boxed()
    }

    fn check(&self, changes: &[TemplateChange]) -> Result<(), Vec<String>> {
        // That uploaded pictures are there is checked where the revision is stored.
        let built = self.source().build_with(changes, &UploadedPictures::new()).map(drop);
        built.map_err(|problems| problems.into_iter().map(format_for_desk).collect())
    }

    fn take_up(&self, changes: Vec<TemplateChange>, mut db: Connection) -> BoxFuture<'_, ()> {
        async move {
            if let Err(error) = self.load_and_take_up(changes, &mut db).await {
                tracing::warn!(error = %ErrorChain(&error), "a stored change of the catalogue is shown a little later");
            }
        }
        .boxed()
    }
}

fn build(settings: &ShopSettings, changes: &DeskChanges, keys: &LiveApiKeys, served: ServedPaths) -> Shop {
    if !settings.has_shop {
        return Shop::status_page(served);
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
    changes: &DeskChanges,
) -> Arc<Catalogue> {
    let DeskChanges { revisions, pictures } = changes;
    if revisions.is_empty() {
        return Arc::clone(of_file);
    }
    let (catalogue, left_out) = source.build_fitting(revisions, pictures, of_file);
    if !left_out.is_empty() {
        let templates = left_out.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
        tracing::error!(templates, "changes of the desk do not fit to catalogue.toml and have no effect");
    }
    Arc::new(catalogue)
}
