//! The calls below `/catalogue`.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use http::Method;
use utoipa_axum::routes;

use super::change::read_values;
use super::{CatalogueEditor, Wanted, read_number};
use crate::document::Refusal;
use crate::http::error::DeskError;
use crate::schemas;
use crate::section::{OwnerCall, OwnerRoutes, OwnerUpload, Section, unknown_path};

type Editor = State<Arc<CatalogueEditor>>;

impl Section for CatalogueEditor {
    const NAME: &'static str = "catalogue";

    fn routes() -> OwnerRoutes<Self> {
        OwnerRoutes::new(unknown_path)
            .calls(routes!(list_templates, add_template))
            .calls(routes!(show_template, change_template))
            .calls(routes!(show_picture))
            .calls(routes!(restore_template))
            .other_methods(refuse_name)
            .calls(routes!(upload_picture))
            .calls(routes!(upload_product_file))
    }
}

/// Lists the templates.
#[utoipa::path(
    get, path = "/", tag = "catalogue",
    responses((status = 200, description = "The templates", body = Object), Refusal)
)]
async fn list_templates(State(editor): Editor, call: OwnerCall) -> Result<Response, DeskError> {
    editor.show_all(&call).await
}

/// Adds a template.
#[utoipa::path(
    post, path = "/", tag = "catalogue", request_body = schemas::NewTemplate,
    responses((status = 201, description = "The template", body = Object), Refusal)
)]
async fn add_template(State(editor): Editor, call: OwnerCall) -> Result<Response, DeskError> {
    editor.add(&call).await
}

/// Returns a template with its history.
#[utoipa::path(
    get, path = "/{id}", tag = "catalogue", params(("id" = u16, Path, description = "The id of the template")),
    responses((status = 200, description = "The template", body = Object), Refusal)
)]
async fn show_template(State(editor): Editor, Path(id): Path<String>, call: OwnerCall) -> Result<Response, DeskError> {
    editor.show(&call, parse_number(&id)?).await
}

/// Changes values of a template.
#[utoipa::path(
    patch, path = "/{id}", tag = "catalogue", params(("id" = u16, Path, description = "The id of the template")),
    request_body = schemas::ChangedTemplate,
    responses((status = 200, description = "The template", body = Object), Refusal)
)]
async fn change_template(
    State(editor): Editor,
    Path(id): Path<String>,
    call: OwnerCall,
) -> Result<Response, DeskError> {
    let given = read_values(&call.body)?;
    editor.store(&call, parse_number(&id)?, Wanted::Values(given)).await
}

/// Returns the picture of a template.
#[utoipa::path(
    get, path = "/{id}/picture", tag = "catalogue",
    params(("id" = u16, Path, description = "The id of the template")),
    responses((status = 200, description = "The picture", body = [u8], content_type = "image/*"), Refusal)
)]
async fn show_picture(State(editor): Editor, Path(id): Path<String>, _: OwnerCall) -> Result<Response, DeskError> {
    editor.show_picture(parse_number(&id)?)
}

/// Returns a template to an earlier revision.
#[utoipa::path(
    post, path = "/{id}/restore", tag = "catalogue",
    params(("id" = u16, Path, description = "The id of the template")), request_body = schemas::RestoredTemplate,
    responses((status = 200, description = "The template", body = Object), Refusal)
)]
async fn restore_template(
    State(editor): Editor,
    Path(id): Path<String>,
    call: OwnerCall,
) -> Result<Response, DeskError> {
    let to = read_number(&call, "to")?;
    editor.store(&call, parse_number(&id)?, Wanted::Revision(to)).await
}

/// Stores a picture, which a template then names.
#[utoipa::path(
    post, path = "/pictures", tag = "catalogue", request_body(content = [u8], content_type = "image/*"),
    responses((status = 201, description = "The id of the file", body = Object), Refusal)
)]
async fn upload_picture(State(editor): Editor, upload: OwnerUpload) -> Result<Response, DeskError> {
    editor.uploads.receive_picture(&upload.call, &*editor.catalogue, upload.content).await
}

/// Stores a file for buyers, which a template then names.
#[utoipa::path(
    post, path = "/product-files", tag = "catalogue", params(schemas::UploadParameters),
    request_body(content = [u8], content_type = "application/zip"),
    responses((status = 201, description = "The id of the file", body = Object), Refusal)
)]
async fn upload_product_file(State(editor): Editor, upload: OwnerUpload) -> Result<Response, DeskError> {
    editor.uploads.receive_product(&upload.call, upload.content).await
}

/// Answers other methods of the paths of uploads, whose names are no numbers of templates.
async fn refuse_name(method: Method, call: OwnerCall) -> Result<Response, DeskError> {
    match method {
        Method::GET => Err(unknown_template()),
        Method::PATCH => read_values(&call.body).and_then(|_| Err(unknown_template())),
        _ => Err(DeskError::not_found("The path")),
    }
}

/// Reads the number of a template.
fn parse_number(text: &str) -> Result<u16, DeskError> {
    text.parse().map_err(|_| unknown_template())
}

fn unknown_template() -> DeskError {
    DeskError::not_found("The template")
}
