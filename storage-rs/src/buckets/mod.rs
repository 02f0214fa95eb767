//! Buckets: create, list, get, update, empty, delete.

mod limits;

use axum::body::Body;
use http::{Method, Response};
use postgrest_rs::sql::Value as SqlValue;
use serde_json::{Value, json};

use self::limits::LimitChange;

use crate::backend::FileKey;
use crate::database::rows::{TIME, documents, text as column};
use crate::database::{End, Step, array, escape_pattern, nullable, sql, text};
use crate::error::{Code, Error};
use crate::request::fields::Fields;
use crate::request::{Call, MalformedPath, decode_path, json_body};
use crate::{mime, names, policies, response};

/// The objects that are deleted in one transaction.
const BATCH: usize = 500;

/// A route of buckets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// `GET /bucket`
    List,
    /// `POST /bucket`
    Create,
    /// `GET /bucket/:id`
    Get(String),
    /// `PUT /bucket/:id`
    Update(String),
    /// `POST /bucket/:id/empty`
    Empty(String),
    /// `DELETE /bucket/:id`
    Delete(String),
}

impl Route {
    /// The route of a path behind `/bucket`; `Err` when an id cannot be decoded.
    pub fn find(method: &Method, segments: &[&str]) -> Option<Result<Self, MalformedPath>> {
        let is_read = matches!(*method, Method::GET | Method::HEAD);
        let with = |id: &str, make: fn(String) -> Self| decode_path(id).map(make).ok_or(MalformedPath);
        match segments {
            [] | [""] if is_read => Some(Ok(Self::List)),
            [] | [""] if method == Method::POST => Some(Ok(Self::Create)),
            [""] => None,
            [id] if is_read => Some(with(id, Self::Get)),
            [id] if method == Method::PUT => Some(with(id, Self::Update)),
            [id] if method == Method::DELETE => Some(with(id, Self::Delete)),
            [id, "empty"] if method == Method::POST => Some(with(id, Self::Empty)),
            _ => None,
        }
    }

    fn operation(&self) -> &'static str {
        match self {
            Self::List => "storage.bucket.list",
            Self::Create => "storage.bucket.create",
            Self::Get(_) => "storage.bucket.get",
            Self::Update(_) => "storage.bucket.update",
            Self::Empty(_) => "storage.bucket.empty",
            Self::Delete(_) => "storage.bucket.delete",
        }
    }
}

/// Answers a request about buckets.
///
/// # Errors
/// The request is not valid, the caller may not do it, or the database failed.
pub async fn answer(mut call: Call, route: Route, body: Body) -> Result<Response<Body>, Error> {
    call.operation = route.operation();
    match route {
        Route::List => list(call).await,
        Route::Create => create(call, body).await,
        Route::Get(id) => get(call, &id).await,
        Route::Update(id) => update(call, &id, body).await,
        Route::Empty(id) => {
            json_body::read(&call.parts.headers, body, true).await?;
            empty(call, id).await
        }
        Route::Delete(id) => {
            json_body::read(&call.parts.headers, body, true).await?;
            delete(call, id).await
        }
    }
}

/// A bucket as a JSON document.
fn document(with_type: bool) -> String {
    let kind = if with_type { "'type', type, " } else { "" };
    format!(
        "json_build_object('id', id, 'name', name, 'owner', coalesce(owner::text, ''), \
         'public', coalesce(public, false), {kind}'file_size_limit', file_size_limit, \
         'allowed_mime_types', allowed_mime_types, \
         'created_at', coalesce(to_char(created_at AT TIME ZONE 'UTC', '{TIME}'), ''), \
         'updated_at', coalesce(to_char(updated_at AT TIME ZONE 'UTC', '{TIME}'), ''))::text"
    )
}

