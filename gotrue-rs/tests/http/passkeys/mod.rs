//! Passkeys, tested with a software authenticator.

mod authentication;
mod management;
mod registration;

use gotrue_rs::testing::{World, enable_webauthn};
use gotrue_rules::domain::policy::Policy;

const ANN: &str = "ann@example.com";
const BOB: &str = "bob@example.com";

/// A world in which passkeys are on.
async fn world() -> World {
    World::with(enable_webauthn).await
}

/// The same with its policy changed.
async fn world_with(change: impl FnOnce(&mut Policy)) -> World {
    World::builder().policy(enable_webauthn).policy(change).build().await
}

/// One value of the only passkey's row, as text.
async fn stored(world: &World, expression: &str) -> String {
    world.database.query(&format!("SELECT ({expression})::text FROM auth.webauthn_credentials")).await.concat()
}

/// How many challenges wait for an answer.
async fn challenges(world: &World) -> String {
    world.database.query("SELECT count(*)::text FROM auth.webauthn_challenges").await.concat()
}
