//! A request for a step of a sign-in, which needs no session.

use std::sync::Arc;

use axum::extract::{FromRequest, Request};

use super::step::SignIn;
use crate::device::Device;
use crate::guards::take;
use crate::http::body::JsonBody;
use crate::http::error::DeskError;
use crate::http::origin::OwnOrigin;
use crate::state::DeskState;
use crate::visit::Visit;

/// A request of a page of the own site for a step of a sign-in.
pub(crate) struct SignInCall {
    pub desk: Arc<DeskState>,
    visit: Visit,
    origin: OwnOrigin,
    body: JsonBody,
}

impl SignInCall {
    /// Returns the step, and the members of the body.
    pub(crate) fn parts(&self) -> (SignIn<'_>, &JsonBody) {
        let Self { desk, visit, origin, body } = self;
        (SignIn { auth: &desk.auth, settings: &desk.settings, visit, origin: *origin }, body)
    }
}

impl FromRequest<Arc<DeskState>> for SignInCall {
    type Rejection = DeskError;

    async fn from_request(request: Request, desk: &Arc<DeskState>) -> Result<Self, DeskError> {
        let (mut head, body) = request.into_parts();
        let (mut visit, origin): (Visit, OwnOrigin) = (take(&mut head)?, take(&mut head)?);
        let body = JsonBody::receive(&head, body).await?;
        visit.device = Device::find(&mut visit.db(), visit.now, &head.headers, desk.settings.is_https()).await?;
        Ok(Self { desk: Arc::clone(desk), visit, origin, body })
    }
}
