//! `/catalogue`: what the shop offers, changed by its owners, with a history.

mod change;
mod history;
mod routes;
mod shop;
mod upload;
mod zip;

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use foundation::time::format_milliseconds;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use orders::store::has_buyers;
use platform::store::{self, Connection};
use serde_json::{Map, Value, json};
use uuid::Uuid;

pub use self::change::TemplateChange;
use self::change::{PICTURE, PRODUCT_FILE, empty_values, find_file, read_values, require_alternative_text, to_changes};
use self::history::{MAX_REVISIONS, describe_history};
pub use self::shop::{CatalogueTemplate, EditedCatalogue, FindSaleState, Sale, SaleState, TemplatePicture};
use self::upload::Uploads;
use crate::http::error::DeskError;
use crate::http::respond;
use crate::section::OwnerCall;
use crate::store::catalogue::{self as revisions, StoredChange};
use crate::store::files::{self, FileFacts, FileKind};

/// The templates that can be added at the desk: most of them hidden, since a shop shows sixty.
const MAX_ADDED: usize = 200;

/// Lists the changes in effect.
///
/// # Errors
/// The database returned an error or was unreachable.
pub async fn list_changes(db: &mut Connection) -> store::Result<Vec<TemplateChange>> {
    Ok(revisions::list(db).await?.iter().filter_map(TemplateChange::of).collect())
}

/// Returns the content of an uploaded picture.
///
/// # Errors
/// The database returned an error or was unreachable.
pub async fn load_picture(db: &mut Connection, id: Uuid) -> store::Result<Option<Bytes>> {
    Ok(files::read_picture(db, id).await?.map(Bytes::from))
}

/// Answers `/catalogue`.
pub struct CatalogueEditor {
    catalogue: Arc<dyn EditedCatalogue>,
    find_state: FindSaleState,
    /// The origin of the shop; empty if it is that of the desk.
    shop_origin: String,
    uploads: Uploads,
}

impl CatalogueEditor {
    /// Creates the section over a catalogue of the shop at `shop_origin`, which is empty if it is that of the desk.
    pub fn new(catalogue: Arc<dyn EditedCatalogue>, find_state: FindSaleState, shop_origin: String) -> Self {
        Self { catalogue, find_state, shop_origin, uploads: Uploads::default() }
    }

    async fn show_all(&self, call: &OwnerCall) -> Result<Response, DeskError> {
        let stored = revisions::list(&mut call.db()).await?;
        let find = |id: u16| stored.iter().find(|stored| stored.template == i32::from(id));
        let mut templates = self.catalogue.list();
        templates.extend(list_added(&templates, &stored));
        let templates: Vec<Value> =
            templates.iter().map(|template| self.format_template(template, find(template.id))).collect();
        Ok(respond::ok(&json!({ "templates": templates })))
    }

    async fn show(&self, call: &OwnerCall, id: u16) -> Result<Response, DeskError> {
        let mut db = call.db();
        let stored = revisions::list_of_template(&mut db, i32::from(id), i64::from(MAX_REVISIONS)).await?;
        let base = self.find(id, stored.first())?;
        let named = files::list_of_template(&mut db, i32::from(id)).await?;
        let mut template = self.format_template(&base, stored.first());
        template["history"] = describe_history(&base.values, &stored).into();
        template["files"] = named.iter().map(format_file).collect();
        Ok(respond::ok(&template))
    }

    fn show_picture(&self, id: u16) -> Result<Response, DeskError> {
        let picture = self.catalogue.find_picture(id);
        let TemplatePicture { media_type, content } = picture.ok_or_else(|| DeskError::not_found("The picture"))?;
        let mut response = Response::new(Body::from(content));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        Ok(response)
    }

    /// Adds a template, with the next number that none had; it is hidden unless the values say otherwise.
    async fn add(&self, call: &OwnerCall) -> Result<Response, DeskError> {
        let given = read_values(&call.body)?;
        let mut db = call.begin().await?;
        revisions::lock(&mut db).await?;
        let all = revisions::list(&mut db).await?;
        let of_files = self.catalogue.list();
        if list_added(&of_files, &all).len() >= MAX_ADDED {
            let text = format!("The desk has {MAX_ADDED} added templates, and takes no more.");
            return Err(refuse_values(vec![text]).hint("Change one that is hidden and not needed any more."));
        }
        let last = of_files.iter().map(|template| template.id).max().unwrap_or_default();
        let number = revisions::find_free_number(&mut db, i32::from(last) + 1).await?;
        let Some(id) = number.and_then(|number| u16::try_from(number).ok()) else {
            let refused = refuse_values(vec!["There is no number left for a template.".to_owned()]);
            return Err(refused.hint("New templates get numbers above those of catalogue.toml: give lower ones there."));
        };
        let base = CatalogueTemplate { id, is_added: true, values: empty_values() };
        let values = to_changes(&base.values, &Map::new(), given);
        let change = TemplateChange { template: id, revision: 1, values, product: None };
        if !change.is_complete() {
            let text = "A new template needs title, category, price, summary, description and features.";
            return Err(refuse_values(vec![text.to_owned()]));
        }
        let new = self.insert(call, db, (&base, &all), change).await?;
        Ok(respond::json(StatusCode::CREATED, &self.format_template(&base, Some(&new))))
    }

