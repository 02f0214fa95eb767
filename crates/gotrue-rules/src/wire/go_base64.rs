//! Base64 as Go decodes it: line breaks and bits that encode nothing are ignored.

use base64::Engine as _;
use base64::alphabet::{Alphabet, STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Decodes a text of this alphabet, with padding or without.
pub fn decode(text: &str, alphabet: &Alphabet, is_padded: bool) -> Option<Vec<u8>> {
    let padding = if is_padded { DecodePaddingMode::RequireCanonical } else { DecodePaddingMode::RequireNone };
    let config = GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true).with_decode_padding_mode(padding);
    let text: String = text.chars().filter(|c| !matches!(c, '\n' | '\r')).collect();
    GeneralPurpose::new(alphabet, config).decode(text).ok()
}

/// Decodes a text of either alphabet, as the reference's library of JSON web keys does.
///
/// `+` or `/` means the standard alphabet, `=` at the end means padding.
pub fn decode_any(text: &str) -> Option<Vec<u8>> {
    let alphabet = if text.contains(['+', '/']) { &STANDARD } else { &URL_SAFE };
    decode(text, alphabet, text.ends_with('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alphabet_and_padding_are_recognised() {
        for text in ["-_8", "-_8=", "+/8", "+/8=", "-_9", "+/9=", "-\r\n_8"] {
            assert_eq!(decode_any(text), Some(vec![0xfb, 0xff]), "{text}");
        }
        for text in ["+_8", "-_8==", "-_8=\n", "-", "ä"] {
            assert_eq!(decode_any(text), None, "{text}");
        }
        assert_eq!(decode_any(""), Some(Vec::new()));
    }

    #[test]
    fn padding_is_as_expected() {
        assert_eq!(decode("-_8", &URL_SAFE, false), decode("-_8=", &URL_SAFE, true));
        assert_eq!([decode("-_8=", &URL_SAFE, false), decode("-_8", &URL_SAFE, true)], [None, None]);
    }
}
