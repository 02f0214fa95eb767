//! The desk: its dependencies, and the choice of the handler of a request.

use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::Request;
use axum::response::Response;
use chrono::{SubsecRound, TimeDelta};
use foundation::time::Time;
use gotrue_rs::app::App;
use gotrue_rules::domain::password::{CharacterKind, required_kinds};
use gotrue_rules::domain::policy::PasswordPolicy;
use http::Method;
use http::request::Parts;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::account::AccountRequest;
use crate::auth_client::{AuthClient, Sender};
use crate::device::Device;
use crate::http::body::{self, JsonBody};
use crate::http::error::DeskError;
use crate::http::headers::add_api_headers;
use crate::http::origin::{OwnOrigin, require_own_document, require_own_origin};
use crate::http::query::Query;
use crate::http::respond;
use crate::passkeys::PasskeyRequest;
use crate::paths::{API_PATH, MOUNT};
use crate::recovery;
use crate::section::{Owner, OwnerCall, Section};
use crate::session::{self, DeskSession};
use crate::settings::{DeskSettings, PasskeyOffer};
use crate::sign_in::{self, SignIn};
use crate::store::sessions;
use crate::visit::Visit;

/// How long the answer to the question whether there is an owner is kept, also if it failed.
const SETUP_KEPT: TimeDelta = TimeDelta::seconds(5);

/// The desk of one server.
pub struct Desk {
    settings: DeskSettings,
    /// The auth API with the policy of the desk.
    app: watch::Receiver<Arc<App>>,
    auth: AuthClient,
    sections: Vec<(&'static str, Arc<dyn Section>)>,
    /// Whether there was no owner, and when.
    setup: Mutex<Option<(Time, bool)>>,
    /// Held by the request that finds this out.
    setup_search: tokio::sync::Mutex<()>,
}

/// A request without its body.
struct Head {
    parts: Parts,
    visit: Visit,
    /// The site of a request that changes something.
    origin: Option<OwnOrigin>,
}

impl Desk {
    /// Creates a desk over an application with the policy of [`crate::apply_policy`].
    pub fn new(settings: DeskSettings, app: watch::Receiver<Arc<App>>) -> Self {
        let current = app.clone();
        let auth = AuthClient::new(gotrue_rs::reloadable_router(move || Arc::clone(&current.borrow())));
        let setup_search = tokio::sync::Mutex::default();
        Self { settings, app, auth, sections: Vec::new(), setup: Mutex::default(), setup_search }
    }

    /// Answers the requests below `/_desk/api/{name}` by this section.
    #[must_use]
    pub fn with_section(mut self, name: &'static str, section: Arc<dyn Section>) -> Self {
        self.sections.push((name, section));
        self
    }

    /// Answers a request below [`API_PATH`].
    pub async fn answer(&self, request: Request) -> Response {
        let answered = Box::pin(self.handle(request)).await;
        add_api_headers(answered.unwrap_or_else(DeskError::into_response))
    }

