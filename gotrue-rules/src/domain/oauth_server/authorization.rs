//! A request for somebody's consent, from the client's question to the answer.

use uuid::Uuid;

use super::{resource, scope};
use crate::domain::error::Error;
use crate::domain::pkce::{Challenge, Method};
use crate::domain::policy::OAuthServerPolicy;
use crate::domain::user::Time;

/// What a client asks, once it is known who asks and where the answer goes; texts are empty where nothing is given.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked<'a> {
    /// `response_type`.
    pub response_type: &'a str,
    /// `scope`.
    pub scope: &'a str,
    /// `resource`.
    pub resource: &'a str,
    /// `code_challenge`.
    pub challenge: &'a str,
    /// `code_challenge_method`.
    pub challenge_method: &'a str,
}

/// What is kept of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// `scope`, as it was written; never empty.
    pub scope: String,
    /// What the code will be bound to.
    pub challenge: Challenge,
}

/// Checks what is asked, or says what is wrong with it: the `error_description` of an `invalid_request`.
pub fn check(asked: Asked<'_>, policy: &OAuthServerPolicy) -> Result<Request, String> {
    if !matches!(asked.response_type, "" | "code") {
        return Err("only response_type=code is supported".to_owned());
    }
    let scope = if asked.scope.is_empty() { &policy.default_scope } else { asked.scope };
    scope::check(scope)?;
    resource::check(asked.resource)?;
    let challenge = challenge(asked, policy.plain_challenges_refused)?;
    Ok(Request { scope: scope.to_owned(), challenge })
}

/// The challenge: there is no way without one.
fn challenge(asked: Asked<'_>, plain_refused: bool) -> Result<Challenge, String> {
    if asked.challenge.is_empty() || asked.challenge_method.is_empty() {
        return Err("PKCE flow requires both code_challenge and code_challenge_method".to_owned());
    }
    let method = match Method::from_word(asked.challenge_method) {
        Some(Method::Plain) | None if plain_refused => return Err("code_challenge_method must be 'S256'".to_owned()),
        Some(method) => method,
        None => return Err("code_challenge_method must be 'S256' or 'plain'".to_owned()),
    };
    if !(43..=128).contains(&asked.challenge.len()) {
        return Err("code_challenge must be between 43 and 128 characters".to_owned());
    }
    Ok(Challenge { text: asked.challenge.to_owned(), method })
}

/// Where a request stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Nobody has answered.
    Pending,
    /// It was agreed to.
    Approved,
    /// It was refused.
    Denied,
    /// Nobody answered in time.
    Expired,
}

impl Status {
    /// The status of that name; anything unknown is over.
    pub fn from_word(word: &str) -> Self {
        match word {
            "pending" => Self::Pending,
            "approved" => Self::Approved,
            "denied" => Self::Denied,
            _ => Self::Expired,
        }
    }
}

/// A row of `auth.oauth_authorizations`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authorization {
    /// `id`.
    pub id: Uuid,
    /// `client_id`.
    pub client_id: Uuid,
    /// `user_id`: who looked at it first.
    pub user_id: Option<Uuid>,
    /// `redirect_uri`.
    pub redirect_uri: String,
    /// `scope`.
    pub scope: String,
    /// `state`; empty for none.
    pub state: String,
    /// `resource`; empty for none.
    pub resource: String,
    /// `code_challenge` and its method.
    pub challenge: Option<Challenge>,
    /// `nonce`; empty for none.
    pub nonce: String,
    /// `status`.
    pub status: Status,
    /// `expires_at`.
    pub expires_at: Time,
}

impl Authorization {
    /// Whether it came too late.
    pub fn is_expired(&self, now: Time) -> bool {
        now > self.expires_at
    }
}

/// What comes of a look at a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// It is marked as expired, and answered [`not_found`].
    Expired,
    /// It was answered before: 400.
    Closed,
    /// It is somebody else's: [`not_found`].
    Foreign,
    /// It is the caller's from now on, who is asked.
    Bind,
    /// It is the caller's from now on, who has agreed to all of it before and is not asked again.
    Agree,
    /// It is the caller's, who is asked once more.
    Ask,
}

/// Decides about a look. `granted` are the scopes that the caller grants the client already.
pub fn look(request: &Authorization, caller: Uuid, granted: Option<&str>, now: Time) -> Look {
    if request.is_expired(now) {
        return Look::Expired;
    }
    if request.status != Status::Pending {
        return Look::Closed;
    }
    match request.user_id {
        None if granted.is_some_and(|granted| scope::covers(granted, &request.scope)) => Look::Agree,
        None => Look::Bind,
        Some(owner) if owner == caller => Look::Ask,
        Some(_) => Look::Foreign,
    }
}

/// What comes of an answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// It is marked as expired, and answered [`not_found`].
    Expired,
    /// It was answered before: 400.
    Closed,
    /// The caller has not looked at it, or somebody else has: [`not_found`].
    Foreign,
    /// It counts.
    Counts,
}

/// Decides about an answer.
pub fn answer(request: &Authorization, caller: Uuid, now: Time) -> Answered {
    if request.is_expired(now) {
        return Answered::Expired;
    }
    match (request.status, request.user_id) {
        (Status::Pending, Some(owner)) if owner == caller => Answered::Counts,
        (Status::Pending, _) => Answered::Foreign,
        _ => Answered::Closed,
    }
}

