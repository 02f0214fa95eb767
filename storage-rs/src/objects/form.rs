//! Uploads in forms (`multipart/form-data`): a file and fields, in any order.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use futures::{Stream, StreamExt};
use multer::{Constraints, Field, Multipart, SizeLimit};
use serde_json::Value;

use super::form_body::{FormBody, LongPartHead, Unused};
use crate::backend::ContentError;
use crate::error::Error;

/// The most fields besides the file.
const MAXIMUM_FIELDS: usize = 10;
/// The largest field, in bytes: that of user metadata.
const MAXIMUM_FIELD: usize = 1024 * 1024;
/// The most bytes of further files and fields, which do not count.
const MAXIMUM_IGNORED: usize = 16 * 1024 * 1024;
/// The most files and fields, also those that do not count.
const MAXIMUM_PARTS: usize = 1000;

/// A form that is being read.
#[derive(Debug)]
pub(super) struct Form {
    multipart: Multipart<'static>,
    unused: Unused,
    fields: FormFields,
    has_file: bool,
    /// The number of parts besides the file.
    others: usize,
    /// The bytes of those that do not count.
    ignored: usize,
}

/// The fields of a form that count.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct FormFields {
    /// How long the object may be cached, in seconds.
    pub(super) cache_time: Option<String>,
    /// The type of the object, which wins over that of the file.
    pub(super) content_type: Option<String>,
    metadata: Option<String>,
    user_metadata: Option<String>,
}

pub(super) struct FormFile {
    pub(super) mime_type: String,
    field: Field<'static>,
    unused: Unused,
}

impl FormFields {
    /// The header `Cache-Control` of the object.
    pub(super) fn cache_control(&self) -> String {
        self.cache_time.as_deref().map_or_else(|| "no-cache".to_owned(), |time| format!("max-age={time}"))
    }

    /// The metadata of the user. Text that is no JSON does not count.
    pub(super) fn user_metadata(&self) -> Option<Value> {
        let text = self.metadata.as_deref().or(self.user_metadata.as_deref())?;
        serde_json::from_str(text).ok()
    }
}

/// The error of a malformed form.
fn translate(error: multer::Error) -> Error {
    match error {
        multer::Error::NoBoundary | multer::Error::NoMultipart => Error::no_content("Multipart: Boundary not found"),
        multer::Error::FieldSizeExceeded { .. } => Error::too_large_part("user_metadata"),
        multer::Error::IncompleteStream
        | multer::Error::IncompleteFieldData { .. }
        | multer::Error::IncompleteHeaders => Error::no_content("Unexpected end of form"),
        multer::Error::StreamReadFailed(cause) if cause.is::<LongPartHead>() => {
            Error::no_content("Malformed part header").because(cause)
        }
        multer::Error::StreamReadFailed(cause) => {
            Error::no_content("Request stream closed before upload could begin").because(cause)
        }
        error => Error::no_content("Malformed part header").because(error),
    }
}

impl Form {
    /// A form with the type that the request names.
    ///
    /// # Errors
    /// 400: the type has no boundary.
    pub(super) fn new(content_type: &str, body: Body) -> Result<Self, Error> {
        let boundary = multer::parse_boundary(content_type).map_err(translate)?;
        // The size of the file is limited where it is stored.
        let sizes = SizeLimit::new().whole_stream(u64::MAX).per_field(u64::MAX);
        let unused = Unused::default();
        let body = FormBody::new(body, unused.clone());
        let multipart = Multipart::with_constraints(body, boundary, Constraints::new().size_limit(sizes));
        Ok(Self { multipart, unused, fields: FormFields::default(), has_file: false, others: 0, ignored: 0 })
    }

    /// Reads fields up to the file.
    ///
    /// # Errors
    /// 400: the form is malformed or has too many parts. 413: a field is too large.
    pub(super) async fn find_file(&mut self) -> Result<Option<FormFile>, Error> {
        while let Some(field) = self.multipart.next_field().await.map_err(translate)? {
            self.unused.clear();
            if field.file_name().is_some()
                || field.content_type().is_some_and(|kind| kind.essence_str() == "application/octet-stream")
            {
                if !self.has_file {
                    self.has_file = true;
                    // The default of RFC 7578 §4.4.
                    let mime_type = field.content_type().map_or("text/plain", |kind| kind.essence_str()).to_owned();
                    return Ok(Some(FormFile { mime_type, field, unused: self.unused.clone() }));
                }
                self.ignore(field).await?;
            } else if self.others < MAXIMUM_FIELDS {
                self.read_field(field).await?;
            } else {
                self.ignore(field).await?;
            }
            self.others += 1;
            if self.others > MAXIMUM_PARTS {
                return Err(Error::no_content("reach parts limit"));
            }
        }
        Ok(None)
    }

