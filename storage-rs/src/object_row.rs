//! The row of an object, as the API shows it.

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::backend::FileKey;
use crate::robots;
use crate::target::Target;

/// An object as a JSON document.
pub(crate) const OBJECT: &str = "json_build_object('name', name, 'bucket_id', coalesce(bucket_id, ''), \
    'owner', coalesce(owner::text, ''), 'owner_id', coalesce(owner_id, ''), 'version', coalesce(version, ''), 'id', id, \
    'updated_at', to_char(updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'), \
    'created_at', to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'), \
    'last_accessed_at', to_char(last_accessed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'), \
    'metadata', metadata, 'user_metadata', user_metadata)::text";

/// An object that the caller may read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found {
    /// The object as the API shows it.
    pub(crate) document: Value,
    /// The version of its file.
    pub(crate) version: Option<String>,
}

impl Found {
    /// A member of the column `metadata`.
    fn text(&self, name: &str) -> Option<&str> {
        self.document["metadata"].get(name).and_then(Value::as_str)
    }

    /// The size in bytes, if the row has it.
    pub(crate) fn size(&self) -> Option<u64> {
        let read = |name: &str| match self.document["metadata"].get(name)? {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        read("size").or_else(|| read("contentLength"))
    }

    /// The type, if the row has it.
    pub(crate) fn mime_type(&self) -> Option<&str> {
        self.text("mimetype")
    }

    /// The quoted entity tag, if the row has it.
    pub(crate) fn etag(&self) -> Option<&str> {
        self.text("eTag")
    }

    /// The value of `Cache-Control`, if the row has it.
    pub(crate) fn cache_control(&self) -> Option<&str> {
        self.text("cacheControl")
    }

    /// When the content was written, if the row has it.
    pub(crate) fn last_modified(&self) -> Option<DateTime<Utc>> {
        match self.document["metadata"].get("lastModified")? {
            Value::String(text) => {
                let time = DateTime::parse_from_rfc3339(text).or_else(|_| DateTime::parse_from_rfc2822(text));
                time.ok().map(|time| time.with_timezone(&Utc))
            }
            milliseconds => DateTime::from_timestamp_millis(milliseconds.as_i64()?),
        }
    }

    /// When the object was created.
    pub(crate) fn created_at(&self) -> Option<DateTime<Utc>> {
        let text = self.document["created_at"].as_str()?;
        DateTime::parse_from_rfc3339(text).ok().map(|time| time.with_timezone(&Utc))
    }

    /// What search engines may do with it.
    pub(crate) fn robots_tag(&self) -> &str {
        self.text("xRobotsTag").filter(|tag| robots::check(tag).is_ok()).unwrap_or("none")
    }

    pub(crate) fn file(&self, target: &Target) -> FileKey {
        FileKey { bucket: target.bucket.clone(), name: target.name.clone(), version: self.version.clone() }
    }
}
