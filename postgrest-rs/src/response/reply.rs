//! Replies and their bodies.

use bytes::Bytes;
use futures::TryStreamExt;

use crate::execute::spool::Spool;
use crate::request::ApiRequest;
use crate::request::media_type::MediaType;

/// The body of a response.
#[derive(Debug, Clone)]
pub enum Body {
    /// In memory.
    Whole(Bytes),
    /// In a file.
    Spooled(Spool),
}

impl Default for Body {
    fn default() -> Self {
        Self::Whole(Bytes::new())
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self::Whole(bytes)
    }
}

impl Body {
    /// The number of bytes.
    pub fn length(&self) -> usize {
        match self {
            Self::Whole(bytes) => bytes.len(),
            Self::Spooled(spool) => spool.length(),
        }
    }

    /// All bytes in memory.
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn collect(self) -> std::io::Result<Bytes> {
        match self {
            Self::Whole(bytes) => Ok(bytes),
            Self::Spooled(spool) => {
                let parts: Vec<Bytes> = spool.into_stream().try_collect().await?;
                Ok(Bytes::from(parts.concat()))
            }
        }
    }
}

/// What a statement answered.
#[derive(Debug, Clone, Default)]
pub struct ResultSet {
    /// The number of rows without the range, where it was counted or estimated.
    pub total: Option<i64>,
    /// The number of rows in the range.
    pub rows: i64,
    /// The primary key of the only row inserted: columns, and values with their operator (`eq.1`).
    pub location: Vec<(String, String)>,
    /// The body in the media type asked for.
    pub body: Body,
    /// The setting `response.headers`.
    pub headers: Option<String>,
    /// The setting `response.status`.
    pub status: Option<String>,
    /// The number of rows inserted by an upsert.
    pub inserted: Option<i64>,
}

/// A response before it is sent.
#[derive(Debug, Clone)]
pub struct Reply {
    /// HTTP status; the database may choose any number.
    pub status: u16,
    /// Reason phrase, where the database gives one.
    pub reason: Option<String>,
    /// Header fields.
    pub headers: Vec<(String, String)>,
    pub body: Body,
}

impl Reply {
    pub(super) fn new(status: u16) -> Self {
        Self { status, reason: None, headers: Vec::new(), body: Body::default() }
    }

    pub(super) fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub(super) fn optional_header(self, name: &str, value: Option<String>) -> Self {
        match value {
            Some(value) => self.header(name, value),
            None => self,
        }
    }

    /// The reply with a body of this type, and the schema where it was negotiated.
    pub(super) fn content(mut self, request: &ApiRequest, media_type: &MediaType, body: impl Into<Body>) -> Self {
        let profile = request.negotiated_by_profile.then(|| request.schema.clone());
        self.body = body.into();
        self.header("Content-Type", media_type.content_type()).optional_header("Content-Profile", profile)
    }

    /// The reply as an HTTP response. Header fields that HTTP cannot carry are left out; a status that it cannot carry is 500.
    pub fn into_response(self) -> http::Response<Body> {
        let mut response = http::Response::new(self.body);
        let status = http::StatusCode::from_u16(self.status).ok().filter(|status| !status.is_informational());
        *response.status_mut() = status.unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
        for (name, value) in self.headers {
            let name = http::HeaderName::from_bytes(name.as_bytes());
            if let (Ok(name), Ok(value)) = (name, http::HeaderValue::from_bytes(value.as_bytes())) {
                response.headers_mut().append(name, value);
            }
        }
        let reason = self.reason.and_then(|reason| hyper::ext::ReasonPhrase::try_from(reason.into_bytes()).ok());
        if let Some(reason) = reason {
            response.extensions_mut().insert(reason);
        }
        response
    }
}