    async fn handle(&self, request: Request) -> Result<Response, DeskError> {
        let (parts, body) = request.into_parts();
        let app = Arc::clone(&self.app.borrow());
        let visit = Visit { now: app.clock.now().trunc_subsecs(6), sender: Sender::of(&parts), app, device: None };
        require_own_document(&parts.headers, MOUNT)?;
        let is_change = !matches!(parts.method, Method::GET | Method::HEAD);
        let origin = if is_change { Some(require_own_origin(&parts.headers, &self.settings.own_urls)?) } else { None };
        let path = parts.uri.path().strip_prefix(API_PATH).unwrap_or_default().to_owned();
        let segments: Vec<&str> = path.split('/').skip(1).collect();
        let head = Head { parts, visit, origin };
        if let (Some(origin), "POST") = (origin, head.parts.method.as_str())
            && is_sign_in(&segments)
        {
            let body = JsonBody::parse(&head.parts.headers, &body::read(body).await?)?;
            let mut visit = head.visit;
            visit.device =
                Device::find(&mut visit.db(), visit.now, &head.parts.headers, self.settings.is_https()).await?;
            return self.handle_sign_in(&visit, origin, &segments, &body).await;
        }
        let session = DeskSession::find(&head.visit, &head.parts.headers, self.settings.is_https()).await?;
        let Some(session) = session else {
            let missing = DeskError::session_missing();
            let is_setup = segments == ["session"] && self.is_setup_open(&head.visit).await?;
            let offer = PasskeyOffer::of(&self.settings, &head.visit);
            return Err(missing
                .with("setup", is_setup)
                .with("password_min_length", head.visit.app.policy.password.min_length)
                .with("password_kinds", list_password_kinds(&head.visit.app.policy.password))
                .with("password_is_looked_up", head.visit.app.policy.password.hibp.enabled)
                .with("passkeys", offer.is_enabled)
                .with("passkey_origins", offer.origins)
                .with("passkey_url", offer.url));
        };
        if head.origin.is_some() {
            session.require_csrf_token(&head.parts.headers)?;
        }
        if let [name, rest @ ..] = segments.as_slice()
            && let Some(section) = self.find_section(name)
            && section.takes_upload(&head.parts.method, rest)
        {
            return section.answer_upload(build_call(head, session, rest, JsonBody::default())?, body).await;
        }
        let body = if is_change { body::read(body).await? } else { bytes::Bytes::new() };
        let body = JsonBody::parse(&head.parts.headers, &body)?;
        self.handle_owner(head, session, &segments, body).await
    }

    /// Answers the steps of a sign-in, which need no session.
    async fn handle_sign_in(
        &self,
        visit: &Visit,
        origin: OwnOrigin,
        segments: &[&str],
        body: &JsonBody,
    ) -> Result<Response, DeskError> {
        let step = SignIn { auth: &self.auth, settings: &self.settings, visit, origin };
        match segments {
            ["setup"] => {
                let answered = sign_in::set_up(step, body).await?;
                self.keep_setup(visit, false);
                Ok(answered)
            }
            ["reset"] => sign_in::reset(step, body).await,
            ["sign-in"] => sign_in::sign_in(step, body).await,
            ["sign-in", "recovery"] => recovery::recover(step, body).await,
            ["sign-in", "passkey", "options"] => sign_in::request_passkey(step).await,
            ["sign-in", "passkey"] => sign_in::verify_passkey(step, body).await,
            _ => sign_in::verify_code(step, body).await,
        }
    }

    /// Answers a signed-in owner.
    async fn handle_owner(
        &self,
        head: Head,
        session: DeskSession,
        segments: &[&str],
        body: JsonBody,
    ) -> Result<Response, DeskError> {
        let Head { parts, visit, origin } = head;
        if let ["account", rest @ ..] = segments {
            // A change has an origin; a request without one changes nothing.
            let origin = origin.unwrap_or(OwnOrigin { is_https: self.settings.is_https() });
            let step = SignIn { auth: &self.auth, settings: &self.settings, visit: &visit, origin };
            let account = AccountRequest { step, session: &session };
            return handle_account(account, &parts, rest, &body).await;
        }
        let passkeys = PasskeyRequest { auth: &self.auth, visit: &visit, session: &session };
        match (parts.method.as_str(), segments) {
            ("GET", ["session"]) => Ok(respond::ok(&session.to_json(&self.settings, &visit))),
            ("DELETE", ["session"]) => self.sign_out(&visit, &session).await,
            ("GET", ["passkeys"]) => passkeys.list().await,
            ("POST", ["passkeys", "options"]) => passkeys.request_registration().await,
            ("POST", ["passkeys"]) => passkeys.register(&body).await,
            ("DELETE", ["passkeys", id]) => passkeys.delete(id).await,
            (_, [name, rest @ ..]) => {
                let section = self.find_section(name).ok_or_else(|| DeskError::not_found("The path"))?;
                let head = Head { parts, visit, origin };
                section.answer(build_call(head, session, rest, body)?).await
            }
            _ => Err(DeskError::not_found("The path")),
        }
    }

