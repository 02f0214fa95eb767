//! Signing URLs.

use std::collections::HashSet;

use axum::body::Body;
use http::Response;
use serde_json::{Map, Value, json};

use super::transformation::check_options;
use super::user_metadata::read_metadata_header;
use super::write::{self, NewObject, announced_metadata};
use crate::caller::signed_url::{self, Scope as TokenScope};
use crate::database::rows::text as column;
use crate::database::{array, sql, text};
use crate::error::Error;
use crate::request::fields::Fields;
use crate::request::{Call, json_body};
use crate::target::Target;
use crate::{names, policies, response};

/// The most URLs of a request.
const MAXIMUM_PATHS: usize = 1000;

/// The lifetime in a body, in seconds.
fn read_lifetime(fields: &Fields) -> Result<i64, Error> {
    fields.integer("expiresIn", 1).map(Option::unwrap_or_default)
}

/// `POST /object/sign/:bucket/*`
pub(super) async fn sign(mut call: Call, target: &Target, body: Body) -> Result<Response<Body>, Error> {
    let fields = Fields::of_body(json_body::read(&call.parts.headers, body, false).await?)?;
    fields.require(&["expiresIn"])?;
    let lifetime = read_lifetime(&fields)?;
    let (transformation, format) = match fields.object("transform")? {
        Some(options) => (Some(check_options(&options)?), options.text("format")?),
        None => (None, None),
    };
    call.authenticate()?;
    let now = call.storage.now().timestamp();
    let images = call.storage.images();
    let options = transformation
        .filter(|_| call.storage.config().images.is_enabled)
        .map(|transformation| transformation.to_signed_text(images.limits()))
        .filter(|options| !options.is_empty());
    let mut claims = Map::new();
    if let Some(options) = &options {
        claims.insert("transformations".to_owned(), options.as_str().into());
        if let Some(format) = format.filter(|format| !format.is_empty()) {
            claims.insert("format".to_owned(), format.into());
        }
    }
    let path = target.path();
    // The lifetime is checked before the object is looked up.
    let token = signed_url::sign(&call.storage.keys(), TokenScope::Download, &path, claims, lifetime, now)?;
    names::check_object_name(&target.name)?;
    let statement = sql(
        "SELECT id::text FROM storage.objects WHERE bucket_id = $1 AND name = $2",
        [text(target.bucket.as_str()), text(target.name.as_str())],
    );
    let rows = call.storage.database().run(&call.scope(), statement).await?;
    if rows.is_empty() {
        return Err(Error::no_such_key(&target.name));
    }
    let route = if options.is_some() { "render/image" } else { "object" };
    Ok(response::ok(&json!({ "signedURL": format!("/{route}/sign/{path}?token={token}") })))
}

/// `POST /object/sign/:bucket`
pub(super) async fn sign_many(mut call: Call, bucket: &str, body: Body) -> Result<Response<Body>, Error> {
    let fields = Fields::of_body(json_body::read(&call.parts.headers, body, false).await?)?;
    fields.require(&["expiresIn", "paths"])?;
    let lifetime = read_lifetime(&fields)?;
    let paths = fields.texts("paths", 1, MAXIMUM_PATHS)?.unwrap_or_default();
    call.authenticate()?;
    let now = call.storage.now().timestamp();
    let keys = call.storage.keys();
    let sign = |name: &str| {
        let path = format!("{bucket}/{name}");
        let token = signed_url::sign(&keys, TokenScope::Download, &path, Map::new(), lifetime, now)?;
        Ok::<_, Error>(format!("/object/sign/{path}?token={token}"))
    };
    sign("")?;
    let names = paths.iter().map(String::as_str).filter(|name| !name.contains('\0'));
    let statement = sql(
        "SELECT name FROM storage.objects WHERE bucket_id = $1 AND name = ANY($2::text[])",
        [text(bucket), array(names)],
    );
    let rows = call.storage.database().run(&call.scope(), statement).await?;
    let found: HashSet<String> = rows.iter().filter_map(|row| column(row, 0)).collect();
    let signed = paths.iter().map(|path| {
        if found.contains(path) {
            Ok(json!({ "error": null, "path": path, "signedURL": sign(path)? }))
        } else {
            let error = "Either the object does not exist or you do not have access to it";
            Ok(json!({ "error": error, "path": path, "signedURL": null }))
        }
    });
    Ok(response::ok(&Value::Array(signed.collect::<Result<_, Error>>()?)))
}

/// `POST /object/upload/sign/:bucket/*`
pub(super) async fn sign_upload(mut call: Call, target: &Target, body: Body) -> Result<Response<Body>, Error> {
    json_body::check_absent(&call.parts.headers, body).await?;
    call.authenticate()?;
    names::check_object_name(&target.name)?;
    let owner = call.caller.owner.clone();
    let replaces = call.is_upsert();
    let object = NewObject {
        target: target.clone(),
        version: "1".to_owned(),
        owner: owner.clone(),
        metadata: announced_metadata(call.header("content-type"), call.content_length()),
        user_metadata: read_metadata_header(&call)?,
        replaces,
    };
    let scope = call.scope();
    let steps = [crate::database::Step::As(&scope), crate::database::Step::Run(object.test())];
    let results = call.storage.database().fly(&steps, crate::database::End::Rollback).await?;
    let tested = results.into_iter().try_for_each(|result| result.map(|_| ()));
    if let Err(error) = tested {
        let error = write::test_error(error, target);
        let needed = policies::of_upload(replaces);
        return Err(policies::explain(&call.storage, &call.service_scope(), &scope, needed, error).await);
    }
    let mut claims = Map::new();
    if let Some(owner) = owner {
        claims.insert("owner".to_owned(), owner.into());
    }
    claims.insert("upsert".to_owned(), replaces.into());
    let lifetime = i64::try_from(call.storage.config().signed_upload_lifetime.as_secs()).unwrap_or(i64::MAX);
    let now = call.storage.now().timestamp();
    let path = target.path();
    let token = signed_url::sign(&call.storage.keys(), TokenScope::Upload, &path, claims, lifetime, now)?;
    Ok(response::ok(&json!({ "url": format!("/object/upload/sign/{path}?token={token}"), "token": token })))
}
