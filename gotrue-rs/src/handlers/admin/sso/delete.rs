//! `DELETE /admin/sso/providers/{idp_id}`: deletes the provider; its users and their identities stay.

use std::sync::Arc;

use foundation::error::Result;
use gotrue_rules::domain::sso::SsoProvider;
use gotrue_rules::wire::sso::SsoProviderJson;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::store::sso_providers;

/// Deletes the provider and returns it.
pub async fn handle(cx: RequestContext, provider: Arc<SsoProvider>) -> Result<Reply> {
    sso_providers::delete(&mut cx.db(), provider.id).await?;
    Ok(Reply::json(&SsoProviderJson::from(&*provider)))
}
