//! SCIM 2.0 (RFC 7643, RFC 7644) to the extent of GoTrue: the configuration document and empty lists.

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
    /// Builds the document for a server with this external URL.
    pub fn new(external_url: &str) -> Self {
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

/// An empty `ListResponse` (RFC 7644 §3.4.2).
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

/// An error response (RFC 7644 §3.12).
#[derive(Debug, Serialize)]
pub struct ScimError {
    schemas: [&'static str; 1],
    detail: &'static str,
    status: String,
}

impl ScimError {
    /// Creates an error with status and detail.
    pub fn new(status: u16, detail: &'static str) -> Self {
        Self { schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"], detail, status: status.to_string() }
    }
}
