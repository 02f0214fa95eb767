//! Uploads of several parts. Each part is a file of its own; on completion they are joined.

use std::sync::Arc;

use axum::body::Body;
use foundation::time::format_milliseconds;
use http::StatusCode;
use serde_json::{Map, Value};

use super::answer::S3Answer;
use super::completion::Completion;
use super::multipart_rows::{PartRow, UploadRow, Uploads, decode_marker, encode_marker, part_file};
use super::objects::{DEFAULT_TYPE, parse_copy_source, parse_document, read_document, refused_replacement};
use super::request::Request;
use super::xml::{Element, child_text, children};
use crate::backend::{Content, ContentHeaders, FileKey};
use crate::database::rows::{TIME, text as column};
use crate::database::{sql, text};
use crate::error::{Code, Error};
use crate::objects::write::{self, BucketLimits, NewObject, announced_metadata};
use crate::request::complete;
use crate::signature::encode;
use crate::{mime, names};

/// The most parts.
const MAXIMUM_PARTS: u32 = 10_000;
/// The most entries of a list.
const MAXIMUM_ENTRIES: u32 = 1000;
/// A part in a request that completes an upload.
struct WantedPart {
    number: i32,
    etag: String,
}

/// Bytes of an upload that are reserved for a part. They are given back when nobody needs them.
struct Reservation {
    uploads: Uploads,
    upload: UploadRow,
    bytes: i64,
}

impl Reservation {
    async fn take(uploads: Uploads, upload: UploadRow, bytes: i64, maximum: u64) -> Result<Self, Error> {
        uploads.reserve(upload.clone(), bytes, maximum).await?;
        Ok(Self { uploads, upload, bytes })
    }

    /// Writes the row of a part whose file is there.
    async fn spend(self, part: PartRow, owner: Option<String>) -> Result<PartRow, Error> {
        let (storage, target) = (Arc::clone(&self.uploads.storage), self.upload.target.clone());
        let former = match self.uploads.insert_part(&self.upload, &part, owner.as_deref()).await {
            Ok(former) => former,
            Err(error) => {
                // After a lost connection the row may be there: the sweeper decides.
                if !error.may_have_happened {
                    storage.delete_files(&[part_file(&target, &part.id)]).await;
                }
                self.reduce(0).await;
                return Err(error);
            }
        };
        let files: Vec<FileKey> = former.iter().map(|part| part_file(&target, &part.id)).collect();
        storage.delete_files(&files).await;
        self.reduce(part.size - former.iter().map(|part| part.size).sum::<i64>()).await;
        Ok(part)
    }

    /// Gives back all bytes but these.
    async fn reduce(mut self, needed: i64) {
        let surplus = std::mem::take(&mut self.bytes) - needed;
        if surplus != 0 {
            give_back(&self.uploads, &self.upload, surplus).await;
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.bytes != 0 {
            let uploads = Uploads { storage: Arc::clone(&self.uploads.storage), scope: self.uploads.scope.clone() };
            let (upload, bytes) = (self.upload.clone(), self.bytes);
            tokio::spawn(async move { give_back(&uploads, &upload, bytes).await });
        }
    }
}

async fn give_back(uploads: &Uploads, upload: &UploadRow, bytes: i64) {
    let result = match uploads.find(&upload.id, &upload.target).await {
        Ok(current) => uploads.reserve(current, -bytes, u64::MAX).await,
        Err(error) => Err(error),
    };
    if let Err(error) = result {
        tracing::warn!(cause = error.cause, "the reserved bytes of a multipart upload stay too many");
    }
}

fn missing_parameter(name: &str) -> Error {
    Error::new(Code::MissingParameter, 400, format!("Missing Required Parameter {name}"))
}

impl Request {
    fn uploads(&self) -> Uploads {
        Uploads { storage: Arc::clone(&self.call.storage), scope: self.call.service_scope() }
    }

    /// The upload that the query names.
    async fn find_upload(&self) -> Result<UploadRow, Error> {
        let id = self.call.query.get("uploadId").unwrap_or_default();
        if id.is_empty() {
            return Err(Error::new(Code::InvalidUploadId, 400, "Invalid upload id"));
        }
        self.uploads().find(id, &self.target).await
    }

