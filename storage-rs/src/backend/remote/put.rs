//! Writing objects.

use std::fmt::Write;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use http::Method;
use md5::{Digest, Md5};

use super::answers::{facts, read_element};
use super::client::{Client, Request, invalid};
use crate::backend::{BackendError, Content, ContentHeaders, FileFacts};

/// The size of a part in bytes. 10,000 of them are the largest object: 80 GB.
pub(super) const PART: usize = 8 * 1024 * 1024;

/// The header fields that are kept with an object.
pub(super) fn content_headers(headers: &ContentHeaders) -> impl Iterator<Item = (&'static str, String)> {
    let fields = [("content-type", headers.content_type.clone()), ("cache-control", headers.cache_control.clone())];
    fields.into_iter().filter(|(_, value)| !value.is_empty())
}

/// Collects content up to the size of a part. Fewer bytes are the end of the content.
pub(super) struct Parts {
    content: Content,
    rest: BytesMut,
}

impl Parts {
    pub(super) fn new(content: Content) -> Self {
        Self { content, rest: BytesMut::new() }
    }

    /// The next part. When the content ends early, what arrived before stays in [`Self::take_rest`].
    pub(super) async fn next(&mut self) -> Result<Bytes, crate::backend::ContentError> {
        while self.rest.len() < PART {
            match self.content.next().await {
                Some(bytes) => self.rest.extend_from_slice(&bytes?),
                None => return Ok(self.rest.split().freeze()),
            }
        }
        Ok(self.rest.split_to(PART).freeze())
    }

    /// What arrived and is in no part.
    pub(super) fn take_rest(&mut self) -> Bytes {
        self.rest.split().freeze()
    }
}

/// An upload in parts, which is aborted unless it is completed.
struct Upload<'a> {
    client: &'a Arc<Client>,
    key: String,
    id: String,
    is_complete: bool,
}

impl Drop for Upload<'_> {
    fn drop(&mut self) {
        if !self.is_complete {
            let (client, key, id) = (Arc::clone(self.client), self.key.clone(), self.id.clone());
            tokio::spawn(async move {
                if let Err(error) = abort(&client, &key, &id).await {
                    tracing::warn!(%error, "an upload in parts was not aborted");
                }
            });
        }
    }
}

/// Aborts an upload in parts. One that does not exist counts as aborted.
pub(super) async fn abort(client: &Client, key: &str, id: &str) -> Result<(), BackendError> {
    let mut request = Request::new(Method::DELETE, key);
    request.query.push(("uploadId", id.to_owned()));
    match client.send(&request).await {
        Ok(_) | Err(BackendError::NotFound) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Writes an object.
pub(super) async fn put(
    client: &Arc<Client>,
    key: &str,
    headers: &ContentHeaders,
    content: Content,
) -> Result<FileFacts, BackendError> {
    let mut parts = Parts::new(content);
    let mut digest = Md5::new();
    let first = parts.next().await?;
    digest.update(&first);
    let size = if first.len() < PART {
        put_whole(client, key, headers, first).await?
    } else {
        put_parts(client, key, headers, first, &mut parts, &mut digest).await?
    };
    let response = client.send(&Request::new(Method::HEAD, key)).await?;
    let written = facts(response.headers())?;
    if written.size != size {
        return Err(invalid("writing an object", "it has another size than was sent"));
    }
    // The tag of an upload in parts is none of its content.
    Ok(FileFacts { etag: format!("\"{}\"", hex::encode(digest.finalize())), ..written })
}

async fn put_whole(client: &Client, key: &str, headers: &ContentHeaders, body: Bytes) -> Result<u64, BackendError> {
    let size = body.len() as u64;
    let mut request = Request::new(Method::PUT, key);
    request.headers.extend(content_headers(headers));
    request.body = body;
    client.send(&request).await?;
    Ok(size)
}

async fn put_parts(
    client: &Arc<Client>,
    key: &str,
    headers: &ContentHeaders,
    first: Bytes,
    parts: &mut Parts,
    digest: &mut Md5,
) -> Result<u64, BackendError> {
    let mut request = Request::new(Method::POST, key);
    request.query.push(("uploads", String::new()));
    request.headers.extend(content_headers(headers));
    let id = read_element(&client.send_for_text(&request).await?, "UploadId")?;
    let mut upload = Upload { client, key: key.to_owned(), id: id.clone(), is_complete: false };
    let mut size = 0;
    let mut number = 1;
    let mut part = first;
    let mut document = String::from("<CompleteMultipartUpload>");
    while !part.is_empty() {
        size += part.len() as u64;
        let mut request = Request::new(Method::PUT, key);
        request.query = vec![("partNumber", number.to_string()), ("uploadId", id.clone())];
        request.body = part;
        let response = client.send(&request).await?;
        let etag = response.headers().get(http::header::ETAG).and_then(|value| value.to_str().ok());
        let etag = etag.ok_or_else(|| invalid("writing a part", "it has no tag"))?;
        // Writing to a text does not fail.
        let _ = write!(
            document,
            "<Part><PartNumber>{number}</PartNumber><ETag>{}</ETag></Part>",
            etag.replace('"', "&quot;")
        );
        number += 1;
        part = parts.next().await?;
        digest.update(&part);
    }
    document.push_str("</CompleteMultipartUpload>");
    let mut request = Request::new(Method::POST, key);
    request.query.push(("uploadId", id));
    request.headers.push(("content-type", "application/xml".to_owned()));
    request.body = Bytes::from(document);
    let answer = client.send_for_text(&request).await?;
    // A completion that fails after its head was sent has an error in the body.
    if answer.contains("<Error>") {
        return Err(invalid("completing an upload in parts", &answer));
    }
    upload.is_complete = true;
    Ok(size)
}
