//! Version 2 refresh tokens: session id and counter, signed with a key of the session.
//!
//! A checksum rejects most forgeries without a database query.

use std::fmt;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, URL_SAFE_NO_PAD};
use subtle::ConstantTimeEq as _;
use uuid::Uuid;

const VERSION: u8 = 0;
const ID_LENGTH: usize = 16;
const SIGNATURE_LENGTH: usize = 16;
const CHECKSUM_LENGTH: usize = 4;

/// Unpadded base64url that ignores trailing bits, as Go decodes it.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

/// A well-formed version 2 token; [`SignedToken::is_signed_with`] verifies its signature.
#[derive(Clone, PartialEq, Eq)]
pub struct SignedToken {
    session: Uuid,
    counter: i64,
    signed: Vec<u8>,
    signature: Vec<u8>,
}

impl SignedToken {
    /// Encodes and signs a token.
    pub fn encode(session: Uuid, counter: i64, key: &RefreshTokenKey) -> String {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(session.as_bytes());
        push_varint(&mut bytes, counter.max(0).unsigned_abs());
        let signature = key.sign(&bytes);
        bytes.extend_from_slice(&signature[..SIGNATURE_LENGTH]);
        let checksum = digest(&SHA256, &bytes);
        bytes.extend_from_slice(&checksum.as_ref()[..CHECKSUM_LENGTH]);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Decodes a token; `None` if length, version, checksum or counter is invalid.
    pub fn decode(text: &str) -> Option<Self> {
        let bytes = LENIENT.decode(text).ok()?;
        let (covered, checksum) = bytes.split_at_checked(bytes.len().checked_sub(CHECKSUM_LENGTH)?)?;
        let (signed, signature) = covered.split_at_checked(covered.len().checked_sub(SIGNATURE_LENGTH)?)?;
        let (version, rest) = signed.split_first()?;
        let (id, counter) = rest.split_at_checked(ID_LENGTH)?;
        let sum = digest(&SHA256, covered);
        let is_sound = *version == VERSION && bool::from(sum.as_ref()[..CHECKSUM_LENGTH].ct_eq(checksum));
        if !is_sound {
            return None;
        }
        Some(Self {
            session: Uuid::from_slice(id).ok()?,
            counter: i64::try_from(read_varint(counter)?).unwrap_or(i64::MAX),
            signed: signed.to_vec(),
            signature: signature.to_vec(),
        })
    }

    /// Returns the session id, which is not authenticated.
    pub fn session(&self) -> Uuid {
        self.session
    }

    /// Returns the counter, which is not authenticated.
    pub fn counter(&self) -> i64 {
        self.counter
    }

    /// Verifies the signature in constant time.
    pub fn is_signed_with(&self, key: &RefreshTokenKey) -> bool {
        key.sign(&self.signed)[..SIGNATURE_LENGTH].ct_eq(&self.signature).into()
    }
}

/// The token grants access, so it is not printed.
impl fmt::Debug for SignedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignedToken")
            .field("session", &self.session)
            .field("counter", &self.counter)
            .finish_non_exhaustive()
    }
}

/// The signing key of a session's refresh tokens.
#[derive(Clone, PartialEq, Eq)]
pub struct RefreshTokenKey(Vec<u8>);

impl RefreshTokenKey {
    /// Creates a key from 32 random bytes.
    pub fn new(random: [u8; 32]) -> Self {
        Self(random.to_vec())
    }

    /// Decodes the decrypted value of `sessions.refresh_token_hmac_key`: base64url without padding.
    pub fn from_stored(text: &str) -> Option<Self> {
        LENIENT.decode(text).ok().map(Self)
    }

    /// Returns the stored form before encryption.
    pub fn to_stored(&self) -> String {
        URL_SAFE_NO_PAD.encode(&self.0)
    }

    fn sign(&self, message: &[u8]) -> [u8; 32] {
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &self.0), message);
        let mut signature = [0; 32];
        signature.copy_from_slice(tag.as_ref());
        signature
    }
}

impl fmt::Debug for RefreshTokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionKey(…)")
    }
}

/// Appends a number as LEB128.
fn push_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push((number & 0x7f) as u8);
}

