//! The languages of built-in messages, and which of them a reader wants.

use serde_json::{Map, Value};

/// A language of built-in messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    /// English, also for readers of other languages.
    #[default]
    English,
    German,
    French,
    Spanish,
}

/// Members of the user metadata that name a language, the first that does counts.
const METADATA_MEMBERS: [&str; 2] = ["locale", "language"];
/// Ranges of `Accept-Language` that are read; further ones are ignored.
const MAX_RANGES: usize = 32;
/// The weight 1 in thousandths.
const FULL_WEIGHT: u16 = 1000;

impl Language {
    pub const ALL: [Self; 4] = [Self::English, Self::German, Self::French, Self::Spanish];

    /// Returns the language subtag (BCP 47).
    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
            Self::French => "fr",
            Self::Spanish => "es",
        }
    }

    /// Returns the language of a tag: `de`, `de-AT`, or a locale such as `de_CH.UTF-8`.
    pub fn from_tag(tag: &str) -> Option<Self> {
        let subtag = tag.trim().split(['-', '_', '.', '@']).next()?;
        Self::ALL.into_iter().find(|language| subtag.eq_ignore_ascii_case(language.tag()))
    }

    /// Returns the language with the highest weight in `Accept-Language` (RFC 9110 §12.5.4).
    ///
    /// The first of equal weights counts. Invalid ranges are skipped.
    pub fn negotiate(header: &str) -> Option<Self> {
        let ranges = header.split(',').take(MAX_RANGES).filter_map(|range| {
            let (tag, parameter) = range.split_once(';').unwrap_or((range, ""));
            Some((Self::from_tag(tag)?, parse_weight(parameter)?))
        });
        let mut best: Option<(Self, u16)> = None;
        for (language, weight) in ranges.filter(|(_, weight)| *weight > 0) {
            if best.is_none_or(|(_, known)| weight > known) {
                best = Some((language, weight));
            }
        }
        best.map(|(language, _)| language)
    }

    /// Returns the language of a user.
    ///
    /// It is that of the metadata, else of the request's `Accept-Language`, else English.
    pub fn of_user(metadata: &Map<String, Value>, header: Option<&str>) -> Self {
        let stated = METADATA_MEMBERS.iter().find_map(|name| Self::from_tag(metadata.get(*name)?.as_str()?));
        stated.or_else(|| Self::negotiate(header?)).unwrap_or_default()
    }
}

/// Parses `q=0.5` into thousandths; without a parameter the weight is 1.
fn parse_weight(parameter: &str) -> Option<u16> {
    let parameter = parameter.trim();
    if parameter.is_empty() {
        return Some(FULL_WEIGHT);
    }
    let value = parameter.strip_prefix("q=").or_else(|| parameter.strip_prefix("Q="))?;
    let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
    let is_valid = fraction.len() <= 3 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let thousandths: u16 = format!("{fraction:0<3}").parse().ok().filter(|_| is_valid)?;
    match whole {
        "0" => Some(thousandths),
        "1" if thousandths == 0 => Some(FULL_WEIGHT),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn accept_language_selects_the_highest_known_weight() {
        for (header, expected) in [
            ("de", Some(Language::German)),
            ("de-CH, fr;q=0.9, en;q=0.8", Some(Language::German)),
            ("ja, fr;q=0.3, es;q=0.31", Some(Language::Spanish)),
            ("fr;q=0.5, de;q=0.5", Some(Language::French)),
            ("FR-ca;Q=1.000", Some(Language::French)),
            (" en ; q=0.2 , es ;q=0.1", Some(Language::English)),
            ("de;q=0", None),
            ("de;q=2, es;q=0.1234, fr;q=-1", None),
            ("de;level=1", None),
            ("*", None),
            ("ja, zh;q=0.9", None),
            ("", None),
        ] {
            assert_eq!(Language::negotiate(header), expected, "{header}");
        }
    }

    #[test]
    fn metadata_precedes_the_header() {
        let of = |metadata: Value, header| Language::of_user(metadata.as_object().expect("an object"), header);
        assert_eq!(of(json!({"locale": "de_AT.UTF-8"}), Some("fr")), Language::German);
        assert_eq!(of(json!({"language": "es"}), Some("fr")), Language::Spanish);
        assert_eq!(of(json!({"locale": "ja", "language": "es"}), Some("fr")), Language::Spanish);
        assert_eq!(of(json!({"locale": 7}), Some("fr")), Language::French);
        assert_eq!(of(json!({"locale": "ja"}), Some("ja")), Language::English);
        assert_eq!(of(json!({}), None), Language::English);
    }

    proptest! {
        #[test]
        fn a_language_is_only_selected_if_the_header_names_it(header in "\\PC{0,80}") {
            if let Some(language) = Language::negotiate(&header) {
                prop_assert!(header.to_ascii_lowercase().contains(language.tag()));
            }
        }

        #[test]
        fn every_valid_weight_is_read(index in 0_usize..4, weight in 1_u16..=1000) {
            let language = Language::ALL[index];
            let header = format!("{};q={}.{:03}", language.tag(), weight / 1000, weight % 1000);
            prop_assert_eq!(Language::negotiate(&header), Some(language));
        }
    }
}
