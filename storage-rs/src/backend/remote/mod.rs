//! Files in a bucket of a server that speaks the S3 protocol.
//!
//! The key of a file is that of Supabase Storage: project, bucket, name and version with slashes between. Writes are all or
//! nothing: small content is one request, larger content an upload in parts that is completed or aborted.

mod answers;
mod client;
mod put;
mod staging;

use std::ops::Range;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use http::Method;

use self::answers::{Listing, read_uploads};
use self::client::{Client, Request, invalid};
use super::{
    Backend, BackendError, Content, ContentError, ContentHeaders, FileFacts, FileKey, ListedFile, Space, Staging,
};
use crate::clock::Clock;
use crate::config::S3BackendSettings;

/// The largest object that one request copies: 5 GiB.
const MAXIMUM_COPY: u64 = 5 * 1024 * 1024 * 1024;
/// The requests that delete files at a time.
const CONCURRENCY: usize = 16;

/// Files in a bucket.
#[derive(Debug, Clone)]
pub struct RemoteBackend {
    client: Arc<Client>,
    project: String,
}

impl RemoteBackend {
    /// A store of the project in this bucket. The server is asked later.
    ///
    /// # Errors
    /// The endpoint is no URL, or there is no access key.
    pub fn open(settings: &S3BackendSettings, project: &str, clock: Clock) -> Result<Self, String> {
        Ok(Self { client: Arc::new(Client::new(settings, clock)?), project: project.to_owned() })
    }

    fn prefix(&self) -> String {
        format!("{}/", self.project)
    }

    fn key(&self, file: &FileKey) -> String {
        let version = file.version.as_ref().map(|version| format!("/{version}")).unwrap_or_default();
        format!("{}/{}/{}{version}", self.project, file.bucket, file.name)
    }

    async fn read(&self, key: &str, range: Option<Range<u64>>) -> Result<(FileFacts, Content), BackendError> {
        let mut request = Request::new(Method::GET, key);
        if let Some(range) = &range {
            request.headers.push(("range", format!("bytes={}-{}", range.start, range.end.saturating_sub(1))));
        }
        let response = self.client.send(&request).await?;
        let facts = answers::facts(response.headers())?;
        let content = response.bytes_stream().map_err(|error| ContentError::Read(std::io::Error::other(error)));
        Ok((facts, content.boxed()))
    }

    async fn facts(&self, key: &str) -> Result<FileFacts, BackendError> {
        let response = self.client.send(&Request::new(Method::HEAD, key)).await?;
        answers::facts(response.headers())
    }