    /// Tests whether the caller may write the object of an upload, and reads the limits of its bucket.
    async fn authorize_upload(&self, metadata: Value, user_metadata: Option<Value>) -> Result<BucketLimits, Error> {
        let object = NewObject {
            target: self.target.clone(),
            version: write::new_version(),
            owner: self.call.caller.owner.clone(),
            metadata,
            user_metadata,
            replaces: true,
        };
        let (service, caller) = (self.call.service_scope(), self.call.scope());
        let (limits, tested) = write::test(&self.call.storage, &service, &caller, &object).await?;
        tested?;
        Ok(limits)
    }

    fn maximum_size(&self, limits: &BucketLimits) -> u64 {
        let maximum = self.call.storage.config().file_size_limit;
        limits.size.filter(|size| *size > 0).unwrap_or(maximum).min(maximum)
    }

    pub(super) async fn create_upload(self) -> Result<S3Answer, Error> {
        names::check_bucket_name(&self.target.bucket)?;
        names::check_object_name(&self.target.name)?;
        let mime_type = self.call.filled_header("content-type");
        let mut metadata = announced_metadata(mime_type, None);
        let user_metadata = self.user_metadata().unwrap_or_else(|| Value::Object(Map::new()));
        let limits = self.authorize_upload(metadata.clone(), Some(user_metadata.clone())).await?;
        mime::check(mime_type.unwrap_or(DEFAULT_TYPE), &limits.mime_types)?;
        if let Some(cache_control) = self.call.filled_header("cache-control") {
            metadata["cacheControl"] = cache_control.into();
        }
        let id = write::new_version();
        let owner = self.call.caller.owner.as_deref();
        let config = self.call.storage.config();
        let is_limited = self.call.caller.role != config.service_role;
        let most = is_limited.then_some(config.load_limits.open_uploads);
        self.uploads().create(&id, &self.target, owner, most, [&metadata, &user_metadata]).await?;
        let children = vec![
            Element::text("Bucket", self.target.bucket.as_str()),
            Element::text("Key", self.target.name.as_str()),
            Element::text("UploadId", id),
        ];
        Ok(S3Answer::document(&Element::new("InitiateMultipartUploadResult", children)))
    }

    /// The metadata of an upload as policies see it: without what only the server needs.
    fn announced(upload: &UploadRow) -> Value {
        let mime_type = upload.metadata.as_ref().and_then(|metadata| metadata["mimetype"].as_str());
        announced_metadata(mime_type, None)
    }

    fn part_number(&self) -> Result<i32, Error> {
        let number = self.number("partNumber", 1, MAXIMUM_PARTS)?.ok_or_else(|| missing_parameter("PartNumber"))?;
        i32::try_from(number).map_err(|_| Error::invalid_parameter("PartNumber"))
    }

    pub(super) async fn upload_part(self, body: Body) -> Result<S3Answer, Error> {
        let number = self.part_number()?;
        let length = self.signed.content_length(&self.call).ok_or_else(|| {
            Error::new(Code::MissingContentLength, 400, "You must provide the Content-Length HTTP header.")
        })?;
        let upload = self.find_upload().await?;
        let limits = self.authorize_upload(Self::announced(&upload), upload.user_metadata.clone()).await?;
        let maximum = self.maximum_size(&limits);
        let _turn = self.call.wait_for_upload_turn().await?;
        self.call.storage.backend().check_room(length).await?;
        let content = self.signed.content(&self.call, body, length)?;
        let etag = self.store_part(&upload, number, length, maximum, content).await?.etag;
        Ok(S3Answer::new(StatusCode::OK).with("etag", &etag).with("access-control-expose-headers", "etag"))
    }

    /// Stores a part: its bytes are reserved before, and given back when it does not become one, also when the client is gone.
    async fn store_part(
        &self,
        upload: &UploadRow,
        number: i32,
        length: u64,
        maximum: u64,
        content: Content,
    ) -> Result<PartRow, Error> {
        let bytes = i64::try_from(length).map_err(|_| Error::too_large())?;
        let reservation = complete(Reservation::take(self.uploads(), upload.clone(), bytes, maximum)).await?;
        let id = write::new_version();
        let file = part_file(&self.target, &id);
        let facts = match self.call.storage.backend().put(&file, &ContentHeaders::default(), content).await {
            Ok(facts) => facts,
            Err(error) => {
                let giving_back = async move {
                    reservation.reduce(0).await;
                    Ok(())
                };
                complete(giving_back).await?;
                return Err(error.into());
            }
        };
        let part = PartRow {
            id,
            number,
            etag: facts.etag.trim_matches('"').to_owned(),
            size: i64::try_from(facts.size).map_err(|_| Error::too_large())?,
            created_at: format_milliseconds(facts.last_modified),
        };
        complete(reservation.spend(part, self.call.caller.owner.clone())).await
    }

