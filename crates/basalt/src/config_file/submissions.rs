//! `[basalt.shop]` and `[basalt.retention]`: what happens to submissions after they are stored.

use std::time::Duration;

use foundation::secret::Secret;
use gotrue_rs::config::{check_webhook_url, is_webhook_secret};
use gotrue_rules::wire::go_duration::GoDuration;

const SHORTEST_RETENTION: Duration = Duration::from_hours(24);
const URL: &str = "basalt.shop.submission_webhook";
const SECRET: &str = "basalt.shop.submission_webhook_secret";
const RETENTION: &str = "basalt.retention.submissions";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SubmissionJobs {
    /// `daily_digest`: whether the owner gets a mail about each day; off by default.
    pub has_daily_digest: bool,
    /// `submission_webhook` and its secret: what receives new submissions; `None` by default.
    pub webhook: Option<WebhookAddress>,
    /// `[basalt.retention] submissions`: the age at which they are deleted; `None` keeps them.
    pub retention: Option<Duration>,
}

/// A webhook of the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WebhookAddress {
    /// Its URL: https, or on this machine.
    pub url: String,
    /// The secret of its signatures.
    pub secret: Secret,
}

pub(super) fn parse_jobs(
    text: &impl Fn(&str) -> Option<String>,
    refuse: &mut impl FnMut(&str, &str),
) -> SubmissionJobs {
    SubmissionJobs {
        has_daily_digest: text("basalt.shop.daily_digest").is_some_and(|given| given == "true"),
        webhook: parse_webhook(text, refuse),
        retention: parse_retention(text, refuse),
    }
}

/// Parses the webhook, which needs both URL and secret.
fn parse_webhook(
    text: &impl Fn(&str) -> Option<String>,
    refuse: &mut impl FnMut(&str, &str),
) -> Option<WebhookAddress> {
    let (url, secret) = match (text(URL), text(SECRET)) {
        (None, None) => return None,
        (Some(_), None) => {
            refuse(SECRET, "must be set with submission_webhook: v1,whsec_ and 32 to 88 characters of base64");
            return None;
        }
        (None, Some(_)) => {
            refuse(URL, "must be set with submission_webhook_secret: the URL that receives new submissions");
            return None;
        }
        (Some(url), Some(secret)) => (url, secret),
    };
    let mut is_valid = true;
    if let Err(complaint) = check_webhook_url(&url) {
        refuse(URL, &format!("{complaint}; such as \"https://example.com/submissions\""));
        is_valid = false;
    }
    if !is_webhook_secret(&secret) {
        refuse(SECRET, "must be v1,whsec_ and 32 to 88 characters of base64");
        is_valid = false;
    }
    is_valid.then(|| WebhookAddress { url, secret: Secret::from(secret.as_str()) })
}

/// Parses the retention; 0 keeps submissions.
fn parse_retention(text: &impl Fn(&str) -> Option<String>, refuse: &mut impl FnMut(&str, &str)) -> Option<Duration> {
    let age = GoDuration::parse(&text(RETENTION)?).map(GoDuration::to_std);
    match age {
        Some(Duration::ZERO) => None,
        Some(age) if age >= SHORTEST_RETENTION => Some(age),
        _ => {
            refuse(RETENTION, "must be a length of time of at least \"24h\", or \"0\" to keep submissions");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID_SECRET: &str = "v1,whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3I=";

    /// Returns the jobs and the refused keys.
    fn parse(values: &[(&str, &str)]) -> (SubmissionJobs, Vec<String>) {
        let mut refused = Vec::new();
        let text = |key: &str| values.iter().find(|(name, _)| *name == key).map(|(_, value)| (*value).to_owned());
        let jobs = parse_jobs(&text, &mut |key: &str, _: &str| refused.push(key.to_owned()));
        (jobs, refused)
    }

    #[test]
    fn jobs_are_off_by_default() {
        assert_eq!(parse(&[]), (SubmissionJobs::default(), vec![]));
    }

    #[test]
    fn valid_values_are_parsed() {
        let values = [
            (URL, "https://example.com/a"),
            (SECRET, VALID_SECRET),
            (RETENTION, "8760h"),
            ("basalt.shop.daily_digest", "true"),
        ];
        let (jobs, refused) = parse(&values);
        assert!(refused.is_empty() && jobs.has_daily_digest, "{refused:?}");
        assert_eq!(jobs.webhook.map(|webhook| webhook.url).as_deref(), Some("https://example.com/a"));
        assert_eq!(jobs.retention, Some(Duration::from_hours(8760)));
        assert_eq!(parse(&[(RETENTION, "0")]).0.retention, None);
    }

    #[test]
    fn invalid_values_are_refused_by_name() {
        for (values, key) in [
            (&[(URL, "https://example.com")][..], SECRET),
            (&[(SECRET, VALID_SECRET)], URL),
            (&[(URL, "http://10.0.0.1/"), (SECRET, VALID_SECRET)], URL),
            (&[(URL, "pg-functions://postgres/public/f"), (SECRET, VALID_SECRET)], URL),
            (&[(URL, "file:///etc/passwd"), (SECRET, VALID_SECRET)], URL),
            (&[(URL, "https://example.com"), (SECRET, "short")], SECRET),
            (&[(RETENTION, "1h")], RETENTION),
            (&[(RETENTION, "a year")], RETENTION),
        ] {
            let (jobs, refused) = parse(values);
            assert_eq!(refused, [key], "{values:?}");
            assert_eq!(jobs, SubmissionJobs::default());
        }
    }
}