async fn list(mut call: Call) -> Result<Response<Body>, Error> {
    let fields = Fields::of_query(&call.query);
    let limit = fields.integer("limit", 1)?;
    let offset = fields.integer("offset", 0)?;
    let column = fields.choice("sortColumn", &["id", "name", "created_at", "updated_at"])?;
    let direction = fields.choice("sortOrder", &["asc", "desc"])?;
    let search = fields.text("search")?.filter(|search| !search.is_empty());
    call.authenticate()?;
    let with_type = !limits::is_client_without_bucket_types(&call);
    let order = match column {
        // Both are among the few names above.
        Some(column) => format!("ORDER BY {column} {}", direction.as_deref().unwrap_or("asc")),
        None => String::new(),
    };
    let statement = format!(
        "SELECT {} FROM storage.buckets WHERE $1::text IS NULL OR name ILIKE $1 {order} LIMIT $2::bigint OFFSET $3::bigint",
        document(with_type)
    );
    let pattern = search.map(|search| format!("%{}%", escape_pattern(&search)));
    let values = [
        nullable(pattern),
        nullable(limit.map(|limit| limit.to_string())),
        nullable(offset.map(|offset| offset.to_string())),
    ];
    let rows = call.storage.database().run(&call.scope(), sql(&statement, values)).await?;
    Ok(response::ok(&Value::Array(documents(&rows)?)))
}

async fn get(mut call: Call, id: &str) -> Result<Response<Body>, Error> {
    call.authenticate()?;
    let statement = format!("SELECT {} FROM storage.buckets WHERE id = $1", document(false));
    let rows = call.storage.database().run(&call.scope(), sql(&statement, [text(id)])).await?;
    let bucket = documents(&rows)?.into_iter().next().ok_or_else(|| Error::no_such_bucket(id))?;
    Ok(response::ok(&bucket))
}

/// The properties of a bucket in a request.
struct BucketChange {
    public: Option<bool>,
    size: LimitChange<i64>,
    types: LimitChange<Vec<String>>,
}

impl BucketChange {
    fn read(fields: &Fields) -> Result<Self, Error> {
        let public = fields.truth("public")?;
        let size = limits::read_size(fields)?;
        let types = if fields.is_null("allowed_mime_types") {
            LimitChange::Lift
        } else {
            let types = fields.texts("allowed_mime_types", 0, usize::MAX)?;
            types.map_or(LimitChange::Keep, |types| {
                LimitChange::Set(types.into_iter().filter(|text| !text.is_empty()).collect())
            })
        };
        Ok(Self { public, size, types })
    }

    /// Checks the values, after the caller is known.
    fn check(&self, maximum: u64) -> Result<(), Error> {
        if self.size.value().is_some_and(|size| u64::try_from(*size).is_ok_and(|size| size > maximum)) {
            return Err(Error::too_large());
        }
        self.types.value().map_or(Ok(()), |types| mime::check_allowed(types))
    }

    fn size_value(&self) -> SqlValue {
        nullable(self.size.value().map(ToString::to_string))
    }

    fn types_value(&self) -> SqlValue {
        self.types.value().map_or(SqlValue::Null, |types| array(types.iter().map(String::as_str)))
    }
}

async fn create(mut call: Call, body: Body) -> Result<Response<Body>, Error> {
    let fields = Fields::of_body(json_body::read(&call.parts.headers, body, false).await?)?;
    fields.require(&["name"])?;
    let name = fields.text("name")?.unwrap_or_default();
    let id = fields.text("id")?.filter(|id| !id.is_empty()).unwrap_or_else(|| name.clone());
    let limits = BucketChange::read(&fields)?;
    let kind = fields.choice("type", &["STANDARD", "ANALYTICS"])?;
    call.authenticate()?;
    names::check_new_bucket_name(&name)?;
    if kind.as_deref() == Some("ANALYTICS") {
        return Err(Error::feature_disabled("Iceberg buckets are not enabled for this tenant"));
    }
    limits.check(call.storage.config().file_size_limit)?;
    insert(&call, &id, &name, &limits).await?;
    Ok(response::ok(&json!({ "name": name })))
}

