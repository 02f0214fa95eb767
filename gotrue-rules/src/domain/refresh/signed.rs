//! Refresh tokens of version 2: session and counter, signed with a key of the session's own, with a checksum so that
//! most forgeries are refused without asking the database.

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
const ID: usize = 16;
const SIGNATURE: usize = 16;
const CHECKSUM: usize = 4;

/// Base64url without padding, whose last character may carry unused bits, as Go reads it.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

/// A token of version 2 whose form is right; whether it was made here is told by [`SignedToken::is_signed_with`].
#[derive(Clone, PartialEq, Eq)]
pub struct SignedToken {
    session: Uuid,
    counter: i64,
    signed: Vec<u8>,
    signature: Vec<u8>,
}

impl SignedToken {
    /// The text of a token.
    pub fn encode(session: Uuid, counter: i64, key: &SessionKey) -> String {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(session.as_bytes());
        push_varint(&mut bytes, counter.max(0).unsigned_abs());
        let signature = key.sign(&bytes);
        bytes.extend_from_slice(&signature[..SIGNATURE]);
        let checksum = digest(&SHA256, &bytes);
        bytes.extend_from_slice(&checksum.as_ref()[..CHECKSUM]);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Reads a token; `None` if length, version, checksum or counter are not right.
    pub fn decode(text: &str) -> Option<Self> {
        let bytes = LENIENT.decode(text).ok()?;
        let (covered, checksum) = bytes.split_at_checked(bytes.len().checked_sub(CHECKSUM)?)?;
        let (signed, signature) = covered.split_at_checked(covered.len().checked_sub(SIGNATURE)?)?;
        let (version, rest) = signed.split_first()?;
        let (id, counter) = rest.split_at_checked(ID)?;
        let sum = digest(&SHA256, covered);
        let is_sound = *version == VERSION && bool::from(sum.as_ref()[..CHECKSUM].ct_eq(checksum));
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

    /// The session it claims to be of.
    pub fn session(&self) -> Uuid {
        self.session
    }

    /// The counter it claims.
    pub fn counter(&self) -> i64 {
        self.counter
    }

    /// Whether it was signed with this key. Takes as long for any wrong signature.
    pub fn is_signed_with(&self, key: &SessionKey) -> bool {
        key.sign(&self.signed)[..SIGNATURE].ct_eq(&self.signature).into()
    }
}

/// A token opens an account: it is not printed.
impl fmt::Debug for SignedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignedToken")
            .field("session", &self.session)
            .field("counter", &self.counter)
            .finish_non_exhaustive()
    }
}

/// The key that a session's tokens are signed with.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionKey(Vec<u8>);

impl SessionKey {
    /// A new key out of 32 random bytes.
    pub fn new(random: [u8; 32]) -> Self {
        Self(random.to_vec())
    }

    /// The key in `sessions.refresh_token_hmac_key`, once decrypted: base64url without padding.
    pub fn from_stored(text: &str) -> Option<Self> {
        LENIENT.decode(text).ok().map(Self)
    }

    /// What is stored, before it is encrypted.
    pub fn stored(&self) -> String {
        URL_SAFE_NO_PAD.encode(&self.0)
    }

    fn sign(&self, message: &[u8]) -> [u8; 32] {
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &self.0), message);
        let mut signature = [0; 32];
        signature.copy_from_slice(tag.as_ref());
        signature
    }
}

impl fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionKey(…)")
    }
}

/// Seven bits a byte, lowest first, the high bit set on all but the last (LEB128).
fn push_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push((number & 0x7f) as u8);
}

