//! Forwards requests of Supabase's other services to the addresses that the operator configures.
//!
//! [`Gateway::find_route`] selects service, target path and access rule by the raw path, as Supabase's own gateway
//! configuration does. The caller checks the API key; [`Gateway::forward`] translates it to the token of its role, replaces
//! the headers of the connection, and streams bodies and WebSockets in both directions.
//!
//! The crate reads no configuration file and knows no other service of the process.

mod body;
mod client;
mod credentials;
mod errors;
mod forward;
mod headers;
mod limits;
mod origin;
mod permits;
mod route;
mod service;
mod upstream;
mod websocket;

pub use self::errors::build_error;
pub use self::forward::Gateway;
pub use self::limits::GatewayLimits;
pub use self::origin::PublicOrigin;
pub use self::route::{Route, RouteAccess};
pub use self::service::Service;
pub use self::upstream::{InvalidUpstreamUrl, UpstreamUrl, Upstreams};
