//! The servers that flows are replayed against.

mod target;
mod test_api;
mod upgrade;
mod url;
mod worlds;

pub use self::target::{Target, TargetFuture, Targets, WantedServer, fill_settings};
pub use self::test_api::TestApiClient;
pub use self::upgrade::{UpgradeOptions, UpgradeTargets};
pub use self::url::{UrlTargets, UrlTargetsOptions, find_auth_api};
pub use self::worlds::{TestServer, WorldTargets};