    /// Stores the next revision of a template, if the owner saw the present one.
    async fn store(&self, call: &OwnerCall, id: u16, wanted: Wanted) -> Result<Response, DeskError> {
        let seen = read_number(call, "revision")?;
        let mut db = call.begin().await?;
        // Two changes of different templates may fit alone and not together.
        revisions::lock(&mut db).await?;
        let all = revisions::list(&mut db).await?;
        let present = all.iter().find(|change| change.template == i32::from(id));
        let base = self.find(id, present)?;
        if present.map_or(0, |present| present.revision) != seen {
            return Err(refuse_outdated(present));
        }
        let before = present.and_then(TemplateChange::of).map(|present| present.values).unwrap_or_default();
        let values = match wanted {
            Wanted::Values(given) => to_changes(&base.values, &before, given),
            Wanted::Revision(0) => Map::new(),
            Wanted::Revision(to) => {
                let limit = i64::from(MAX_REVISIONS);
                let kept = revisions::list_of_template(&mut db, i32::from(id), limit).await?;
                let found = kept.iter().find(|change| change.revision == to).and_then(TemplateChange::of);
                found.ok_or_else(|| DeskError::not_found("The revision"))?.values
            }
        };
        if values == before {
            return Ok(respond::ok(&self.format_template(&base, present)));
        }
        let change = TemplateChange { template: id, revision: seen + 1, values, product: None };
        if base.is_added && !change.is_complete() {
            let text = "The template was added at the desk and needs all its values. Hide it if it should not be sold.";
            return Err(refuse_values(vec![text.to_owned()]));
        }
        let new = self.insert(call, db, (&base, &all), change).await?;
        Ok(respond::ok(&self.format_template(&base, Some(&new))))
    }

    /// Checks and stores a revision in the transaction, which holds the lock, and shows it.
    ///
    /// Beside it are the template in the files, and the present changes of all templates.
    async fn insert(
        &self,
        call: &OwnerCall,
        mut db: Connection,
        (base, all): (&CatalogueTemplate, &[StoredChange]),
        mut change: TemplateChange,
    ) -> Result<StoredChange, DeskError> {
        require_alternative_text(&change.values)?;
        find_upload(&mut db, &change.values, PICTURE, FileKind::Picture).await?;
        let product = find_upload(&mut db, &change.values, PRODUCT_FILE, FileKind::Product).await?;
        change.product = product.map(FileFacts::into_product);
        let id = change.template;
        let present = all.iter().find(|stored| stored.template == i32::from(id)).and_then(TemplateChange::of);
        self.require_file(&mut db, base, present.as_ref(), &change).await?;
        let new = StoredChange {
            template: i32::from(id),
            revision: change.revision,
            created_at: call.now(),
            author: call.owner.email.clone(),
            changes: Value::Object(change.values.clone()).to_string(),
            product: change.product.clone(),
        };
        let mut changes: Vec<TemplateChange> = all.iter().filter_map(TemplateChange::of).collect();
        changes.retain(|change| change.template != id);
        changes.push(change);
        self.catalogue.check(&changes).map_err(refuse_values)?;
        if !revisions::insert(&mut db, &new).await? {
            return Err(refuse_outdated(None));
        }
        revisions::delete_old(&mut db, new.template, new.revision - MAX_REVISIONS).await?;
        call.record_within(&mut db, "catalogue.change", &id.to_string()).await?;
        db.commit().await?;
        self.catalogue.take_up(changes, call.db()).await;
        Ok(new)
    }

    /// Requires a file for buyers where visitors can pay, and that earlier buyers keep theirs.
    ///
    /// What was so before the change stays possible: an owner can correct a title while a file is missing.
    ///
    /// # Errors
    /// 400, with what to do.
    async fn require_file(
        &self,
        db: &mut Connection,
        base: &CatalogueTemplate,
        before: Option<&TemplateChange>,
        after: &TemplateChange,
    ) -> Result<(), DeskError> {
        let (before, after) = (self.read_offer(base, before), self.read_offer(base, Some(after)));
        if after.is_payable && !after.has_file && (before.has_file || !before.is_payable) {
            let text = "Buyers of this template would pay and get no file.";
            return Err(refuse_values(vec![text.to_owned()])
                .hint("Upload the file for buyers, or hide the template, or remove its payment link."));
        }
        if before.has_file && !after.has_file && has_buyers(db, base.id).await? {
            let text = "Those who have bought this template would lose their file.";
            return Err(refuse_values(vec![text.to_owned()])
                .hint("Upload another file in its place. To sell the template no longer, hide it: its file stays."));
        }
        Ok(())
    }

