//! Authorization requests (RFC 6749 §4.1.1) and the user's consent.

use foundation::error::{Error, ErrorCode};
use foundation::time::Time;
use uuid::Uuid;

use super::{resource, scope};
use crate::domain::pkce::{Challenge, ChallengeMethod};
use crate::domain::policy::OAuthServerPolicy;

/// Parameters of an authorization request, after client and redirect URI are known; empty where absent.
#[derive(Debug, Clone, Copy, Default)]
pub struct AuthorizationParameters<'a> {
    pub response_type: &'a str,
    pub scope: &'a str,
    pub resource: &'a str,
    /// `code_challenge`.
    pub challenge: &'a str,
    /// `code_challenge_method`.
    pub challenge_method: &'a str,
}

/// The validated part of an authorization request that is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizationRequest {
    /// `scope`, as received; never empty.
    pub scope: String,
    /// The PKCE challenge of the code.
    pub challenge: Challenge,
}

/// Validates the parameters; an error is the `error_description` of an `invalid_request`.
pub fn validate_parameters(
    parameters: AuthorizationParameters<'_>,
    policy: &OAuthServerPolicy,
) -> Result<AuthorizationRequest, String> {
    if !matches!(parameters.response_type, "" | "code") {
        return Err("only response_type=code is supported".to_owned());
    }
    let scope = if parameters.scope.is_empty() { &policy.default_scope } else { parameters.scope };
    scope::validate_scopes(scope, policy)?;
    resource::validate_resource(parameters.resource)?;
    let challenge = validate_challenge(parameters, policy.is_plain_challenge_rejected)?;
    Ok(AuthorizationRequest { scope: scope.to_owned(), challenge })
}

/// Validates the challenge, which is required.
fn validate_challenge(parameters: AuthorizationParameters<'_>, plain_refused: bool) -> Result<Challenge, String> {
    if parameters.challenge.is_empty() || parameters.challenge_method.is_empty() {
        return Err("PKCE flow requires both code_challenge and code_challenge_method".to_owned());
    }
    let method = match ChallengeMethod::parse(parameters.challenge_method) {
        Some(ChallengeMethod::Plain) | None if plain_refused => {
            return Err("code_challenge_method must be 'S256'".to_owned());
        }
        Some(method) => method,
        None => return Err("code_challenge_method must be 'S256' or 'plain'".to_owned()),
    };
    if !(43..=128).contains(&parameters.challenge.len()) {
        return Err("code_challenge must be between 43 and 128 characters".to_owned());
    }
    Ok(Challenge { value: parameters.challenge.to_owned(), method })
}

/// Status of an authorization request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthorizationStatus {
    /// The user has not decided.
    Pending,
    /// The user approved it.
    Approved,
    /// The user denied it.
    Denied,
    /// It expired before a decision.
    Expired,
}

impl AuthorizationStatus {
    /// Parses a status; an unknown one counts as expired.
    pub fn parse(word: &str) -> Self {
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
    pub id: Uuid,
    pub client_id: Uuid,
    /// `user_id`: the first user who opened it.
    pub user_id: Option<Uuid>,
    pub redirect_uri: String,
    pub scope: String,
    /// `state`; empty for none.
    pub state: String,
    /// `resource`; empty for none.
    pub resource: String,
    /// `code_challenge` and its method.
    pub challenge: Option<Challenge>,
    /// `nonce`; empty for none.
    pub nonce: String,
    pub status: AuthorizationStatus,
    pub expires_at: Time,
}

impl Authorization {
    /// Whether the request has expired.
    pub fn is_expired(&self, now: Time) -> bool {
        now > self.expires_at
    }
}

/// Decision about viewing an authorization request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewDecision {
    /// It becomes expired and is answered with [`not_found`].
    Expired,
    /// It is decided already: 400.
    AlreadyDecided,
    /// It belongs to another user: [`not_found`].
    OtherUser,
    /// It becomes the caller's, and consent is required.
    BindAndAsk,
    /// It becomes the caller's and is approved, because an earlier grant covers the scopes.
    AutoApprove,
    /// It is the caller's already, and consent is required.
    Ask,
}

