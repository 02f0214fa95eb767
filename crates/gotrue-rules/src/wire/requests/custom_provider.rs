//! The body of `POST` and `PUT /admin/custom-providers`.

use serde_json::{Map, Value};

use crate::domain::error::Result;
use crate::domain::secret::Secret;
use crate::wire::go_json::Object;

/// The body of a new or changed custom provider; strings are empty if absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CustomProviderBody {
    /// `provider_type`; ignored in a change.
    pub provider_type: String,
    /// `identifier`; ignored in a change.
    pub identifier: String,
    /// `name`.
    pub name: String,
    /// `client_id`.
    pub client_id: String,
    /// `client_secret`.
    pub client_secret: Secret,
    /// `acceptable_client_ids`.
    pub acceptable_client_ids: Option<Vec<String>>,
    /// `scopes`.
    pub scopes: Option<Vec<String>>,
    /// `pkce_enabled`.
    pub pkce_enabled: Option<bool>,
    /// `attribute_mapping`.
    pub attribute_mapping: Option<Map<String, Value>>,
    /// `custom_claims_allowlist`.
    pub custom_claims_allowlist: Option<Vec<String>>,
    /// `authorization_params`.
    pub authorization_params: Option<Map<String, Value>>,
    /// `enabled`.
    pub enabled: Option<bool>,
    /// `email_optional`.
    pub email_optional: Option<bool>,
    /// `issuer`.
    pub issuer: String,
    /// `discovery_url`.
    pub discovery_url: Option<String>,
    /// `skip_nonce_check`.
    pub skip_nonce_check: Option<bool>,
    /// `authorization_url`.
    pub authorization_url: String,
    /// `token_url`.
    pub token_url: String,
    /// `userinfo_url`.
    pub userinfo_url: String,
    /// `jwks_uri`.
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
