//! `DELETE /admin/sso/providers/{idp_id}`: people who came through it stay, and so do their identities.

use gotrue_rules::domain::error::Result;
use gotrue_rules::wire::sso::SsoProviderJson;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::store::sso_providers;

/// The provider as it was.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let provider = cx.sso_provider()?;
    sso_providers::delete(&mut cx.db(), provider.id).await?;
    Ok(Reply::json(&SsoProviderJson::from(provider)))
}
