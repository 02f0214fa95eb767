//! An object in a form that a browser posts, with a signed policy.

use std::collections::BTreeMap;

use axum::body::Body;
use futures::StreamExt;
use http::StatusCode;
use multer::{Constraints, Multipart, SizeLimit};

use super::answer::S3Answer;
use super::authenticate::verify_signature;
use super::policy::{self, PolicyProblem};
use super::request::read_user_metadata;
use super::upload::{Announced, store};
use crate::backend::{ContentError, ContentHeaders};
use crate::error::{Code, Error};
use crate::objects::content::LimitedContent;
use crate::objects::form_body::{FormBody, Unused};
use crate::request::Call;
use crate::signature::Signature;
use crate::target::Target;

/// The most fields of a form.
const MAXIMUM_FIELDS: usize = 20;
/// The most bytes of all fields of a form: nobody has signed them when they are read.
const MAXIMUM_SIZE: usize = 1024 * 1024;

impl From<PolicyProblem> for Error {
    fn from(problem: PolicyProblem) -> Self {
        match problem {
            PolicyProblem::Invalid(message) => Self::invalid_signature(message),
            PolicyProblem::Expired => Self::new(Code::ExpiredToken, 400, "The provided token has expired."),
            PolicyProblem::Denied(message) => Self::access_denied(message),
        }
    }
}

/// Reads the fields before the file, verifies their signature, and stores the file.
pub(super) async fn post_object(mut call: Call, target: Target, body: Body) -> Result<S3Answer, Error> {
    let malformed = |error: multer::Error| Error::invalid_request("The form is malformed").because(error);
    let boundary = multer::parse_boundary(call.header("content-type").unwrap_or_default()).map_err(malformed)?;
    let sizes = SizeLimit::new().whole_stream(u64::MAX).per_field(u64::MAX);
    let constraints = Constraints::new().size_limit(sizes);
    let unused = Unused::default();
    let mut form = Multipart::with_constraints(FormBody::new(body, unused.clone()), boundary, constraints);
    let (mut fields, mut size) = (BTreeMap::new(), 0);
    let file = loop {
        let Some(mut field) = form.next_field().await.map_err(malformed)? else {
            return Err(Error::invalid_request("Invalid Parameter Missing file"));
        };
        unused.clear();
        if field.file_name().is_some() {
            break field;
        }
        let name = field.name().unwrap_or_default().to_ascii_lowercase();
        let mut value = Vec::new();
        while let Some(part) = field.chunk().await.map_err(malformed)? {
            unused.clear();
            value.extend_from_slice(&part);
            size += part.len();
            if size > MAXIMUM_SIZE {
                return Err(Error::too_large_part("field"));
            }
        }
        if fields.len() >= MAXIMUM_FIELDS {
            return Err(Error::invalid_request("reach fields limit"));
        }
        if fields.insert(name, String::from_utf8_lossy(&value).into_owned()).is_some() {
            return Err(Error::invalid_signature("Duplicate form field in POST policy request"));
        }
    };
    let find = |name: &str| fields.get(name).cloned();
    let signature = Signature::parse_form(find)?;
    verify_signature(&mut call, &[], signature)?;
    let policy = find("policy").unwrap_or_default();
    let sizes = policy::verify(&policy, &fields, &target.bucket, call.storage.now())?;
    let name = find("key").unwrap_or_default().replace("${filename}", file.file_name().unwrap_or_default());
    let content_type = find("content-type").filter(|value| !value.is_empty());
    let announced = Announced {
        target: Target { name, ..target },
        headers: ContentHeaders {
            content_type: content_type.unwrap_or_else(|| "application/octet-stream".to_owned()),
            cache_control: find("cache-control").unwrap_or_else(|| "no-cache".to_owned()),
        },
        user_metadata: read_user_metadata(fields.iter().map(|(name, value)| (name.as_str(), value.as_str()))),
        length: None,
        replaces: true,
    };
    let content = file.map(move |part| {
        unused.clear();
        part.map_err(|_| ContentError::Incomplete)
    });
    let etag = store(&call, announced, Some(sizes), |_, limit| Ok(LimitedContent::new(content, limit).boxed())).await?;
    let status = match find("success_action_status").as_deref() {
        Some("201") => StatusCode::CREATED,
        Some("204") => StatusCode::NO_CONTENT,
        _ => StatusCode::OK,
    };
    Ok(S3Answer::new(status).with("etag", &etag))
}