/// Decides about viewing a request. `granted` are the scopes that the caller has granted to the client, and count.
pub fn decide_view(request: &Authorization, caller: Uuid, granted: Option<&str>, now: Time) -> ViewDecision {
    if request.is_expired(now) {
        return ViewDecision::Expired;
    }
    if request.status != AuthorizationStatus::Pending {
        return ViewDecision::AlreadyDecided;
    }
    match request.user_id {
        None if granted.is_some_and(|granted| scope::covers(granted, &request.scope)) => ViewDecision::AutoApprove,
        None => ViewDecision::BindAndAsk,
        Some(owner) if owner == caller => ViewDecision::Ask,
        Some(_) => ViewDecision::OtherUser,
    }
}

/// Decision about a consent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsentDecision {
    /// It becomes expired and is answered with [`not_found`].
    Expired,
    /// It is decided already: 400.
    Closed,
    /// It belongs to another user or to none yet: [`not_found`].
    Foreign,
    /// The consent is recorded.
    Record,
}

/// Decides about a consent.
pub fn decide_consent(request: &Authorization, caller: Uuid, now: Time) -> ConsentDecision {
    if request.is_expired(now) {
        return ConsentDecision::Expired;
    }
    match (request.status, request.user_id) {
        (AuthorizationStatus::Pending, Some(owner)) if owner == caller => ConsentDecision::Record,
        (AuthorizationStatus::Pending, _) => ConsentDecision::Foreign,
        _ => ConsentDecision::Closed,
    }
}

/// Error of a request that is unknown, expired or another user's; the cases are indistinguishable.
pub fn not_found() -> Error {
    Error::new(ErrorCode::OAuthAuthorizationNotFound, "authorization not found")
}

/// Error of viewing a decided request.
pub fn cannot_be_processed() -> Error {
    Error::invalid("authorization request cannot be processed")
}

