//! The auth API of Supabase as a library: [`router`] over a database.

pub mod app;
pub mod config;
pub mod flows;
pub mod guards;
pub mod http;
pub mod journal;
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
    let table = Arc::new(routes::route_table());
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
