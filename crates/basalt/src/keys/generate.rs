//! Generates signing keys as JSON Web Keys (RFC 7517).

use anyhow::{Context, anyhow, ensure};
use aws_lc_rs::encoding::{AsBigEndian as _, AsDer as _, EcPrivateKeyBin};
use aws_lc_rs::rsa::{KeyPair as RsaKeyPair, KeySize};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use clap::ValueEnum;
use platform::entropy::Entropy;
use serde_json::{Map, Value, json};

/// The members of an RSA key in the order of RFC 8017 §A.1.2, after the version.
const RSA_MEMBERS: [&str; 8] = ["n", "e", "d", "p", "q", "dp", "dq", "qi"];
/// Tags of DER: an integer, a sequence, an octet string.
const INTEGER: u8 = 0x02;
const SEQUENCE: u8 = 0x30;
const OCTET_STRING: u8 = 0x04;

/// The algorithm of a signing key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SigningAlgorithm {
    /// ECDSA with P-256; the public key is published
    Es256,
    /// RSA with 2048 bits; the public key is published
    Rs256,
    /// A shared secret, which every verifier must know
    Hs256,
}

/// Generates a key with a random id, without `key_ops`.
pub(crate) fn generate_signing_key(
    algorithm: SigningAlgorithm,
    entropy: &Entropy,
) -> anyhow::Result<Map<String, Value>> {
    let mut key = match algorithm {
        SigningAlgorithm::Es256 => generate_elliptic()?,
        SigningAlgorithm::Rs256 => generate_rsa()?,
        SigningAlgorithm::Hs256 => {
            Map::from_iter([text("kty", "oct"), text("alg", "HS256"), member("k", &entropy.bytes::<48>())])
        }
    };
    key.insert("kid".to_owned(), json!(entropy.uuid()));
    key.insert("use".to_owned(), json!("sig"));
    Ok(key)
}

/// Generates an ES256 key without an id.
pub(crate) fn generate_elliptic() -> anyhow::Result<Map<String, Value>> {
    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).context("generating a signing key")?;
    let private: EcPrivateKeyBin<'_> = pair.private_key().as_be_bytes().context("encoding the signing key")?;
    // An uncompressed point: a format byte, then both coordinates.
    let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
    let numbers = [member("x", x), member("y", y), member("d", private.as_ref())];
    Ok([text("kty", "EC"), text("crv", "P-256"), text("alg", "ES256")].into_iter().chain(numbers).collect())
}

fn generate_rsa() -> anyhow::Result<Map<String, Value>> {
    let pair = RsaKeyPair::generate(KeySize::Rsa2048).context("generating a signing key")?;
    let info = pair.as_der().context("encoding the signing key")?;
    let numbers = read_rsa_members(info.as_ref()).ok_or_else(|| anyhow!("the encoded signing key is unexpected"))?;
    ensure!(numbers.len() == RSA_MEMBERS.len(), "the encoded signing key lacks members");
    let members = RSA_MEMBERS.iter().zip(&numbers).map(|(name, bytes)| member(name, bytes));
    Ok([text("kty", "RSA"), text("alg", "RS256")].into_iter().chain(members).collect())
}

fn text(name: &str, value: &str) -> (String, Value) {
    (name.to_owned(), json!(value))
}

fn member(name: &str, bytes: &[u8]) -> (String, Value) {
    (name.to_owned(), json!(URL_SAFE_NO_PAD.encode(bytes)))
}

/// Reads the numbers of an RSA key from a `PrivateKeyInfo` (RFC 5208), without leading zeros.
fn read_rsa_members(info: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut info = Der(Der(info).read(SEQUENCE)?);
    info.read(INTEGER)?;
    info.read(SEQUENCE)?;
    let mut key = Der(Der(info.read(OCTET_STRING)?).read(SEQUENCE)?);
    key.read(INTEGER)?;
    let mut numbers = Vec::new();
    while !key.0.is_empty() {
        let number = key.read(INTEGER)?;
        let zeros = number.iter().take_while(|byte| **byte == 0).count();
        numbers.push(number[zeros..].to_vec());
    }
    Some(numbers)
}

/// A reader of consecutive values in DER.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// Reads the content of the next value, which has this tag.
    fn read(&mut self, tag: u8) -> Option<&'a [u8]> {
        let (first, rest) = self.0.split_first()?;
        let (length, rest) = rest.split_first()?;
        let (length, rest) = match usize::from(*length) {
            length @ 0..0x80 => (length, rest),
            long => {
                let (bytes, rest) = rest.split_at_checked(long - 0x80)?;
                let length = bytes
                    .iter()
                    .try_fold(0_usize, |sum, byte| sum.checked_mul(256)?.checked_add(usize::from(*byte)))?;
                (length, rest)
            }
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        (*first == tag).then_some(content)
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use foundation::secret::Secret;
    use gotrue_rs::ports::keys::{KeyRing, KeySettings};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn generated_keys_sign_tokens_that_they_verify() {
        let secret = Secret::from("a secret of the test, long enough for HS256");
        for (algorithm, method) in
            [(SigningAlgorithm::Es256, "ES256"), (SigningAlgorithm::Rs256, "RS256"), (SigningAlgorithm::Hs256, "HS256")]
        {
            let mut key = generate_signing_key(algorithm, &Entropy::from_seed(1)).expect("a key");
            key.insert("key_ops".to_owned(), json!(["sign", "verify"]));
            let keys = KeySettings { jwks: &[key], secret: &secret, key_id: "", valid_methods: None };
            let ring = KeyRing::build(keys).expect("a usable key");
            assert_eq!(ring.signing_method(), method);
            let token = ring.sign(&json!({ "sub": "a" })).expect("a token");
            let now = DateTime::from_timestamp(1_800_000_000, 0).expect("a time");
            assert_eq!(ring.verify(&token, now).expect("a valid token")["sub"], "a");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read_rsa_members(&bytes);
        }

        #[test]
        fn values_are_read_back(content in proptest::collection::vec(any::<u8>(), 0..600)) {
            let length = u16::try_from(content.len()).expect("short");
            let mut bytes = vec![INTEGER, 0x82];
            bytes.extend(length.to_be_bytes());
            bytes.extend(&content);
            prop_assert_eq!(Der(&bytes).read(INTEGER), Some(&*content));
            prop_assert_eq!(Der(&bytes).read(SEQUENCE), None);
        }
    }
}
