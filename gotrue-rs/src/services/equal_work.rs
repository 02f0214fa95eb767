//! Look-ups in place of others, so that the duration of a refusal does not tell whether an account was found.

use gotrue_rules::domain::error::Result;

use crate::cx::Cx;
use crate::store::{OrRefuse, users};

/// Looks up what the request did not: an account where it found none, none where it found one. To find an account and to read
/// it takes longer than to find none. Not where the policy does not ask for equal work.
pub async fn look_up_opposite(cx: &Cx, was_found: bool) -> Result<()> {
    if !cx.app.policy.security.equal_work {
        return Ok(());
    }
    let looked_up = if was_found {
        let nobody = cx.entropy.uuid().to_string();
        users::by_email(&mut cx.db(), &nobody, &cx.audience()).await
    } else {
        users::any(&mut cx.db()).await
    };
    looked_up.map(drop).or_refuse("Database error finding user")
}
