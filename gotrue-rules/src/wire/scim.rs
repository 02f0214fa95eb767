//! SCIM 2.0 (RFC 7643, RFC 7644), as far as the reference has it: what the server can do, which is nothing yet.

use serde::Serialize;

/// `ServiceProviderConfig` (RFC 7643 §5).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceProviderConfig {
    schemas: [&'static str; 1],
    patch: Feature,
    bulk: Bulk,
    filter: Filter,
    change_password: Feature,
    sort: Feature,
    etag: Feature,
    authentication_schemes: [AuthenticationScheme; 1],
    meta: Meta,
}

#[derive(Debug, Default, Serialize)]
struct Feature {
    supported: bool,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Bulk {
    supported: bool,
    max_operations: u32,
    max_payload_size: u32,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Filter {
    supported: bool,
    max_results: u32,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct AuthenticationScheme {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'static str,
    description: &'static str,
    spec_uri: &'static str,
    primary: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    resource_type: &'static str,
    location: String,
}

impl ServiceProviderConfig {
    /// For a server that is seen at this address from outside.
    pub fn at(external_url: &str) -> Self {
        Self {
            schemas: ["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"],
            patch: Feature::default(),
            bulk: Bulk::default(),
            filter: Filter::default(),
            change_password: Feature::default(),
            sort: Feature::default(),
            etag: Feature::default(),
            authentication_schemes: [AuthenticationScheme {
                kind: "oauthbearertoken",
                name: "OAuth Bearer Token",
                description: "Authentication scheme using the OAuth Bearer Token Standard",
                spec_uri: "http://www.rfc-editor.org/info/rfc6750",
                primary: true,
            }],
            meta: Meta {
                resource_type: "ServiceProviderConfig",
                location: format!("{}/scim/v2/ServiceProviderConfig", external_url.trim_end_matches('/')),
            },
        }
    }
}

/// A list without resources (RFC 7644 §3.4.2).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EmptyList {
    schemas: [&'static str; 1],
    total_results: u32,
    start_index: u32,
    items_per_page: u32,
    #[serde(rename = "Resources")]
    resources: [(); 0],
}

impl Default for EmptyList {
    fn default() -> Self {
        Self {
            schemas: ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
            total_results: 0,
            start_index: 1,
            items_per_page: 0,
            resources: [],
        }
    }
}

/// A refusal (RFC 7644 §3.12).
#[derive(Debug, Serialize)]
pub struct ScimError {
    schemas: [&'static str; 1],
    detail: &'static str,
    status: String,
}

impl ScimError {
    /// With this status and text.
    pub fn new(status: u16, detail: &'static str) -> Self {
        Self { schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"], detail, status: status.to_string() }
    }
}
