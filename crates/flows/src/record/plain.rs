//! Which texts are parts of the API and can be written to a file; all others are replaced.

use std::net::Ipv4Addr;

/// Members whose values are words of the API.
const WORD_MEMBERS: [&str; 47] = [
    "aal",
    "action",
    "alg",
    "amr",
    "attestation",
    "aud",
    "authenticatorAttachment",
    "channel",
    "code_challenge_method",
    "content-type",
    "currentLevel",
    "current_level",
    "error",
    "error_code",
    "factor_type",
    "flow_type",
    "grant_type",
    "kind",
    "method",
    "mode",
    "newer",
    "nextLevel",
    "older",
    "prompt",
    "provider",
    "providers",
    "reasons",
    "redirect_type",
    "residentKey",
    "response_mode",
    "response_type",
    "role",
    "sb",
    "scope",
    "sms_provider",
    "status",
    "token_endpoint_auth_method",
    "token_type",
    "transports",
    "typ",
    "type",
    "userVerification",
    "user_verification",
    "verification_type",
    "weak_password",
    "www-authenticate",
    "x-sb-error-code",
];
/// Words of the API that have digits or capital letters.
const KNOWN_WORDS: [&str; 16] = [
    "aal1",
    "aal2",
    "aal3",
    "S256",
    "s256",
    "HS256",
    "ES256",
    "RS256",
    "Bearer",
    "JWT",
    "web3",
    "sha1",
    "SHA1",
    "Basic",
    "application/json",
    "application/x-www-form-urlencoded",
];
/// Members with a sentence of the server.
const SENTENCE_MEMBERS: [&str; 6] = ["msg", "message", "error_description", "hint", "title", "detail"];
/// The longest word of the API.
const MAX_WORD: usize = 60;
/// The longest sentence.
const MAX_SENTENCE: usize = 300;
/// The longest name of a member.
const MAX_NAME: usize = 40;
/// The longest part of a name between separators.
const MAX_PART: usize = 20;
/// The most pieces of a part of a sentence with capital letters, such as `GOTRUE_SITE_URL`.
const MAX_PIECES: usize = 5;
/// The most digits of a name or a sentence.
const MAX_DIGITS: usize = 4;
/// The longest part of a word of the API between separators.
const MAX_WORD_PART: usize = 16;

/// Headers with a number, such as a place in a file.
const NUMBER_HEADERS: [&str; 5] = ["range", "content-range", "cache-control", "upload-length", "upload-offset"];
/// The longest header that is kept.
const MAX_HEADER: usize = 120;
/// The most digits of such a number.
const MAX_NUMBER_DIGITS: usize = 10;

/// The fewest parts of a code in groups of letters.
const MIN_CODE_PARTS: usize = 3;
/// The longest part of such a code.
const MAX_CODE_PART: usize = 4;

/// Returns whether the value of a member is a word of the API.
pub(super) fn is_word_member(name: &str) -> bool {
    WORD_MEMBERS.contains(&name)
}

/// Returns whether the value of a member is a sentence of the server.
pub(super) fn is_sentence_member(name: &str) -> bool {
    SENTENCE_MEMBERS.contains(&name)
}

/// Returns whether a text can be a word of an API, such as `email_change` or `application/json`.
pub(super) fn is_word(text: &str) -> bool {
    let is_separator = |each: char| matches!(each, '_' | '-' | '/' | '.' | ':');
    let is_allowed = |each: char| each.is_ascii_lowercase() || is_separator(each);
    KNOWN_WORDS.contains(&text)
        || !text.is_empty()
            && text.len() <= MAX_WORD
            && text.chars().all(is_allowed)
            && text.split(is_separator).all(|part| part.len() <= MAX_WORD_PART && is_readable(part))
            && !is_code(text)
}

/// Returns whether a text has the form of a code such as `abc-defg-hij`.
///
/// It has three or more short parts with hyphens between them.
fn is_code(text: &str) -> bool {
    let parts = text.split('-');
    parts.clone().count() >= MIN_CODE_PARTS && parts.into_iter().all(|part| part.len() <= MAX_CODE_PART)
}

/// Returns whether a text can be the name of a member, a parameter or a function.
pub(super) fn is_name(text: &str) -> bool {
    let is_allowed = |each: char| each.is_ascii_alphanumeric() || matches!(each, '_' | '-' | '.');
    !text.is_empty()
        && text.len() <= MAX_NAME
        && text.chars().all(is_allowed)
        && text.bytes().any(|byte| byte.is_ascii_alphabetic())
        && text.bytes().filter(u8::is_ascii_digit).count() <= MAX_DIGITS
        && !(text.contains('_') && text.contains('-'))
        && text.split(['_', '-', '.']).skip(1).all(|part| !part.is_empty())
        && text.split(['_', '-', '.']).all(is_plain_part)
}

