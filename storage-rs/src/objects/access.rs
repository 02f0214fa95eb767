//! By whose right an object is read, and its row if that right suffices.

use serde_json::Value;

use crate::caller::Caller;
use crate::caller::signed_url::{self, Scope as TokenScope};
use crate::database::rows::{json as json_column, text as column};
use crate::database::{End, Step, sql, text};
use crate::error::Error;
use crate::names;
use crate::object_row::{Found, OBJECT};
use crate::public_objects::Moment;
use crate::request::Call;
use crate::target::Target;

/// How an object is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// By anybody, if the bucket is public; otherwise by a caller who may read it.
    Plain,
    /// By a caller.
    Authenticated,
    /// By anybody: the bucket has to be public.
    Public,
    /// By the token in the URL.
    Signed,
}

/// By whose right an object is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// That of the server: a token of its own names the object.
    Service,
    /// Anybody's: the bucket has to be public.
    Public,
    /// The caller's, or anybody's where the bucket is public.
    Caller,
}

/// Finds an object that may be read.
///
/// # Errors
/// 404: there is none, or it may not be read. 400: no object has such a name.
pub(crate) async fn locate(call: &Call, target: &Target, access: Access) -> Result<Found, Error> {
    if target.bucket.contains('\0') {
        return Err(Error::no_such_bucket(""));
    }
    names::check_bucket_name(&target.bucket)?;
    let name_check = names::check_object_name(&target.name);
    let name = if name_check.is_ok() { target.name.as_str() } else { "" };
    let values = || [text(target.bucket.as_str()), text(name)];
    // What anybody may read the caller may read too.
    let (public_objects, moment) = (call.storage.public_objects(), Moment::before(call.storage.database()));
    if access != Access::Service
        && let Some(found) = public_objects.find(target, moment)
    {
        return Ok(found);
    }
    let service = call.service_scope();
    let caller = call.scope();
    let is_visible = if access == Access::Service { "true" } else { "buckets.public" };
    let public = format!(
        "SELECT coalesce({is_visible}, false)::text, found.document, found.version, (found.document IS NOT NULL)::text \
         FROM storage.buckets LEFT JOIN LATERAL \
            (SELECT {OBJECT} AS document, version FROM storage.objects WHERE bucket_id = $1 AND name = $2 LIMIT 1) AS found \
            ON {is_visible} \
         WHERE buckets.id = $1"
    );
    let private =
        format!("SELECT {OBJECT} AS document, version FROM storage.objects WHERE bucket_id = $1 AND name = $2 LIMIT 1");
    let mut steps = vec![Step::As(&service), Step::Run(sql(&public, values()))];
    if access == Access::Caller && call.caller.is_authenticated {
        steps.extend([Step::As(&caller), Step::Run(sql(&private, values()))]);
    }
    let mut results = call.storage.database().fly(&steps, End::Rollback).await?.into_iter();
    let mut next = || results.next().unwrap_or_else(|| Ok(Vec::new()));
    let buckets = next()?;
    let bucket = buckets.first();
    let is_public = bucket.is_some_and(|row| column(row, 0).is_some_and(|text| text == "true"));
    let may_ask = is_public || (access == Access::Caller && call.caller.is_authenticated && bucket.is_some());
    if !may_ask {
        return Err(Error::no_such_bucket(&target.bucket));
    }
    name_check?;
    let rows = if is_public { buckets } else { next()? };
    let (document, version) = if is_public { (1, 2) } else { (0, 1) };
    let found = rows
        .first()
        .and_then(|row| Some(Found { document: json_column(row, document)?, version: column(row, version) }));
    let found = found.ok_or_else(|| Error::no_such_key(&target.name))?;
    if is_public && access != Access::Service {
        public_objects.keep(target, &found, moment);
    }
    Ok(found)
}

/// By whose right a request reads, and when its right ends.
pub(super) fn authorize(call: &mut Call, door: Door, target: &Target) -> Result<(Access, Option<i64>), Error> {
    match door {
        Door::Public => {
            call.caller = Caller::anonymous();
            Ok((Access::Public, None))
        }
        Door::Plain => {
            call.authenticate_if_valid();
            Ok((Access::Caller, None))
        }
        Door::Authenticated => {
            call.authenticate()?;
            Ok((Access::Caller, None))
        }
        Door::Signed => {
            let token = call.url_token()?;
            let now = call.storage.now().timestamp();
            let claims = signed_url::verify(&call.storage.keys(), &token, TokenScope::Download, &target.path(), now)?;
            Ok((Access::Service, claims.get("exp").and_then(Value::as_f64).map(seconds)))
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the conversion saturates")]
fn seconds(time: f64) -> i64 {
    time as i64
}
