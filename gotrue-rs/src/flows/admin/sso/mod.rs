//! Companies' identity providers as an administrator keeps them. Also while SAML is off.

pub mod create;
pub mod delete;
pub mod list;
pub mod read;
pub mod update;

use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::sso::draft::Described;
use gotrue_rules::domain::sso::metadata::IdentityProvider;
use gotrue_rules::wire::requests::AdminSsoProvider;

use crate::cx::Cx;
use crate::services::saml;

/// What the provider says of itself, in the body or at the address that the body names; none if it names neither.
async fn described(cx: &Cx, body: &AdminSsoProvider) -> Result<Option<Described>> {
    let text = match (body.metadata_xml.as_str(), body.metadata_url.as_str()) {
        ("", "") => return Ok(None),
        ("", address) => saml::metadata::fetch(cx, address).await?,
        (text, _) => text.to_owned(),
    };
    Ok(Some(IdentityProvider::read(&text)?.described(text)))
}
