//! Uploads that arrive in several requests: each request adds objects, which become one at the end.
//!
//! They are outside the folder of the project: a description, the content by offsets, and a mark when it became a file.

use std::collections::HashMap;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use http::Method;
use uuid::Uuid;

use super::client::{Request, invalid};
use super::put::{self, Parts};
use super::{Listing, RemoteBackend};
use crate::backend::{Appended, BackendError, Content, ContentHeaders, FileFacts, FileKey, Staging};

/// The largest description, in bytes.
const MAXIMUM_DESCRIPTION: usize = 1024 * 1024;

const DESCRIPTION: &str = "description";
const FINISHED: &str = "finished";
const CHUNK: &str = "chunk-";

/// What belongs to an upload.
#[derive(Debug, Default)]
struct Pieces {
    has_description: bool,
    is_finished: bool,
    /// The keys of the content, by offset.
    chunks: Vec<Listing>,
}

impl Pieces {
    fn size(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.size).sum()
    }
}

impl RemoteBackend {
    fn uploads(&self) -> String {
        format!(".basalt/uploads/{}/", self.project)
    }

    fn piece(&self, id: Uuid, name: &str) -> String {
        format!("{}{id}/{name}", self.uploads())
    }

    async fn write_piece(&self, id: Uuid, name: &str, content: Bytes) -> Result<(), BackendError> {
        let mut request = Request::new(Method::PUT, &self.piece(id, name));
        request.body = content;
        self.client.send(&request).await.map(drop)
    }

    async fn read_piece(&self, id: Uuid, name: &str) -> Result<Vec<u8>, BackendError> {
        let (_, mut content) = self.read(&self.piece(id, name), None).await?;
        let mut bytes = Vec::new();
        while let Some(part) = content.next().await {
            bytes.extend_from_slice(&part?);
            if bytes.len() > MAXIMUM_DESCRIPTION {
                return Err(invalid("reading an upload", "its description is too large"));
            }
        }
        Ok(bytes)
    }

    async fn pieces(&self, id: Uuid) -> Result<Pieces, BackendError> {
        let prefix = self.piece(id, "");
        let length = prefix.len();
        let mut pieces = Pieces::default();
        let mut found = self.list_keys(prefix);
        while let Some(listing) = found.try_next().await? {
            match &listing.key[length..] {
                DESCRIPTION => pieces.has_description = true,
                FINISHED => pieces.is_finished = true,
                name if name.starts_with(CHUNK) => pieces.chunks.push(listing),
                _ => {}
            }
        }
        Ok(pieces)
    }

    /// Whether an object has exactly this content.
    async fn holds(&self, key: &str, wanted: &Bytes) -> Result<bool, BackendError> {
        let (_, mut content) = self.read(key, None).await?;
        let mut rest = &wanted[..];
        while let Some(part) = content.next().await {
            match rest.strip_prefix(&part?[..]) {
                Some(after) => rest = after,
                None => return Ok(false),
            }
        }
        Ok(rest.is_empty())
    }

    async fn append_chunks(&self, id: Uuid, mut offset: u64, content: Content) -> Result<Appended, BackendError> {
        let mut parts = Parts::new(content);
        let mut interruption = None;
        loop {
            let part = match parts.next().await {
                Ok(part) => part,
                Err(error) => {
                    interruption = Some(error);
                    parts.take_rest()
                }
            };
            let length = part.len();
            if length > 0 {
                // One server alone writes what follows an offset: the other one finds that the upload has another size.
                let key = self.piece(id, &format!("{CHUNK}{offset:020}"));
                let mut request = Request::new(Method::PUT, &key);
                request.headers.push(("if-none-match", "*".to_owned()));
                request.body = part.clone();
                match self.client.send(&request).await {
                    // An earlier attempt whose answer was lost has written it.
                    Err(BackendError::Offset) if self.holds(&key, &part).await? => {}
                    sent => drop(sent?),
                }
                offset += length as u64;
            }
            if length < put::PART || interruption.is_some() {
                return Ok(Appended { size: offset, interruption });
            }
        }
    }

