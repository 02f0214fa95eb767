//! Bans: the only rule that refuses a banned user.

use foundation::error::{Error, ErrorCode, OAuthErrorCode, Result};
use foundation::time::Time;

use super::user::User;

/// What a banned user attempts; the error depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BannedAttempt {
    /// A request with an access token, or a sign-in by any method not listed below.
    Access,
    PasswordSignIn,
    /// A refresh of a session.
    Refresh,
    /// The exchange of an authorization code of the OAuth server.
    CodeExchange,
}

impl BannedAttempt {
    /// Returns the error that refuses the attempt.
    pub fn error(self) -> Error {
        match self {
            Self::Access => Error::new(ErrorCode::UserBanned, "User is banned"),
            Self::PasswordSignIn => Error::http(400, ErrorCode::UserBanned, "User is banned"),
            Self::Refresh => Error::http(400, ErrorCode::UserBanned, "Invalid Refresh Token: User Banned"),
            Self::CodeExchange => Error::oauth(OAuthErrorCode::AccessDenied, "User is banned"),
        }
    }
}

/// Refuses the attempt of a user whose ban is in force.
pub fn require_not_banned(user: &User, attempt: BannedAttempt, now: Time) -> Result<()> {
    if user.is_banned(now) { Err(attempt.error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    #[test]
    fn ban_refuses_every_attempt_until_it_ends() {
        let end = Time::UNIX_EPOCH + TimeDelta::seconds(10);
        let banned = User { banned_until: Some(end), ..User::default() };
        // An OAuth error has no code of the API.
        for (attempt, status, code) in [
            (BannedAttempt::Access, 403, "user_banned"),
            (BannedAttempt::PasswordSignIn, 400, "user_banned"),
            (BannedAttempt::Refresh, 400, "user_banned"),
            (BannedAttempt::CodeExchange, 400, "unknown"),
        ] {
            let error = require_not_banned(&banned, attempt, end - TimeDelta::seconds(1)).unwrap_err();
            assert_eq!((error.status(), error.code().as_str()), (status, code), "{attempt:?}");
            assert!(require_not_banned(&banned, attempt, end).is_ok(), "{attempt:?}");
            assert!(require_not_banned(&User::default(), attempt, end).is_ok(), "{attempt:?}");
        }
    }
}
