//! The header `Upload-Metadata`: keys, each with a value in Base64 or none.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD as PADDED};

/// Values of the header, of which the last digit may have bits that are not used.
const LENIENT: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

/// The metadata of an upload, in the order of the client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct UploadMetadata(Vec<(String, Option<String>)>);

impl UploadMetadata {
    /// Parses the header; `None` if it is malformed.
    pub(super) fn parse(header: &str) -> Option<Self> {
        if header.trim().is_empty() {
            return None;
        }
        let mut pairs: Vec<(String, Option<String>)> = Vec::new();
        for pair in header.split(',') {
            let (key, value) = match pair.split_once(' ') {
                Some((key, value)) => (key, Some(value)),
                None => (pair, None),
            };
            let is_key = !key.is_empty() && key.is_ascii();
            if !is_key || pairs.iter().any(|(other, _)| other == key) {
                return None;
            }
            let value = match value.filter(|value| !value.is_empty()) {
                None => None,
                Some(value) => Some(String::from_utf8_lossy(&LENIENT.decode(value).ok()?).into_owned()),
            };
            pairs.push((key.to_owned(), value));
        }
        Some(Self(pairs))
    }

    /// Formats the header.
    pub(super) fn format(&self) -> String {
        let pairs: Vec<_> = self
            .0
            .iter()
            .map(|(key, value)| match value {
                None => key.clone(),
                Some(value) => format!("{key} {}", PADDED.encode(value)),
            })
            .collect();
        pairs.join(",")
    }

    /// The value of a key.
    pub(super) fn get(&self, wanted: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == wanted).and_then(|(_, value)| value.as_deref())
    }

    /// Sets the value of a key.
    pub(super) fn set(&mut self, wanted: &str, value: String) {
        match self.0.iter_mut().find(|(key, _)| key == wanted) {
            Some((_, former)) => *former = Some(value),
            None => self.0.push((wanted.to_owned(), Some(value))),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pairs_are_read_and_written_in_their_order() {
        let header = "bucketName cmMtYm9hcmQ=,empty,objectName b3Blbi90dXMudHh0";
        let metadata = UploadMetadata::parse(header).unwrap();
        assert_eq!((metadata.get("bucketName"), metadata.get("empty")), (Some("rc-board"), None));
        assert_eq!(metadata.format(), header);
        for malformed in ["", " ", "a,a", "ä YQ==", "a YQ", "a YQ== b", "a ?", ",a", "a  YQ=="] {
            assert_eq!(UploadMetadata::parse(malformed), None, "{malformed}");
        }
    }

    proptest! {
        #[test]
        fn values_survive(value in "\\PC{1,40}", header in "[a-zA-Z0-9 ,=+/]{0,60}") {
            let mut metadata = UploadMetadata::default();
            metadata.set("key", value);
            prop_assert_eq!(UploadMetadata::parse(&metadata.format()), Some(metadata));
            if let Some(parsed) = UploadMetadata::parse(&header) {
                prop_assert_eq!(UploadMetadata::parse(&parsed.format()), Some(parsed));
            }
        }
    }
}
