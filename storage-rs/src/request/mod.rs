//! Requests: path, query and body.

pub mod fields;
pub mod json_body;
mod query;

use std::future::Future;
use std::sync::Arc;

use http::request::Parts;
use http_edge::request::ResolvedRequest;
use percent_encoding::percent_decode_str;
use postgrest_rs::service::dependencies::{TokenIsApiKey, machine_time};

use crate::caller::{Caller, find_token};
use crate::database::scope::Scope;
use crate::error::Error;
use crate::limits::UploadTurn;
use crate::storage::Storage;

pub use self::query::Query;

/// A request on its way to its handler.
#[derive(Debug)]
pub struct Call {
    /// The API.
    pub storage: Arc<Storage>,
    /// Method, target and header fields.
    pub parts: Parts,
    /// The path behind the prefix of the API, as it was sent.
    pub path: String,
    pub query: Query,
    /// The name of the operation, for policies.
    pub operation: &'static str,
    /// Who sends it.
    pub caller: Caller,
}

impl Call {
    /// The scope of the caller.
    pub fn scope(&self) -> Scope {
        let method = self.parts.method.as_str();
        Scope::new(self.caller.clone(), &self.parts.headers, method, &self.path, self.operation)
    }

    /// The scope of the server itself on behalf of the request.
    pub fn service_scope(&self) -> Scope {
        self.scope().as_service(&self.storage.config().service_role)
    }

    /// A header field as text; `None` when it is missing or no text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.parts.headers.get(name).and_then(|value| std::str::from_utf8(value.as_bytes()).ok())
    }

    /// As [`Self::header`]; an empty one counts as missing.
    pub fn filled_header(&self, name: &str) -> Option<&str> {
        self.header(name).filter(|value| !value.is_empty())
    }

    /// The value of `Content-Length`.
    pub fn content_length(&self) -> Option<u64> {
        self.header("content-length")?.trim().parse().ok()
    }

    /// Whether the request replaces an object that exists.
    pub fn is_upsert(&self) -> bool {
        self.header("x-upsert") == Some("true")
    }

    /// The network of the client, if the router before this API knows it.
    pub(crate) fn network(&self) -> Option<String> {
        let client = self.parts.extensions.get::<ResolvedRequest>()?.client?;
        Some(client.network().to_string())
    }

    /// Waits for the turn of an upload, which lasts as long as the value.
    ///
    /// # Errors
    /// 429: there are too many uploads at a time.
    pub(crate) async fn wait_for_upload_turn(&self) -> Result<UploadTurn, Error> {
        self.storage.upload_turns().wait(self.network()).await
    }

    /// The token of a signed URL.
    ///
    /// # Errors
    /// 400: there is none, or several.
    pub fn url_token(&self) -> Result<String, Error> {
        let query = fields::Fields::of_query(&self.query);
        query.require(&["token"])?;
        Ok(query.text("token")?.unwrap_or_default())
    }

    /// Verifies the token of the request.
    ///
    /// # Errors
    /// 403: there is none, or it cannot be verified. 400 where the header is missing and has to be there.
    pub fn authenticate(&mut self) -> Result<(), Error> {
        let config = self.storage.config();
        if config.requires_authorization_header && !self.parts.headers.contains_key(http::header::AUTHORIZATION) {
            return Err(Error::validation("headers must have required property 'authorization'"));
        }
        self.authenticate_by_token()
    }

    /// Verifies the token of the request, an empty one if there is no header.
    ///
    /// # Errors
    /// 403: there is none, or it cannot be verified.
    pub fn authenticate_by_token(&mut self) -> Result<(), Error> {
        let keys = self.storage.keys();
        // The clock of a test moves what users have, not the keys of the project.
        let is_api_key = self.parts.extensions.get::<TokenIsApiKey>().is_some();
        let now = if is_api_key { machine_time() } else { self.storage.now().timestamp() };
        let check = self.storage.config().token_check.as_ref();
        self.caller = Caller::authenticate(&keys, check, find_token(&self.parts.headers), now)?;
        Ok(())
    }

    /// Verifies the token of the request, which is anonymous without a valid one.
    pub fn authenticate_if_valid(&mut self) {
        // What is wrong with the token does not matter: the bucket decides.
        if self.authenticate_by_token().is_err() {
            self.caller = Caller::anonymous();
        }
    }
}

/// Runs work that is not to stop when the client is gone, and waits for it.
pub(crate) async fn complete<T: Send + 'static>(
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Error> {
    tokio::spawn(work).await.map_err(Error::internal)?
}

/// A path whose percent encoding is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MalformedPath;

/// A part of a path without its percent encoding; `None` when it is malformed or no UTF-8.
pub fn decode_path(part: &str) -> Option<String> {
    let bytes = part.as_bytes();
    let is_malformed = |index: usize| {
        bytes[index] == b'%'
            && !bytes.get(index + 1..index + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if (0..bytes.len()).any(is_malformed) {
        return None;
    }
    percent_decode_str(part).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_paths_are_refused() {
        assert_eq!(decode_path("a%2Fb+c").as_deref(), Some("a/b+c"));
        for path in ["%zz", "a%", "a%2", "%ff", "%c3"] {
            assert_eq!(decode_path(path), None, "{path}");
        }
    }

    proptest::proptest! {
        #[test]
        fn encoded_names_are_decoded_to_themselves(name in "\\PC{0,40}") {
            let encoded = percent_encoding::utf8_percent_encode(&name, percent_encoding::NON_ALPHANUMERIC).to_string();
            proptest::prop_assert_eq!(decode_path(&encoded), Some(name));
        }
    }
}