/// The number that these bytes are, all of them; `None` if they are none or more than 64 bits.
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

    fn key() -> SessionKey {
        SessionKey::new([7; 32])
    }

    /// Made with Go's `binary.AppendUvarint`, `crypto/hmac` and `base64.RawURLEncoding`: session 11111111-2222-4333-8444-555555555555, a key of 32 sevens.
    const MADE: [(i64, &str); 3] = [
        (0, "ABEREREiIkMzhERVVVVVVVUAqyLbtAGmjRZQ1xbAsdOiwD_Kp9o"),
        (300, "ABEREREiIkMzhERVVVVVVVWsAvrYH5lcM5BMrpbr2ICEgIxF7a-Y"),
        (i64::MAX - 1, "ABEREREiIkMzhERVVVVVVVX-_________3_-mHA0GDMqXGkEuwXjow3crguTIw"),
    ];

    #[test]
    fn tokens_are_written_as_the_reference_writes_them() {
        let session = Uuid::parse_str("11111111-2222-4333-8444-555555555555").unwrap();
        for (counter, text) in MADE {
            assert_eq!(SignedToken::encode(session, counter, &key()), text);
            let read = SignedToken::decode(text).unwrap();
            assert_eq!((read.session(), read.counter()), (session, counter));
            assert!(read.is_signed_with(&key()));
            assert!(!read.is_signed_with(&SessionKey::new([8; 32])));
        }
    }

    #[test]
    fn the_unused_bits_of_the_last_character_do_not_matter_and_padding_does() {
        let (_, text) = MADE[0];
        let last = text.chars().last().unwrap();
        let other = char::from_u32(u32::from(last) + 1).unwrap();
        let varied = format!("{}{other}", &text[..text.len() - 1]);
        assert_eq!(SignedToken::decode(&varied), SignedToken::decode(text));
        assert_eq!(SignedToken::decode(&format!("{text}=")), None);
    }

    #[test]
    fn keys_are_stored_as_base64url_and_not_printed() {
        assert_eq!(SessionKey::from_stored(&key().stored()), Some(key()));
        assert_eq!(SessionKey::from_stored("not base64!"), None);
        assert_eq!(format!("{:?}", key()), "SessionKey(…)");
        let token = SignedToken::decode(MADE[0].1).unwrap();
        assert!(!format!("{token:?}").contains("signature"));
    }

    #[test]
    fn numbers_of_more_than_64_bits_are_refused() {
        assert_eq!(read_varint(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]), Some(u64::MAX));
        assert_eq!(read_varint(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]), None);
        assert_eq!(read_varint(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0]), None);
        assert_eq!((read_varint(&[]), read_varint(&[0x80]), read_varint(&[1, 1])), (None, None, None));
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(id in any::<u128>(), counter in 0..i64::MAX, secret in any::<[u8; 32]>()) {
            let (session, key) = (Uuid::from_u128(id), SessionKey::new(secret));
            let read = SignedToken::decode(&SignedToken::encode(session, counter, &key)).unwrap();
            prop_assert_eq!((read.session(), read.counter()), (session, counter));
            prop_assert!(read.is_signed_with(&key));
        }

        #[test]
        fn c5_a_changed_byte_is_refused(counter in 0..i64::MAX, at in any::<prop::sample::Index>(), by in 1_u8..=255) {
            let text = SignedToken::encode(Uuid::from_u128(5), counter, &key());
            let mut bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
            let at = at.index(bytes.len());
            bytes[at] ^= by;
            prop_assert_eq!(SignedToken::decode(&URL_SAFE_NO_PAD.encode(&bytes)), None);
        }

        #[test]
        fn c5_a_changed_message_with_a_right_checksum_is_not_signed(
            counter in 0..i64::MAX, at in any::<prop::sample::Index>(), by in 1_u8..=255,
        ) {
            let text = SignedToken::encode(Uuid::from_u128(5), counter, &key());
            let mut bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
            bytes.truncate(bytes.len() - CHECKSUM);
            let at = at.index(bytes.len());
            bytes[at] ^= by;
            bytes.extend_from_slice(&digest(&SHA256, &bytes).as_ref()[..CHECKSUM]);
            if let Some(forged) = SignedToken::decode(&URL_SAFE_NO_PAD.encode(&bytes)) {
                prop_assert!(!forged.is_signed_with(&key()));
            }
        }

        #[test]
        fn c5_a_part_of_a_token_is_refused(counter in 0..i64::MAX, length in any::<prop::sample::Index>()) {
            let text = SignedToken::encode(Uuid::from_u128(5), counter, &key());
            let length = length.index(text.len());
            prop_assert_eq!(SignedToken::decode(&text[..length]), None);
            prop_assert_eq!(SignedToken::decode(&text[text.len() - length..]), None);
            let longer = text.clone() + &text[..length];
            prop_assert_eq!(SignedToken::decode(&longer).is_some(), length == 0);
        }

        #[test]
        fn no_text_makes_it_panic(text in any::<String>()) {
            let _ = SignedToken::decode(&text);
        }
    }
}
