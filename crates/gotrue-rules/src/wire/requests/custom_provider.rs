//! The body of `POST` and `PUT /admin/custom-providers`.

use foundation::error::Result;
use foundation::secret::Secret;
use serde_json::{Map, Value};

use crate::wire::go_json::Object;

/// The body of a new or changed custom provider; strings are empty if absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CustomProviderBody {
    /// `provider_type`; ignored in a change.
    pub provider_type: String,
    /// `identifier`; ignored in a change.
    pub identifier: String,
    pub name: String,
    pub client_id: String,
    pub client_secret: Secret,
    pub acceptable_client_ids: Option<Vec<String>>,
    pub scopes: Option<Vec<String>>,
    pub pkce_enabled: Option<bool>,
    pub attribute_mapping: Option<Map<String, Value>>,
    pub custom_claims_allowlist: Option<Vec<String>>,
    pub authorization_params: Option<Map<String, Value>>,
    pub enabled: Option<bool>,
    pub email_optional: Option<bool>,
    pub issuer: String,
    pub discovery_url: Option<String>,
    pub skip_nonce_check: Option<bool>,
    pub authorization_url: String,
    pub token_url: String,
    pub userinfo_url: String,
    pub jwks_uri: Option<String>,
}

impl CustomProviderBody {
    /// Parses the body; 400 `bad_json` if it is malformed.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let body = Object::parse(body)?;
        Ok(Self {
            provider_type: body.string("provider_type")?,
            identifier: body.string("identifier")?,
            name: body.string("name")?,
            client_id: body.string("client_id")?,
            client_secret: Secret::new(body.string("client_secret")?),
            acceptable_client_ids: body.opt_strings("acceptable_client_ids")?,
            scopes: body.opt_strings("scopes")?,
            pkce_enabled: body.opt_bool("pkce_enabled")?,
            attribute_mapping: body.opt_object("attribute_mapping")?,
            custom_claims_allowlist: body.opt_strings("custom_claims_allowlist")?,
            authorization_params: body.opt_object("authorization_params")?,
            enabled: body.opt_bool("enabled")?,
            email_optional: body.opt_bool("email_optional")?,
            issuer: body.string("issuer")?,
            discovery_url: body.opt_string("discovery_url")?,
            skip_nonce_check: body.opt_bool("skip_nonce_check")?,
            authorization_url: body.string("authorization_url")?,
            token_url: body.string("token_url")?,
            userinfo_url: body.string("userinfo_url")?,
            jwks_uri: body.opt_string("jwks_uri")?,
        })
    }
}
