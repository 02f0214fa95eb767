//! What all handlers know about a request.

use std::sync::Arc;

use foundation::error_chain::ErrorChain;
use foundation::time::Time;
use gotrue_rs::app::App;
use gotrue_rs::request_context::RequestContext;
use gotrue_rs::services::limits::{self, LimitedRoute};
use platform::request_body::RequestBody;
use platform::request_info::KnownDevice;
use platform::store;
use platform::store::Connection;
use serde_json::json;
use uuid::Uuid;

use crate::auth_client::Sender;
use crate::auth_session::AuthSession;
use crate::device::Device;
use crate::http::error::DeskError;
use crate::store::events::{self, Event};

/// How long an access token for a call in the process is valid, in seconds.
const TOKEN_LIFETIME: i64 = 60;

/// A request to the desk.
#[derive(Debug, Clone)]
pub(crate) struct Visit {
    /// The application with the policy of the desk.
    pub app: Arc<App>,
    /// The time of the request, in microseconds as the database stores them.
    pub now: Time,
    /// Who sent it.
    pub sender: Sender,
    /// The known device that sent it; looked up for sign-ins only.
    pub device: Option<Device>,
}

impl Visit {
    /// Returns the sender of calls about a user: a known device of that user, or any client.
    pub(crate) fn sender_for(&self, user_id: Option<Uuid>) -> Sender {
        let device = self.device.as_ref().filter(|device| Some(device.user_id) == user_id);
        self.sender.with_device(device.map(|device| KnownDevice(device.key())))
    }

    /// Returns a connection whose statements run outside a transaction.
    pub(crate) fn db(&self) -> Connection {
        Connection::pooled(self.app.pool.clone(), Arc::default())
    }

    /// Begins a transaction, which rolls back when dropped.
    pub(crate) async fn begin(&self) -> Result<Connection, DeskError> {
        Ok(Connection::begin(&self.app.pool, Arc::default()).await?)
    }

    /// Counts an attempt at a one-time link by the limit of the auth API for such attempts, per network.
    ///
    /// # Errors
    /// 429, and 503 if attempts cannot be counted.
    pub(crate) async fn count_link_attempt(&self) -> Result<(), DeskError> {
        let request = self.sender.to_request_info();
        let cx = RequestContext::new(Arc::clone(&self.app), request, RequestBody::empty());
        limits::count_request(&cx, LimitedRoute::Verify).await.map_err(|error| {
            if error.status() >= 500 {
                let seconds = error.retry_after.unwrap_or(1);
                return DeskError::unavailable("Attempts cannot be counted at the moment.")
                    .retry_after(seconds)
                    .hint("Try again in a moment.");
            }
            let seconds = error.retry_after.unwrap_or(60);
            DeskError::too_many("There were too many attempts.", seconds)
                .hint(format!("Try again in {seconds} seconds."))
        })
    }

    /// Signs an access token of a session of the auth API, for calls in the process.
    pub(crate) fn sign_session_token(&self, session: AuthSession) -> Result<String, DeskError> {
        let AuthSession { user_id, session_id } = session;
        let jwt = &self.app.policy.jwt;
        let claims = json!({ "sub": user_id, "session_id": session_id, "role": jwt.default_group, "aud": jwt.aud });
        self.sign(claims)
    }

    /// Signs an access token of an administrator, for calls in the process.
    pub(crate) fn sign_admin_token(&self) -> Result<String, DeskError> {
        let role = self.app.policy.jwt.admin_roles.first().ok_or_else(DeskError::internal)?;
        self.sign(json!({ "role": role }))
    }

    fn sign(&self, mut claims: serde_json::Value) -> Result<String, DeskError> {
        let now = self.now.timestamp();
        claims["iat"] = now.into();
        claims["exp"] = (now + TOKEN_LIFETIME).into();
        self.app.keys.sign(&claims).map_err(|error| {
            tracing::error!(error = %ErrorChain(&error), "signing a token for the desk failed");
            DeskError::internal()
        })
    }

    /// Records what was done and cannot be undone; a failure is only logged.
    pub(crate) async fn record_done(&self, user_id: Uuid, action: &str, subject: Option<&str>) {
        if let Err(error) = self.insert_event(&mut self.db(), Some(user_id), action, subject).await {
            tracing::error!(action, error = %ErrorChain(&error), "an action at the desk is done, and not recorded");
        }
    }

    /// Records a refused attempt; a failure is only logged, because the refusal is the answer.
    pub(crate) async fn record_refused(&self, user_id: Option<Uuid>, action: &str, subject: Option<&str>) {
        if let Err(error) = self.insert_event(&mut self.db(), user_id, action, subject).await {
            tracing::warn!(action, error = %ErrorChain(&error), "an attempt at the desk is refused, and not recorded");
        }
    }

    /// Records what the transaction `db` does.
    pub(crate) async fn record_within(
        &self,
        db: &mut Connection,
        user_id: Uuid,
        action: &str,
        subject: Option<&str>,
    ) -> Result<(), DeskError> {
        Ok(self.insert_event(db, Some(user_id), action, subject).await?)
    }

    async fn insert_event(
        &self,
        db: &mut Connection,
        user_id: Option<Uuid>,
        action: &str,
        subject: Option<&str>,
    ) -> store::Result<()> {
        let address = self.sender.address();
        events::insert(db, Event { at: self.now, user_id, action, subject, address: address.as_deref() }).await
    }
}
