//! How long a session may go on, and which one counts where an account may have one only
//! (`tokens-and-sessions.md` §5.2, §5.3). Looked at when it is refreshed, and by the admin API.

use std::time::Duration;

use super::error::{Error, Result};
use super::policy::SessionPolicy;
use super::session::{Aal, Session};
use super::user::{Account, Time};

/// Whether a session may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validity {
    /// It may.
    Valid,
    /// The end it was given has passed.
    Ended,
    /// It is older than sessions may become.
    TimedOut,
    /// It has not been refreshed for too long.
    Idle,
    /// Its account has a second factor that it has not used in time.
    LowAal,
}

impl Validity {
    /// What a refresh answers; nothing for a valid session.
    pub fn check(self) -> Result<()> {
        let message = match self {
            Self::Valid => return Ok(()),
            Self::Ended | Self::TimedOut => "Invalid Refresh Token: Session Expired",
            Self::Idle => "Invalid Refresh Token: Session Expired (Inactivity)",
            Self::LowAal => "Invalid Refresh Token: Session Expired (Low AAL: User Needs MFA Verification)",
        };
        Err(Error::bad_request("session_expired", message))
    }
}

/// What the validity of a session depends on.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The session.
    pub session: &'a Session,
    /// Whose it is.
    pub account: &'a Account,
    /// How long sessions last.
    pub policy: &'a SessionPolicy,
    /// When the presented token of version 1 was last touched: it stands in where the session was never refreshed.
    pub token_time: Option<Time>,
    /// The request's moment.
    pub now: Time,
}

impl Facts<'_> {
    /// Whether the session may go on.
    pub fn validity(&self) -> Validity {
        let Self { session, policy, now, .. } = *self;
        let over = |since: Time, limit: Option<Duration>| {
            limit.filter(|limit| !limit.is_zero()).is_some_and(|limit| now > since + limit)
        };
        if session.not_after.is_some_and(|end| now > end) {
            Validity::Ended
        } else if over(session.created_at, policy.timebox) {
            Validity::TimedOut
        } else if over(last_refreshed(session, self.token_time), policy.inactivity_timeout) {
            Validity::Idle
        } else if session.aal < highest_aal(self.account) && over(session.created_at, policy.allow_low_aal) {
            Validity::LowAal
        } else {
            Validity::Valid
        }
    }

    /// Refuses a session that is not the newest of its account and tag, if the policy allows only one (400
    /// `session_expired`). `others` may hold any of the account's sessions.
    pub fn check_newest(&self, others: &[Session]) -> Result<()> {
        let Self { session, policy, .. } = *self;
        let mine = last_refreshed(session, self.token_time);
        let replaces = |other: &Session| {
            other.id != session.id
                && effective_tag(other, &policy.tags) == effective_tag(session, &policy.tags)
                && last_refreshed(other, None) > mine
                && Facts { session: other, token_time: None, ..*self }.validity() == Validity::Valid
        };
        if policy.single_per_user && others.iter().any(replaces) {
            return Err(Error::bad_request(
                "session_expired",
                "Invalid Refresh Token: Session Expired (Revoked by Newer Login)",
            ));
        }
        Ok(())
    }
}

/// The level the account could reach.
pub fn highest_aal(account: &Account) -> Aal {
    if account.has_verified_factor() { Aal::Aal2 } else { Aal::Aal1 }
}

/// When the session was last refreshed: as the session says; else when its token of version 1 was touched, if that is
/// known and later than its start; else its start.
pub fn last_refreshed(session: &Session, token_time: Option<Time>) -> Time {
    match session.refreshed_at {
        Some(refreshed_at) => refreshed_at.and_utc(),
        None => token_time.map_or(session.created_at, |token| token.max(session.created_at)),
    }
}

