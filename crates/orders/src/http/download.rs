//! Downloads: the file of an order by the token of its link.

use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use foundation::error_chain::ErrorChain;
use foundation::time::Time;
use futures::stream::{self, Stream};
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, REFERRER_POLICY, RETRY_AFTER,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_edge::request::is_prefetch;
use platform::store::{Connection, Pool};
use tokio::fs::File;
use tokio::io::AsyncReadExt;
use uuid::Uuid;

use super::extract::{Visit, plain};
use super::page;
use crate::order::{Order, OrderState};
use crate::products::{ProductFile, UploadedProduct};
use crate::service::OrderService;
use crate::store::{find_order, read_chunk, record_download};

/// The bytes that are read at a time.
const CHUNK: usize = 64 * 1024;

/// Why there is no file.
enum DownloadFailure {
    /// The link is not one of this shop.
    Unknown,
    /// The link has ended.
    Ended,
    /// The order was refunded, so that there is no new link.
    Refunded,
    /// The file or the database cannot be read.
    Unavailable,
}

/// The file of a valid link.
enum OpenedProduct {
    /// One of the folder.
    Shipped(ProductFile, File),
    /// One of the database.
    Uploaded(UploadedProduct),
}

/// Answers with the file of a link, or with a page that says why there is none.
pub(super) async fn send(visit: Visit, method: Method, headers: HeaderMap) -> Response {
    if is_prefetch(&headers) {
        return plain(StatusCode::SERVICE_UNAVAILABLE, "a link is not opened ahead of its reader\n");
    }
    let Visit { service, language, token } = &visit;
    match service.open_download(token, method == Method::HEAD).await {
        Ok(opened) => service.send_file(opened),
        Err(DownloadFailure::Unknown) => visit.respond(StatusCode::NOT_FOUND, page::unknown, ""),
        Err(DownloadFailure::Ended) => {
            visit.respond(StatusCode::GONE, page::ended, &page::format_renewal_form(*language, token))
        }
        Err(DownloadFailure::Refunded) => visit.respond(StatusCode::GONE, page::refunded, ""),
        Err(DownloadFailure::Unavailable) => {
            let page = visit.respond(StatusCode::SERVICE_UNAVAILABLE, page::unavailable, "");
            ([(RETRY_AFTER, "30")], page).into_response()
        }
    }
}

impl OrderService {
    /// Opens the file of a valid link and counts the download.
    ///
    /// Nothing is counted for a file that cannot be opened.
    async fn open_download(&self, token: &str, is_head: bool) -> Result<OpenedProduct, DownloadFailure> {
        let key = self.download_key().await.map_err(|error| report(&error))?;
        let grant = key.verify(token).ok_or(DownloadFailure::Unknown)?;
        let order = find_order(&mut self.connection(), grant.order).await.map_err(|error| report(&error))?;
        let now = self.clock.now();
        if order.as_ref().is_some_and(|order| order.state == OrderState::Refunded) {
            return Err(DownloadFailure::Refunded);
        }
        let order = order.filter(|order| is_open(order, grant.generation, now)).ok_or(DownloadFailure::Ended)?;
        let template = u16::try_from(order.template).unwrap_or_default();
        let opened = self.open_product(template).await?;
        if !is_head {
            let counted =
                record_download(&mut self.connection(), grant.order, grant.generation, self.clock.now()).await;
            if !counted.map_err(|error| report(&error))? {
                return Err(DownloadFailure::Ended);
            }
            tracing::info!(order.id = %grant.order, template, "download started");
        }
        Ok(opened)
    }

