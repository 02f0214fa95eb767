//! Limits of requests, guesses and messages per key, and of messages altogether.

mod guessing;
mod limited_request;
mod messages;
mod quotas;

use foundation::error::Result;
use foundation::limit_store::{LimitStoreSettings, LimitStoreUrl};
use platform::limits::{LimitOperation, LimitRefusal};

pub use self::guessing::{Guess, count_code_guess, count_password_guess};
use self::limited_request::{
    LimitSetting, count_all, limit_error, limits_unavailable_error, rate_limit_key, too_many_requests_error,
};
pub use self::messages::{count_public_message, count_user_message, too_soon_error};
pub use self::quotas::{count_email, count_sms};
use crate::request_context::RequestContext;
pub use platform::limits::LimitedRoute;

/// Counts this request; 429 if its key made too many. A request without a key is not counted.
pub async fn count_request(cx: &RequestContext, what: LimitedRoute) -> Result<()> {
    let Some(key) = rate_limit_key(cx) else { return Ok(()) };
    let bucket = what.bucket(&cx.app.policy.limits);
    let request = LimitOperation::Take { what: what.into(), key: &key, bucket };
    let refusal = count_all(cx, &[request]).await.refusal.map(|(_, refusal)| refusal);
    match refusal {
        None => Ok(()),
        Some(LimitRefusal::Unavailable) => Err(limits_unavailable_error()),
        Some(LimitRefusal::Exceeded(too_many)) => Err(limit_error(
            cx,
            too_many_requests_error(),
            &format!("too many {} from your network", what.description()),
            LimitSetting::bucket(what.setting(), what.description(), bucket),
            too_many,
        )),
    }
}

/// Warns that other servers of the same database count requests by themselves, so that limits multiply.
///
/// Called when a server registers and finds `others`.
pub fn warn_unless_shared(settings: &LimitStoreSettings, others: usize) {
    if others > 0 && settings.url == LimitStoreUrl::Memory {
        tracing::warn!(
            others,
            "other servers use this database and each counts rate limits by itself: set [basalt.limits] url, or \
             GOTRUE_RATE_LIMIT_STORE_URL, to count together"
        );
    }
}
