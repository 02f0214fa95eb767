//! Session validity and the single-session rule, for refreshes and the admin API.

use std::time::Duration;

use foundation::error::{Error, ErrorCode, Result};
use foundation::time::Time;

use super::policy::SessionPolicy;
use super::session::{Aal, Session};
use super::user::User;

/// Whether a session may be used, or why not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionValidity {
    /// The session is valid.
    Valid,
    /// `not_after` has passed.
    Ended,
    /// The session is older than `timebox`.
    TimedOut,
    /// The session was not refreshed within `inactivity_timeout`.
    Idle,
    /// The user has a verified factor that the session did not verify within `allow_low_aal`.
    LowAal,
}

impl SessionValidity {
    /// Returns the error of a refresh; none for a valid session.
    pub fn require_valid(self) -> Result<()> {
        let message = match self {
            Self::Valid => return Ok(()),
            Self::Ended | Self::TimedOut => "Invalid Refresh Token: Session Expired",
            Self::Idle => "Invalid Refresh Token: Session Expired (Inactivity)",
            Self::LowAal => "Invalid Refresh Token: Session Expired (Low AAL: User Needs MFA Verification)",
        };
        Err(Error::new(ErrorCode::SessionExpired, message))
    }
}

/// Values that determine the validity of a session.
#[derive(Debug, Clone, Copy)]
pub struct SessionContext<'a> {
    pub session: &'a Session,
    /// The user of the session.
    pub user: &'a User,
    pub policy: &'a SessionPolicy,
    /// `updated_at` of the version 1 token, used if the session was never refreshed.
    pub token_time: Option<Time>,
    /// The time of the request.
    pub now: Time,
}

impl SessionContext<'_> {
    /// Decides about the validity.
    pub fn decide_validity(&self) -> SessionValidity {
        let Self { session, policy, now, .. } = *self;
        let over = |since: Time, limit: Option<Duration>| {
            limit.filter(|limit| !limit.is_zero()).is_some_and(|limit| now > since + limit)
        };
        if session.not_after.is_some_and(|end| now > end) {
            SessionValidity::Ended
        } else if over(session.created_at, policy.timebox) {
            SessionValidity::TimedOut
        } else if over(last_refreshed_at(session, self.token_time), policy.inactivity_timeout) {
            SessionValidity::Idle
        } else if session.aal < highest_aal(self.user) && over(session.created_at, policy.allow_low_aal) {
            SessionValidity::LowAal
        } else {
            SessionValidity::Valid
        }
    }

    /// Requires the newest session of user and tag, if the policy allows only one; 400 `session_expired`.
    /// `others` may contain any of the user's sessions.
    pub fn require_newest(&self, others: &[Session]) -> Result<()> {
        let Self { session, policy, .. } = *self;
        let mine = last_refreshed_at(session, self.token_time);
        let replaces = |other: &Session| {
            other.id != session.id
                && effective_tag(other, &policy.tags) == effective_tag(session, &policy.tags)
                && last_refreshed_at(other, None) > mine
                && SessionContext { session: other, token_time: None, ..*self }.decide_validity()
                    == SessionValidity::Valid
        };
        if policy.single_per_user && others.iter().any(replaces) {
            return Err(Error::new(
                ErrorCode::SessionExpired,
                "Invalid Refresh Token: Session Expired (Revoked by Newer Login)",
            ));
        }
        Ok(())
    }
}

/// 403: the session of the access token has ended.
pub fn session_not_found() -> Error {
    Error::new(ErrorCode::SessionNotFound, "Session from session_id claim in JWT does not exist")
}

/// Returns the highest level that the user can reach.
pub fn highest_aal(user: &User) -> Aal {
    if user.has_verified_factor() { Aal::Aal2 } else { Aal::Aal1 }
}

/// Returns the time of the last refresh.
///
/// This is the session's own value; else the time of its version 1 token, if later than `created_at`; else
/// `created_at`.
pub fn last_refreshed_at(session: &Session, token_time: Option<Time>) -> Time {
    match session.refreshed_at {
        Some(refreshed_at) => refreshed_at.and_utc(),
        None => token_time.map_or(session.created_at, |token| token.max(session.created_at)),
    }
}

