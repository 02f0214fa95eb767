//! Where the initiator of a request is, as browsers tell it (W3C Fetch Metadata, `Sec-Fetch-Site`).

use http::{HeaderMap, HeaderName};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The relation of a request's initiator to this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchSite {
    /// A page of the same origin.
    SameOrigin,
    /// A page of another origin of the same site.
    SameSite,
    /// A page of another site.
    CrossSite,
    /// The user: an address that was typed, a bookmark.
    User,
}

impl FetchSite {
    /// Reads the header field; `None` if the client sends none: no browser, or one that is older (Safari before 16.4).
    ///
    /// Browsers send one field with a known value. Anything else counts as another site.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let mut fields = headers.get_all(SEC_FETCH_SITE).iter();
        let first = fields.next()?;
        if fields.next().is_some() {
            return Some(Self::CrossSite);
        }
        Some(match first.as_bytes() {
            b"same-origin" => Self::SameOrigin,
            b"same-site" => Self::SameSite,
            b"none" => Self::User,
            _ => Self::CrossSite,
        })
    }

    /// Returns whether a page of another origin made the browser send the request.
    pub fn is_foreign_page(self) -> bool {
        matches!(self, Self::SameSite | Self::CrossSite)
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn values_are_those_of_browsers() {
        let cases: [(&[&'static str], Option<FetchSite>); 7] = [
            (&[], None),
            (&["same-origin"], Some(FetchSite::SameOrigin)),
            (&["same-site"], Some(FetchSite::SameSite)),
            (&["cross-site"], Some(FetchSite::CrossSite)),
            (&["none"], Some(FetchSite::User)),
            (&["Same-Origin"], Some(FetchSite::CrossSite)),
            (&["same-origin", "same-origin"], Some(FetchSite::CrossSite)),
        ];
        for (values, expected) in cases {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(SEC_FETCH_SITE, HeaderValue::from_static(value));
            }
            assert_eq!(FetchSite::of(&headers), expected, "{values:?}");
        }
    }
}
