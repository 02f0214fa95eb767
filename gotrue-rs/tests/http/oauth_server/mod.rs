//! The server as an OAuth 2.1 / `OpenID` Connect provider, through the public door.

mod authorize;
mod clients;
mod consent;
mod grants;
mod replay;
mod token;

use gotrue_rs::testing::World;
use gotrue_rules::domain::policy::Policy;

const ANN: &str = "ann@example.com";
const BOB: &str = "bob@example.com";

/// A world in which the server is a provider.
async fn world() -> World {
    World::builder().as_provider().build().await
}

/// The same with its policy changed.
async fn world_with(change: impl FnOnce(&mut Policy)) -> World {
    World::builder().as_provider().policy(change).build().await
}