    fn find_section(&self, name: &str) -> Option<&Arc<dyn Section>> {
        self.sections.iter().find(|(section, _)| *section == name).map(|(_, section)| section)
    }

    /// Ends the session, and that of the auth API.
    async fn sign_out(&self, visit: &Visit, session: &DeskSession) -> Result<Response, DeskError> {
        // First: without the row of the desk nothing else ends it.
        sign_in::end_auth_session(&self.auth, visit, session.auth_session()).await?;
        sessions::delete(&mut visit.db(), session.id).await?;
        visit.record_done(session.user.id, "sign_out", None).await;
        let mut response = respond::no_content();
        for (name, value) in session::build_removal() {
            response.headers_mut().append(name, value);
        }
        Ok(response)
    }

    /// Whether there is no owner yet.
    ///
    /// A client without a session may ask, and the answer can take a search of all users. One request at a time
    /// searches; the others, and those that follow a failed search, get the last known answer.
    async fn is_setup_open(&self, visit: &Visit) -> Result<bool, DeskError> {
        let kept = *self.setup.lock().unwrap_or_else(PoisonError::into_inner);
        let last_known = kept.is_some_and(|(_, is_open)| is_open);
        if kept.is_some_and(|(at, _)| visit.now - at < SETUP_KEPT) {
            return Ok(last_known);
        }
        let Ok(_search) = self.setup_search.try_lock() else { return Ok(last_known) };
        // Also if this request is cancelled, the next search waits.
        self.keep_setup(visit, last_known);
        let found = sign_in::is_setup_open(&mut visit.db().with_long_statements(), visit.now).await;
        self.keep_setup(visit, *found.as_ref().unwrap_or(&last_known));
        Ok(found?)
    }

    fn keep_setup(&self, visit: &Visit, is_open: bool) {
        let now = visit.app.clock.now();
        *self.setup.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, is_open));
    }
}

/// Returns the request of a signed-in owner to a section.
fn build_call(head: Head, session: DeskSession, rest: &[&str], body: JsonBody) -> Result<OwnerCall, DeskError> {
    let Head { parts, visit, .. } = head;
    let owner = Owner { id: session.user.id, email: session.user.email.unwrap_or_default() };
    let segments = rest.iter().map(|segment| (*segment).to_owned()).collect();
    let query = Query::parse(parts.uri.query())?;
    Ok(OwnerCall { method: parts.method, segments, query, body, owner, visit })
}

/// Answers requests about the account of the signed-in owner.
async fn handle_account(
    account: AccountRequest<'_>,
    head: &Parts,
    segments: &[&str],
    body: &JsonBody,
) -> Result<Response, DeskError> {
    match (head.method.as_str(), segments) {
        ("GET", []) => account.show().await,
        ("GET", ["activity"]) => account.list_activity(&Query::parse(head.uri.query())?).await,
        ("GET", ["recovery-codes"]) => recovery::show_codes(account.step.visit, account.session).await,
        ("POST", ["recovery-codes"]) => recovery::replace_codes(account.step.visit, account.session).await,
        ("POST", ["recovery-codes", "kept"]) => {
            recovery::confirm_codes(account.step.visit, account.session, body).await
        }
        ("POST", ["password"]) => account.change_password(body).await,
        ("POST", ["email"]) => account.change_email(body).await,
        ("POST", ["authenticator"]) => account.begin_authenticator(body).await,
        ("POST", ["authenticator", "confirm"]) => account.confirm_authenticator(body).await,
        ("DELETE", ["sessions"]) => account.end_sessions().await,
        ("POST", ["owners"]) => account.add_owner(body).await,
        ("DELETE", ["owners", id]) => account.remove_owner(id, body).await,
        _ => Err(DeskError::not_found("The path")),
    }
}

/// Whether a path is a step of a sign-in.
fn is_sign_in(segments: &[&str]) -> bool {
    matches!(
        segments,
        ["setup" | "sign-in" | "reset"]
            | ["setup" | "sign-in", "totp"]
            | ["sign-in", "passkey" | "recovery"]
            | ["sign-in", "passkey", "options"]
    )
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
