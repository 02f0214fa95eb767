//! Codes by secret and time (RFC 6238): HMAC-SHA-1, six digits, thirty seconds, one step to either side. The HMAC is a
//! library's; what is left of the RFC is a handful of lines, held to its own test vectors.

use aws_lc_rs::hmac::{HMAC_SHA1_FOR_LEGACY_USE_ONLY, Key, sign};
use subtle::ConstantTimeEq;

use crate::domain::user::Time;

/// Seconds for which a code stands.
const PERIOD: i64 = 30;
const DIGITS: usize = 6;
const MODULUS: u32 = 1_000_000;
/// Characters of a new secret: 160 bits.
pub const SECRET_LENGTH: usize = 32;

/// The step whose code this is, among the present one and its two neighbours. White space around the code does not
/// count. A secret that cannot be read has no codes.
pub fn matching_step(secret: &str, code: &str, now: Time) -> Option<i64> {
    let code = code.trim();
    let key = Key::new(HMAC_SHA1_FOR_LEGACY_USE_ONLY, &decode(secret)?);
    let present = now.timestamp().div_euclid(PERIOD);
    // All three are compared, so that time does not tell which one it was.
    let mut found = None;
    for step in [present, present + 1, present - 1] {
        let is_it = bool::from(code_of(&key, step).as_bytes().ct_eq(code.as_bytes()));
        found = found.or(is_it.then_some(step));
    }
    found
}

/// The code that a secret gives at this moment; none if the secret cannot be read.
pub fn code(secret: &str, now: Time) -> Option<String> {
    let key = Key::new(HMAC_SHA1_FOR_LEGACY_USE_ONLY, &decode(secret)?);
    Some(code_of(&key, now.timestamp().div_euclid(PERIOD)))
}

fn code_of(key: &Key, step: i64) -> String {
    let tag = sign(key, &step.to_be_bytes());
    let bytes = tag.as_ref();
    let offset = usize::from(bytes.last().copied().unwrap_or_default() & 0xf);
    let number = bytes.iter().skip(offset).take(4).fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
    let number = (number & 0x7fff_ffff) % MODULUS;
    format!("{number:0DIGITS$}")
}

/// Base32 in either case, padded or not.
fn decode(secret: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for letter in secret.trim().trim_end_matches('=').bytes() {
        let value = match letter.to_ascii_uppercase() {
            letter @ b'A'..=b'Z' => letter - b'A',
            letter @ b'2'..=b'7' => letter - b'2' + 26,
            _ => return None,
        };
        bits = bits << 5 | u32::from(value);
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The secret of the RFC's vectors, `12345678901234567890`.
    const SECRET: &str = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";

    fn at(seconds: i64) -> Time {
        Time::from_timestamp(seconds, 0).unwrap()
    }

    #[test]
    fn codes_are_those_of_the_rfc() {
        for (seconds, expected) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ] {
            assert_eq!(code(SECRET, at(seconds)).as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_code_is_good_in_its_step_and_one_to_either_side() {
        let given = code(SECRET, at(1000)).unwrap();
        let step = 1000 / 30;
        for (seconds, expected) in
            [(959, None), (960, Some(step)), (990, Some(step)), (1019, Some(step)), (1049, Some(step)), (1050, None)]
        {
            assert_eq!(matching_step(SECRET, &given, at(seconds)), expected, "{seconds}");
        }
    }

    #[test]
    fn white_space_around_a_code_does_not_count() {
        let given = format!(" {}\n", code(SECRET, at(1000)).unwrap());
        assert!(matching_step(SECRET, &given, at(1000)).is_some());
    }

    #[test]
    fn what_is_no_code_of_the_secret_is_wrong() {
        let right = code(SECRET, at(1000)).unwrap();
        for wrong in ["", "12345", "abcdef", &right[1..], &format!("{right}0"), "999999999"] {
            assert_eq!(matching_step(SECRET, wrong, at(1000)), None, "{wrong}");
        }
    }

    #[test]
    fn secrets_are_read_in_either_case_and_padded() {
        assert_eq!(code(&SECRET.to_lowercase(), at(59)).as_deref(), Some("287082"));
        assert_eq!(decode("MY======"), Some(b"f".to_vec()));
        assert_eq!(decode("MZXW6YTBOI"), Some(b"foobar".to_vec()));
        assert_eq!(code("not base32!", at(59)), None);
        assert_eq!(matching_step("not base32!", "287082", at(59)), None);
    }
}
