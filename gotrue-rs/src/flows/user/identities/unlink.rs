//! `DELETE /user/identities/{identity_id}`: an identity is unlinked, unless it is the last one.

use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::linking::by_hand::may_manage;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::cx::{Cx, first_audience};
use crate::http::reply::Reply;
use crate::services::linking;

/// Unlinks the identity that the path names.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let caller = cx.caller()?;
    let named = Uuid::parse_str(cx.request.param("identity_id").unwrap_or_default());
    let identity = named.map_err(|_| Error::not_found("validation_failed", "identity_id must be an UUID"))?;
    if first_audience(&caller.claims).unwrap_or_default() != cx.audience() {
        return Err(Error::forbidden("unexpected_audience", "Token audience doesn't match request audience"));
    }
    if cx.app.policy.mfa.linking_needs_aal2 {
        may_manage(&caller.account, caller.session.as_ref())?;
    }
    linking::unlink(&cx, &caller.account, identity).await?;
    Ok(Reply::json(&Map::<String, Value>::new()))
}