    async fn delete_key(&self, key: &str) -> Result<(), BackendError> {
        match self.client.send(&Request::new(Method::DELETE, key)).await {
            Ok(_) | Err(BackendError::NotFound) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn delete_keys(&self, keys: Vec<String>) -> Result<(), BackendError> {
        let deletions = stream::iter(keys).map(|key| async move { self.delete_key(&key).await });
        deletions.buffer_unordered(CONCURRENCY).try_collect().await
    }

    async fn copy_file(
        &self,
        source: &FileKey,
        target: &FileKey,
        headers: &ContentHeaders,
    ) -> Result<FileFacts, BackendError> {
        let (source, target) = (self.key(source), self.key(target));
        if self.facts(&source).await?.size > MAXIMUM_COPY {
            let (_, content) = self.read(&source, None).await?;
            return put::put(&self.client, &target, headers, content).await;
        }
        let mut request = Request::new(Method::PUT, &target);
        request.headers.push(("x-amz-copy-source", self.client.copy_source(&source)));
        request.headers.push(("x-amz-metadata-directive", "REPLACE".to_owned()));
        request.headers.extend(put::content_headers(headers));
        let text = self.client.send_for_text(&request).await?;
        // A copy that fails after its head was sent has an error in the body.
        if text.contains("<Error>") {
            return Err(invalid("copying an object", &text));
        }
        self.facts(&target).await
    }

    /// Lists the objects below a prefix.
    fn list_keys(&self, prefix: String) -> BoxStream<'_, Result<Listing, BackendError>> {
        let pages = stream::try_unfold(Some(String::new()), move |token| {
            let prefix = prefix.clone();
            async move {
                let Some(token) = token else { return Ok(None) };
                let mut request = Request::new(Method::GET, "");
                request.query = vec![("list-type", "2".to_owned()), ("prefix", prefix)];
                if !token.is_empty() {
                    request.query.push(("continuation-token", token));
                }
                let (found, next) = answers::read_listing(&self.client.send_for_text(&request).await?)?;
                Ok::<_, BackendError>(Some((stream::iter(found.into_iter().map(Ok)), next)))
            }
        });
        pages.try_flatten().boxed()
    }

    async fn abort_old_uploads(&self, older_than: DateTime<Utc>) -> Result<u64, BackendError> {
        let mut request = Request::new(Method::GET, "");
        request.query = vec![("uploads", String::new()), ("prefix", self.prefix())];
        let uploads = read_uploads(&self.client.send_for_text(&request).await?)?;
        let mut aborted = 0;
        for (key, id, begun) in uploads {
            if begun < older_than {
                put::abort(&self.client, &key, &id).await?;
                aborted += 1;
            }
        }
        Ok(aborted)
    }
}

impl Backend for RemoteBackend {
    fn put<'a>(
        &'a self,
        key: &'a FileKey,
        headers: &'a ContentHeaders,
        content: Content,
    ) -> BoxFuture<'a, Result<FileFacts, BackendError>> {
        async move { put::put(&self.client, &self.key(key), headers, content).await }.boxed()
    }

    fn get<'a>(
        &'a self,
        key: &'a FileKey,
        range: Option<Range<u64>>,
    ) -> BoxFuture<'a, Result<(FileFacts, Content), BackendError>> {
        async move { self.read(&self.key(key), range).await }.boxed()
    }

    fn head<'a>(&'a self, key: &'a FileKey) -> BoxFuture<'a, Result<FileFacts, BackendError>> {
        async move { self.facts(&self.key(key)).await }.boxed()
    }

    fn copy<'a>(
        &'a self,
        source: &'a FileKey,
        target: &'a FileKey,
        headers: &'a ContentHeaders,
    ) -> BoxFuture<'a, Result<FileFacts, BackendError>> {
        self.copy_file(source, target, headers).boxed()
    }

    fn delete<'a>(&'a self, keys: &'a [FileKey]) -> BoxFuture<'a, Result<(), BackendError>> {
        self.delete_keys(keys.iter().map(|key| self.key(key)).collect()).boxed()
    }

    fn identify(&self, key: &FileKey) -> String {
        self.key(key)
    }

    fn list(&self) -> BoxStream<'_, Result<ListedFile, BackendError>> {
        let files = self.list_keys(self.prefix()).map_ok(|found| {
            let version = found.key.rsplit('/').next().filter(|part| uuid::Uuid::try_parse(part).is_ok());
            ListedFile {
                version: version.map(str::to_owned),
                size: found.size,
                named_at: found.modified,
                identity: found.key,
            }
        });
        files.boxed()
    }

    fn delete_listed<'a>(&'a self, file: &'a ListedFile) -> BoxFuture<'a, Result<(), BackendError>> {
        self.delete_key(&file.identity).boxed()
    }

    fn space(&self) -> BoxFuture<'_, Result<Option<Space>, BackendError>> {
        futures::future::ready(Ok(None)).boxed()
    }

    fn staging(&self) -> &dyn Staging {
        self
    }

    fn delete_leftovers(&self, older_than: DateTime<Utc>) -> BoxFuture<'_, Result<u64, BackendError>> {
        self.abort_old_uploads(older_than).boxed()
    }
}
