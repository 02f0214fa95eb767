//! The API: from a request to a response.

use std::sync::Arc;

use axum::body::Body;
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_edge::isolate_foreign_content;
use http_edge::request::{PacedBody, UPLOAD_PACE};

use crate::caller::Caller;
use crate::database::sql;
use crate::error::Error;
use crate::request::{Call, MalformedPath, Query};
use crate::storage::Storage;
use crate::{buckets, objects, response, s3, tus};

impl Storage {
    /// Answers a request. The path begins with the prefix of the API, or at its root.
    pub async fn handle(self: &Arc<Self>, request: Request<Body>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let body = PacedBody::wrap(body, UPLOAD_PACE);
        let is_head = parts.method == Method::HEAD;
        // The states of all routes together are too large for the stack of a caller.
        let mut response = Box::pin(self.route(parts, body)).await;
        if is_head {
            // The length stays: it is that of the response to GET.
            *response.body_mut() = Body::empty();
        }
        // The client that uploads an object chooses the type of its response.
        isolate_foreign_content(response.headers_mut());
        response
    }

    /// The path behind the prefix.
    fn strip_prefix<'a>(&self, path: &'a str) -> &'a str {
        let prefix = self.config().prefix.trim_end_matches('/');
        match path.strip_prefix(prefix) {
            Some("") => "/",
            Some(rest) if rest.starts_with('/') => rest,
            _ => path,
        }
    }

    async fn route(self: &Arc<Self>, parts: Parts, body: Body) -> Response<Body> {
        let path = self.strip_prefix(parts.uri.path()).to_owned();
        let segments: Vec<&str> = path.split('/').skip(1).collect();
        let area = segments.first().copied().unwrap_or_default();
        if area == "upload" && segments.get(1) == Some(&"resumable") {
            let rest = path["/upload/resumable".len()..].to_owned();
            return tus::handle(self, parts, body, &rest).await;
        }
        if area == "s3" && self.config().s3.is_enabled {
            return s3::handle(self, parts, body, &path["/s3".len()..]).await;
        }
        let query = parts.uri.query().unwrap_or_default();
        let target = if query.is_empty() { path.clone() } else { format!("{path}?{query}") };
        let method = parts.method.clone();
        let is_read = matches!(method, Method::GET | Method::HEAD);
        if is_read && path == "/status" {
            return Response::new(Body::empty());
        }
        if is_read && path == "/version" {
            return response::text(env!("CARGO_PKG_VERSION"));
        }
        let mut call = Call {
            storage: Arc::clone(self),
            query: Query::parse(query),
            path: path.clone(),
            operation: "",
            caller: Caller::anonymous(),
            parts,
        };
        let outcome = match area {
            "bucket" => match buckets::Route::find(&method, &segments[1..]) {
                Some(Ok(route)) => buckets::answer(call, route, body).await,
                Some(Err(MalformedPath)) => return response::bad_path(&path),
                None => return response::no_route(method.as_str(), &target, true),
            },
            "object" | "render" => match objects::Route::find(&method, &segments, self.config().images.is_enabled) {
                Some(Ok(route)) => objects::answer(call, route, body).await,
                Some(Err(MalformedPath)) => return response::bad_path(&path),
                None => {
                    return response::no_route(
                        method.as_str(),
                        &target,
                        area == "object" || segments.get(1) == Some(&"image"),
                    );
                }
            },
            "health" if is_read && segments.len() <= 2 => self.answer_health(&mut call).await,
            _ => return response::no_route(method.as_str(), &target, false),
        };
        outcome.unwrap_or_else(|error| response::failure(&error))
    }

    /// Says whether the database answers.
    async fn answer_health(&self, call: &mut Call) -> Result<Response<Body>, Error> {
        call.authenticate_by_token()?;
        call.operation = "storage.health";
        let statement = sql("SELECT id FROM storage.buckets LIMIT 1", []);
        let is_healthy = self.database().run(&call.service_scope(), statement).await.is_ok();
        Ok(response::json_response(StatusCode::OK, &serde_json::json!({ "healthy": is_healthy })))
    }
}
