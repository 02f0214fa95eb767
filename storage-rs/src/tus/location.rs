//! The URL of an upload.

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, URL_SAFE_NO_PAD};
use http::HeaderMap;

use crate::error::{Code, Error};
use crate::names;

/// Base64 with the digits of URLs, with padding or without.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// What the last segment of the URL of an upload says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UploadId {
    pub bucket: String,
    pub name: String,
    /// The id of the upload, which becomes the version of the object. No upload has another than a UUID.
    pub version: String,
}

impl UploadId {
    /// Reads the last segment of a URL.
    ///
    /// # Errors
    /// It names neither a bucket nor an object.
    pub(super) fn parse(segment: &str) -> Result<Self, Error> {
        let invalid = |message: &'static str| Error::new(Code::InvalidUploadId, 400, message);
        let text = LENIENT.decode(segment).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
        let (object, version) = text.rsplit_once('/').ok_or_else(|| invalid("Invalid upload id"))?;
        if version.is_empty() {
            return Err(invalid("Version not provided"));
        }
        let (bucket, name) = object.split_once('/').unwrap_or((object, ""));
        let id = Self { bucket: bucket.to_owned(), name: name.to_owned(), version: version.to_owned() };
        id.check()?;
        Ok(id)
    }

    /// Checks the names.
    ///
    /// # Errors
    /// The name of the bucket or the object is not valid.
    pub(super) fn check(&self) -> Result<(), Error> {
        names::check_bucket_name(&self.bucket)?;
        names::check_object_name(&self.name)
    }

    /// Writes the last segment of a URL.
    pub(super) fn format(&self) -> String {
        URL_SAFE_NO_PAD.encode(format!("{}/{}/{}", self.bucket, self.name, self.version))
    }
}

/// Where clients see the API.
pub(super) struct Base<'a> {
    pub headers: &'a HeaderMap,
    /// The URL that is configured.
    pub public_url: Option<&'a str>,
    /// The path of uploads.
    pub path: &'a str,
}

impl Base<'_> {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok()).filter(|value| !value.is_empty())
    }

    /// The URL of an upload.
    pub(super) fn url(&self, id: &UploadId, is_signed: bool) -> String {
        let suffix = if is_signed { "/sign" } else { "" };
        let path = self.path.trim_end_matches('/');
        format!("{}{path}{suffix}/{}", self.origin(), id.format())
    }

    fn origin(&self) -> String {
        if let Some(url) = self.public_url.and_then(|url| url.parse::<http::Uri>().ok())
            && let (Some(scheme), Some(authority)) = (url.scheme_str(), url.authority())
        {
            return format!("{scheme}://{authority}");
        }
        let (mut host, mut scheme) = (None, None);
        if let Some(forwarded) = self.header("forwarded") {
            for parameter in forwarded.split([',', ';']) {
                match parameter.trim().split_once('=') {
                    Some((name, value)) if name.eq_ignore_ascii_case("host") => {
                        host = host.or(Some(value.trim_matches('"')));
                    }
                    Some((name, value @ ("http" | "https"))) if name.eq_ignore_ascii_case("proto") => {
                        scheme = scheme.or(Some(value));
                    }
                    _ => {}
                }
            }
        }
        scheme = scheme.or(self.header("x-forwarded-proto").filter(|scheme| matches!(*scheme, "http" | "https")));
        let forwarded_host = self.header("x-forwarded-host");
        let host = host.or(forwarded_host).or(self.header("host")).unwrap_or("localhost");
        let mut host = host.to_owned();
        let port = self.header("x-forwarded-port").filter(|port| !matches!(*port, "80" | "443"));
        if let (Some(_), Some(port)) = (forwarded_host, port.and_then(|port| port.parse::<u16>().ok())) {
            let without_port = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
            let name = without_port.map_or(host.as_str(), |(name, _)| name);
            host = format!("{name}:{port}");
        }
        format!("{}://{host}", scheme.unwrap_or("http"))
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn origin(fields: &[(&'static str, &'static str)], public_url: Option<&str>) -> String {
        let headers =
            fields.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect();
        Base { headers: &headers, public_url, path: "" }.origin()
    }

    #[test]
    fn origin_is_that_of_the_client() {
        for (fields, expected) in [
            (vec![("host", "a:54321")], "http://a:54321"),
            (
                vec![("host", "a"), ("x-forwarded-proto", "https"), ("x-forwarded-host", "b.example")],
                "https://b.example",
            ),
            (vec![("x-forwarded-host", "b"), ("x-forwarded-port", "8443")], "http://b:8443"),
            (vec![("x-forwarded-host", "b:1"), ("x-forwarded-port", "8443")], "http://b:8443"),
            (vec![("x-forwarded-host", "b"), ("x-forwarded-port", "443")], "http://b"),
            (vec![("host", "a"), ("x-forwarded-port", "8443")], "http://a"),
            (
                vec![("forwarded", "for=1.2.3.4;host=\"c.example:9\";proto=https"), ("x-forwarded-host", "b")],
                "https://c.example:9",
            ),
        ] {
            assert_eq!(origin(&fields, None), expected, "{fields:?}");
            assert_eq!(origin(&fields, Some("https://public.example/storage/v1")), "https://public.example");
        }
    }

    proptest! {
        #[test]
        fn ids_survive_urls(bucket in "[a-z]{1,9}", name in "[a-z/ !]{1,30}", version in "[0-9a-f-]{1,36}", other in "\\PC{0,40}") {
            let id = UploadId { bucket, name, version };
            prop_assert_eq!(UploadId::parse(&id.format()), Ok(id));
            let _ = UploadId::parse(&other);
        }
    }
}
