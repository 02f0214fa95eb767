//! Paths of requests: segments as they were sent.

use http::Uri;
use http_edge::request::with_path;
use uuid::Uuid;

use super::error::DeskError;
use crate::paths::API_PATH;

/// Returns the target by which the router finds a path below [`API_PATH`].
///
/// The router decodes the parameters of a path; encoded once more, each is the segment as it was sent. An empty segment, which
/// no parameter matches, becomes U+0000, which no path can have and no id is.
pub(crate) fn to_target(uri: &Uri) -> Uri {
    let path = uri.path().strip_prefix(API_PATH).unwrap_or_default();
    let encode = |segment: &str| if segment.is_empty() { "%00".to_owned() } else { segment.replace('%', "%25") };
    let target: String = path.split('/').skip(1).flat_map(|segment| ["/".to_owned(), encode(segment)]).collect();
    with_path(uri, if target.is_empty() { "/" } else { &target })
}

/// Parses the id of a path.
///
/// # Errors
/// 404 if it is none.
pub fn parse_id(text: &str, what: &str) -> Result<Uuid, DeskError> {
    Uuid::parse_str(text).map_err(|_| DeskError::not_found(what))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn segments_are_kept_as_they_were_sent() {
        for (path, target) in [
            ("", "/"),
            ("?x", "/?x"),
            ("/", "/%00"),
            ("/orders?limit=1&x=%00", "/orders?limit=1&x=%00"),
            ("/orders/", "/orders/%00"),
            ("/orders//resend", "/orders/%00/resend"),
            ("/%6frders/a%2Fb", "/%256frders/a%252Fb"),
        ] {
            let uri = Uri::try_from(format!("{API_PATH}{path}")).expect("a target");
            assert_eq!(to_target(&uri), target, "{path}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_paths_do_not_panic(path in "(/[a-z%\\PC]{0,12}){0,4}") {
            if let Ok(uri) = Uri::try_from(format!("{API_PATH}{path}?{path}")) {
                to_target(&uri);
            }
        }
    }
}
