//! Ways in without a password.

mod equal_work;
mod magic_link;
mod otp;
mod recover;
mod resend;
mod texts;

use gotrue_rs::testing::World;
use gotrue_rules::domain::policy::Policy;

const VERIFIER: &str = "a-verifier-that-is-long-enough-to-be-a-challenge";

/// A number with a fixed code: no sender is needed.
const NUMBER: &str = "15550100001";
const FIXED: &str = "424242";

fn with_test_number(policy: &mut Policy) {
    policy.sms.test_otp.insert(NUMBER.into(), FIXED.into());
}

/// How many accounts there are.
async fn accounts(world: &World) -> String {
    world.database.query("SELECT count(*) FROM auth.users").await.concat()
}

/// The code in the query of the place that a link leads to.
async fn flow_code(world: &World, email: &str) -> String {
    let followed = world.get(&world.link(email)).await.expect(303);
    let location = url::Url::parse(followed.header("location")).expect("a URL");
    let code = location.query_pairs().find(|(name, _)| name == "code").map(|(_, code)| code.into_owned());
    code.unwrap_or_else(|| panic!("no code in {location}"))
}
