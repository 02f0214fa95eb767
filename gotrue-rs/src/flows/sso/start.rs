//! `POST /sso`: sends a person to the identity provider of their company. Two statements.

use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::sso::SsoProvider;
use gotrue_rules::domain::sso::start::{Wanted, begin};
use gotrue_rules::wire::requests::SingleSignOn;
use gotrue_rules::wire::sso::SignOnJson;
use http::StatusCode;
use http::header::LOCATION;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::saml;
use crate::store::{OrRefuse, sso_providers};

/// The browser is sent on, or the address is answered to a client that wants to send it there itself.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let request = SingleSignOn::decode(&cx.bytes().await?)?;
    let provider = find(&cx, Wanted::of(&request)?).await?;
    let challenge = begin(&provider, &request)?;
    let url = saml::request::open(&cx, &provider, &request.redirect_to, challenge.as_ref()).await?;
    if request.skip_http_redirect {
        return Ok(Reply::json(&SignOnJson { url: &url }));
    }
    Ok(Reply::empty(StatusCode::SEE_OTHER).with_header(LOCATION, &url))
}

async fn find(cx: &Cx, wanted: Wanted<'_>) -> Result<SsoProvider> {
    let db = &mut cx.db();
    let found = match wanted {
        Wanted::Id(id) => sso_providers::by_id(db, id).await.or_refuse("Unable to find SSO provider by ID")?,
        Wanted::Domain(domain) => {
            sso_providers::by_domain(db, domain).await.or_refuse("Unable to find SSO provider by domain")?
        }
    };
    found.ok_or_else(|| wanted.not_found())
}
