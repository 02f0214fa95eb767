//! Deleting objects: the row first, then the file. A file that stays behind after a crash has no row, and the sweeper finds it.

use axum::body::Body;
use http::Response;
use serde_json::Value;

use super::write::lock_rows;
use crate::backend::FileKey;
use crate::database::rows::{documents, text as column};
use crate::database::{End, Step, array, sql, text};
use crate::error::Error;
use crate::object_row::OBJECT;
use crate::request::fields::Fields;
use crate::request::{Call, complete, json_body};
use crate::target::Target;
use crate::{policies, response};

/// The objects that are deleted in one transaction.
const BATCH: usize = 500;
/// The most names in a request.
const MAXIMUM_NAMES: usize = 100_000;

/// `DELETE /object/:bucket/*`
pub(super) async fn remove(mut call: Call, target: Target, body: Body) -> Result<Response<Body>, Error> {
    json_body::check_absent(&call.parts.headers, body).await?;
    call.authenticate()?;
    remove_object(call, target).await?;
    Ok(response::message("Successfully deleted"))
}

/// Deletes an object by the right of the caller.
///
/// # Errors
/// 404: there is none. 403: the caller may not.
pub(crate) async fn remove_object(call: Call, target: Target) -> Result<(), Error> {
    complete(async move {
        let (service, caller) = (call.service_scope(), call.scope());
        let values = || [text(target.bucket.as_str()), text(target.name.as_str())];
        let search = sql("SELECT version FROM storage.objects WHERE bucket_id = $1 AND name = $2 FOR UPDATE", values());
        let deletion =
            sql("DELETE FROM storage.objects WHERE bucket_id = $1 AND name = $2 RETURNING version", values());
        let steps = [Step::As(&service), Step::Run(search), Step::As(&caller), Step::Run(deletion)];
        let mut results = call.storage.database().fly(&steps, End::Commit).await?.into_iter();
        let mut next = || results.next().unwrap_or_else(|| Ok(Vec::new()));
        if next()?.is_empty() {
            return Err(Error::no_such_key(&target.name));
        }
        let deleted = next()?;
        let Some(row) = deleted.first() else {
            let error = Error::access_denied("Access denied");
            return Err(policies::explain(&call.storage, &service, &caller, policies::REMOVAL, error).await);
        };
        let file = FileKey { bucket: target.bucket.clone(), name: target.name.clone(), version: column(row, 0) };
        call.storage.delete_files(&[file]).await;
        Ok(())
    })
    .await
}

/// `DELETE /object/:bucket`
pub(super) async fn remove_many(mut call: Call, bucket: String, body: Body) -> Result<Response<Body>, Error> {
    let fields = Fields::of_body(json_body::read(&call.parts.headers, body, false).await?)?;
    fields.require(&["prefixes"])?;
    let names = fields.texts("prefixes", 1, MAXIMUM_NAMES)?.unwrap_or_default();
    call.authenticate()?;
    let deleted = remove_objects(call, bucket, names).await?;
    Ok(response::ok(&Value::Array(deleted)))
}

/// Deletes objects by the right of the caller, and returns those that were deleted.
///
/// # Errors
/// The database failed.
pub(crate) async fn remove_objects(call: Call, bucket: String, names: Vec<String>) -> Result<Vec<Value>, Error> {
    complete(async move {
        let (service, caller) = (call.service_scope(), call.scope());
        let mut deleted = Vec::new();
        for names in names.chunks(BATCH) {
            let names: Vec<&str> = names.iter().map(String::as_str).filter(|name| !name.contains('\0')).collect();
            let lock = lock_rows(&bucket, names.iter().copied());
            let statement = sql(
                &format!(
                    "DELETE FROM storage.objects WHERE bucket_id = $1 AND name = ANY($2::text[]) \
                     RETURNING {OBJECT}, name, version"
                ),
                [text(bucket.as_str()), array(names)],
            );
            let steps = [Step::As(&service), Step::Run(lock), Step::As(&caller), Step::Run(statement)];
            let results = call.storage.database().fly(&steps, End::Commit).await?;
            let rows = results.into_iter().collect::<Result<Vec<_>, _>>()?.pop().unwrap_or_default();
            let file = |row| FileKey {
                bucket: bucket.clone(),
                name: column(row, 1).unwrap_or_default(),
                version: column(row, 2),
            };
            call.storage.delete_files(&rows.iter().map(file).collect::<Vec<_>>()).await;
            deleted.extend(documents(&rows)?);
        }
        Ok(deleted)
    })
    .await
}
