//! User administration: `/admin`, `/invite` and `/generate_link`.

mod announced;
mod audit;
mod callers;
mod create;
mod delete;
mod factors;
mod invite;
mod links;
mod list;
mod update;

use gotrue_rs::testing::World;
use http::Method;
use platform::testing::Answer;
use serde_json::{Value, json};

/// An address that no other account has.
const ANN: &str = "ann@example.com";
/// An id that no account has.
const UNKNOWN_USER_ID: &str = "9b2d4d4e-62c6-4d9c-8c3c-0d3bb1b9f6aa";

/// An account made by the administrator, confirmed and with a password.
async fn account(world: &World, email: &str) -> Answer {
    create(world, json!({"email": email, "password": "correct horse", "email_confirm": true})).await.expect(200)
}

async fn create(world: &World, body: Value) -> Answer {
    world.post_as(&world.service_token(), "/admin/users", body).await
}

async fn read(world: &World, id: &str) -> Answer {
    world.get_as(&world.service_token(), &format!("/admin/users/{id}")).await
}

async fn update(world: &World, id: &str, body: Value) -> Answer {
    world.put_as(&world.service_token(), &format!("/admin/users/{id}"), body).await
}

async fn admin_request_by(world: &World, token: Option<&str>, method: &Method, path: &str) -> Answer {
    let bearer = token.map(|token| format!("Bearer {token}"));
    let headers: Vec<(&str, &str)> = bearer.iter().map(|bearer| ("authorization", bearer.as_str())).collect();
    world.request(method.clone(), path, &headers, Some(json!({}))).await
}
