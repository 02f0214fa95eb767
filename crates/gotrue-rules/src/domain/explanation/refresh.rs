//! Explains refused refreshes: a reused token, and an ended session.

use std::time::Duration;

use foundation::explanation::DecisionRecord;
use foundation::time::Time;

use crate::domain::policy::{RefreshPolicy, SessionPolicy};
use crate::domain::session::Session;
use crate::domain::session_rules::{SessionValidity, last_refreshed_at};

/// A refresh token that was used before.
#[derive(Debug, Clone, Copy)]
pub struct ReusedToken<'a> {
    /// The time of the first use, if it is known.
    pub first_use: Option<Time>,
    pub second_use: Time,
    /// The rules.
    pub policy: &'a RefreshPolicy,
    /// Whether the reuse ended the session.
    pub ends_session: bool,
}

/// Explains a refresh token that was used before.
pub fn explain_reuse(reused: &ReusedToken<'_>) -> DecisionRecord {
    let ReusedToken { first_use, second_use, policy, ends_session } = *reused;
    let interval = policy.reuse_interval.as_secs();
    let seconds_between = first_use.map(|first| (second_use - first).num_seconds());
    let since = seconds_between.map_or_else(String::new, |seconds| format!(" {seconds} s after its first use"));
    let consequence = if ends_session { "; the tokens of the session were revoked" } else { "" };
    let reason = format!("The refresh token was used again{since}; {interval} s are allowed{consequence}.");
    DecisionRecord::refused("refresh_token.reused", reason)
        .with_setting("GOTRUE_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL")
        .with_value(interval.to_string())
        .with_input("first_use", first_use.map(|time| time.to_rfc3339()))
        .with_input("second_use", second_use.to_rfc3339())
        .with_input("seconds_between", seconds_between)
        .with_input("reuse_interval_seconds", interval)
        .with_input("has_ended_session", ends_session)
        .with_remedy(
            "Refresh in one place only: tabs, workers and servers of one user must share their storage. \
             {setting} allows late repetitions.",
        )
}

/// Explains why a session is no longer valid; `None` for a valid one.
pub fn explain_validity(
    validity: SessionValidity,
    session: &Session,
    token_time: Option<Time>,
    policy: &SessionPolicy,
) -> Option<DecisionRecord> {
    let created = session.created_at.to_rfc3339();
    let timed = |name, reason: String, setting: &'static str, limit: Option<Duration>| {
        let seconds = limit.map(|limit| limit.as_secs()).unwrap_or_default();
        DecisionRecord::refused(name, reason)
            .with_setting(setting)
            .with_value(format!("{seconds} s"))
            .with_input("limit_seconds", seconds)
            .with_remedy("Sign in again, or raise {setting}.")
    };
    let record = match validity {
        SessionValidity::Valid => return None,
        SessionValidity::Ended => DecisionRecord::refused(
            "session.not_after",
            "The session ended at the time that its identity provider set.",
        )
        .with_input("not_after", session.not_after.map(|time| time.to_rfc3339())),
        SessionValidity::TimedOut => timed(
            "session.timebox",
            "The session is older than allowed.".into(),
            "GOTRUE_SESSIONS_TIMEBOX",
            policy.timebox,
        ),
        SessionValidity::Idle => timed(
            "session.inactivity",
            "The session was not refreshed for longer than allowed.".into(),
            "GOTRUE_SESSIONS_INACTIVITY_TIMEOUT",
            policy.inactivity_timeout,
        )
        .with_input("last_refreshed_at", last_refreshed_at(session, token_time).to_rfc3339()),
        SessionValidity::LowAal => timed(
            "session.low_aal",
            "The user has a second factor that the session did not verify in time.".into(),
            "GOTRUE_SESSIONS_ALLOW_LOW_AAL",
            policy.allow_low_aal,
        ),
    };
    Some(record.with_input("session_id", session.id.to_string()).with_input("created_at", created))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reuse_names_both_uses_and_the_interval() {
        let policy = RefreshPolicy { reuse_interval: Duration::from_secs(10), ..RefreshPolicy::default() };
        let at = |seconds| Time::from_timestamp(seconds, 0).unwrap();
        let reused = ReusedToken { first_use: Some(at(100)), second_use: at(160), policy: &policy, ends_session: true };
        let record = explain_reuse(&reused);
        let expected = "The refresh token was used again 60 s after its first use; 10 s are allowed; the tokens of the \
                        session were revoked.";
        assert_eq!((&*record.reason, record.value.as_deref()), (expected, Some("10")));
        let unknown = explain_reuse(&ReusedToken { first_use: None, ends_session: false, ..reused });
        assert_eq!(unknown.reason, "The refresh token was used again; 10 s are allowed.");
    }

    #[test]
    fn every_end_of_a_session_names_its_cause() {
        let session = Session::default();
        let policy = SessionPolicy { timebox: Some(Duration::from_mins(1)), ..SessionPolicy::default() };
        let explain = |validity| explain_validity(validity, &session, None, &policy);
        assert_eq!(explain(SessionValidity::Valid), None);
        let names = [SessionValidity::Ended, SessionValidity::TimedOut, SessionValidity::Idle, SessionValidity::LowAal]
            .map(|validity| explain(validity).map(|record| record.name));
        let expected = ["session.not_after", "session.timebox", "session.inactivity", "session.low_aal"];
        assert_eq!(names, expected.map(Some));
        let timebox = explain(SessionValidity::TimedOut).unwrap();
        assert_eq!(timebox.setting.as_deref(), Some("GOTRUE_SESSIONS_TIMEBOX"));
        assert_eq!(timebox.value.as_deref(), Some("60 s"));
    }
}