    /// Opens what buyers of a template get: the uploaded file, else that of the folder.
    async fn open_product(&self, template: u16) -> Result<OpenedProduct, DownloadFailure> {
        if let Some(uploaded) = (self.find_uploaded)(template) {
            // Nothing is counted for a file that cannot be read.
            let first = read_chunk(&mut self.connection(), uploaded.id, 0).await.map_err(|error| report(&error))?;
            if first.is_some() {
                return Ok(OpenedProduct::Uploaded(uploaded));
            }
            tracing::error!(template, file = %uploaded.id, "the database lacks a product file that was uploaded");
            return Err(DownloadFailure::Unavailable);
        }
        let Some(file) = self.folder.find(template) else {
            tracing::error!(template, folder = %self.folder.path.display(), "the folder of products lacks a file that was sold");
            return Err(DownloadFailure::Unavailable);
        };
        let opened = File::open(&file.path).await.map_err(|error| report(&error))?;
        let size = opened.metadata().await.map_err(|error| report(&error))?.len();
        if size != file.size {
            tracing::error!(
                template,
                size,
                expected = file.size,
                "a product file differs from products.json, restart the server"
            );
            return Err(DownloadFailure::Unavailable);
        }
        Ok(OpenedProduct::Shipped(file.clone(), opened))
    }

    fn send_file(&self, opened: OpenedProduct) -> Response {
        let (name, size, body) = match opened {
            OpenedProduct::Shipped(ProductFile { name, size, .. }, opened) => {
                (name, size, Body::from_stream(read_chunks(opened, size)))
            }
            OpenedProduct::Uploaded(UploadedProduct { id, name, size }) => {
                (name, size, Body::from_stream(read_stored(self.pool.clone(), id, size)))
            }
        };
        let disposition = HeaderValue::try_from(format!("attachment; filename=\"{name}\""))
            .unwrap_or(HeaderValue::from_static("attachment"));
        let file = [(CONTENT_DISPOSITION, disposition), (CONTENT_LENGTH, HeaderValue::from(size))];
        let headers = [
            (CONTENT_TYPE, "application/zip"),
            (CACHE_CONTROL, "no-store"),
            (ACCEPT_RANGES, "none"),
            (REFERRER_POLICY, "no-referrer"),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ];
        (file, headers, body).into_response()
    }
}

/// Returns whether a link gives its file; the statement that counts has the same conditions.
pub(super) fn is_open(order: &Order, generation: i32, now: Time) -> bool {
    order.state != OrderState::Refunded
        && order.download_generation == generation
        && order.download_expires_at > now
        && order.downloads_left > 0
}

fn report(error: &(dyn std::error::Error + 'static)) -> DownloadFailure {
    tracing::error!(error = %ErrorChain(error), "a download failed");
    DownloadFailure::Unavailable
}

/// Reads a file of this size in chunks.
fn read_chunks(file: File, size: u64) -> impl Stream<Item = std::io::Result<Bytes>> {
    stream::try_unfold((file.take(size), size), |(mut file, left)| async move {
        if left == 0 {
            return Ok(None);
        }
        let mut chunk = BytesMut::with_capacity(CHUNK);
        let read = file.read_buf(&mut chunk).await?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Some((chunk.freeze(), (file, left - read as u64))))
    })
}

/// Reads an uploaded file by its parts: between two, a slow client holds no connection to the database.
fn read_stored(pool: Pool, id: Uuid, size: u64) -> impl Stream<Item = std::io::Result<Bytes>> {
    stream::try_unfold((0_i32, size), move |(position, left)| {
        let pool = pool.clone();
        async move {
            if left == 0 {
                return Ok(None);
            }
            let chunk = read_chunk(&mut Connection::pooled(pool, Arc::default()), id, position).await;
            let chunk = chunk.map_err(|error| {
                tracing::error!(error = %ErrorChain(&error), "a download ended early");
                std::io::Error::other("the database does not answer")
            })?;
            let chunk = chunk.filter(|chunk| !chunk.is_empty() && chunk.len() as u64 <= left);
            let chunk = chunk.ok_or(std::io::ErrorKind::UnexpectedEof)?;
            let left = left - chunk.len() as u64;
            Ok(Some((Bytes::from(chunk), (position + 1, left))))
        }
    })
}