    async fn ignore(&mut self, mut field: Field<'static>) -> Result<(), Error> {
        while let Some(part) = field.chunk().await.map_err(translate)? {
            self.unused.clear();
            self.ignored += part.len();
            if self.ignored > MAXIMUM_IGNORED {
                return Err(Error::no_content("reach parts limit"));
            }
        }
        Ok(())
    }

    async fn read_field(&mut self, mut field: Field<'static>) -> Result<(), Error> {
        let name = field.name().unwrap_or_default().to_owned();
        let mut value = Vec::new();
        while let Some(part) = field.chunk().await.map_err(translate)? {
            self.unused.clear();
            if value.len() + part.len() > MAXIMUM_FIELD {
                return Err(Error::too_large_part("user_metadata"));
            }
            value.extend_from_slice(&part);
        }
        let value = String::from_utf8_lossy(&value).into_owned();
        let slot = match name.as_str() {
            "cacheControl" => &mut self.fields.cache_time,
            "contentType" => &mut self.fields.content_type,
            "metadata" => &mut self.fields.metadata,
            "userMetadata" => &mut self.fields.user_metadata,
            _ => return Ok(()),
        };
        *slot = Some(value).filter(|value| !value.is_empty());
        Ok(())
    }

    /// The fields that were read so far.
    pub(super) fn fields(&self) -> &FormFields {
        &self.fields
    }

    /// Reads the fields behind the file.
    ///
    /// # Errors
    /// As [`Self::find_file`].
    pub(super) async fn finish(mut self) -> Result<FormFields, Error> {
        self.find_file().await?;
        Ok(self.fields)
    }
}

impl Stream for FormFile {
    type Item = Result<Bytes, ContentError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.field.poll_next_unpin(context).map_err(|error| {
            tracing::debug!(%error, "the form of an upload ended early");
            ContentError::Incomplete
        });
        // Of content the parser keeps nothing but what may be a boundary.
        self.unused.clear();
        polled
    }
}

#[cfg(test)]
mod tests {
    use futures::TryStreamExt;

    use super::*;

    fn form(text: &str) -> Form {
        Form::new("multipart/form-data; boundary=x", Body::from(text.replace('\n', "\r\n"))).unwrap()
    }

    #[tokio::test]
    async fn fields_count_before_and_behind_the_file() {
        let mut form = form(
            "--x\nContent-Disposition: form-data; name=\"metadata\"\n\n{\"a\":1}\n\
             --x\nContent-Disposition: form-data; name=\"\"; filename=\"f.png\"\nContent-Type: image/png\n\nPNG\n\
             --x\nContent-Disposition: form-data; name=\"cacheControl\"\n\n77\n--x--\n",
        );
        let file = form.find_file().await.unwrap().unwrap();
        assert_eq!(file.mime_type, "image/png");
        assert_eq!(form.fields().cache_control(), "no-cache");
        assert_eq!(file.try_collect::<Vec<_>>().await.unwrap().concat(), b"PNG");
        let fields = form.finish().await.unwrap();
        assert_eq!(fields.cache_control(), "max-age=77");
        assert_eq!(fields.user_metadata(), Some(serde_json::json!({"a": 1})));
    }

    #[tokio::test]
    async fn further_files_and_fields_do_not_count() {
        let file = |text: &str| format!("--x\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\n\n{text}\n");
        let field = "--x\nContent-Disposition: form-data; name=\"cacheControl\"\n\n77\n";
        let mut form = form(&format!("{}{}{}--x--\n", file("F"), file("G"), field.repeat(12)));
        let first = form.find_file().await.unwrap().unwrap();
        assert_eq!(first.mime_type, "text/plain");
        assert_eq!(first.try_collect::<Vec<_>>().await.unwrap().concat(), b"F");
        assert_eq!(form.finish().await.unwrap().cache_control(), "max-age=77");
    }

    #[tokio::test]
    async fn endless_and_incomplete_forms_are_refused() {
        let part = "--x\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\n\nF\n";
        let large = format!("{part}{}{}\n--x--\n", part.trim_end(), "G".repeat(MAXIMUM_IGNORED));
        let mut two = form(&large);
        let file = two.find_file().await.unwrap().unwrap();
        assert!(file.try_collect::<Vec<_>>().await.is_ok());
        assert!(two.finish().await.is_err());
        let mut many = form(&format!("{}--x--\n", part.repeat(MAXIMUM_PARTS + 2)));
        let file = many.find_file().await.unwrap().unwrap();
        assert!(file.try_collect::<Vec<_>>().await.is_ok());
        assert!(many.finish().await.is_err());
        let mut cut = form(&part[..part.len() - 4]);
        assert!(cut.find_file().await.is_err() || cut.find_file().await.is_err());
        assert!(Form::new("multipart/form-data", Body::empty()).is_err());
    }
}
