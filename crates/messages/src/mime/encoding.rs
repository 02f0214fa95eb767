//! Transfer encodings and character sets (RFC 2045 §6, RFC 2046 §4.1.2).

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Base64 with or without padding, as lenient as mail programs.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Characters 0x80 to 0x9f of windows-1252; the others are those of ISO 8859-1.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘', '’',
    '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// Decodes a body by its `Content-Transfer-Encoding`; a body that it does not fit stays as it is.
pub(super) fn decode_body(body: &[u8], encoding: &str) -> Vec<u8> {
    match encoding.trim().to_ascii_lowercase().as_str() {
        "base64" => decode_base64(body).unwrap_or_else(|| body.to_vec()),
        "quoted-printable" => decode_quoted_printable(body),
        _ => body.to_vec(),
    }
}

/// Decodes Base64; characters outside its alphabet are ignored.
pub(super) fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    let digits: Vec<u8> =
        text.iter().copied().filter(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(byte)).collect();
    BASE64.decode(digits).ok()
}

/// Decodes quoted-printable; an invalid escape stays.
pub(super) fn decode_quoted_printable(text: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let content = line.trim_ascii_end();
        let end: &[u8] = if line.ends_with(b"\r\n") {
            b"\r\n"
        } else if line.ends_with(b"\n") {
            b"\n"
        } else {
            b""
        };
        let (content, end) = content.strip_suffix(b"=").map_or((content, end), |content| (content, &b""[..]));
        decode_escapes(content, &mut decoded);
        decoded.extend_from_slice(end);
    }
    decoded
}

/// Appends bytes with `=XX` replaced.
pub(super) fn decode_escapes(text: &[u8], decoded: &mut Vec<u8>) {
    let digit = |at: usize| text.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        if let (b'=', Some(high), Some(low)) = (byte, digit(at + 1), digit(at + 2)) {
            decoded.extend(u8::try_from(high * 16 + low));
            at += 3;
        } else {
            decoded.push(*byte);
            at += 1;
        }
    }
}

/// Decodes text of a character set; of an unknown one as UTF-8.
pub(super) fn decode_charset(bytes: &[u8], charset: &str) -> String {
    let is_latin =
        ["iso-8859-1", "latin1", "windows-1252", "cp1252"].iter().any(|label| charset.eq_ignore_ascii_case(label));
    let text = if is_latin {
        bytes.iter().map(|byte| decode_windows_1252(*byte)).collect()
    } else {
        String::from_utf8_lossy(bytes).into_owned()
    };
    // PostgreSQL has no text with this character.
    text.replace('\0', "")
}

fn decode_windows_1252(byte: u8) -> char {
    let special = byte.checked_sub(0x80).and_then(|at| WINDOWS_1252.get(usize::from(at)));
    special.copied().unwrap_or(char::from(byte))
}
