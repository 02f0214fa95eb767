//! `/admin/sso/providers`: SSO identity providers, also while SAML is disabled.

pub mod create;
pub mod delete;
pub mod list;
pub mod read;
pub mod update;

use foundation::error::Result;
use gotrue_rules::domain::sso::creation::EntityMetadata;
use gotrue_rules::domain::sso::metadata::IdentityProvider;
use gotrue_rules::wire::requests::AdminSsoProvider;

use crate::request_context::RequestContext;
use crate::services::saml;

/// Loads the metadata from the body or from the URL in the body; `None` if there is neither.
async fn load_metadata(cx: &RequestContext, body: &AdminSsoProvider) -> Result<Option<EntityMetadata>> {
    let text = match (body.metadata_xml.as_str(), body.metadata_url.as_str()) {
        ("", "") => return Ok(None),
        ("", address) => saml::metadata::fetch(cx, address).await?,
        (text, _) => text.to_owned(),
    };
    let described = IdentityProvider::parse(&text)?;
    if described.sign_on_url.is_none() {
        tracing::warn!(
            saml.entity_id = described.entity_id,
            "SAML metadata without a SingleSignOnService of the binding HTTP-Redirect: only sign-ins that start at the \
             identity provider are possible"
        );
    }
    Ok(Some(described.to_entity_metadata(text)))
}
