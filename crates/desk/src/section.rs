//! Parts of the API that other modules and crates answer: submissions, orders.

use axum::body::Body;
use axum::response::Response;
use foundation::time::Time;
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use http::Method;
use platform::store::Connection;
use uuid::Uuid;

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
    pub method: Method,
    /// The segments of the path below the section's name, undecoded.
    pub segments: Vec<String>,
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

    /// Returns method and segments, to match a route.
    pub fn route(&self) -> (&str, Vec<&str>) {
        (self.method.as_str(), self.segments.iter().map(String::as_str).collect())
    }

    /// Parses a segment as an id.
    ///
    /// # Errors
    /// 404 if it is none.
    pub fn id(&self, segment: usize, what: &str) -> Result<Uuid, DeskError> {
        let id = self.segments.get(segment).and_then(|text| Uuid::parse_str(text).ok());
        id.ok_or_else(|| DeskError::not_found(what))
    }
}

/// Answers the requests of signed-in owners below one name of the API.
pub trait Section: Send + Sync {
    /// Answers a request.
    fn answer(&self, call: OwnerCall) -> BoxFuture<'_, Result<Response, DeskError>>;

    /// Returns whether a request, by its segments below the section's name, uploads a file, which is then not read as JSON.
    fn takes_upload(&self, _method: &Method, _segments: &[&str]) -> bool {
        false
    }

    fn answer_upload(&self, _call: OwnerCall, _content: Body) -> BoxFuture<'_, Result<Response, DeskError>> {
        ready(Err(DeskError::not_found("The path"))).boxed()
    }
}
