//! Uploads of pictures and product files, which a later revision names.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http_body_util::BodyExt;
use http_edge::request::{BodyError, read_body};
use orders::products::STORED_CHUNK;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use super::shop::EditedCatalogue;
use super::zip::ZipCheck;
use crate::http::error::DeskError;
use crate::http::respond;
use crate::section::OwnerCall;
use crate::store::files::{self, FileKind};

/// The largest picture before it is encoded anew, in bytes.
const MAX_PICTURE: usize = 10 * 1024 * 1024;
/// The largest file for buyers, in bytes.
const MAX_PRODUCT: u64 = 200 * 1024 * 1024;
/// How long a picture may take to arrive.
const PICTURE_DEADLINE: Duration = Duration::from_mins(2);
/// How long a file for buyers may take to arrive: 200 MiB at 1 Mbit/s.
const PRODUCT_DEADLINE: Duration = Duration::from_mins(30);
/// How long the next part of it may take.
const PART_DEADLINE: Duration = Duration::from_secs(30);
/// The uploads at a time: each keeps a part, or a whole picture, in memory.
const UPLOADS: usize = 3;
/// The longest name of a file.
const MAX_NAME: usize = 80;
const ZIP: &str = ".zip";

/// Takes a few uploads at a time.
pub(super) struct Uploads {
    turns: Semaphore,
}

impl Default for Uploads {
    fn default() -> Self {
        Self { turns: Semaphore::new(UPLOADS) }
    }
}

impl Uploads {
    /// Stores a picture that is encoded anew.
    pub(super) async fn receive_picture(
        &self,
        call: &OwnerCall,
        catalogue: &dyn EditedCatalogue,
        content: Body,
    ) -> Result<Response, DeskError> {
        let _turn = self.turns.try_acquire().map_err(|_| refuse_busy())?;
        let content = read_body(content, MAX_PICTURE, PICTURE_DEADLINE).await.map_err(|error| match error {
            BodyError::TooLarge => {
                refuse_large("The picture", "10 MiB").hint("Save it smaller: 1600 pixels wide are enough.")
            }
            BodyError::TooSlow => refuse_slow(),
            BodyError::Incomplete => DeskError::invalid("The picture is incomplete."),
        })?;
        let encoded = catalogue.encode_picture(content).await?;
        let id = call.new_id();
        let size = i64::try_from(encoded.len()).map_err(|_| DeskError::internal())?;
        let mut db = call.begin().await?;
        files::insert(&mut db, id, FileKind::Picture, "picture.webp", call.now()).await?;
        files::insert_chunk(&mut db, id, 0, &encoded).await?;
        files::complete(&mut db, id, size).await?;
        db.commit().await?;
        Ok(respond::json(StatusCode::CREATED, &json!({ "file": id, "size": size })))
    }

    /// Stores a ZIP file by its parts, of which one is in memory.
    pub(super) async fn receive_product(&self, call: &OwnerCall, content: Body) -> Result<Response, DeskError> {
        let _turn = self.turns.try_acquire().map_err(|_| refuse_busy())?;
        let (id, name) = (call.new_id(), clean_name(call.query.get("name").unwrap_or_default()));
        files::insert(&mut call.db(), id, FileKind::Product, &name, call.now()).await?;
        match store_parts(call, id, content).await {
            Ok(size) => {
                files::complete(&mut call.db(), id, i64::try_from(size).map_err(|_| DeskError::internal())?).await?;
                Ok(respond::json(StatusCode::CREATED, &json!({ "file": id, "name": name, "size": size })))
            }
            Err(error) => {
                // What is left is deleted with the unused files.
                let _ = files::delete(&mut call.db(), id).await;
                Err(error)
            }
        }
    }
}

/// Stores the parts of a file, and returns its size if it is a ZIP file.
async fn store_parts(call: &OwnerCall, id: Uuid, mut content: Body) -> Result<u64, DeskError> {
    let ends = Instant::now() + PRODUCT_DEADLINE;
    let (mut check, mut size, mut position, mut waiting) = (ZipCheck::default(), 0_u64, 0, BytesMut::new());
    while let Some(part) = read_part(&mut content, ends).await? {
        size += part.len() as u64;
        if size > MAX_PRODUCT {
            return Err(refuse_large("The file", "200 MiB").hint("Leave out what buyers do not need."));
        }
        check.read(&part);
        waiting.extend_from_slice(&part);
        while waiting.len() >= STORED_CHUNK {
            let chunk = waiting.split_to(STORED_CHUNK);
            files::insert_chunk(&mut call.db(), id, position, &chunk).await?;
            position += 1;
        }
    }
    if !waiting.is_empty() {
        files::insert_chunk(&mut call.db(), id, position, &waiting).await?;
    }
    if !check.is_whole(size) {
        let refused = DeskError::new(StatusCode::BAD_REQUEST, "product_file_refused", "The file is no whole ZIP file.");
        return Err(refused.hint("Pack what buyers get into one ZIP file, and upload that."));
    }
    Ok(size)
}

