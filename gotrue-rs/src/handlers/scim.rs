//! `/scim/v2`: the SCIM discovery endpoints. No resources are served.

use foundation::error::Result;
use gotrue_rules::wire::scim::{EmptyList, ScimError, ServiceProviderConfig};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde::Serialize;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;

const SCIM_JSON: &str = "application/scim+json";

/// `GET /scim/v2/ServiceProviderConfig`.
pub async fn service_provider_config(cx: RequestContext) -> Result<Reply> {
    Ok(scim_reply(&ServiceProviderConfig::new(&cx.app.policy.site.external_url)))
}

/// `GET /scim/v2/ResourceTypes` and `GET /scim/v2/Schemas`: empty lists.
///
/// A filter is refused with 403 (RFC 7644 §4).
pub async fn empty_list(cx: RequestContext) -> Result<Reply> {
    if cx.request.query("filter").is_some() {
        return Ok(error_reply(StatusCode::FORBIDDEN, "Filtering is not supported on this endpoint"));
    }
    Ok(scim_reply(&EmptyList::default()))
}

/// The reply to every other path below `/scim/v2`.
pub fn not_found() -> Reply {
    error_reply(StatusCode::NOT_FOUND, "Endpoint or resource does not exist")
}

fn error_reply(status: StatusCode, detail: &'static str) -> Reply {
    scim_reply(&ScimError::new(status.as_u16(), detail)).with_status(status)
}

fn scim_reply(body: &impl Serialize) -> Reply {
    Reply::json(body).with_header(CONTENT_TYPE, SCIM_JSON)
}
