//! Images that are transformed on the way.

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Response};
use serde_json::Value;

use super::access::{Access, Door, authorize, locate};
use super::header_fields::{describe, insert};
use super::transformation::{check_options, describe_options};
use crate::backend::{BackendError, Content};
use crate::error::{Code, Error};
use crate::image::{RenderProblem, TURN, Transformation};
use crate::object_row::Found;
use crate::request::Call;
use crate::request::fields::Fields;
use crate::target::Target;

/// `GET /render/image/…`
pub(super) async fn render(mut call: Call, door: Door, target: &Target) -> Result<Response<Body>, Error> {
    // The options of a signed URL are those of its token.
    let asked =
        if door == Door::Signed { Transformation::default() } else { check_options(&Fields::of_query(&call.query))? };
    // No schema of these routes names the header: a missing one counts as an empty token.
    let (access, expires) = if door == Door::Authenticated {
        call.authenticate_by_token()?;
        (Access::Caller, None)
    } else {
        authorize(&mut call, door, target)?
    };
    let transformation = if door == Door::Signed { signed_options(&call) } else { asked };
    let images = call.storage.images();
    let found = locate(&call, target, access).await?;
    if let Some(network) = call.network() {
        call.storage.image_rate().count(&network, call.storage.now())?;
    }
    let turn = images.wait_for_turn().await.map_err(problem)?;
    let accepts_webp = call.header("accept").is_some_and(|types| types.contains("image/webp"));
    let rendering = async {
        let (found, source) = read_source(&call, target, access, found).await?;
        let rendered = images.render(turn, source, transformation, accepts_webp).await.map_err(problem)?;
        Ok::<_, Error>((found, rendered))
    };
    let (found, rendered) = tokio::time::timeout(call.storage.config().images.timeout, rendering)
        .await
        .map_err(|_| Error::new(Code::InternalError, 500, "Image request timed out"))??;
    let mut headers = HeaderMap::new();
    describe(&call, &found, expires, &mut headers);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(rendered.media_type));
    headers.insert(CONTENT_LENGTH, HeaderValue::from(rendered.content.len()));
    headers.insert(http::header::VARY, HeaderValue::from_static("accept"));
    describe_options(&call, &transformation, &mut headers);
    // The tag is that of the source: the result of other options has another one.
    headers.remove(http::header::ETAG);
    let etag = md5_tag(&rendered.content);
    insert(&mut headers, http::header::ETAG, &etag);
    let mut response = Response::new(Body::from(rendered.content));
    *response.headers_mut() = headers;
    Ok(response)
}

fn md5_tag(content: &[u8]) -> String {
    use md5::Digest;
    format!("\"{}\"", hex::encode(md5::Md5::digest(content)))
}

/// The options in the token, whose signature was verified.
fn signed_options(call: &Call) -> Transformation {
    let now = call.storage.now().timestamp();
    let claims = call.query.get("token").and_then(|token| call.storage.keys().verify_url(token, now).ok());
    let text = claims.as_ref().and_then(|claims| claims.get("transformations")).and_then(Value::as_str);
    Transformation::parse_signed(text.unwrap_or_default())
}

fn problem(problem: RenderProblem) -> Error {
    match problem {
        RenderProblem::Busy => Error::too_many_requests("Too many requests", TURN),
        problem => Error::new(Code::InvalidRequest, 400, problem.to_string()),
    }
}

/// Reads the image of a row, or of the row that has replaced it meanwhile.
async fn read_source(call: &Call, target: &Target, access: Access, found: Found) -> Result<(Found, Bytes), Error> {
    let (mut found, maximum) = (found, call.storage.images().limits().maximum_source);
    let mut opened = call.storage.backend().get(&found.file(target), None).await;
    if matches!(opened, Err(BackendError::NotFound)) {
        // The row has another version by now.
        call.storage.public_objects().remove(target);
        found = locate(call, target, access).await?;
        opened = call.storage.backend().get(&found.file(target), None).await;
    }
    let (facts, content) = opened?;
    if facts.size > maximum {
        return Err(problem(RenderProblem::TooLarge));
    }
    Ok((found, collect(content, facts.size, maximum).await?))
}

/// Returns a content of about `size` bytes, at most `maximum`.
async fn collect(mut content: Content, size: u64, maximum: u64) -> Result<Bytes, Error> {
    let mut collected = BytesMut::with_capacity(usize::try_from(size).unwrap_or_default());
    while let Some(part) = content.next().await {
        collected.extend_from_slice(&part?);
        if u64::try_from(collected.len()).is_ok_and(|length| length > maximum) {
            return Err(problem(RenderProblem::TooLarge));
        }
    }
    Ok(collected.freeze())
}
