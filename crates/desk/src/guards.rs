//! What a request has to pass before its handler: pages of the own site alone, and for owners the session.

use std::sync::Arc;

use axum::extract::{FromRef, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use chrono::SubsecRound;
use gotrue_rules::domain::password::{CharacterKind, required_kinds};
use gotrue_rules::domain::policy::PasswordPolicy;
use http::request::Parts;
use serde_json::{Value, json};

use crate::auth_client::Sender;
use crate::http::error::DeskError;
use crate::http::origin::{OwnOrigin, is_change, require_own_document, require_own_origin};
use crate::paths::MOUNT;
use crate::session::DeskSession;
use crate::settings::PasskeyOffer;
use crate::state::DeskState;
use crate::visit::Visit;

/// The state of routes behind [`require_session`].
///
/// Handlers with an [`OwnerCall`](crate::OwnerCall) fit routers of this state alone, and only the desk makes it.
pub struct Guarded<T>(Arc<T>);

impl<T> Guarded<T> {
    pub(crate) fn new(state: Arc<T>) -> Self {
        Self(state)
    }
}

impl<T> Clone for Guarded<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> FromRef<Guarded<T>> for Arc<T> {
    fn from_ref(guarded: &Guarded<T>) -> Self {
        Self::clone(&guarded.0)
    }
}

/// What the guards leave of a request of a signed-in owner; an extension of the request.
#[derive(Debug, Clone)]
pub(crate) struct Admitted {
    pub visit: Visit,
    pub session: Arc<DeskSession>,
    /// The site that the request comes from.
    pub origin: OwnOrigin,
}

/// Lets requests of pages of the own site through, and leaves their [`Visit`] and [`OwnOrigin`].
///
/// A change has an origin; a request without one changes nothing.
pub(crate) async fn admit_own_site(
    State(desk): State<Arc<DeskState>>,
    request: Request,
    next: Next,
) -> Result<Response, DeskError> {
    let (mut head, body) = request.into_parts();
    require_own_document(&head.headers, MOUNT)?;
    let origin = if is_change(&head.method) {
        require_own_origin(&head.headers, &desk.settings.own_urls)?
    } else {
        OwnOrigin { is_https: desk.settings.is_https() }
    };
    let app = desk.app();
    let visit = Visit { now: app.clock.now().trunc_subsecs(6), sender: Sender::of(&head), app, device: None };
    head.extensions.insert(visit);
    head.extensions.insert(origin);
    Ok(next.run(Request::from_parts(head, body)).await)
}

/// Lets requests of signed-in owners through, changes with the token against forged requests, and leaves an [`Admitted`].
pub(crate) async fn require_session(
    State(desk): State<Arc<DeskState>>,
    request: Request,
    next: Next,
) -> Result<Response, DeskError> {
    let (mut head, body) = request.into_parts();
    let visit = take(&mut head)?;
    let Some(session) = DeskSession::find(&visit, &head.headers, desk.settings.is_https()).await? else {
        let is_setup = head.uri.path() == "/session" && desk.is_setup_open(&visit).await?;
        return Err(refuse_visitor(&desk, &visit, is_setup));
    };
    if is_change(&head.method) {
        session.require_csrf_token(&head.headers)?;
    }
    let origin = take(&mut head)?;
    head.extensions.insert(Admitted { visit, session: Arc::new(session), origin });
    Ok(next.run(Request::from_parts(head, body)).await)
}

/// Takes what a guard has left.
///
/// # Errors
/// 500 if it did not run.
pub(crate) fn take<T: Clone + Send + Sync + 'static>(head: &mut Parts) -> Result<T, DeskError> {
    head.extensions.remove().ok_or_else(|| {
        tracing::error!("a request of the desk has passed no guard");
        DeskError::internal()
    })
}

/// 401, with what the page needs for a sign-in or the setup.
fn refuse_visitor(desk: &DeskState, visit: &Visit, is_setup: bool) -> DeskError {
    let (offer, passwords) = (PasskeyOffer::of(&desk.settings, visit), &visit.app.policy.password);
    DeskError::session_missing()
        .with("setup", is_setup)
        .with("password_min_length", passwords.min_length)
        .with("password_kinds", list_password_kinds(passwords))
        .with("password_is_looked_up", passwords.hibp.enabled)
        .with("passkeys", offer.is_enabled)
        .with("passkey_origins", offer.origins)
        .with("passkey_url", offer.url)
}

/// Lists the kinds of characters that a new password needs, each with the characters where they are no usual kind.
fn list_password_kinds(policy: &PasswordPolicy) -> Value {
    let kinds = required_kinds(policy).into_iter().map(|kind| match kind {
        CharacterKind::SmallLetter => json!({ "kind": "small_letter" }),
        CharacterKind::CapitalLetter => json!({ "kind": "capital_letter" }),
        CharacterKind::Letter => json!({ "kind": "letter" }),
        CharacterKind::Digit => json!({ "kind": "digit" }),
        CharacterKind::Symbol(_) => json!({ "kind": "symbol" }),
        CharacterKind::Other(characters) => json!({ "kind": "other", "characters": characters }),
    });
    kinds.collect()
}
