//! Providers that the administrator stores at run time.

mod addresses;
mod admin;

use gotrue_rs::testing::World;
use http::Method;
use platform::testing::Answer;
use serde_json::{Value, json};

const PROVIDERS: &str = "/admin/custom-providers";
const ACME: &str = "/admin/custom-providers/custom:acme";

/// A complete description of an OAuth 2.0 provider, with changes.
fn acme(changes: &Value) -> Value {
    let mut body = json!({
        "provider_type": "oauth2", "identifier": "custom:acme", "name": "Acme", "client_id": "web",
        "client_secret": "s3cret-of-acme", "scopes": ["profile"], "authorization_url": "https://203.0.113.10/authorize",
        "token_url": "https://203.0.113.10/token", "userinfo_url": "https://203.0.113.10/me"
    });
    for (name, value) in changes.as_object().expect("changes are members") {
        body[name] = value.clone();
    }
    body
}

async fn create(world: &World, body: Value) -> Answer {
    world.post_as(&world.service_token(), PROVIDERS, body).await
}

async fn admin_request(world: &World, method: Method, path: &str, body: Option<Value>) -> Answer {
    let bearer = format!("Bearer {}", world.service_token());
    world.request(method, path, &[("authorization", &bearer)], body).await
}
