//! The keys that a request is counted by, and the error of a request over a limit.

use std::time::Duration;

use foundation::error::{Error, ErrorCode};
use foundation::limits::{Bucket, Quota};
use gotrue_rules::domain::explanation::limits::{ExceededLimit, describe_bucket, describe_quota, explain_limit};
use platform::limits::{Counted, LimitOperation, RateLimited, count_events, find_key};
use telemetry::catalog::RATE_LIMITED;

use crate::request_context::RequestContext;

/// The key that requests are counted by: the known device, else the network.
pub(super) fn rate_limit_key(cx: &RequestContext) -> Option<String> {
    if let Some(device) = &cx.request.device {
        return Some(format!("device {}", device.0));
    }
    find_key(&cx.app.policy.limits.key, cx.client_request())
}

/// The key of a target together with the network of the request.
pub(super) fn target_network_key(cx: &RequestContext, target: &str) -> String {
    format!("{target} {}", rate_limit_key(cx).unwrap_or_default())
}

/// Counts these events in their order, up to the first that is refused.
pub(super) async fn count_all(cx: &RequestContext, operations: &[LimitOperation<'_>]) -> Counted {
    count_events(&cx.app.limits, cx.app.shared_limits.as_ref(), operations, cx.now).await
}

/// The error while the store of limits is unreachable and the settings refuse requests then.
pub(super) fn limits_unavailable_error() -> Error {
    let message = "Rate limits cannot be checked at the moment, please retry after a moment.";
    Error::http(503, ErrorCode::OverRequestRateLimit, message).retry_after(1)
}

/// The error of too many requests or guesses, without details.
pub(super) fn too_many_requests_error() -> Error {
    Error::new(ErrorCode::OverRequestRateLimit, "Request rate limit reached")
}

/// The error of an exceeded limit as GoTrue returns it.
///
/// Where the policy enables it, the message names the limit and the time to wait.
pub(super) fn limit_error(
    cx: &RequestContext,
    recorded: Error,
    why: &str,
    limit: LimitSetting<'_>,
    too_many: RateLimited,
) -> Error {
    record_limit(cx, limit, too_many.wait);
    if !cx.app.policy.limits.is_error_detailed {
        return recorded;
    }
    let seconds = whole_seconds(too_many);
    let message = format!("{}: {why}. Please retry after {seconds} seconds.", recorded.message());
    Error::new(recorded.code(), message).retry_after(seconds)
}

/// A limit as its explanation names it.
pub(super) struct LimitSetting<'a> {
    pub setting: &'static str,
    /// What is counted, in a few words.
    pub counted: &'a str,
    /// The limit in words.
    pub allowed: String,
}

impl<'a> LimitSetting<'a> {
    /// A limit by a bucket.
    pub(super) fn bucket(setting: &'static str, counted: &'a str, bucket: Bucket) -> Self {
        Self { setting, counted, allowed: describe_bucket(bucket) }
    }

    /// A limit by a quota.
    pub(super) fn quota(setting: &'static str, counted: &'a str, quota: Quota) -> Self {
        Self { setting, counted, allowed: describe_quota(quota) }
    }
}

/// Records the exceeded limit for the explanation.
pub(super) fn record_limit(cx: &RequestContext, limit: LimitSetting<'_>, wait: Duration) {
    let LimitSetting { setting, counted, allowed } = limit;
    RATE_LIMITED.increment(&[setting]);
    let decision = explain_limit(ExceededLimit { setting, counted: counted.into(), allowed, wait }, cx.now);
    let by = cx.journal.is_traced().then(|| rate_limit_key(cx)).flatten();
    cx.journal.record_decision(decision.with_input("counted_by", by));
}

/// The time to wait in whole seconds, rounded up, at least one.
pub(super) fn whole_seconds(too_many: RateLimited) -> u64 {
    too_many.wait.as_millis().div_ceil(1000).max(1).try_into().unwrap_or(u64::MAX)
}