    pub(super) async fn upload_part_copy(self) -> Result<S3Answer, Error> {
        let number = self.part_number()?;
        let source = parse_copy_source(self.call.header("x-amz-copy-source").unwrap_or_default())?;
        let found = match self.check_copy_conditions(&source).await? {
            Some(found) => found,
            None => self.find_object(&source).await?,
        };
        let size = found.size().unwrap_or_default();
        let range = match self.call.filled_header("x-amz-copy-source-range") {
            None => None,
            Some(header) => Some(parse_copy_range(header, size)?),
        };
        let length = range.as_ref().map_or(size, |range| range.end - range.start);
        let upload = self.find_upload().await?;
        let limits = self.authorize_upload(Self::announced(&upload), upload.user_metadata.clone()).await?;
        let (_, content) = self.call.storage.backend().get(&found.file(&source), range).await?;
        let part = self.store_part(&upload, number, length, self.maximum_size(&limits), content).await?;
        let children = vec![Element::text("ETag", part.etag), Element::text("LastModified", part.created_at)];
        Ok(S3Answer::document(&Element::new("CopyPartResult", children)))
    }

    pub(super) async fn complete_upload(self, body: Body) -> Result<S3Answer, Error> {
        let document = read_document(&self.call.parts.headers, body).await?;
        let wanted = parse_parts(&document)?;
        let upload = self.find_upload().await?;
        let limits = self.authorize_upload(Self::announced(&upload), upload.user_metadata.clone()).await?;
        let uploads = self.uploads();
        let known = uploads.list_parts(&uploads.scope, &upload.id, 0, MAXIMUM_PARTS).await?;
        let parts = choose_parts(&upload.id, wanted, &known)?;
        let size: i64 = parts.iter().map(|part| part.size).sum();
        if size.cast_unsigned() > self.maximum_size(&limits) {
            return Err(Error::too_large());
        }
        let member = |name: &str, default: &str| {
            let metadata = upload.metadata.as_ref().and_then(|metadata| metadata[name].as_str());
            metadata.unwrap_or(default).to_owned()
        };
        let headers = ContentHeaders {
            content_type: member("mimetype", DEFAULT_TYPE),
            cache_control: member("cacheControl", "no-cache"),
        };
        let replaces = self.call.header("if-none-match") != Some("*");
        let owner = self.call.caller.owner.clone();
        let completion = Completion { uploads, upload, parts, headers, owner, replaces };
        let completed = complete(completion.run()).await;
        let etag = completed.map_err(|error| refused_replacement(error, replaces))?;
        let Self { target, .. } = self;
        let children = vec![
            Element::text("Location", target.path()),
            Element::text("Bucket", target.bucket),
            Element::text("Key", target.name),
            Element::text("ETag", etag),
        ];
        Ok(S3Answer::document(&Element::new("CompleteMultipartUploadResult", children)))
    }

    pub(super) async fn abort_upload(self) -> Result<S3Answer, Error> {
        let upload = self.find_upload().await?;
        self.authorize_upload(Self::announced(&upload), upload.user_metadata.clone()).await?;
        let (uploads, storage) = (self.uploads(), Arc::clone(&self.call.storage));
        complete(async move {
            let parts = uploads.delete(&upload).await?;
            storage.delete_files(&parts).await;
            Ok(())
        })
        .await?;
        Ok(S3Answer::new(StatusCode::OK))
    }