    /// Returns what a template with these changes offers.
    fn read_offer(&self, base: &CatalogueTemplate, change: Option<&TemplateChange>) -> Offer {
        let changed = |key: &str| change.and_then(|change| change.values.get(key)).or_else(|| base.values.get(key));
        let link = changed("link").and_then(Value::as_str).unwrap_or_default();
        let sale = (self.find_state)(base.id, link);
        Offer {
            is_payable: sale.owes_file && changed("visible") == Some(&Value::Bool(true)),
            has_file: sale.has_folder_file || change.is_some_and(|change| change.product.is_some()),
        }
    }

    /// Returns a template with its values in the files; one that was added at the desk has none there.
    fn find(&self, id: u16, stored: Option<&StoredChange>) -> Result<CatalogueTemplate, DeskError> {
        let of_files = self.catalogue.list().into_iter().find(|template| template.id == id);
        of_files.or_else(|| stored.and_then(to_added)).ok_or_else(|| DeskError::not_found("The template"))
    }

    /// Formats a template: the values in effect, and which of them differ from the files.
    fn format_template(&self, base: &CatalogueTemplate, stored: Option<&StoredChange>) -> Value {
        let changes = stored.and_then(TemplateChange::of).map(|stored| stored.values).unwrap_or_default();
        let mut values = base.values.clone();
        values.extend(changes.clone());
        let names: Vec<&String> = base.values.keys().filter(|key| changes.contains_key(*key)).collect();
        let link = values.get("link").and_then(Value::as_str).unwrap_or_default();
        let Sale { state, file, .. } = (self.find_state)(base.id, link);
        json!({
            "id": base.id,
            "is_added": base.is_added,
            "revision": stored.map_or(0, |stored| stored.revision),
            "state": state.name(),
            "product": file.map(|file| json!({ "name": file.name, "size": file.size, "is_uploaded": file.is_uploaded })),
            "has_picture": self.catalogue.find_picture(base.id).is_some(),
            "page": format!("{}/template/{}", self.shop_origin, base.id),
            "values": values,
            "changed": names,
            "changed_at": stored.map(|stored| format_milliseconds(stored.created_at)),
            "changed_by": stored.map(|stored| stored.author.as_str()),
        })
    }
}

/// Lists the templates of revisions that are in no file.
fn list_added(of_files: &[CatalogueTemplate], stored: &[StoredChange]) -> Vec<CatalogueTemplate> {
    let added = stored.iter().filter_map(to_added);
    added.filter(|added| of_files.iter().all(|template| template.id != added.id)).collect()
}

/// Returns the template of a revision that needs none in the files.
fn to_added(stored: &StoredChange) -> Option<CatalogueTemplate> {
    let change = TemplateChange::of(stored).filter(TemplateChange::is_complete)?;
    Some(CatalogueTemplate { id: change.template, is_added: true, values: empty_values() })
}

/// Returns the uploaded file that a value names.
async fn find_upload(
    db: &mut Connection,
    values: &Map<String, Value>,
    key: &str,
    kind: FileKind,
) -> Result<Option<FileFacts>, DeskError> {
    let Some(id) = find_file(values, key) else { return Ok(None) };
    let found = files::find(db, id, kind).await?;
    let missing = || {
        let refused = DeskError::new(StatusCode::BAD_REQUEST, "catalogue_refused", "The uploaded file is not there.");
        refused.hint("It was uploaded more than a day ago and not saved: upload it again.")
    };
    found.map(Some).ok_or_else(missing)
}

fn format_file(file: &FileFacts) -> Value {
    json!({ "file": file.id, "name": file.name, "size": file.size })
}

/// What a template offers to visitors and buyers.
struct Offer {
    /// Whether visitors can pay for it, and the server then owes them a file.
    is_payable: bool,
    has_file: bool,
}

/// What the owner wants of a template.
enum Wanted {
    /// These values in place of the present ones.
    Values(Map<String, Value>),
    /// The values of an earlier revision; those of the files for 0.
    Revision(i32),
}

/// Reads the number of a revision.
fn read_number(call: &OwnerCall, name: &str) -> Result<i32, DeskError> {
    let number = call.body.get(name).and_then(Value::as_i64).and_then(|number| i32::try_from(number).ok());
    let number = number.filter(|number| *number >= 0);
    number.ok_or_else(|| DeskError::invalid(format!("{name} must be the number of a revision.")))
}

fn refuse_outdated(present: Option<&StoredChange>) -> DeskError {
    let message = match present {
        Some(present) => format!("The template was changed by {} since you opened it.", present.author),
        None => "The template was changed since you opened it.".to_owned(),
    };
    DeskError::new(StatusCode::CONFLICT, "catalogue_outdated", message)
        .hint("Load the template again, compare, and make your change once more.")
}

fn refuse_values(problems: Vec<String>) -> DeskError {
    let first = problems.into_iter().next().unwrap_or_else(|| "The values cannot be used.".to_owned());
    DeskError::new(StatusCode::BAD_REQUEST, "catalogue_refused", first)
}
