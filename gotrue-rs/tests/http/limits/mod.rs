//! Rate limits of `basalt serve`: per client, per target, and their responses.

mod codes;
mod messages;
mod passwords;
mod requests;

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use foundation::limits::Quota;
use gotrue_rs::testing::World;
use gotrue_rules::domain::policy::{PasswordHash, Policy};
use platform::testing::Answer;
use serde_json::Value;

const ANN: &str = "ann@example.com";
const NUMBER: &str = "15550100";
const OWNER_NETWORK: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));

/// A world with the hardened policy, cheap hashes and autoconfirm.
async fn served(change: impl FnOnce(&mut Policy)) -> World {
    let usual = |policy: &mut Policy| {
        policy.password.hash = PasswordHash::Bcrypt { cost: 4 };
        policy.limits.email_sent = Quota::Window { events: 1000.0, per: Duration::from_hours(1) };
    };
    World::builder().as_served().with_phones().policy(usual).policy(change).build().await
}

/// The n-th of many networks, none of which is Ann's.
fn network(n: usize) -> IpAddr {
    let n = u32::try_from(n).expect("few networks");
    IpAddr::V4(Ipv4Addr::from(0x0a00_0000 + n))
}

/// The number of accepted requests of `times`, each from a different network.
async fn count_accepted(world: &World, times: usize, path: &str, body: impl Fn(usize) -> Value) -> usize {
    let mut through = 0;
    for n in 0..times {
        through += usize::from(world.post_from(network(n), path, &[], body(n)).await.status != 429);
    }
    through
}

/// The seconds until a retry, which the message and the header must agree on.
#[track_caller]
fn retry_after_seconds(refused: &Answer, code: &str) -> i64 {
    assert_eq!(refused.refusal(), (429, code), "{}", refused.text);
    let seconds = refused.header("retry-after");
    assert!(refused.str("msg").contains(&format!("after {seconds} seconds")), "{}: {seconds}", refused.text);
    seconds.parse().expect("whole seconds")
}
