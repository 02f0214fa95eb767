//! `POST /sso`: redirects to the SSO identity provider of a domain or id. Two statements.

use foundation::error::Result;
use gotrue_rules::domain::sso::SsoProvider;
use gotrue_rules::domain::sso::start::{SsoProviderSelector, validate_start};
use gotrue_rules::wire::requests::SsoRequest;
use gotrue_rules::wire::sso::SignOnUrlJson;
use http::StatusCode;
use http::header::LOCATION;
use platform::store::OrInternalError;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::services::{explanations, saml};
use crate::store::sso_providers;

/// Redirects the browser, or returns the URL if the client requests it.
pub async fn handle(cx: RequestContext) -> Result<Reply> {
    let request = SsoRequest::decode(&cx.read_body().await?)?;
    let provider = find_provider(&cx, SsoProviderSelector::from_request(&request)?).await?;
    let challenge = validate_start(&provider, &request)?;
    explanations::record_target(&cx, &request.redirect_to);
    let url = saml::request::create_request(&cx, &provider, &request.redirect_to, challenge.as_ref()).await?;
    if request.skip_http_redirect {
        return Ok(Reply::json(&SignOnUrlJson { url: &url }));
    }
    Ok(Reply::empty(StatusCode::SEE_OTHER).with_header(LOCATION, &url))
}

async fn find_provider(cx: &RequestContext, selector: SsoProviderSelector<'_>) -> Result<SsoProvider> {
    let db = &mut cx.db();
    let found = match selector {
        SsoProviderSelector::Id(id) => {
            sso_providers::find_by_id(db, id).await.or_internal_error("Unable to find SSO provider by ID")?
        }
        SsoProviderSelector::Domain(domain) => sso_providers::find_by_domain(db, domain)
            .await
            .or_internal_error("Unable to find SSO provider by domain")?,
    };
    found.ok_or_else(|| selector.not_found())
}
