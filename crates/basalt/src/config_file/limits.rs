//! `[auth.rate_limit]` and `max_frequency` with the meaning that the Supabase CLI documents.
//!
//! A limit is the number of requests in its period, and 0 allows none. The auth server itself allows a burst of 30
//! whatever the number is, counts no password sign-ins as sign-ins, and takes a pause of zero for its default.

use std::time::Duration;

use foundation::limits::Bucket;
use gotrue_rs::config::Notice;
use gotrue_rules::domain::policy::Policy;
use gotrue_rules::wire::go_duration::GoDuration;

use super::ConfigFile;
use crate::problem::locate;

/// The table of the limits by client.
const TABLE: &str = "auth.rate_limit";

impl ConfigFile {
    /// Sets the limits and pauses that the file names.
    pub(crate) fn apply_limits(&self, policy: &mut Policy) {
        let limits = &mut policy.limits;
        let count = |name: &str| self.values.text(&format!("{TABLE}.{name}")).and_then(|text| text.parse::<u32>().ok());
        for (name, bucket) in [
            ("sign_in_sign_ups", &mut limits.otp),
            ("token_refresh", &mut limits.token_refresh),
            ("token_verifications", &mut limits.verify),
            ("web3", &mut limits.web3),
        ] {
            if let Some(count) = count(name) {
                *bucket = Bucket { burst: f64::from(count), ..Bucket::per_five_minutes(f64::from(count)) };
            }
        }
        limits.are_sign_ins_counted_as_sign_ups = count("sign_in_sign_ups").or(count("token_refresh")).is_some();
        for (key, pause) in [
            ("auth.email.max_frequency", &mut policy.mail.max_frequency),
            ("auth.sms.max_frequency", &mut policy.sms.max_frequency),
            ("auth.mfa.phone.max_frequency", &mut policy.mfa.phone.max_frequency),
        ] {
            if self.values.text(key).and_then(GoDuration::parse).is_some_and(GoDuration::is_zero) {
                *pause = Duration::ZERO;
            }
        }
    }

    /// Returns a notice about each limit of 0, which allows nothing.
    pub(crate) fn limit_notices(&self) -> Vec<Notice> {
        let zero = |value: &&super::read::Value| value.path.join(".").starts_with(TABLE) && value.text == "0";
        let notice = |value: &super::read::Value| {
            let name = locate(value.line, &value.path.join("."));
            Notice::warning(name, "is 0, which allows none at all; leave it out for the default")
        };
        self.values.enabled_values().filter(zero).map(notice).collect()
    }
}
