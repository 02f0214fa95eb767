//! The auth API of Supabase as a library: [`router`] over a PostgreSQL database.
//!
//! [`App`] holds the policy and the dependencies; [`router`] serves it at any path. The tables come from
//! [`store::migrate`]. The command `basalt gotrue` is this library with a configuration from variables ([`config`]).
//!
//! # Example
//!
//! An axum application that mounts the auth API below `/auth/v1` and knows the signed-in user in its own handlers:
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use axum::Router;
//! use axum::extract::FromRequestParts;
//! use axum::routing::get;
//! use gotrue_rs::app::{App, EmailDelivery, Ports};
//! use gotrue_rs::ports::hashing::HashingPool;
//! use gotrue_rs::ports::keys::KeySettings;
//! use gotrue_rules::domain::policy::Policy;
//! use foundation::secret::Secret;
//! use http::StatusCode;
//! use http::header::AUTHORIZATION;
//! use http::request::Parts;
//! use http_edge::request::{BearerWhitespace, single_header};
//! use platform::clock::SystemClock;
//! use platform::entropy::Entropy;
//! use platform::http_client::{HttpClient, OutboundOptions};
//! use platform::mail::DiscardingMailer;
//! use platform::store::{PgConnectOptions, Pool, PoolOptions};
//!
//! /// The id of the signed-in user, taken from the access token.
//! struct UserId(String);
//!
//! impl FromRequestParts<Arc<App>> for UserId {
//!     type Rejection = StatusCode;
//!
//!     async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, StatusCode> {
//!         let token = single_header(&parts.headers, &AUTHORIZATION).bearer(BearerWhitespace::Rejected);
//!         let token = token.present().ok_or(StatusCode::UNAUTHORIZED)?;
//!         let claims = app.keys.verify(token, app.clock.now()).map_err(|_| StatusCode::UNAUTHORIZED)?;
//!         let id = claims.get("sub").and_then(|id| id.as_str()).ok_or(StatusCode::UNAUTHORIZED)?;
//!         Ok(Self(id.to_owned()))
//!     }
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let mut policy = Policy::default();
//!     policy.site.site_url = "https://shop.example".into();
//!     policy.site.external_url = "https://shop.example/auth/v1".into();
//!     let connect: PgConnectOptions = std::env::var("DATABASE_URL")?.parse()?;
//!     let ports = Ports {
//!         pool: Pool::new(PoolOptions::new(connect.options([("search_path", "auth")]))),
//!         clock: Arc::new(SystemClock),
//!         entropy: Entropy::from_system(),
//!         hashing: Arc::new(HashingPool::start_default()?),
//!         delivery: EmailDelivery::Synchronous(Arc::new(DiscardingMailer)),
//!         http: Arc::new(HttpClient::new(OutboundOptions::default())),
//!     };
//!     let secret = Secret::new(std::env::var("JWT_SECRET")?);
//!     let keys = KeySettings { jwks: &[], secret: &secret, key_id: "", valid_methods: None };
//!     let app = Arc::new(App::build(policy, keys, ports)?);
//!
//!     let router = Router::new()
//!         .route("/hello", get(|UserId(id): UserId| async move { format!("Hello, {id}") }))
//!         .with_state(Arc::clone(&app))
//!         .nest_service("/auth/v1", gotrue_rs::router(app));
//!     axum::serve(tokio::net::TcpListener::bind("127.0.0.1:3000").await?, router).await?;
//!     Ok(())
//! }
//! ```

pub mod app;
pub mod config;
pub mod guards;
pub mod handlers;
pub mod http;
pub mod ports;
pub mod request_context;
pub mod routes;
pub mod services;
pub mod store;
#[cfg(feature = "testing")]
pub mod testing;

use std::sync::Arc;

use app::App;

/// The auth API at its root path.
pub fn router(app: Arc<App>) -> axum::Router {
    reloadable_router(move || app.clone())
}

/// Builds the same router over a replaceable application.
///
/// `current` is called once per request.
pub fn reloadable_router(current: impl Fn() -> Arc<App> + Clone + Send + Sync + 'static) -> axum::Router {
    let table = Arc::new(http::router::RouteTable::new(routes::route_table()));
    axum::Router::new().fallback(move |request: axum::extract::Request| {
        let (app, table) = (current(), table.clone());
        async move {
            if !app.policy.api.has_security_headers {
                return http::layers::serve(app, table, request).await;
            }
            let path = request.uri().path().to_owned();
            let mut response = http::layers::serve(app, table, request).await;
            http::security_headers::insert(&mut response, &path);
            response
        }
    })
}
