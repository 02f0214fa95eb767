//! What the steps of a sign-in share: the request, and tickets.

use axum::response::Response;
use chrono::TimeDelta;
use http::StatusCode;
use uuid::Uuid;

use super::known_device;
use crate::auth_client::{AuthCall, AuthClient};
use crate::auth_session::AuthSession;
use crate::http::error::DeskError;
use crate::http::origin::OwnOrigin;
use crate::http::respond;
use crate::session::{self, DeskSession, ProvedOwner};
use crate::settings::DeskSettings;
use crate::store::devices;
use crate::store::tickets::{self, AttemptLimits, NewTicket, Purpose, Ticket};
use crate::token::{Token, hash_presented};
use crate::visit::Visit;

/// How long a ticket is valid.
const TICKET_LIFETIME: TimeDelta = TimeDelta::minutes(10);
/// The attempts with one ticket.
const MOST_ATTEMPTS: i32 = 5;
/// The attempts within [`ATTEMPT_WINDOW`]: of a known device, with tickets of a known address, else with all tickets of the user.
const MOST_RECENT_ATTEMPTS: i64 = 20;
/// How long the address of a sign-in is known.
const KNOWN_ADDRESS: TimeDelta = TimeDelta::days(30);
/// Tickets are kept for this time, so that their attempts are counted.
pub(crate) const ATTEMPT_WINDOW: TimeDelta = TimeDelta::minutes(30);

/// The steps of a sign-in: what they call, and the request that they answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SignIn<'a> {
    /// The auth API.
    pub auth: &'a AuthClient,
    pub settings: &'a DeskSettings,
    /// The request.
    pub visit: &'a Visit,
    /// The site that it comes from.
    pub origin: OwnOrigin,
}

impl SignIn<'_> {
    /// Stores a ticket and returns its secret.
    pub(super) async fn create_ticket(
        &self,
        purpose: Purpose,
        session: Option<AuthSession>,
        subject: Option<Uuid>,
    ) -> Result<String, DeskError> {
        create_ticket(self.visit, purpose, session, subject).await
    }

    /// Starts the session of the desk and answers with it.
    pub(super) async fn start_session(&self, proved: ProvedOwner<'_>) -> Result<Response, DeskError> {
        let visit = self.visit;
        let user_id = proved.session.user_id;
        let token = session::start(visit, proved).await?.ok_or_else(ticket_expired)?;
        // The session is read as later requests read it, so that a sign-in that they would refuse is refused here.
        let found = DeskSession::find_by_token(visit, &token).await?.ok_or_else(invalid_credentials)?;
        let mut response = respond::ok(&found.to_json(self.settings, visit));
        let (name, value) = session::build_cookie(&token, self.origin.is_https);
        response.headers_mut().append(name, value);
        if let Some((name, value)) = known_device::remember(visit, user_id, self.origin.is_https).await {
            response.headers_mut().append(name, value);
        }
        Ok(response)
    }

    /// Ends a session of the auth API that leads to no session of the desk; a failure is only logged.
    pub(crate) async fn end_auth_session(&self, session: AuthSession) {
        let ended = end_auth_session(self.auth, self.visit, session).await;
        if let Err(error) = ended {
            tracing::warn!(status = error.status().as_u16(), "ending an unused session of the auth API failed");
        }
    }
}

/// Stores a ticket and returns its secret.
pub(crate) async fn create_ticket(
    visit: &Visit,
    purpose: Purpose,
    session: Option<AuthSession>,
    subject: Option<Uuid>,
) -> Result<String, DeskError> {
    let token = Token::generate(&visit.app.entropy);
    let expires_at = visit.now + TICKET_LIFETIME;
    let address = visit.sender.address();
    let (address, now) = (address.as_deref(), visit.now);
    let new = NewTicket { token_hash: &token.hash, purpose, session, subject, address, now, expires_at };
    tickets::insert(&mut visit.db(), new).await?;
    Ok(token.text)
}

/// Counts an attempt with a ticket of one of two purposes; returns its digest and its content.
///
/// # Errors
/// 401 `ticket_expired`, 429.
pub(crate) async fn use_ticket(
    visit: &Visit,
    presented: &str,
    purposes: [Purpose; 2],
) -> Result<(Vec<u8>, Ticket), DeskError> {
    let hash = hash_presented(presented).ok_or_else(ticket_expired)?;
    let address = visit.sender.address();
    let limits = AttemptLimits {
        most: MOST_ATTEMPTS,
        since: visit.now - ATTEMPT_WINDOW,
        address: address.as_deref(),
        known_since: visit.now - KNOWN_ADDRESS,
    };
    let found = tickets::record_use(&mut visit.db(), &hash, purposes, limits, visit.now).await?;
    let ticket = found.ok_or_else(ticket_expired)?;
    let by_device = match (&visit.device, ticket.session) {
        (Some(device), Some(session)) => {
            let since = visit.now - ATTEMPT_WINDOW;
            devices::record_attempt(&mut visit.db(), &device.token_hash, session.user_id, since, visit.now).await?
        }
        _ => None,
    };
    let before = by_device.map_or(ticket.recent_attempts, |count| i64::from(count) - 1);
    if before >= MOST_RECENT_ATTEMPTS {
        let seconds = ATTEMPT_WINDOW.num_seconds().unsigned_abs();
        return Err(DeskError::too_many("There were too many wrong codes.", seconds).hint("Sign in again later."));
    }
    Ok((hash, ticket))
}

/// Ends a session of the auth API.
pub(crate) async fn end_auth_session(auth: &AuthClient, visit: &Visit, session: AuthSession) -> Result<(), DeskError> {
    let token = visit.sign_session_token(session)?;
    let call = AuthCall { method: http::Method::POST, path: "/logout?scope=local", token: Some(&token), body: None };
    auth.call(&visit.sender, call).await.map(drop)
}

/// 401: equal for an unknown user, a wrong password, and a user who is no owner.
pub(super) fn invalid_credentials() -> DeskError {
    DeskError::new(StatusCode::UNAUTHORIZED, "invalid_credentials", "The sign-in is not valid.")
        .hint("Check address and password. The user must be an owner of the shop.")
}

/// 401: the first step has to be repeated.
pub(crate) fn ticket_expired() -> DeskError {
    DeskError::new(StatusCode::UNAUTHORIZED, "ticket_expired", "The sign-in was not completed in time.")
        .hint("Sign in again.")
}