    async fn finish_upload(
        &self,
        id: Uuid,
        target: &FileKey,
        headers: &ContentHeaders,
    ) -> Result<FileFacts, BackendError> {
        let pieces = self.pieces(id).await?;
        if pieces.is_finished {
            let etag = String::from_utf8_lossy(&self.read_piece(id, FINISHED).await?).into_owned();
            return Ok(FileFacts { etag, ..self.facts(&self.key(target)).await? });
        }
        if !pieces.has_description {
            return Err(BackendError::NotFound);
        }
        let keys: Vec<String> = pieces.chunks.iter().map(|chunk| chunk.key.clone()).collect();
        let backend = self.clone();
        let chunks = stream::iter(keys.clone()).then(move |key| {
            let backend = backend.clone();
            async move {
                match backend.read(&key, None).await {
                    Ok((_, content)) => content,
                    Err(error) => {
                        let error = crate::backend::ContentError::Read(std::io::Error::other(error));
                        stream::iter([Err(error)]).boxed()
                    }
                }
            }
        });
        let written = put::put(&self.client, &self.key(target), headers, chunks.flatten().boxed()).await?;
        self.write_piece(id, FINISHED, Bytes::from(written.etag.clone())).await?;
        self.delete_keys(keys).await?;
        Ok(written)
    }

    async fn find_idle(&self, since: DateTime<Utc>) -> Result<Vec<Uuid>, BackendError> {
        let prefix = self.uploads();
        let length = prefix.len();
        let mut latest: HashMap<Uuid, DateTime<Utc>> = HashMap::new();
        let mut found = self.list_keys(prefix);
        while let Some(listing) = found.try_next().await? {
            let id = listing.key[length..].split('/').next().and_then(|id| Uuid::try_parse(id).ok());
            if let Some(id) = id {
                let time = latest.entry(id).or_insert(listing.modified);
                *time = listing.modified.max(*time);
            }
        }
        Ok(latest.into_iter().filter(|(_, time)| *time < since).map(|(id, _)| id).collect())
    }

    async fn remove_upload(&self, id: Uuid) -> Result<(), BackendError> {
        let keys: Vec<String> = self.list_keys(self.piece(id, "")).map_ok(|found| found.key).try_collect().await?;
        self.delete_keys(keys).await
    }
}

impl Staging for RemoteBackend {
    fn create<'a>(&'a self, id: Uuid, description: &'a [u8]) -> BoxFuture<'a, Result<(), BackendError>> {
        self.write_piece(id, DESCRIPTION, Bytes::copy_from_slice(description)).boxed()
    }

    fn describe<'a>(&'a self, id: Uuid, description: &'a [u8]) -> BoxFuture<'a, Result<(), BackendError>> {
        self.write_piece(id, DESCRIPTION, Bytes::copy_from_slice(description)).boxed()
    }

    fn description(&self, id: Uuid) -> BoxFuture<'_, Result<Vec<u8>, BackendError>> {
        self.read_piece(id, DESCRIPTION).boxed()
    }

    fn size(&self, id: Uuid) -> BoxFuture<'_, Result<u64, BackendError>> {
        async move {
            let pieces = self.pieces(id).await?;
            if pieces.is_finished || !pieces.has_description { Err(BackendError::NotFound) } else { Ok(pieces.size()) }
        }
        .boxed()
    }

    fn append(&self, id: Uuid, offset: u64, content: Content) -> BoxFuture<'_, Result<Appended, BackendError>> {
        self.append_chunks(id, offset, content).boxed()
    }

    fn finish<'a>(
        &'a self,
        id: Uuid,
        target: &'a FileKey,
        headers: &'a ContentHeaders,
    ) -> BoxFuture<'a, Result<FileFacts, BackendError>> {
        self.finish_upload(id, target, headers).boxed()
    }

    fn remove(&self, id: Uuid) -> BoxFuture<'_, Result<(), BackendError>> {
        self.remove_upload(id).boxed()
    }

    fn list_idle(&self, since: DateTime<Utc>) -> BoxFuture<'_, Result<Vec<Uuid>, BackendError>> {
        self.find_idle(since).boxed()
    }
}