    pub(super) async fn list_parts(self) -> Result<S3Answer, Error> {
        let limit = self.number("max-parts", 1, MAXIMUM_ENTRIES)?.unwrap_or(MAXIMUM_ENTRIES);
        let marker = self.call.query.get("part-number-marker").filter(|marker| !marker.is_empty());
        let after = match marker {
            None => 0,
            Some(marker) => marker.trim().parse().map_err(|_| Error::invalid_parameter("PartNumberMarker"))?,
        };
        let upload = self.find_upload().await?;
        let mut parts = self.uploads().list_parts(&self.call.scope(), &upload.id, after, limit + 1).await?;
        let is_truncated = parts.len() > usize::try_from(limit).unwrap_or(usize::MAX);
        parts.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        let mut children = vec![
            Element::text("Bucket", self.target.bucket.as_str()),
            Element::text("Key", self.target.name.as_str()),
            Element::text("UploadId", upload.id),
        ];
        children.extend(marker.map(|marker| Element::text("PartNumberMarker", marker)));
        if let Some(last) = parts.last().filter(|_| is_truncated) {
            children.push(Element::text("NextPartNumberMarker", last.number.to_string()));
        }
        children.push(Element::text("MaxParts", limit.to_string()));
        children.push(Element::text("IsTruncated", is_truncated.to_string()));
        children.extend(parts.into_iter().map(|part| {
            Element::new(
                "Part",
                vec![
                    Element::text("PartNumber", part.number.to_string()),
                    Element::text("LastModified", part.created_at),
                    Element::text("ETag", part.etag),
                ],
            )
        }));
        Ok(S3Answer::document(&Element::new("ListPartsResult", children)))
    }

    pub(super) async fn list_uploads(self) -> Result<S3Answer, Error> {
        let limit = self.number("max-uploads", 1, MAXIMUM_ENTRIES)?.unwrap_or(MAXIMUM_ENTRIES);
        let query = |name: &str| self.call.query.get(name).filter(|value| !value.is_empty());
        self.find_bucket().await?;
        let marker = |name: &str| query(name).map(decode_marker).transpose().map(Option::unwrap_or_default);
        let (key_marker, id_marker) = (marker("key-marker")?, marker("upload-id-marker")?);
        let (prefix, delimiter) = (query("prefix").unwrap_or_default(), query("delimiter").unwrap_or_default());
        let statement = sql(
            &format!(
                "SELECT key, id, to_char(created_at AT TIME ZONE 'UTC', '{TIME}') \
                 FROM storage.list_multipart_uploads_with_delimiter($1, $2, $3, $4::integer, $5, $6)"
            ),
            [
                text(self.target.bucket.as_str()),
                text(prefix.replace('\0', "")),
                text(delimiter.replace('\0', "")),
                text((limit + 1).to_string()),
                text(key_marker),
                text(id_marker),
            ],
        );
        let rows = self.call.storage.database().run(&self.call.scope(), statement).await?;
        let limit_reached = usize::try_from(limit).unwrap_or(usize::MAX);
        let is_truncated = rows.len() > limit_reached;
        let shown = |name: &str| if query("encoding-type").is_some() { encode(name) } else { name.to_owned() };
        let (mut uploads, mut prefixes, mut last) = (Vec::new(), Vec::new(), None);
        for row in rows.iter().take(limit_reached) {
            let (key, id) = (column(row, 0).unwrap_or_default(), column(row, 1).unwrap_or_default());
            let rest = key.get(prefix.len()..).unwrap_or_default();
            let folder = rest.find(delimiter).filter(|_| !delimiter.is_empty());
            if let Some(position) = folder {
                let folder = shown(&key[..prefix.len() + position + delimiter.len()]);
                let element = Element::new("CommonPrefixes", vec![Element::text("Prefix", folder)]);
                if !prefixes.contains(&element) {
                    prefixes.push(element);
                }
            } else {
                let mut children = vec![Element::text("Key", shown(&key))];
                children.extend(column(row, 2).map(|time| Element::text("Initiated", time)));
                children.extend([Element::text("UploadId", id.as_str()), Element::text("StorageClass", "STANDARD")]);
                uploads.push(Element::new("Upload", children));
            }
            last = Some((key, id));
        }
        let count = uploads.len() + prefixes.len();
        let mut children = vec![Element::text("Name", self.target.bucket.as_str()), Element::text("Prefix", prefix)];
        let echo = |parameter: &str, element: &'static str| query(parameter).map(|value| Element::text(element, value));
        children.extend(echo("key-marker", "KeyMarker"));
        children.extend(echo("upload-id-marker", "UploadIdMarker"));
        if let Some((key, id)) = last.filter(|_| is_truncated) {
            children.push(Element::text("NextKeyMarker", encode_marker(&key)));
            children.push(Element::text("NextUploadIdMarker", encode_marker(&id)));
        }
        children.append(&mut uploads);
        children.push(Element::text("IsTruncated", is_truncated.to_string()));
        children.push(Element::text("MaxUploads", limit.to_string()));
        children.extend(echo("delimiter", "Delimiter"));
        children.extend(echo("encoding-type", "EncodingType"));
        children.push(Element::text("KeyCount", count.to_string()));
        children.append(&mut prefixes);
        Ok(S3Answer::document(&Element::new("ListMultipartUploadsResult", children)))
    }
}

/// A range of a source: both ends are given and lie within it.
fn parse_copy_range(header: &str, size: u64) -> Result<std::ops::Range<u64>, Error> {
    let refuse = || Error { status: 400, ..Error::invalid_range() };
    let (first, last) = header.strip_prefix("bytes=").and_then(|range| range.split_once('-')).ok_or_else(refuse)?;
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u64>().ok().filter(|_| is_number).ok_or_else(refuse)
    };
    let (first, last) = (number(first)?, number(last)?);
    if first <= last && last < size { Ok(first..last + 1) } else { Err(refuse()) }
}

