//! Errors of the protocol: text with the status of the error.

use std::sync::Arc;

use crate::error::Error;
use crate::error::policy_refusal::PolicyRefusal;

/// Why a request is refused: the status and the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TusProblem {
    pub status: u16,
    pub text: String,
    /// What of row security refused it, for development.
    pub refusal: Option<Arc<PolicyRefusal>>,
    /// After how many seconds a repetition may succeed.
    pub retry_after: Option<u64>,
}

impl TusProblem {
    fn new(status: u16, text: impl Into<String>) -> Self {
        Self { status, text: text.into(), refusal: None, retry_after: None }
    }

    pub(super) fn version_required() -> Self {
        Self::new(412, "Tus-Resumable Required\n")
    }

    /// Header fields that do not have the form which the protocol demands.
    pub(super) fn invalid_headers(names: &[&str]) -> Self {
        Self::new(400, format!("Invalid {}\n", names.join(" ")))
    }

    pub(super) fn no_route() -> Self {
        Self::new(404, "Not found\n")
    }

    pub(super) fn not_found() -> Self {
        Self::new(404, "The file for this url was not found\n")
    }

    pub(super) fn expired() -> Self {
        Self::new(410, "The file for this url no longer exists\n")
    }

    pub(super) fn offset_required() -> Self {
        Self::new(403, "Upload-Offset header required\n")
    }

    pub(super) fn content_type_required() -> Self {
        Self::new(403, "Content-Type header required\n")
    }

    pub(super) fn offset_conflict() -> Self {
        Self::new(409, "Upload-Offset conflict\n")
    }

    pub(super) fn length_required() -> Self {
        Self::new(400, "Upload-Length or Upload-Defer-Length header required\n")
    }

    pub(super) fn maximum_exceeded() -> Self {
        Self::new(413, "Maximum size exceeded\n")
    }

    pub(super) fn size_exceeded() -> Self {
        Self::new(413, "upload's size exceeded\n")
    }

    pub(super) fn aborted() -> Self {
        Self::new(400, "Request aborted due to lock acquired")
    }

    pub(super) fn already_complete() -> Self {
        Self::new(400, "Cannot terminate an already completed upload")
    }

    pub(super) fn concatenation_unsupported() -> Self {
        Self::new(501, "Concatenation extension is not (yet) supported. Disable parallel uploads in the tus client.\n")
    }

    pub(super) fn metadata_required() -> Self {
        Self::new(400, "Metadata header is required")
    }

    pub(super) fn lock_timeout() -> Self {
        Self::new(503, "acquiring lock timeout")
    }
}

impl From<Error> for TusProblem {
    fn from(error: Error) -> Self {
        error.log();
        match error.refusal {
            Some(refusal) => {
                let text = format!("{}: {}", error.message, refusal.reason());
                Self { refusal: Some(refusal), ..Self::new(error.status, text) }
            }
            None => Self { retry_after: error.retry_after, ..Self::new(error.status, error.message) },
        }
    }
}
