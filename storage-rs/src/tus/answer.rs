//! Responses.

use http::{HeaderMap, HeaderName, StatusCode};

use crate::response;

/// A response in the making: fields and a status.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
}

impl Answer {
    pub(super) fn new(status: StatusCode) -> Self {
        Self { status, headers: HeaderMap::new() }
    }

    pub(super) fn set(&mut self, name: &'static str, value: &str) {
        if let Some(value) = response::header_value(value) {
            self.headers.insert(HeaderName::from_static(name), value);
        }
    }
}
