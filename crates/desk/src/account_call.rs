//! A request of a signed-in owner about the own session and account.

use std::sync::Arc;

use axum::extract::{FromRef, FromRequest, Request};

use crate::guards::{Admitted, Guarded, take};
use crate::http::body::JsonBody;
use crate::http::error::DeskError;
use crate::http::origin::OwnOrigin;
use crate::session::DeskSession;
use crate::sign_in::SignIn;
use crate::state::DeskState;
use crate::visit::Visit;

/// A request of a signed-in owner about the own session and account, which the guards have let through.
pub(crate) struct AccountCall {
    pub desk: Arc<DeskState>,
    pub visit: Visit,
    pub session: Arc<DeskSession>,
    /// The members of the body.
    pub body: JsonBody,
    origin: OwnOrigin,
}

impl AccountCall {
    /// Returns the request as a step that proves a password or a code again.
    pub(crate) fn step(&self) -> SignIn<'_> {
        SignIn { auth: &self.desk.auth, settings: &self.desk.settings, visit: &self.visit, origin: self.origin }
    }

    /// Records what the owner did, such as `password_changed`; a failure is only logged.
    pub(crate) async fn record_done(&self, action: &str, subject: Option<&str>) {
        self.visit.record_done(self.session.user.id, action, subject).await;
    }
}

impl FromRequest<Guarded<DeskState>> for AccountCall {
    type Rejection = DeskError;

    async fn from_request(request: Request, state: &Guarded<DeskState>) -> Result<Self, DeskError> {
        let (mut head, body) = request.into_parts();
        let Admitted { visit, session, origin } = take(&mut head)?;
        let body = JsonBody::receive(&head, body).await?;
        Ok(Self { desk: Arc::from_ref(state), visit, session, body, origin })
    }
}