/// Creates a bucket by the right of the caller, who owns it.
///
/// # Errors
/// 409: it exists. 403: the caller may not.
async fn insert(call: &Call, id: &str, name: &str, limits: &BucketChange) -> Result<(), Error> {
    let owner = call.caller.owner.clone();
    let statement = sql(
        "INSERT INTO storage.buckets (id, name, owner, owner_id, public, file_size_limit, allowed_mime_types, type) \
         VALUES ($1, $2, $3::uuid, $4, $5::boolean, $6::bigint, $7::text[], 'STANDARD')",
        [
            text(id),
            text(name),
            nullable(owner.clone().filter(|owner| names::is_owner_uuid(owner))),
            nullable(owner),
            text(limits.public.unwrap_or_default().to_string()),
            limits.size_value(),
            limits.types_value(),
        ],
    );
    let scope = call.scope();
    match call.storage.database().run(&scope, statement).await {
        Ok(_) => Ok(()),
        Err(error) if error.code == Code::ResourceAlreadyExists => Err(Error::bucket_exists(id)),
        Err(error) => {
            let (service, needed) = (call.service_scope(), policies::BUCKET_CREATION);
            Err(policies::explain(&call.storage, &service, &scope, needed, error).await)
        }
    }
}

/// Creates a bucket without limits, whose name is its id.
///
/// # Errors
/// As for other buckets.
pub(crate) async fn create_plain(call: &Call, id: &str, is_public: bool) -> Result<(), Error> {
    names::check_new_bucket_name(id)?;
    insert(call, id, id, &BucketChange { public: Some(is_public), size: LimitChange::Keep, types: LimitChange::Keep })
        .await
}

async fn update(mut call: Call, id: &str, body: Body) -> Result<Response<Body>, Error> {
    let fields = Fields::of_body(json_body::read(&call.parts.headers, body, false).await?)?;
    let limits = BucketChange::read(&fields)?;
    if !["public", "file_size_limit", "allowed_mime_types"].iter().any(|name| fields.has(name)) {
        return Err(Error::validation(
            "body must have required property 'public', body must have required property 'file_size_limit', \
             body must have required property 'allowed_mime_types', body must match a schema in anyOf",
        ));
    }
    call.authenticate()?;
    names::check_bucket_name(id)?;
    limits.check(call.storage.config().file_size_limit)?;
    let statement = sql(
        "UPDATE storage.buckets SET \
         public = CASE WHEN $2::boolean THEN $3::boolean ELSE public END, \
         file_size_limit = CASE WHEN $4::boolean THEN $5::bigint ELSE file_size_limit END, \
         allowed_mime_types = CASE WHEN $6::boolean THEN $7::text[] ELSE allowed_mime_types END \
         WHERE id = $1 RETURNING id",
        [
            text(id),
            text(limits.public.is_some().to_string()),
            nullable(limits.public.map(|public| public.to_string())),
            text(limits.size.is_change().to_string()),
            limits.size_value(),
            text(limits.types.is_change().to_string()),
            limits.types_value(),
        ],
    );
    let rows = call.storage.database().run(&call.scope(), statement).await?;
    if rows.is_empty() { Err(Error::no_such_bucket(id)) } else { Ok(response::message("Successfully updated")) }
}

async fn delete(mut call: Call, id: String) -> Result<Response<Body>, Error> {
    call.authenticate()?;
    remove(&call, &id).await?;
    Ok(response::message("Successfully deleted"))
}

/// Deletes an empty bucket by the right of the caller.
///
/// # Errors
/// 404: there is none, or the caller may not. 409: it has objects.
pub(crate) async fn remove(call: &Call, id: &str) -> Result<(), Error> {
    let (service, caller) = (call.service_scope(), call.scope());
    // The lock keeps new objects out: their foreign key waits for it.
    let lock = sql("SELECT id FROM storage.buckets WHERE id = $1 FOR UPDATE", [text(id)]);
    let count = sql("SELECT 1 FROM storage.objects WHERE bucket_id = $1 LIMIT 1", [text(id)]);
    let deletion = sql(
        "DELETE FROM storage.buckets WHERE id = $1 \
         AND NOT EXISTS (SELECT FROM storage.objects WHERE bucket_id = $1) RETURNING id",
        [text(id)],
    );
    let steps = [Step::As(&service), Step::Run(lock), Step::Run(count), Step::As(&caller), Step::Run(deletion)];
    let mut results = call.storage.database().fly(&steps, End::Commit).await?.into_iter();
    let mut next = || results.next().unwrap_or_else(|| Ok(Vec::new()));
    if next()?.is_empty() {
        return Err(Error::no_such_bucket(id));
    }
    if !next()?.is_empty() {
        return Err(Error::bucket_not_empty(id));
    }
    if next()?.is_empty() {
        return Err(Error::no_such_bucket(id));
    }
    Ok(())
}

