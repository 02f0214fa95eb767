//! Paths of requests: segments as they were sent.

use http::Uri;
use http::uri::PathAndQuery;
use uuid::Uuid;

use super::error::DeskError;

/// Returns the target by which the router finds a path below that of the API.
///
/// The router decodes the parameters of a path; encoded once more, each is the segment as it was sent. An empty segment, which
/// no parameter matches, becomes U+0000, which no path can have and no id is.
pub(crate) fn to_target(path: &str, query: Option<&str>) -> Uri {
    let encode = |segment: &str| if segment.is_empty() { "%00".to_owned() } else { segment.replace('%', "%25") };
    let mut target: String = path.split('/').skip(1).flat_map(|segment| ["/".to_owned(), encode(segment)]).collect();
    if let Some(query) = query {
        target.extend(["?", query]);
    }
    PathAndQuery::try_from(target).map(Uri::from).unwrap_or_default()
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
        for (path, query, target) in [
            ("", None, "/"),
            ("/", None, "/%00"),
            ("/orders", Some("limit=1&x=%00"), "/orders?limit=1&x=%00"),
            ("/orders/", None, "/orders/%00"),
            ("/orders//resend", None, "/orders/%00/resend"),
            ("/%6frders/a%2Fb", None, "/%256frders/a%252Fb"),
        ] {
            assert_eq!(to_target(path, query), target, "{path}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_paths_do_not_panic(path in "(/[a-z%\\PC]{0,12}){0,4}") {
            let _ = to_target(&path, Some(&path));
        }
    }
}
