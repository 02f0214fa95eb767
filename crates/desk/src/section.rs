//! Parts of the API that other modules and crates answer: submissions, orders.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::handler::Handler;
use axum::routing::{MethodRouter, any};
use foundation::time::Time;
use http::request::Parts;
use platform::store::Connection;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};
use uuid::Uuid;

use crate::guards::{Admitted, Guarded, take};
use crate::http::body::JsonBody;
use crate::http::error::DeskError;
use crate::http::query::Query;
use crate::visit::Visit;

/// The signed-in owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The user's id.
    pub id: Uuid,
    /// The user's address.
    pub email: String,
}

/// A request of a signed-in owner; origin and token against forged requests are checked.
#[derive(Debug)]
pub struct OwnerCall {
    /// The parameters.
    pub query: Query,
    /// The members of the body.
    pub body: JsonBody,
    /// Who sends it.
    pub owner: Owner,
    /// Database, clock, randomness and sender.
    pub(crate) visit: Visit,
}

impl OwnerCall {
    fn new(mut head: Parts, body: JsonBody) -> Result<Self, DeskError> {
        let Admitted { visit, session, .. } = take(&mut head)?;
        let owner = Owner { id: session.user.id, email: session.user.email.clone().unwrap_or_default() };
        Ok(Self { query: Query::parse(head.uri.query())?, body, owner, visit })
    }

    /// The time of the request.
    pub fn now(&self) -> Time {
        self.visit.now
    }

    /// Returns a connection whose statements run outside a transaction.
    pub fn db(&self) -> Connection {
        self.visit.db()
    }

    /// Records what the owner did, such as `order.refund`; a failure is only logged.
    pub async fn record_done(&self, action: &str, subject: &str) {
        self.visit.record_done(self.owner.id, action, Some(subject)).await;
    }

    /// Begins a transaction, which rolls back when dropped.
    pub(crate) async fn begin(&self) -> Result<Connection, DeskError> {
        self.visit.begin().await
    }

    /// Returns a new random id.
    pub(crate) fn new_id(&self) -> Uuid {
        self.visit.app.entropy.uuid()
    }

    /// Records what the transaction `db` does, such as `catalogue.change`.
    pub(crate) async fn record_within(
        &self,
        db: &mut Connection,
        action: &str,
        subject: &str,
    ) -> Result<(), DeskError> {
        self.visit.record_within(db, self.owner.id, action, Some(subject)).await
    }
}

impl<T: Send + Sync> FromRequest<Guarded<T>> for OwnerCall {
    type Rejection = DeskError;

    async fn from_request(request: Request, _: &Guarded<T>) -> Result<Self, DeskError> {
        let (head, body) = request.into_parts();
        let body = JsonBody::receive(&head, body).await?;
        Self::new(head, body)
    }
}

/// A request of a signed-in owner with a file, which the handler receives within limits of its own.
pub(crate) struct OwnerUpload {
    /// The request, without members of a body.
    pub call: OwnerCall,
    pub content: Body,
}

impl<T: Send + Sync> FromRequest<Guarded<T>> for OwnerUpload {
    type Rejection = DeskError;

    async fn from_request(request: Request, _: &Guarded<T>) -> Result<Self, DeskError> {
        let (head, content) = request.into_parts();
        Ok(Self { call: OwnerCall::new(head, JsonBody::default())?, content })
    }
}

/// A part of the API, which is the state of its handlers.
pub trait Section: Send + Sync + Sized + 'static {
    /// The first segment of its paths.
    const NAME: &'static str;

    /// Returns its calls, with paths below the name.
    fn routes() -> OwnerRoutes<Self>;
}

/// Calls of signed-in owners, each with its part of the `OpenAPI` document.
pub struct OwnerRoutes<T> {
    router: OpenApiRouter<Guarded<T>>,
    others: MethodRouter<Guarded<T>>,
}

impl<T: Send + Sync + 'static> OwnerRoutes<T> {
    /// Creates routes of which `refuse` answers unknown paths, and other methods of known ones.
    pub fn new<H: Handler<A, Guarded<T>>, A: 'static>(refuse: H) -> Self {
        Self { router: OpenApiRouter::default().fallback(refuse.clone()), others: all_methods(refuse) }
    }

    /// Lets `refuse` answer other methods of the paths that are added from here on.
    #[must_use]
    pub fn other_methods<H: Handler<A, Guarded<T>>, A: 'static>(self, refuse: H) -> Self {
        Self { others: all_methods(refuse), ..self }
    }

    /// Adds the calls of a path, as `routes!` returns them. No GET answers HEAD.
    #[must_use]
    pub fn calls(self, (schemas, paths, methods): UtoipaMethodRouter<Guarded<T>>) -> Self {
        let methods = self.others.clone().merge(methods);
        Self { router: self.router.routes((schemas, paths, methods)), ..self }
    }

    pub(crate) fn into_router(self) -> OpenApiRouter<Guarded<T>> {
        self.router
    }
}

fn all_methods<H: Handler<A, S>, A: 'static, S: Clone + Send + Sync + 'static>(handler: H) -> MethodRouter<S> {
    any(handler.clone()).head(handler)
}

/// Answers a path that no call of a section has: 404.
pub async fn unknown_path(_: OwnerCall) -> DeskError {
    DeskError::not_found("The path")
}

/// The sections of a desk.
#[derive(Default)]
pub struct Sections(OpenApiRouter);

impl Sections {
    /// Adds a section.
    #[must_use]
    pub fn with<T: Section>(self, section: T) -> Self {
        let router = T::routes().into_router().with_state(Guarded::new(Arc::new(section)));
        Self(self.0.nest(&format!("/{}", T::NAME), router))
    }

    pub(crate) fn into_router(self) -> OpenApiRouter {
        self.0
    }
}
