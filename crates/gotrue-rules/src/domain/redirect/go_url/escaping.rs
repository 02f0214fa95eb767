//! Percent-encoding of the parts of a URL as Go's `net/url` does it.

/// Why a URL is malformed, by Go's rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UrlError(pub(super) &'static str);

pub(super) type UrlResult<T> = Result<T, UrlError>;

/// The parts of a URL, which differ in the characters that are escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UrlPart {
    Path,
    Host,
    Zone,
    User,
    Query,
    Fragment,
}

impl UrlPart {
    /// Whether a byte is unescaped in this part.
    fn is_unescaped(self, byte: u8) -> bool {
        let more: &[u8] = match self {
            Self::Path => b"$&+,/:;=@",
            Self::Host | Self::Zone => b"!\"$&'()*+,:;<=>[]",
            Self::User => b"$&+,;=",
            Self::Query => b"",
            Self::Fragment => b"!$&()*+,/:;=?@",
        };
        byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || more.contains(&byte)
    }
}

pub(super) fn escape(bytes: &[u8], part: UrlPart) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if part.is_unescaped(byte) {
            text.push(char::from(byte));
        } else if byte == b' ' && part == UrlPart::Query {
            text.push('+');
        } else {
            text.extend(['%', char::from(HEX[usize::from(byte >> 4)]), char::from(HEX[usize::from(byte & 15)])]);
        }
    }
    text
}

pub(super) fn unescape(text: &str, part: UrlPart) -> UrlResult<Vec<u8>> {
    const ESCAPE: UrlError = UrlError("a percent sign in it is not followed by what may stand there");
    let is_host = matches!(part, UrlPart::Host | UrlPart::Zone);
    let bytes = text.as_bytes();
    let mut unescaped = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'%' => {
                let digits = text.get(at..at + 2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
                let digits = digits.ok_or(ESCAPE)?;
                let value = u8::from_str_radix(digits, 16).map_err(|_| ESCAPE)?;
                let allowed = match part {
                    UrlPart::Host => value >= 0x80 || digits == "25",
                    UrlPart::Zone => digits == "25" || value == b' ' || UrlPart::Host.is_unescaped(value),
                    _ => true,
                };
                if !allowed {
                    return Err(ESCAPE);
                }
                unescaped.push(value);
                at += 2;
            }
            b'+' if part == UrlPart::Query => unescaped.push(b' '),
            _ if is_host && byte < 0x80 && !part.is_unescaped(byte) => {
                return Err(UrlError("there is a character in its host that is not allowed there"));
            }
            _ => unescaped.push(byte),
        }
    }
    Ok(unescaped)
}

/// Whether a text can be written unchanged: each character is escaped or allowed by RFC 3986.
pub(super) fn is_escaped(text: &str, part: UrlPart) -> bool {
    text.bytes().all(|byte| b"!$&'()*+,;=:@[]%".contains(&byte) || part.is_unescaped(byte))
}
