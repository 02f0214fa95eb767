//! `/catalogue`: what the shop offers, changed by its owners, with a history.

mod change;
mod history;

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use orders::order::format_time;
use platform::store::{self, Connection};
use serde_json::{Map, Value, json};

pub use self::change::TemplateChange;
use self::change::{read_values, to_changes};
use self::history::{MAX_REVISIONS, describe_history};
use crate::http::error::DeskError;
use crate::http::respond;
use crate::section::{OwnerCall, Section};
use crate::store::catalogue::{self as revisions, StoredChange};

/// A template of the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogueTemplate {
    pub id: u16,
    /// The name of its category.
    pub category: String,
    /// The values that owners can change, by their keys in `catalogue.toml`.
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
    fn name(self) -> &'static str {
        match self {
            Self::Sells => "sells",
            Self::MadeToOrder => "made_to_order",
            Self::NoProductFile => "no_product_file",
            Self::PlaceholderLink => "placeholder_link",
        }
    }
}

/// Returns the state of a template with this payment link; the link is empty for none.
pub type FindSaleState = Arc<dyn Fn(u16, &str) -> SaleState + Send + Sync>;

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

    /// Shows stored changes. Later revisions that are shown already stay.
    fn take_up(&self, changes: Vec<TemplateChange>);
}

/// Lists the changes in effect.
///
/// # Errors
/// The database returned an error or was unreachable.
pub async fn list_changes(db: &mut Connection) -> store::Result<Vec<TemplateChange>> {
    Ok(revisions::list(db).await?.iter().filter_map(TemplateChange::of).collect())
}

/// Answers `/catalogue`.
pub struct CatalogueEditor {
    catalogue: Arc<dyn EditedCatalogue>,
    find_state: FindSaleState,
    /// The origin of the shop; empty if it is that of the desk.
    shop_origin: String,
}

impl CatalogueEditor {
    /// Creates the section over a catalogue of the shop at `shop_origin`, which is empty if it is that of the desk.
    pub fn new(catalogue: Arc<dyn EditedCatalogue>, find_state: FindSaleState, shop_origin: String) -> Self {
        Self { catalogue, find_state, shop_origin }
    }

    async fn handle(&self, call: OwnerCall) -> Result<Response, DeskError> {
        match call.route() {
            ("GET", segments) if segments.is_empty() => self.show_all(&call).await,
            ("GET", segments) if segments.len() == 1 => self.show(&call).await,
            ("GET", segments) if matches!(segments.as_slice(), [_, "picture"]) => self.show_picture(&call),
            ("PATCH", segments) if segments.len() == 1 => {
                let given = read_values(&call.body)?;
                self.store(&call, Wanted::Values(given)).await
            }
            ("POST", segments) if matches!(segments.as_slice(), [_, "restore"]) => {
                let to = read_number(&call, "to")?;
                self.store(&call, Wanted::Revision(to)).await
            }
            _ => Err(DeskError::not_found("The path")),
        }
    }

    async fn show_all(&self, call: &OwnerCall) -> Result<Response, DeskError> {
        let stored = revisions::list(&mut call.db()).await?;
        let find = |id: u16| stored.iter().find(|stored| stored.template == i32::from(id));
        let templates = self.catalogue.list();
        let templates: Vec<Value> =
            templates.iter().map(|template| self.format_template(template, find(template.id))).collect();
        Ok(respond::ok(&json!({ "templates": templates })))
    }

    async fn show(&self, call: &OwnerCall) -> Result<Response, DeskError> {
        let base = self.find(call)?;
        let stored = revisions::list_of_template(&mut call.db(), i32::from(base.id), i64::from(MAX_REVISIONS)).await?;
        let mut template = self.format_template(&base, stored.first());
        template["history"] = describe_history(&base.values, &stored).into();
        Ok(respond::ok(&template))
    }

    fn show_picture(&self, call: &OwnerCall) -> Result<Response, DeskError> {
        let picture = self.catalogue.find_picture(self.find(call)?.id);
        let TemplatePicture { media_type, content } = picture.ok_or_else(|| DeskError::not_found("The picture"))?;
        let mut response = Response::new(Body::from(content));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        Ok(response)
    }

