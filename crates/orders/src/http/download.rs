//! Downloads: the file of an order by the token of its link.

use axum::body::Body;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures::stream::{self, Stream};
use gotrue_rules::domain::error::chain::ErrorChain;
use gotrue_rules::domain::language::Language;
use gotrue_rules::domain::user::Time;
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, REFERRER_POLICY, RETRY_AFTER,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderValue, StatusCode};
use tokio::fs::File;
use tokio::io::AsyncReadExt;

use super::page;
use crate::order::{Order, OrderState};
use crate::products::ProductFile;
use crate::service::OrderService;
use crate::store::{find_order, record_download};

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

impl OrderService {
    /// Answers with the file of a link, or with a page that says why there is none.
    pub(super) async fn answer_download(&self, token: &str, is_head: bool, language: Language) -> Response {
        let failure = match self.open_download(token, is_head).await {
            Ok((file, opened)) => return send_file(&file, opened, is_head),
            Err(failure) => failure,
        };
        let is_renewable = matches!(failure, DownloadFailure::Ended);
        let (status, page) = match failure {
            DownloadFailure::Unknown => (StatusCode::NOT_FOUND, page::unknown(language)),
            DownloadFailure::Ended => (StatusCode::GONE, page::ended(language)),
            DownloadFailure::Refunded => (StatusCode::GONE, page::refunded(language)),
            DownloadFailure::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, page::unavailable(language)),
        };
        let form = if is_renewable { page::format_renewal_form(language, token) } else { String::new() };
        let mut response = page::respond_with(status, language, page, &form, &self.facts.name);
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("30"));
        }
        response
    }

    /// Opens the file of a valid link and counts the download.
    ///
    /// Nothing is counted for a file that cannot be opened.
    async fn open_download(&self, token: &str, is_head: bool) -> Result<(ProductFile, File), DownloadFailure> {
        let key = self.download_key().await.map_err(|error| report(&error))?;
        let grant = key.verify(token).ok_or(DownloadFailure::Unknown)?;
        let order = find_order(&mut self.connection(), grant.order).await.map_err(|error| report(&error))?;
        let now = self.clock.now();
        if order.as_ref().is_some_and(|order| order.state == OrderState::Refunded) {
            return Err(DownloadFailure::Refunded);
        }
        let order = order.filter(|order| is_open(order, grant.generation, now)).ok_or(DownloadFailure::Ended)?;
        let template = u16::try_from(order.template).unwrap_or_default();
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
        if !is_head {
            let counted =
                record_download(&mut self.connection(), grant.order, grant.generation, self.clock.now()).await;
            if !counted.map_err(|error| report(&error))? {
                return Err(DownloadFailure::Ended);
            }
            tracing::info!(order.id = %grant.order, template, "download started");
        }
        Ok((file.clone(), opened))
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

fn send_file(file: &ProductFile, opened: File, is_head: bool) -> Response {
    let body = if is_head { Body::empty() } else { Body::from_stream(read_chunks(opened, file.size)) };
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    let disposition = HeaderValue::try_from(format!("attachment; filename=\"{}\"", file.name));
    headers.insert(CONTENT_DISPOSITION, disposition.unwrap_or(HeaderValue::from_static("attachment")));
    headers.insert(CONTENT_LENGTH, HeaderValue::from(file.size));
    for (name, value) in [
        (CONTENT_TYPE, "application/zip"),
        (CACHE_CONTROL, "no-store"),
        (ACCEPT_RANGES, "none"),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
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
