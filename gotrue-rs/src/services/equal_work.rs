//! Extra look-ups that make the duration of an error response independent of whether a user exists.

use gotrue_rules::domain::error::Result;

use crate::request_context::RequestContext;
use crate::store::{OrInternalError, users};

/// Performs the look-up that the request did not perform.
///
/// It looks for an existing user if the request found none, and for a missing one otherwise.
///
/// Finding and reading a user takes longer than finding none. Does nothing if the policy `equal_work` is off.
pub async fn run_opposite_lookup(cx: &RequestContext, was_found: bool) -> Result<()> {
    if !cx.app.policy.security.is_equal_work_enabled {
        return Ok(());
    }
    let looked_up = if was_found {
        let unknown = cx.entropy.uuid().to_string();
        users::find_by_email(&mut cx.db(), &unknown, &cx.audience()).await
    } else {
        users::find_any(&mut cx.db()).await
    };
    looked_up.map(drop).or_internal_error("Database error finding user")
}