/// Returns the session's tag if it is configured, else the first configured tag, else `""`.
pub fn effective_tag<'a>(session: &'a Session, tags: &'a [String]) -> &'a str {
    let Some(first) = tags.first() else { return "" };
    let own = session.tag.as_deref().filter(|tag| tags.iter().any(|known| known == tag));
    own.unwrap_or(first)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::domain::user::Factor;

    fn at(seconds: i64) -> Time {
        Time::from_timestamp(seconds, 0).unwrap()
    }

    fn minutes(minutes: u64) -> Duration {
        Duration::from_mins(minutes)
    }

    fn validity(session: &Session, user: &User, policy: &SessionPolicy, now: i64) -> SessionValidity {
        SessionContext { session, user, policy, token_time: None, now: at(now) }.decide_validity()
    }

    fn session(id: u128, created: i64, refreshed: Option<i64>) -> Session {
        Session {
            id: Uuid::from_u128(id),
            created_at: at(created),
            refreshed_at: refreshed.map(|seconds| at(seconds).naive_utc()),
            ..Session::default()
        }
    }

    fn user_with_factor() -> User {
        User { factors: vec![Factor { status: "verified".into(), ..Factor::default() }], ..User::default() }
    }

    #[test]
    fn limits_are_inclusive() {
        let user = user_with_factor();
        let recent = session(1, 0, None);
        for (policy, session, last, expected) in [
            (
                SessionPolicy { timebox: Some(minutes(10)), ..Default::default() },
                recent.clone(),
                600,
                SessionValidity::TimedOut,
            ),
            (
                SessionPolicy { inactivity_timeout: Some(minutes(5)), ..Default::default() },
                recent.clone(),
                300,
                SessionValidity::Idle,
            ),
            (
                SessionPolicy { inactivity_timeout: Some(minutes(5)), ..Default::default() },
                self::session(1, 0, Some(100)),
                400,
                SessionValidity::Idle,
            ),
            (
                SessionPolicy { allow_low_aal: Some(minutes(5)), ..Default::default() },
                recent.clone(),
                300,
                SessionValidity::LowAal,
            ),
            (
                SessionPolicy::default(),
                Session { not_after: Some(at(50)), ..recent.clone() },
                50,
                SessionValidity::Ended,
            ),
        ] {
            assert_eq!(validity(&session, &user, &policy, last), SessionValidity::Valid);
            assert_eq!(validity(&session, &user, &policy, last + 1), expected);
        }
    }

    #[test]
    fn session_without_limits_is_valid() {
        let policy = SessionPolicy { timebox: Some(Duration::ZERO), ..SessionPolicy::default() };
        assert_eq!(validity(&session(1, 0, None), &user_with_factor(), &policy, 1 << 40), SessionValidity::Valid);
    }

    #[test]
    fn low_aal_limit_requires_verified_factor() {
        let policy = SessionPolicy { allow_low_aal: Some(minutes(1)), ..SessionPolicy::default() };
        let low = session(1, 0, None);
        let high = Session { aal: Aal::Aal2, ..low.clone() };
        assert_eq!(validity(&low, &User::default(), &policy, 1000), SessionValidity::Valid);
        assert_eq!(validity(&high, &user_with_factor(), &policy, 1000), SessionValidity::Valid);
        assert_eq!(validity(&low, &user_with_factor(), &policy, 1000), SessionValidity::LowAal);
    }

    #[test]
    fn token_time_is_used_for_session_never_refreshed() {
        assert_eq!(last_refreshed_at(&session(1, 100, None), None), at(100));
        assert_eq!(last_refreshed_at(&session(1, 100, None), Some(at(200))), at(200));
        assert_eq!(last_refreshed_at(&session(1, 100, None), Some(at(50))), at(100));
        assert_eq!(last_refreshed_at(&session(1, 100, Some(150)), Some(at(200))), at(150));
    }

    #[test]
    fn every_invalid_session_has_error_message() {
        for (validity, message) in [
            (SessionValidity::Ended, "Invalid Refresh Token: Session Expired"),
            (SessionValidity::TimedOut, "Invalid Refresh Token: Session Expired"),
            (SessionValidity::Idle, "Invalid Refresh Token: Session Expired (Inactivity)"),
            (SessionValidity::LowAal, "Invalid Refresh Token: Session Expired (Low AAL: User Needs MFA Verification)"),
        ] {
            let refused = validity.require_valid().unwrap_err();
            assert_eq!((refused.code().as_str(), refused.message()), ("session_expired", message));
        }
        assert!(SessionValidity::Valid.require_valid().is_ok());
    }

    #[test]
    fn unknown_tag_falls_back_to_first_configured_tag() {
        let tags = ["web".to_owned(), "app".to_owned()];
        let tagged = |tag: &str| Session { tag: Some(tag.into()), ..Session::default() };
        assert_eq!(effective_tag(&tagged("app"), &tags), "app");
        assert_eq!(effective_tag(&tagged("other"), &tags), "web");
        assert_eq!(effective_tag(&tagged(""), &tags), "web");
        assert_eq!(effective_tag(&Session::default(), &tags), "web");
        assert_eq!(effective_tag(&tagged("app"), &[]), "");
    }

    #[test]
    fn only_newest_valid_session_of_tag_is_accepted() {
        let tags = vec!["web".to_owned(), "app".to_owned()];
        let policy =
            SessionPolicy { single_per_user: true, timebox: Some(minutes(60)), tags, ..SessionPolicy::default() };
        let mine = session(1, 1000, None);
        let tagged = Session { tag: Some("app".into()), ..session(2, 3000, None) };
        let old = session(3, -5000, Some(3000));
        let check = |policy: &SessionPolicy, others: &[Session], token_time| {
            let user = &User::default();
            SessionContext { session: &mine, user, policy, token_time, now: at(3600) }.require_newest(others).is_ok()
        };
        assert!(check(&policy, &[mine.clone(), session(2, 900, None), tagged, old], None));
        assert!(check(&policy, &[session(2, 1000, None)], None));
        assert!(!check(&policy, &[session(2, 1001, None)], None));
        assert!(!check(&policy, &[session(2, 900, Some(2000))], None));
        assert!(check(&policy, &[session(2, 900, Some(2000))], Some(at(2000))));
        assert!(check(&SessionPolicy::default(), &[session(2, 2000, None)], None));
    }
}
