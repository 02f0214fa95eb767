//! `/scim/v2`: what the server says of itself. No resources are served.

use gotrue_rules::domain::error::Result;
use gotrue_rules::wire::scim::{EmptyList, ScimError, ServiceProviderConfig};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde::Serialize;

use crate::cx::Cx;
use crate::http::reply::Reply;

const SCIM_JSON: &str = "application/scim+json";

/// `GET /scim/v2/ServiceProviderConfig`.
pub async fn service_provider_config(cx: Cx) -> Result<Reply> {
    Ok(reply(&ServiceProviderConfig::at(&cx.app.policy.site.external_url)))
}

/// `GET /scim/v2/ResourceTypes` and `GET /scim/v2/Schemas`: there are none. Whoever wants to choose among them is told
/// that nobody can.
pub async fn nothing(cx: Cx) -> Result<Reply> {
    if cx.request.query("filter").is_some() {
        return Ok(refusal(StatusCode::FORBIDDEN, "Filtering is not supported on this endpoint"));
    }
    Ok(reply(&EmptyList::default()))
}

/// Every other path below `/scim/v2`.
pub fn not_found() -> Reply {
    refusal(StatusCode::NOT_FOUND, "Endpoint or resource does not exist")
}

fn refusal(status: StatusCode, detail: &'static str) -> Reply {
    reply(&ScimError::new(status.as_u16(), detail)).with_status(status)
}

fn reply(body: &impl Serialize) -> Reply {
    Reply::json(body).with_header(CONTENT_TYPE, SCIM_JSON)
}
