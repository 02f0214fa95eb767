//! Bodies of `POST /admin/sso/providers`, `PUT /admin/sso/providers/{idp_id}` and `POST /sso`.

use std::collections::BTreeMap;

use foundation::error::{Error, ErrorCode, Result};
use serde_json::Value;
use uuid::Uuid;

use super::pkce::PkceParameters;
use crate::domain::sso::mapping::{AttributeMapping, AttributeSource};
use crate::wire::go_json::{self, Object};
use crate::wire::uuid::parse_uuid;

/// The body of a new or changed SSO provider; strings are empty if absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AdminSsoProvider {
    /// `type`: only `saml` is supported.
    pub kind: String,
    pub metadata_url: String,
    pub metadata_xml: String,
    /// `domains`; an update without them keeps the existing ones.
    pub domains: Option<Vec<String>>,
    pub attribute_mapping: AttributeMapping,
    pub name_id_format: String,
    pub resource_id: Option<String>,
    pub disabled: Option<bool>,
}

impl AdminSsoProvider {
    /// Parses the body; 400 `bad_json` if it is malformed.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let body = Object::parse(body)?;
        Ok(Self {
            kind: body.string("type")?,
            metadata_url: body.string("metadata_url")?,
            metadata_xml: body.string("metadata_xml")?,
            domains: body.opt_strings("domains")?,
            attribute_mapping: parse_mapping(&body)?,
            name_id_format: body.string("name_id_format")?,
            resource_id: body.opt_string("resource_id")?,
            disabled: body.opt_bool("disabled")?,
        })
    }
}

fn parse_mapping(body: &Object) -> Result<AttributeMapping, go_json::GoJsonError> {
    let Some(keys) = body.nested("attribute_mapping")?.opt_object("keys")? else {
        return Ok(AttributeMapping::default());
    };
    let attributes = keys.iter().map(|(claim, value)| Ok((claim.clone(), parse_attribute(value)?)));
    Ok(AttributeMapping { keys: Some(attributes.collect::<Result<BTreeMap<_, _>, _>>()?) })
}

fn parse_attribute(value: &Value) -> Result<AttributeSource, go_json::GoJsonError> {
    let value = Object::parse(value.to_string().as_bytes())?;
    Ok(AttributeSource {
        name: value.string("name")?,
        names: value.opt_strings("names")?.unwrap_or_default(),
        default: value.value("default").cloned(),
        array: value.bool("array")?,
    })
}

/// The body of `POST /sso`; strings are empty if absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SsoRequest {
    /// `provider_id`; the nil UUID counts as absent.
    pub provider_id: Option<Uuid>,
    pub domain: String,
    pub redirect_to: String,
    /// `skip_http_redirect`: the URL is returned in the body.
    pub skip_http_redirect: bool,
    /// `code_challenge` and `code_challenge_method`.
    pub pkce: PkceParameters,
}

impl SsoRequest {
    /// Parses the body; 400 `bad_json` if it is malformed, also for a provider id that is not a UUID.
    pub fn decode(body: &[u8]) -> Result<Self> {
        let body = Object::parse(body)?;
        let provider_id = body.opt_string("provider_id")?.map(|text| require_uuid(&text)).transpose()?;
        Ok(Self {
            provider_id: provider_id.filter(|id| !id.is_nil()),
            domain: body.string("domain")?,
            redirect_to: body.string("redirect_to")?,
            skip_http_redirect: body.bool("skip_http_redirect")?,
            pkce: PkceParameters::decode(&body)?,
        })
    }
}

fn require_uuid(text: &str) -> Result<Uuid> {
    parse_uuid(text).ok_or_else(|| {
        let length = text.len();
        let wrong = format!("uuid: incorrect UUID length {length} in string {text:?}");
        Error::new(ErrorCode::BadJson, format!("Could not parse request body as JSON: {wrong}"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn provider_members_are_parsed() {
        let body = json!({
            "type": "saml", "metadata_url": "https://idp.example.com", "domains": ["a", null], "resource_id": "",
            "attribute_mapping": {"keys": {"email": {"names": ["mail"], "default": 1, "array": true}, "name": null}},
        });
        let read = AdminSsoProvider::decode(body.to_string().as_bytes()).unwrap();
        assert_eq!((read.kind.as_str(), read.resource_id.as_deref(), read.disabled), ("saml", Some(""), None));
        assert_eq!(read.domains.unwrap(), ["a", ""]);
        let email = read.attribute_mapping.get("email").unwrap();
        assert_eq!((email.names.len(), email.default.as_ref(), email.array), (1, Some(&json!(1)), true));
        assert_eq!(read.attribute_mapping.get("name"), Some(&AttributeSource::default()));
    }

    #[test]
    fn absent_and_empty_lists_differ() {
        let read = |body: &str| AdminSsoProvider::decode(body.as_bytes()).unwrap();
        assert_eq!((read("{}").domains, read(r#"{"domains":[]}"#).domains), (None, Some(Vec::new())));
        assert_eq!(read(r#"{"attribute_mapping":{}}"#).attribute_mapping.keys, None);
        assert_eq!(read(r#"{"attribute_mapping":{"keys":{}}}"#).attribute_mapping.keys, Some(BTreeMap::new()));
    }

    #[test]
    fn members_of_wrong_type_are_rejected() {
        for body in [
            r#"{"domains":"a"}"#,
            r#"{"domains":[1]}"#,
            r#"{"attribute_mapping":[]}"#,
            r#"{"attribute_mapping":{"keys":[]}}"#,
            r#"{"attribute_mapping":{"keys":{"a":"mail"}}}"#,
            r#"{"attribute_mapping":{"keys":{"a":{"name":1}}}}"#,
            r#"{"disabled":"yes"}"#,
            "[]",
        ] {
            assert_eq!(AdminSsoProvider::decode(body.as_bytes()).unwrap_err().code().as_str(), "bad_json", "{body}");
        }
    }

    #[test]
    fn provider_id_must_be_uuid() {
        let id = Uuid::from_u128(7);
        let read = |body: Value| SsoRequest::decode(body.to_string().as_bytes());
        assert_eq!(read(json!({"provider_id": id})).unwrap().provider_id, Some(id));
        assert_eq!(read(json!({"provider_id": Uuid::nil()})).unwrap().provider_id, None);
        assert_eq!(read(json!({"provider_id": null})).unwrap().provider_id, None);
        for wrong in [json!("acme"), json!(""), json!(1)] {
            assert_eq!(read(json!({"provider_id": wrong})).unwrap_err().code().as_str(), "bad_json");
        }
    }
}
