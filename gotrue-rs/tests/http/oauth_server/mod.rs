//! The server as an OAuth 2.1 and `OpenID` Connect provider.

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

/// A world with the OAuth server enabled.
async fn world() -> World {
    World::builder().with_oauth_server().build().await
}

/// A world with the OAuth server enabled, in the profile of `basalt serve` or `basalt gotrue`.
async fn world_of_profile(is_served: bool) -> World {
    let builder = World::builder().with_oauth_server();
    let builder = if is_served { builder.as_served() } else { builder };
    builder.build().await
}

/// The same with its policy changed.
async fn world_with(change: impl FnOnce(&mut Policy)) -> World {
    World::builder().with_oauth_server().policy(change).build().await
}