/// Error of a second consent.
pub fn no_longer_pending() -> Error {
    Error::invalid("authorization request is no longer pending")
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use super::*;

    pub(crate) const ANN: Uuid = Uuid::from_u128(1);
    const BOB: Uuid = Uuid::from_u128(2);

    /// A request for `email profile` that lives until 1000 s.
    pub(crate) fn authorization(status: AuthorizationStatus, user_id: Option<Uuid>) -> Authorization {
        Authorization {
            id: Uuid::from_u128(9),
            client_id: Uuid::from_u128(7),
            user_id,
            redirect_uri: "https://app.example.com/callback".into(),
            scope: "email profile".into(),
            state: String::new(),
            resource: String::new(),
            challenge: Some(Challenge { value: "v".repeat(43), method: ChallengeMethod::Plain }),
            nonce: String::new(),
            status,
            expires_at: at(1000),
        }
    }

    pub(crate) fn at(seconds: u64) -> Time {
        Time::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn authorization_parameters_are_validated() {
        let challenge = "c".repeat(43);
        let good = AuthorizationParameters {
            challenge: &challenge,
            challenge_method: "S256",
            ..AuthorizationParameters::default()
        };
        let long = "c".repeat(129);
        let policy = OAuthServerPolicy::default();
        for (parameters, message) in [
            (good, ""),
            (
                AuthorizationParameters {
                    response_type: "code",
                    scope: "openid",
                    resource: "https://api.example.com",
                    ..good
                },
                "",
            ),
            (AuthorizationParameters { challenge_method: "PLAIN", ..good }, ""),
            (
                AuthorizationParameters { response_type: "token", scope: "x", ..good },
                "only response_type=code is supported",
            ),
            (AuthorizationParameters { scope: "email admin", resource: "x", ..good }, "unsupported scope: admin"),
            (AuthorizationParameters { resource: "shop", challenge: "", ..good }, "resource must be an absolute URI"),
            (
                AuthorizationParameters { challenge: "", ..good },
                "PKCE flow requires both code_challenge and code_challenge_method",
            ),
            (
                AuthorizationParameters { challenge_method: "", ..good },
                "PKCE flow requires both code_challenge and code_challenge_method",
            ),
            (
                AuthorizationParameters { challenge_method: "S512", challenge: "x", ..good },
                "code_challenge_method must be 'S256' or 'plain'",
            ),
            (
                AuthorizationParameters { challenge: "short", ..good },
                "code_challenge must be between 43 and 128 characters",
            ),
            (
                AuthorizationParameters { challenge: &long, ..good },
                "code_challenge must be between 43 and 128 characters",
            ),
        ] {
            assert_eq!(validate_parameters(parameters, &policy).err().unwrap_or_default(), message, "{parameters:?}");
        }
        assert_eq!(validate_parameters(good, &policy).unwrap().scope, "email");
        let none = OAuthServerPolicy { default_scope: String::new(), ..policy };
        assert_eq!(validate_parameters(good, &none).unwrap_err(), "scope parameter is required");
    }

    #[test]
    fn plain_challenge_is_rejected_by_policy() {
        let challenge = "c".repeat(43);
        let policy = OAuthServerPolicy { is_plain_challenge_rejected: true, ..OAuthServerPolicy::default() };
        for (method, is_good) in [("S256", true), ("s256", true), ("plain", false), ("Plain", false), ("S512", false)] {
            let parameters = AuthorizationParameters {
                challenge: &challenge,
                challenge_method: method,
                ..AuthorizationParameters::default()
            };
            assert_eq!(validate_parameters(parameters, &policy).is_ok(), is_good, "{method}");
        }
    }

    #[test]
    fn first_viewer_is_bound_to_request() {
        use AuthorizationStatus::{Approved, Denied, Expired, Pending};
        for (status, owner, granted, seconds, outcome) in [
            (Pending, None, None, 1000, ViewDecision::BindAndAsk),
            (Pending, None, Some("email"), 1000, ViewDecision::BindAndAsk),
            (Pending, None, Some("profile email phone"), 1000, ViewDecision::AutoApprove),
            (Pending, Some(ANN), None, 1000, ViewDecision::Ask),
            (Pending, Some(ANN), Some("email profile"), 1000, ViewDecision::Ask),
            (Pending, Some(BOB), Some("email profile"), 1000, ViewDecision::OtherUser),
            (Approved, Some(ANN), None, 1000, ViewDecision::AlreadyDecided),
            (Denied, Some(BOB), None, 1000, ViewDecision::AlreadyDecided),
            (Expired, None, None, 1000, ViewDecision::AlreadyDecided),
            (Pending, None, Some("email profile"), 1001, ViewDecision::Expired),
            (Approved, Some(BOB), None, 1001, ViewDecision::Expired),
        ] {
            let request = authorization(status, owner);
            assert_eq!(decide_view(&request, ANN, granted, at(seconds)), outcome, "{status:?} {owner:?} {granted:?}");
        }
    }

    #[test]
    fn only_bound_user_may_consent_once() {
        use AuthorizationStatus::{Approved, Denied, Pending};
        for (status, owner, seconds, outcome) in [
            (Pending, Some(ANN), 1000, ConsentDecision::Record),
            (Pending, Some(BOB), 1000, ConsentDecision::Foreign),
            (Pending, None, 1000, ConsentDecision::Foreign),
            (Approved, Some(ANN), 1000, ConsentDecision::Closed),
            (Denied, Some(BOB), 1000, ConsentDecision::Closed),
            (Pending, Some(ANN), 1001, ConsentDecision::Expired),
        ] {
            assert_eq!(
                decide_consent(&authorization(status, owner), ANN, at(seconds)),
                outcome,
                "{status:?} {owner:?}"
            );
        }
    }
}