/// The tag that counts: the session's own if it is one of the known, else the first known one, `""` without any.
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

    fn validity(session: &Session, account: &Account, policy: &SessionPolicy, now: i64) -> Validity {
        Facts { session, account, policy, token_time: None, now: at(now) }.validity()
    }

    fn session(id: u128, created: i64, refreshed: Option<i64>) -> Session {
        Session {
            id: Uuid::from_u128(id),
            created_at: at(created),
            refreshed_at: refreshed.map(|seconds| at(seconds).naive_utc()),
            ..Session::default()
        }
    }

    fn with_factor() -> Account {
        Account { factors: vec![Factor { status: "verified".into(), ..Factor::default() }], ..Account::default() }
    }

    #[test]
    fn limits_hold_to_their_last_moment() {
        let account = with_factor();
        let fresh = session(1, 0, None);
        for (policy, session, last, expected) in [
            (
                SessionPolicy { timebox: Some(minutes(10)), ..Default::default() },
                fresh.clone(),
                600,
                Validity::TimedOut,
            ),
            (
                SessionPolicy { inactivity_timeout: Some(minutes(5)), ..Default::default() },
                fresh.clone(),
                300,
                Validity::Idle,
            ),
            (
                SessionPolicy { inactivity_timeout: Some(minutes(5)), ..Default::default() },
                self::session(1, 0, Some(100)),
                400,
                Validity::Idle,
            ),
            (
                SessionPolicy { allow_low_aal: Some(minutes(5)), ..Default::default() },
                fresh.clone(),
                300,
                Validity::LowAal,
            ),
            (SessionPolicy::default(), Session { not_after: Some(at(50)), ..fresh.clone() }, 50, Validity::Ended),
        ] {
            assert_eq!(validity(&session, &account, &policy, last), Validity::Valid);
            assert_eq!(validity(&session, &account, &policy, last + 1), expected);
        }
    }

    #[test]
    fn without_limits_a_session_never_ends() {
        let policy = SessionPolicy { timebox: Some(Duration::ZERO), ..SessionPolicy::default() };
        assert_eq!(validity(&session(1, 0, None), &with_factor(), &policy, 1 << 40), Validity::Valid);
    }

    #[test]
    fn the_low_level_matters_only_where_a_higher_one_is_possible() {
        let policy = SessionPolicy { allow_low_aal: Some(minutes(1)), ..SessionPolicy::default() };
        let low = session(1, 0, None);
        let high = Session { aal: Aal::Aal2, ..low.clone() };
        assert_eq!(validity(&low, &Account::default(), &policy, 1000), Validity::Valid);
        assert_eq!(validity(&high, &with_factor(), &policy, 1000), Validity::Valid);
        assert_eq!(validity(&low, &with_factor(), &policy, 1000), Validity::LowAal);
    }

    #[test]
    fn the_token_stands_in_for_a_session_never_refreshed() {
        assert_eq!(last_refreshed(&session(1, 100, None), None), at(100));
        assert_eq!(last_refreshed(&session(1, 100, None), Some(at(200))), at(200));
        assert_eq!(last_refreshed(&session(1, 100, None), Some(at(50))), at(100));
        assert_eq!(last_refreshed(&session(1, 100, Some(150)), Some(at(200))), at(150));
    }

    #[test]
    fn every_outcome_has_its_words() {
        for (validity, message) in [
            (Validity::Ended, "Invalid Refresh Token: Session Expired"),
            (Validity::TimedOut, "Invalid Refresh Token: Session Expired"),
            (Validity::Idle, "Invalid Refresh Token: Session Expired (Inactivity)"),
            (Validity::LowAal, "Invalid Refresh Token: Session Expired (Low AAL: User Needs MFA Verification)"),
        ] {
            let refused = validity.check().unwrap_err();
            assert_eq!((refused.code(), refused.message()), ("session_expired", message));
        }
        assert!(Validity::Valid.check().is_ok());
    }

    #[test]
    fn a_tag_counts_if_it_is_known() {
        let tags = ["web".to_owned(), "app".to_owned()];
        let tagged = |tag: &str| Session { tag: Some(tag.into()), ..Session::default() };
        assert_eq!(effective_tag(&tagged("app"), &tags), "app");
        assert_eq!(effective_tag(&tagged("other"), &tags), "web");
        assert_eq!(effective_tag(&tagged(""), &tags), "web");
        assert_eq!(effective_tag(&Session::default(), &tags), "web");
        assert_eq!(effective_tag(&tagged("app"), &[]), "");
    }

    #[test]
    fn only_the_newest_valid_session_of_a_tag_goes_on() {
        let tags = vec!["web".to_owned(), "app".to_owned()];
        let policy =
            SessionPolicy { single_per_user: true, timebox: Some(minutes(60)), tags, ..SessionPolicy::default() };
        let mine = session(1, 1000, None);
        let tagged = Session { tag: Some("app".into()), ..session(2, 3000, None) };
        let old = session(3, -5000, Some(3000));
        let check = |policy: &SessionPolicy, others: &[Session], token_time| {
            let account = &Account::default();
            Facts { session: &mine, account, policy, token_time, now: at(3600) }.check_newest(others).is_ok()
        };
        assert!(check(&policy, &[mine.clone(), session(2, 900, None), tagged, old], None));
        assert!(check(&policy, &[session(2, 1000, None)], None));
        assert!(!check(&policy, &[session(2, 1001, None)], None));
        assert!(!check(&policy, &[session(2, 900, Some(2000))], None));
        assert!(check(&policy, &[session(2, 900, Some(2000))], Some(at(2000))));
        assert!(check(&SessionPolicy::default(), &[session(2, 2000, None)], None));
    }
}
