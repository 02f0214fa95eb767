//! Ids of the rows of new one-time tokens.

use gotrue_rules::domain::one_time_token;
use uuid::Uuid;

use crate::request_context::RequestContext;

/// Returns the id of the row of a new token.
pub fn new_row_id(cx: &RequestContext) -> Uuid {
    one_time_token::new_row_id(cx.entropy.uuid(), &cx.app.policy.mail)
}