/// Returns whether a text can be a segment of a path: lower-case words, and those of SCIM (RFC 7644).
pub(super) fn is_path_segment(text: &str) -> bool {
    const OF_SCIM: [&str; 6] = ["v2", "ResourceTypes", "Schemas", "ServiceProviderConfig", "Users", "Groups"];
    OF_SCIM.contains(&text) || is_word(text) && !text.contains(['/', ':'])
}

/// Returns whether a part reads as a word: letters with at most a few digits at the end.
fn is_plain_part(part: &str) -> bool {
    let stem = part.trim_end_matches(|each: char| each.is_ascii_digit());
    let capitals =
        part.as_bytes().windows(2).filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    let has_lower = stem.bytes().any(|byte| byte.is_ascii_lowercase());
    let has_digits = stem.bytes().any(|byte| byte.is_ascii_digit());
    part.len() <= MAX_PART
        && part.len() - stem.len() <= 3
        && !(has_digits && part.len() > 6)
        && (capitals.count() <= 3 || !has_lower)
        && is_readable(&stem.to_ascii_lowercase())
}

/// Returns whether a word has vowels between its letters, as words have and random text rarely has.
fn is_readable(stem: &str) -> bool {
    let is_vowel = |byte: u8| matches!(byte, b'a' | b'e' | b'i' | b'o' | b'u' | b'y');
    let longest = stem.as_bytes().split(|byte| is_vowel(*byte)).map(<[u8]>::len).max();
    stem.len() <= 5 || longest.unwrap_or_default() <= 4 && stem.bytes().any(is_vowel)
}

/// Returns whether a sentence has nothing but words, small numbers and symbols of this recording.
pub(super) fn is_sentence(text: &str) -> bool {
    if text.len() > MAX_SENTENCE || text.contains('@') || !is_ascii_print(text) {
        return false;
    }
    let digits = text.split_whitespace().try_fold(0, |sum, part| Some(sum + count_sentence_digits(part)?));
    digits.is_some_and(|digits| digits <= MAX_DIGITS)
}

fn is_ascii_print(text: &str) -> bool {
    text.chars().all(|each| each.is_ascii_graphic() || each == ' ')
}

/// Returns the number of digits of a part of a sentence; `None` if it is no symbol and no word.
fn count_sentence_digits(part: &str) -> Option<usize> {
    let inner = part.trim_matches(|each: char| each.is_ascii_punctuation() && each != '<' && each != '>');
    if is_symbol(inner) {
        return Some(0);
    }
    let digits = inner.bytes().filter(u8::is_ascii_digit).count();
    // Words with digits have no hyphens, and the short form of an IPv6 address has few digits.
    let is_identifier = digits > 0 && inner.contains(['-', '_']) || part.contains("::");
    let mut pieces = inner.split(|each: char| each.is_ascii_punctuation());
    (!is_identifier && !is_encoded(part) && pieces.all(|piece| is_plain_part(piece) && !looks_random(piece)))
        .then_some(digits)
}

/// Returns whether a part of a sentence has the marks of base64 or of an encoded form.
///
/// Its pieces can read as words.
fn is_encoded(part: &str) -> bool {
    let pieces = part.split(|each: char| each.is_ascii_punctuation()).filter(|piece| !piece.is_empty());
    let has_capitals = part.bytes().any(|byte| byte.is_ascii_uppercase());
    part.contains(['+', '=']) || has_capitals && pieces.count() > MAX_PIECES
}

/// Returns whether a text of letters and digits is no word of a sentence.
fn looks_random(part: &str) -> bool {
    let digits = part.bytes().filter(u8::is_ascii_digit).count();
    digits > 3 || (digits > 0 && part.len() > 8)
}