/// The refusal of a request that is unknown, too old, or somebody else's: nobody can tell which.
pub fn not_found() -> Error {
    Error::not_found("oauth_authorization_not_found", "authorization not found")
}

/// The refusal of a look at a request that was answered.
pub fn closed() -> Error {
    Error::invalid("authorization request cannot be processed")
}

/// The refusal of a second answer.
pub fn no_longer_pending() -> Error {
    Error::invalid("authorization request is no longer pending")
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use super::*;

    pub const ANN: Uuid = Uuid::from_u128(1);
    const BOB: Uuid = Uuid::from_u128(2);

    /// A request for `email profile` that lives until 1000 s.
    pub fn authorization(status: Status, user_id: Option<Uuid>) -> Authorization {
        Authorization {
            id: Uuid::from_u128(9),
            client_id: Uuid::from_u128(7),
            user_id,
            redirect_uri: "https://app.example.com/callback".into(),
            scope: "email profile".into(),
            state: String::new(),
            resource: String::new(),
            challenge: Some(Challenge { text: "v".repeat(43), method: Method::Plain }),
            nonce: String::new(),
            status,
            expires_at: at(1000),
        }
    }

    pub fn at(seconds: u64) -> Time {
        Time::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn what_may_be_asked() {
        let challenge = "c".repeat(43);
        let good = Asked { challenge: &challenge, challenge_method: "S256", ..Asked::default() };
        let long = "c".repeat(129);
        let policy = OAuthServerPolicy::default();
        for (asked, message) in [
            (good, ""),
            (Asked { response_type: "code", scope: "openid", resource: "https://api.example.com", ..good }, ""),
            (Asked { challenge_method: "PLAIN", ..good }, ""),
            (Asked { response_type: "token", scope: "x", ..good }, "only response_type=code is supported"),
            (Asked { scope: "email admin", resource: "x", ..good }, "unsupported scope: admin"),
            (Asked { resource: "shop", challenge: "", ..good }, "resource must be an absolute URI"),
            (Asked { challenge: "", ..good }, "PKCE flow requires both code_challenge and code_challenge_method"),
            (
                Asked { challenge_method: "", ..good },
                "PKCE flow requires both code_challenge and code_challenge_method",
            ),
            (
                Asked { challenge_method: "S512", challenge: "x", ..good },
                "code_challenge_method must be 'S256' or 'plain'",
            ),
            (Asked { challenge: "short", ..good }, "code_challenge must be between 43 and 128 characters"),
            (Asked { challenge: &long, ..good }, "code_challenge must be between 43 and 128 characters"),
        ] {
            assert_eq!(check(asked, &policy).err().unwrap_or_default(), message, "{asked:?}");
        }
        assert_eq!(check(good, &policy).unwrap().scope, "email");
        let none = OAuthServerPolicy { default_scope: String::new(), ..policy };
        assert_eq!(check(good, &none).unwrap_err(), "scope parameter is required");
    }

    #[test]
    fn a_plain_challenge_can_be_refused() {
        let challenge = "c".repeat(43);
        let policy = OAuthServerPolicy { plain_challenges_refused: true, ..OAuthServerPolicy::default() };
        for (method, is_good) in [("S256", true), ("s256", true), ("plain", false), ("Plain", false), ("S512", false)] {
            let asked = Asked { challenge: &challenge, challenge_method: method, ..Asked::default() };
            assert_eq!(check(asked, &policy).is_ok(), is_good, "{method}");
        }
    }

    #[test]
    fn a_look_binds_the_first_who_comes() {
        use Status::{Approved, Denied, Expired, Pending};
        for (status, owner, granted, seconds, outcome) in [
            (Pending, None, None, 1000, Look::Bind),
            (Pending, None, Some("email"), 1000, Look::Bind),
            (Pending, None, Some("profile email phone"), 1000, Look::Agree),
            (Pending, Some(ANN), None, 1000, Look::Ask),
            (Pending, Some(ANN), Some("email profile"), 1000, Look::Ask),
            (Pending, Some(BOB), Some("email profile"), 1000, Look::Foreign),
            (Approved, Some(ANN), None, 1000, Look::Closed),
            (Denied, Some(BOB), None, 1000, Look::Closed),
            (Expired, None, None, 1000, Look::Closed),
            (Pending, None, Some("email profile"), 1001, Look::Expired),
            (Approved, Some(BOB), None, 1001, Look::Expired),
        ] {
            let request = authorization(status, owner);
            assert_eq!(look(&request, ANN, granted, at(seconds)), outcome, "{status:?} {owner:?} {granted:?}");
        }
    }

    #[test]
    fn only_who_has_looked_may_answer_and_once() {
        use Status::{Approved, Denied, Pending};
        for (status, owner, seconds, outcome) in [
            (Pending, Some(ANN), 1000, Answered::Counts),
            (Pending, Some(BOB), 1000, Answered::Foreign),
            (Pending, None, 1000, Answered::Foreign),
            (Approved, Some(ANN), 1000, Answered::Closed),
            (Denied, Some(BOB), 1000, Answered::Closed),
            (Pending, Some(ANN), 1001, Answered::Expired),
        ] {
            assert_eq!(answer(&authorization(status, owner), ANN, at(seconds)), outcome, "{status:?} {owner:?}");
        }
    }
}