/// Returns the next part of a body, and `None` at its end.
///
/// # Errors
/// 408 at the time `ends`, or after [`PART_DEADLINE`] without a part; 400 if the connection ends first.
async fn read_part(content: &mut Body, ends: Instant) -> Result<Option<Bytes>, DeskError> {
    let ends = ends.min(Instant::now() + PART_DEADLINE);
    loop {
        let Some(frame) = timeout_at(ends, content.frame()).await.map_err(|_| refuse_slow())? else { return Ok(None) };
        let frame = frame.map_err(|_| DeskError::invalid("The file is incomplete."))?;
        if let Ok(part) = frame.into_data() {
            return Ok(Some(part));
        }
    }
}

/// Returns a name that browsers and file systems take: letters, digits, `-`, `_` and `.`, with the ending `.zip`.
fn clean_name(given: &str) -> String {
    let stem = given.strip_suffix(ZIP).unwrap_or(given);
    let kept = |character: char| match character {
        '-' | '_' | '.' => character,
        _ if character.is_ascii_alphanumeric() => character,
        _ => '-',
    };
    let stem: String = stem.chars().map(kept).take(MAX_NAME - ZIP.len()).collect();
    let stem = stem.trim_matches(['-', '.']);
    format!("{}{ZIP}", if stem.is_empty() { "product" } else { stem })
}

fn refuse_busy() -> DeskError {
    DeskError::too_many("Other files are being uploaded.", 5).hint("Wait until they are stored, and try again.")
}

fn refuse_large(what: &str, limit: &str) -> DeskError {
    let message = format!("{what} is larger than {limit}.");
    DeskError::new(StatusCode::PAYLOAD_TOO_LARGE, "file_too_large", message)
}

fn refuse_slow() -> DeskError {
    DeskError::new(StatusCode::REQUEST_TIMEOUT, "body_too_slow", "The file did not arrive in time.")
        .hint("Try again with a faster connection.")
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::stream::{self, StreamExt};

    use super::*;

    #[tokio::test]
    async fn body_that_trickles_is_refused_at_the_end_of_its_time() {
        let bytes = stream::repeat(()).then(|()| async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            Ok::<_, Infallible>(Bytes::from_static(b"P"))
        });
        let mut body = Body::from_stream(bytes);
        let ends = Instant::now() + Duration::from_millis(50);
        let read = async {
            loop {
                if let Err(error) = read_part(&mut body, ends).await {
                    return error.status();
                }
            }
        };
        let status = tokio::time::timeout(Duration::from_secs(30), read).await;
        assert_eq!(status, Ok(StatusCode::REQUEST_TIMEOUT));
    }

    #[tokio::test]
    async fn body_is_read_to_its_end() {
        let ends = Instant::now() + PRODUCT_DEADLINE;
        let mut body = Body::from("part");
        assert_eq!(read_part(&mut body, ends).await.expect("a part"), Some(Bytes::from_static(b"part")));
        assert_eq!(read_part(&mut body, ends).await.expect("the end"), None);
        let mut broken = Body::from_stream(stream::once(async { Err::<Bytes, _>(std::io::Error::other("reset")) }));
        assert_eq!(read_part(&mut broken, ends).await.expect_err("incomplete").status(), StatusCode::BAD_REQUEST);
    }

    #[test]
    fn names_of_files_have_plain_characters() {
        for (given, name) in [
            ("newsletter.zip", "newsletter.zip"),
            ("Übersicht 2026.zip", "bersicht-2026.zip"),
            ("../../etc/passwd", "etc-passwd.zip"),
            ("a\"b\r\nc.zip", "a-b--c.zip"),
            ("", "product.zip"),
            (".zip", "product.zip"),
        ] {
            assert_eq!(clean_name(given), name, "{given}");
        }
        assert_eq!(clean_name(&"x".repeat(500)).len(), MAX_NAME);
    }
}