/// Returns whether a text is one symbol, such as `<uuid1>` or `<now+3600>`.
pub(super) fn is_symbol(text: &str) -> bool {
    let Some(inner) = text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) else { return false };
    if matches!(inner, "any" | "time" | "time zero" | "time with offset" | "html" | "base" | "project" | "now" | "site")
    {
        return true;
    }
    if let Some(delta) = inner.strip_prefix("now").and_then(|delta| delta.strip_prefix(['+', '-'])) {
        return delta.len() <= 10 && delta.bytes().all(|byte| byte.is_ascii_digit());
    }
    if let Some((name, shape)) = inner.split_once(' ') {
        let (alphabet, length) = shape.split_once(':').unwrap_or(("", ""));
        let is_known = matches!(alphabet, "digits" | "hex" | "base32" | "base64url" | "base64" | "text");
        return is_name(name) && is_known && length.len() <= 8 && length.bytes().all(|byte| byte.is_ascii_digit());
    }
    let name = inner.trim_end_matches(|each: char| each.is_ascii_digit());
    matches!(
        name,
        "uuid" | "email" | "phone" | "text" | "number" | "password" | "digits" | "id" | "date" | "file" | "content"
    ) && inner.len() <= name.len() + 6
}

/// Returns whether a text consists of symbols and words, such as `<base>/verify`.
pub(super) fn is_symbolic_path(text: &str) -> bool {
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let Some(end) = rest[start..].find('>') else { return false };
        if !is_symbol(&rest[start..=start + end]) || !is_plain_path(&rest[..start]) {
            return false;
        }
        rest = &rest[start + end + 1..];
    }
    is_plain_path(rest)
}

fn is_plain_path(text: &str) -> bool {
    text.len() <= 200 && text.split('/').all(|segment| segment.is_empty() || is_path_segment(segment))
}

/// Returns whether a text is the origin of an application: scheme, host, port.
pub(super) fn is_origin(text: &str) -> bool {
    let Some((scheme, host)) = text.split_once("://") else { return false };
    let (host, port) = host.split_once(':').unwrap_or((host, "0"));
    let is_scheme = scheme.len() <= 20 && scheme.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_label = |label: &str| {
        let is_allowed = label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        !label.is_empty() && is_allowed && label.split('-').all(is_plain_part)
    };
    let has_lower_case = host.bytes().any(|byte| byte.is_ascii_lowercase());
    is_scheme
        && (has_lower_case || host == Ipv4Addr::LOCALHOST.to_string())
        && host.len() <= 60
        && host.split('.').all(is_label)
        && port.len() <= 5
        && port.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether a text is an e-mail address.
pub(super) fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.split_once('@') else { return false };
    !local.is_empty()
        && domain.contains('.')
        && text.len() <= 254
        && !text
            .contains(|each: char| each.is_whitespace() || each.is_control() || matches!(each, '<' | '>' | '"' | ','))
        && !domain.contains('@')
}

/// Returns the digits of a text that is a phone number.
pub(super) fn phone_digits(text: &str) -> Option<&str> {
    let digits = text.strip_prefix('+').unwrap_or(text);
    ((7..=15).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(digits)
}

/// Returns whether a text is a day, such as the version of the API.
pub(super) fn is_date(text: &str) -> bool {
    let is_expected = |(at, byte): (usize, u8)| if matches!(at, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() };
    text.len() == 10 && text.bytes().enumerate().all(is_expected)
}

/// Returns whether a header has nothing but names, its numbers and punctuation.
pub(super) fn is_header_text(name: &str, value: &str) -> bool {
    let has_number = NUMBER_HEADERS.contains(&name);
    let is_allowed = |each: char| each.is_ascii_alphanumeric() || "-_=,;/.*+\": ".contains(each);
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let has_sentence = value.split([',', ';']).any(|part| part.trim().contains(' '));
    if value.len() > MAX_HEADER
        || !value.chars().all(is_allowed)
        || !has_number && (has_sentence || digits > MAX_DIGITS)
    {
        return false;
    }
    let mut at = 0;
    value.split(|each: char| !each.is_ascii_alphanumeric()).all(|token| {
        let before = &value[..at];
        at += token.len() + 1;
        if token.bytes().all(|byte| byte.is_ascii_digit()) {
            // Other headers have numbers in versions, weights and parameters.
            let is_parameter = token.len() <= 1 || before.ends_with(['=', '-']);
            return if has_number { token.len() <= MAX_NUMBER_DIGITS } else { is_parameter };
        }
        has_plain_case(token) && (token.len() <= 3 || is_name(token))
    })
}

/// Returns whether a word has capitals at its start or, if it is short, everywhere; encoded bytes have them inside.
fn has_plain_case(word: &str) -> bool {
    let rest = word.trim_start_matches(|each: char| each.is_ascii_uppercase());
    let capitals = word.len() - rest.len();
    !rest.bytes().any(|byte| byte.is_ascii_uppercase()) && (capitals <= 1 || rest.is_empty() && word.len() <= 3)
}