/// The parts in a request that completes an upload; none means all.
fn parse_parts(document: &str) -> Result<Vec<WantedPart>, Error> {
    if document.trim().is_empty() {
        return Ok(Vec::new());
    }
    let document = parse_document(document)?;
    let root = document.root_element();
    if root.tag_name().name() != "CompleteMultipartUpload" {
        return Err(Error::new(Code::MalformedXML, 400, "Invalid XML payload: CompleteMultipartUpload is missing"));
    }
    children(root, "Part")
        .map(|part| {
            let number = child_text(part, "PartNumber").and_then(|number| number.trim().parse().ok());
            let number = number
                .ok_or_else(|| Error::validation("Body, CompleteMultipartUpload, Part, PartNumber must be integer"))?;
            let etag = child_text(part, "ETag").unwrap_or_default().trim().trim_matches('"').to_owned();
            Ok(WantedPart { number, etag })
        })
        .collect()
}

/// The rows of the wanted parts, in the order of their numbers.
fn choose_parts(upload: &str, wanted: Vec<WantedPart>, known: &[PartRow]) -> Result<Vec<PartRow>, Error> {
    if wanted.is_empty() && !known.is_empty() {
        return Ok(known.to_vec());
    }
    let mut chosen = Vec::with_capacity(wanted.len());
    for part in wanted {
        let row = known.iter().find(|row| row.number == part.number).ok_or_else(|| {
            let message = format!("Part {} is missing for upload id {upload}", part.number);
            Error::new(Code::MissingPart, 400, message)
        })?;
        if row.etag != part.etag {
            let message = format!("Invalid ETag for part {}", part.number);
            return Err(Error::new(Code::InvalidChecksum, 400, message));
        }
        chosen.push(row.clone());
    }
    chosen.sort_by_key(|part| part.number);
    chosen.dedup_by_key(|part| part.number);
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_compared_with_what_arrived() {
        let row = |number: i32| PartRow {
            id: String::new(),
            number,
            etag: format!("e{number}"),
            size: 1,
            created_at: String::new(),
        };
        let known = [row(1), row(2), row(3)];
        let wanted = |text: &str| {
            parse_parts(&format!("<CompleteMultipartUpload xmlns=\"x\">{text}</CompleteMultipartUpload>")).unwrap()
        };
        let part =
            |number: i32, etag: &str| format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>");
        let chosen = choose_parts("u", wanted(&(part(3, "&quot;e3&quot;") + &part(1, "e1"))), &known).unwrap();
        assert_eq!(chosen.iter().map(|part| part.number).collect::<Vec<_>>(), [1, 3]);
        assert_eq!(choose_parts("u", vec![], &known).unwrap().len(), 3);
        assert_eq!(choose_parts("u", wanted(&part(2, "e1")), &known).unwrap_err().code, Code::InvalidChecksum);
        assert_eq!(choose_parts("u", wanted(&part(4, "e4")), &known).unwrap_err().code, Code::MissingPart);
        assert!(parse_parts("<a><!DOCTYPE").is_err());
    }

    #[test]
    fn copy_ranges_lie_within_the_source() {
        assert_eq!(parse_copy_range("bytes=2-4", 5), Ok(2..5));
        for header in ["bytes=2-5", "bytes=4-2", "bytes=-2", "bytes=2-", "bytes=0-1,3-4", "x=0-1", "bytes=+0-1"] {
            assert!(parse_copy_range(header, 5).is_err(), "{header}");
        }
    }
}
