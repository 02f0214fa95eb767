//! `DELETE /user/identities/{identity_id}`: unlinks an identity, unless it is the last one.

use std::sync::Arc;

use foundation::error::{Error, ErrorCode, Result};
use gotrue_rules::domain::linking::manual::require_aal2_for_linking;
use gotrue_rules::wire::uuid::parse_uuid;
use serde_json::{Map, Value};

use crate::guards::malformed_path_id;
use crate::http::reply::Reply;
use crate::request_context::{Caller, RequestContext, first_audience};
use crate::services::linking;

/// Unlinks the identity named in the path.
pub async fn handle(cx: RequestContext, caller: Arc<Caller>) -> Result<Reply> {
    let named = parse_uuid(cx.request.path_param("identity_id").unwrap_or_default());
    let identity = named.ok_or_else(|| malformed_path_id("identity_id"))?;
    if first_audience(&caller.claims).unwrap_or_default() != cx.audience() {
        return Err(Error::new(ErrorCode::UnexpectedAudience, "Token audience doesn't match request audience"));
    }
    require_aal2_for_linking(&caller.user, caller.session.as_ref(), &cx.app.policy.mfa)?;
    linking::unlink(&cx, &caller.user, identity).await?;
    Ok(Reply::json(&Map::<String, Value>::new()))
}