async fn empty(mut call: Call, id: String) -> Result<Response<Body>, Error> {
    call.authenticate()?;
    if call.caller.role != call.storage.config().service_role {
        return Err(Error::access_denied("Access denied: Invalid role").with_own_status());
    }
    let scope = call.service_scope();
    let maximum = call.storage.config().empty_bucket_max;
    let bucket = sql("SELECT id FROM storage.buckets WHERE id = $1", [text(id.as_str())]);
    let count = sql(
        "SELECT (SELECT count(*) FROM (SELECT FROM storage.objects WHERE bucket_id = $1 LIMIT $2::bigint) AS found)::text, \
         clock_timestamp()::text",
        [text(id.as_str()), text((maximum + 1).to_string())],
    );
    let results =
        call.storage.database().fly(&[Step::As(&scope), Step::Run(bucket), Step::Run(count)], End::Commit).await?;
    let mut results = results.into_iter();
    let mut next = || results.next().unwrap_or_else(|| Ok(Vec::new()));
    if next()?.is_empty() {
        return Err(Error::no_such_bucket(&id));
    }
    let counted = next()?;
    let found = counted.first().and_then(|row| column(row, 0)).and_then(|count| count.parse::<i64>().ok()).unwrap_or(0);
    if found > maximum {
        let message = "Unable to empty the bucket because it contains too many objects";
        return Err(Error::new(Code::InvalidRequest, 409, message).about(&id));
    }
    let before = counted.first().and_then(|row| column(row, 1)).unwrap_or_default();
    // It goes on when the client is gone, and is over before the answer when it is quick.
    let work = tokio::spawn(async move {
        if let Err(error) = delete_objects_before(&call, &id, &before).await {
            tracing::error!(cause = error.cause, "a bucket was not emptied");
        }
    });
    let _ = tokio::time::timeout(std::time::Duration::from_secs(10), work).await;
    Ok(response::message("Empty bucket has been queued. Completion may take up to an hour."))
}

/// Deletes the objects that a bucket had at this time.
async fn delete_objects_before(call: &Call, id: &str, before: &str) -> Result<(), Error> {
    let scope = call.service_scope();
    loop {
        let statement = sql(
            "WITH chosen AS (SELECT id FROM storage.objects \
                WHERE bucket_id = $1 AND created_at <= $2::timestamptz LIMIT $3::bigint FOR UPDATE SKIP LOCKED) \
             DELETE FROM storage.objects USING chosen WHERE objects.id = chosen.id \
             RETURNING objects.name, objects.version",
            [text(id), text(before), text(BATCH.to_string())],
        );
        let rows = call.storage.database().run(&scope, statement).await?;
        let keys: Vec<FileKey> = rows
            .iter()
            .map(|row| FileKey {
                bucket: id.to_owned(),
                name: column(row, 0).unwrap_or_default(),
                version: column(row, 1),
            })
            .collect();
        call.storage.delete_files(&keys).await;
        if keys.len() < BATCH {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_found() {
        let find = |method: Method, segments: &[&str]| Route::find(&method, segments);
        assert_eq!(find(Method::GET, &[]), Some(Ok(Route::List)));
        assert_eq!(find(Method::POST, &[""]), Some(Ok(Route::Create)));
        assert_eq!(find(Method::GET, &["a%20b"]), Some(Ok(Route::Get("a b".to_owned()))));
        assert_eq!(find(Method::POST, &["a", "empty"]), Some(Ok(Route::Empty("a".to_owned()))));
        assert_eq!(find(Method::GET, &["%zz"]), Some(Err(MalformedPath)));
        assert_eq!(find(Method::PATCH, &["a"]), None);
        assert_eq!(find(Method::DELETE, &[]), None);
    }
}