/// Decodes a LEB128 number; `None` if bytes remain, or above 64 bits.
fn read_varint(bytes: &[u8]) -> Option<u64> {
    let (last, rest) = bytes.split_last()?;
    if *last >= 0x80 || rest.iter().any(|byte| *byte < 0x80) || bytes.len() > 10 || (bytes.len() == 10 && *last > 1) {
        return None;
    }
    Some(bytes.iter().rev().fold(0, |number, byte| (number << 7) | u64::from(byte & 0x7f)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key() -> RefreshTokenKey {
        RefreshTokenKey::new([7; 32])
    }

    /// Tokens generated with Go, for session 11111111-2222-4333-8444-555555555555 and a key of 32 sevens.
    /// Uses `binary.AppendUvarint`, `crypto/hmac` and `base64.RawURLEncoding`.
    const GO_TOKENS: [(i64, &str); 3] = [
        (0, "ABEREREiIkMzhERVVVVVVVUAqyLbtAGmjRZQ1xbAsdOiwD_Kp9o"),
        (300, "ABEREREiIkMzhERVVVVVVVWsAvrYH5lcM5BMrpbr2ICEgIxF7a-Y"),
        (i64::MAX - 1, "ABEREREiIkMzhERVVVVVVVX-_________3_-mHA0GDMqXGkEuwXjow3crguTIw"),
    ];

    #[test]
    fn tokens_are_encoded_as_in_gotrue() {
        let session = Uuid::parse_str("11111111-2222-4333-8444-555555555555").unwrap();
        for (counter, text) in GO_TOKENS {
            assert_eq!(SignedToken::encode(session, counter, &key()), text);
            let read = SignedToken::decode(text).unwrap();
            assert_eq!((read.session(), read.counter()), (session, counter));
            assert!(read.is_signed_with(&key()));
            assert!(!read.is_signed_with(&RefreshTokenKey::new([8; 32])));
        }
    }

    #[test]
    fn trailing_bits_are_ignored_and_padding_is_rejected() {
        let (_, text) = GO_TOKENS[0];
        let last = text.chars().last().unwrap();
        let other = char::from_u32(u32::from(last) + 1).unwrap();
        let varied = format!("{}{other}", &text[..text.len() - 1]);
        assert_eq!(SignedToken::decode(&varied), SignedToken::decode(text));
        assert_eq!(SignedToken::decode(&format!("{text}=")), None);
    }

    #[test]
    fn keys_are_stored_as_base64url_and_hidden_in_debug() {
        assert_eq!(RefreshTokenKey::from_stored(&key().to_stored()), Some(key()));
        assert_eq!(RefreshTokenKey::from_stored("not base64!"), None);
        assert_eq!(format!("{:?}", key()), "SessionKey(…)");
        let token = SignedToken::decode(GO_TOKENS[0].1).unwrap();
        assert!(!format!("{token:?}").contains("signature"));
    }

    #[test]
    fn numbers_above_64_bits_are_rejected() {
        assert_eq!(read_varint(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]), Some(u64::MAX));
        assert_eq!(read_varint(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]), None);
        assert_eq!(read_varint(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0]), None);
        assert_eq!((read_varint(&[]), read_varint(&[0x80]), read_varint(&[1, 1])), (None, None, None));
    }

    proptest! {
        #[test]
        fn tokens_round_trip(id in any::<u128>(), counter in 0..i64::MAX, secret in any::<[u8; 32]>()) {
            let (session, key) = (Uuid::from_u128(id), RefreshTokenKey::new(secret));
            let read = SignedToken::decode(&SignedToken::encode(session, counter, &key)).unwrap();
            prop_assert_eq!((read.session(), read.counter()), (session, counter));
            prop_assert!(read.is_signed_with(&key));
        }

        #[test]
        fn changed_byte_is_rejected(counter in 0..i64::MAX, at in any::<prop::sample::Index>(), by in 1_u8..=255) {
            let text = SignedToken::encode(Uuid::from_u128(5), counter, &key());
            let mut bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
            let at = at.index(bytes.len());
            bytes[at] ^= by;
            prop_assert_eq!(SignedToken::decode(&URL_SAFE_NO_PAD.encode(&bytes)), None);
        }

        #[test]
        fn changed_message_with_valid_checksum_has_invalid_signature(
            counter in 0..i64::MAX, at in any::<prop::sample::Index>(), by in 1_u8..=255,
        ) {
            let text = SignedToken::encode(Uuid::from_u128(5), counter, &key());
            let mut bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
            bytes.truncate(bytes.len() - CHECKSUM_LENGTH);
            let at = at.index(bytes.len());
            bytes[at] ^= by;
            bytes.extend_from_slice(&digest(&SHA256, &bytes).as_ref()[..CHECKSUM_LENGTH]);
            if let Some(forged) = SignedToken::decode(&URL_SAFE_NO_PAD.encode(&bytes)) {
                prop_assert!(!forged.is_signed_with(&key()));
            }
        }

        #[test]
        fn truncated_token_is_rejected(counter in 0..i64::MAX, length in any::<prop::sample::Index>()) {
            let text = SignedToken::encode(Uuid::from_u128(5), counter, &key());
            let length = length.index(text.len());
            prop_assert_eq!(SignedToken::decode(&text[..length]), None);
            prop_assert_eq!(SignedToken::decode(&text[text.len() - length..]), None);
            let longer = text.clone() + &text[..length];
            prop_assert_eq!(SignedToken::decode(&longer).is_some(), length == 0);
        }

        #[test]
        fn any_text_decodes_without_panic(text in any::<String>()) {
            let _ = SignedToken::decode(&text);
        }
    }
}
