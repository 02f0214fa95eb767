//! What a request says about its sender: client address, credentials, request id, origin, purpose.
//! It is resolved once per request.
//!
//! Each of these has one implementation, here. Where APIs differ, the difference is a value: [`BearerWhitespace`],
//! [`RequestIdSource`] and the policies of [`cors`].

pub mod cors;
pub mod forwarded;

mod api_keys;
mod authorization;
mod client_address;
mod connection_headers;
mod document;
mod fetch_site;
mod pace;
mod prefetch;
mod program;
mod request_id;
mod same_origin;
mod target;
mod whole_body;

pub use self::api_keys::{ApiKeyRing, ApiKeyRole};
pub use self::authorization::{APIKEY, BearerWhitespace, HeaderText, bearer_value, parse_bearer, single_header};
pub use self::client_address::{ClientAddress, TrustedProxies};
pub use self::connection_headers::remove_connection_headers;
pub use self::document::{is_call_of_area, is_sent_by_foreign_content};
pub use self::fetch_site::FetchSite;
pub use self::pace::{Pace, PacedBody, UPLOAD_PACE};
pub use self::prefetch::is_prefetch;
pub use self::program::{is_program, is_without_user};
pub use self::request_id::{REQUEST_ID, RequestId, RequestIdSource};
pub use self::same_origin::is_same_origin;
pub use self::target::{RequestedUri, requested_path, with_path};
pub use self::whole_body::{BODY_DEADLINE, BodyError, read_body};

/// What a router resolved for the services behind it; an extension of the request.
///
/// Only a router of the same process can insert it. It takes precedence over the trusted proxies and the request id
/// header of the auth API's own settings.
#[derive(Debug, Clone)]
pub struct ResolvedRequest {
    pub id: RequestId,
    /// The client's address; `None` if the connection has none.
    pub client: Option<ClientAddress>,
}
