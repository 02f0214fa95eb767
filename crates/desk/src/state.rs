//! What the requests to a desk share: settings, the auth API, and whether there is an owner.

use std::sync::{Arc, Mutex, PoisonError};

use chrono::TimeDelta;
use foundation::time::Time;
use gotrue_rs::app::App;
use tokio::sync::watch;

use crate::auth_client::AuthClient;
use crate::http::error::DeskError;
use crate::settings::DeskSettings;
use crate::store::setup_links;
use crate::visit::Visit;

/// How long the answer to the question whether there is an owner is kept, also if it failed.
const SETUP_KEPT: TimeDelta = TimeDelta::seconds(5);

/// The state of the desk of one server.
pub(crate) struct DeskState {
    pub settings: DeskSettings,
    pub auth: AuthClient,
    /// The `OpenAPI` document of the API, as JSON.
    pub document: String,
    /// The auth API with the policy of the desk.
    app: watch::Receiver<Arc<App>>,
    /// Whether there was no owner, and when.
    setup: Mutex<Option<(Time, bool)>>,
    /// Held by the request that finds this out.
    setup_search: tokio::sync::Mutex<()>,
}

impl DeskState {
    /// Creates the state of a desk over an application with the policy of [`crate::apply_policy`].
    pub(crate) fn new(settings: DeskSettings, app: watch::Receiver<Arc<App>>, document: String) -> Self {
        let current = app.clone();
        let auth = AuthClient::new(gotrue_rs::reloadable_router(move || Arc::clone(&current.borrow())));
        let setup_search = tokio::sync::Mutex::default();
        Self { settings, auth, document, app, setup: Mutex::default(), setup_search }
    }

    /// Returns the present application.
    pub(crate) fn app(&self) -> Arc<App> {
        Arc::clone(&self.app.borrow())
    }

    /// Whether there is no owner yet.
    ///
    /// A client without a session may ask, and the answer can take a search of all users. One request at a time
    /// searches; the others, and those that follow a failed search, get the last known answer.
    pub(crate) async fn is_setup_open(&self, visit: &Visit) -> Result<bool, DeskError> {
        let kept = *self.setup.lock().unwrap_or_else(PoisonError::into_inner);
        let last_known = kept.is_some_and(|(_, is_open)| is_open);
        if kept.is_some_and(|(at, _)| visit.now - at < SETUP_KEPT) {
            return Ok(last_known);
        }
        let Ok(_search) = self.setup_search.try_lock() else { return Ok(last_known) };
        // Also if this request is cancelled, the next search waits.
        self.keep_setup(visit, last_known);
        let found = setup_links::is_setup_open(&mut visit.db().with_long_statements(), visit.now).await;
        self.keep_setup(visit, *found.as_ref().unwrap_or(&last_known));
        Ok(found?)
    }

    /// Keeps whether there is no owner.
    pub(crate) fn keep_setup(&self, visit: &Visit, is_open: bool) {
        let now = visit.app.clock.now();
        *self.setup.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, is_open));
    }
}
