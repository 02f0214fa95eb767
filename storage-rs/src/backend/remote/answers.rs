//! Answers of the server: header fields and XML documents.

use chrono::{DateTime, Utc};
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, CONTENT_RANGE, ETAG, LAST_MODIFIED};
use roxmltree::{Document, Node};

use super::client::invalid;
use crate::backend::{BackendError, FileFacts};

/// An object of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listing {
    pub(super) key: String,
    /// In bytes.
    pub(super) size: u64,
    pub(super) modified: DateTime<Utc>,
}

/// What the header fields of an object say. The size is that of the whole object, also in the response to a range.
pub(super) fn facts(headers: &HeaderMap) -> Result<FileFacts, BackendError> {
    let text = |name| headers.get(name).and_then(|value: &http::HeaderValue| value.to_str().ok());
    let size = match text(CONTENT_RANGE).and_then(|range| range.rsplit('/').next()) {
        Some(total) => total.parse().ok(),
        None => text(CONTENT_LENGTH).and_then(|length| length.parse().ok()),
    };
    let modified = text(LAST_MODIFIED).and_then(|date| DateTime::parse_from_rfc2822(date).ok());
    match (size, modified) {
        (Some(size), Some(modified)) => Ok(FileFacts {
            size,
            etag: text(ETAG).unwrap_or_default().to_owned(),
            last_modified: modified.with_timezone(&Utc),
        }),
        _ => Err(invalid("reading the state of an object", "a header field is missing")),
    }
}

fn parse(text: &str) -> Result<Document<'_>, BackendError> {
    Document::parse(text).map_err(|_| invalid("reading an answer", text))
}

/// The text of the first child with this name.
fn child(node: Node<'_, '_>, name: &str) -> Option<String> {
    let found = node.children().find(|child| child.tag_name().name() == name)?;
    Some(found.text().unwrap_or_default().to_owned())
}

/// The text of an element of the answer.
pub(super) fn read_element(text: &str, name: &str) -> Result<String, BackendError> {
    child(parse(text)?.root_element(), name).ok_or_else(|| invalid("reading an answer", text))
}

fn read_time(text: &str) -> Option<DateTime<Utc>> {
    DateTime::parse_from_rfc3339(text).ok().map(|time| time.with_timezone(&Utc))
}

/// The objects of a list, and the token of the next page.
pub(super) fn read_listing(text: &str) -> Result<(Vec<Listing>, Option<String>), BackendError> {
    let document = parse(text)?;
    let root = document.root_element();
    let objects = root.children().filter(|node| node.tag_name().name() == "Contents").map(|node| {
        let listing = Listing {
            key: child(node, "Key")?,
            size: child(node, "Size")?.parse().ok()?,
            modified: read_time(&child(node, "LastModified")?)?,
        };
        Some(listing)
    });
    let objects: Option<Vec<_>> = objects.collect();
    let is_truncated = child(root, "IsTruncated").as_deref() == Some("true");
    let next = child(root, "NextContinuationToken").filter(|token| is_truncated && !token.is_empty());
    Ok((objects.ok_or_else(|| invalid("reading a list", text))?, next))
}

/// The uploads in parts: key, id, and when they began.
pub(super) fn read_uploads(text: &str) -> Result<Vec<(String, String, DateTime<Utc>)>, BackendError> {
    let document = parse(text)?;
    let uploads = document.root_element().children().filter(|node| node.tag_name().name() == "Upload");
    let uploads: Option<Vec<_>> = uploads
        .map(|node| Some((child(node, "Key")?, child(node, "UploadId")?, read_time(&child(node, "Initiated")?)?)))
        .collect();
    uploads.ok_or_else(|| invalid("reading a list", text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        let text = "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><IsTruncated>true</IsTruncated>\
            <Contents><Key>p/b/a&amp;c/1</Key><LastModified>2026-01-02T03:04:05.000Z</LastModified><Size>7</Size></Contents>\
            <NextContinuationToken>t</NextContinuationToken></ListBucketResult>";
        let (found, next) = read_listing(text).unwrap();
        assert_eq!((found[0].key.as_str(), found[0].size, next.as_deref()), ("p/b/a&c/1", 7, Some("t")));
        assert!(read_listing("<ListBucketResult><Contents/></ListBucketResult>").is_err());
        assert!(read_listing("no XML").is_err());
    }
}