    /// Stores the next revision of a template, if the owner saw the present one.
    async fn store(&self, call: &OwnerCall, wanted: Wanted) -> Result<Response, DeskError> {
        let base = self.find(call)?;
        let (id, template) = (base.id, i32::from(base.id));
        let seen = read_number(call, "revision")?;
        let mut db = call.begin().await?;
        // Two changes of different templates may fit alone and not together.
        revisions::lock(&mut db).await?;
        let all = revisions::list(&mut db).await?;
        let present = all.iter().find(|change| change.template == template);
        if present.map_or(0, |present| present.revision) != seen {
            return Err(refuse_outdated(present));
        }
        let before = present.and_then(TemplateChange::of).map(|present| present.values).unwrap_or_default();
        let values = match wanted {
            Wanted::Values(given) => to_changes(&base.values, &before, given),
            Wanted::Revision(0) => Map::new(),
            Wanted::Revision(to) => {
                let kept = revisions::list_of_template(&mut db, template, i64::from(MAX_REVISIONS)).await?;
                let found = kept.iter().find(|change| change.revision == to).and_then(TemplateChange::of);
                found.ok_or_else(|| DeskError::not_found("The revision"))?.values
            }
        };
        if values == before {
            return Ok(respond::ok(&self.format_template(&base, present)));
        }
        let mut changes: Vec<TemplateChange> = all.iter().filter_map(TemplateChange::of).collect();
        changes.retain(|change| change.template != id);
        changes.push(TemplateChange { template: id, revision: seen + 1, values: values.clone() });
        self.catalogue.check(&changes).map_err(refuse_values)?;
        let new = StoredChange {
            template,
            revision: seen + 1,
            created_at: call.now(),
            author: call.owner.email.clone(),
            changes: Value::Object(values).to_string(),
        };
        if !revisions::insert(&mut db, &new).await? {
            return Err(refuse_outdated(None));
        }
        revisions::delete_old(&mut db, template, new.revision - MAX_REVISIONS).await?;
        call.record_within(&mut db, "catalogue.change", &id.to_string()).await?;
        db.commit().await?;
        self.catalogue.take_up(changes);
        Ok(respond::ok(&self.format_template(&base, Some(&new))))
    }

    /// Returns the template of the path with its values in the files.
    fn find(&self, call: &OwnerCall) -> Result<CatalogueTemplate, DeskError> {
        let id = call.segments.first().and_then(|text| text.parse::<u16>().ok());
        let found = self.catalogue.list().into_iter().find(|template| Some(template.id) == id);
        found.ok_or_else(|| DeskError::not_found("The template"))
    }

    /// Formats a template: the values in effect, and which of them differ from the files.
    fn format_template(&self, base: &CatalogueTemplate, stored: Option<&StoredChange>) -> Value {
        let changes = stored.and_then(TemplateChange::of).map(|stored| stored.values).unwrap_or_default();
        let mut values = base.values.clone();
        values.extend(changes.clone());
        let names: Vec<&String> = base.values.keys().filter(|key| changes.contains_key(*key)).collect();
        let link = values.get("link").and_then(Value::as_str).unwrap_or_default();
        json!({
            "id": base.id,
            "category": base.category,
            "revision": stored.map_or(0, |stored| stored.revision),
            "state": (self.find_state)(base.id, link).name(),
            "has_picture": self.catalogue.find_picture(base.id).is_some(),
            "page": format!("{}/template/{}", self.shop_origin, base.id),
            "values": values,
            "changed": names,
            "changed_at": stored.map(|stored| format_time(stored.created_at)),
            "changed_by": stored.map(|stored| stored.author.as_str()),
        })
    }
}

impl Section for CatalogueEditor {
    fn answer(&self, call: OwnerCall) -> BoxFuture<'_, Result<Response, DeskError>> {
        self.handle(call).boxed()
    }
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
