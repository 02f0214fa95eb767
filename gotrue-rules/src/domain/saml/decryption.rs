//! Assertions encrypted for us (XML-Enc): a key wrapped with RSA-OAEP, and the assertion under it with AES. RSA with the
//! older padding (`rsa-1_5`) is not opened, since who may ask often enough whether it opens can read with it.

use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::cipher::{self, DecryptingKey, DecryptionContext, UnboundCipherKey};
use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::iv::FixedLength;
use aws_lc_rs::rsa::{
    KeyPair, OAEP_SHA1_MGF1SHA1, OAEP_SHA256_MGF1SHA256, OAEP_SHA384_MGF1SHA384, OAEP_SHA512_MGF1SHA512, OaepAlgorithm,
    OaepPrivateDecryptingKey, PrivateDecryptingKey,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::xml::Node;
use super::{DSIG, Refusal, XENC};

const BLOCK: usize = 16;

/// Why an encrypted assertion cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Sealed {
    /// Encrypted assertions are not accepted.
    #[error("the assertion is encrypted, and encrypted ones are not accepted")]
    Unwanted,
    /// An algorithm that is not supported.
    #[error("encryption with {0:?} is not supported")]
    Algorithm(String),
    /// It does not open with our key: of why it does not nothing is told.
    #[error("the assertion cannot be decrypted")]
    Unopened,
}

/// One of our keys, for reading.
#[derive(Debug)]
pub struct ReadingKey(OaepPrivateDecryptingKey);

impl ReadingKey {
    /// An RSA key in PKCS#1 DER; none for anything else.
    pub fn of_pkcs1(der: &[u8]) -> Option<Self> {
        let pair = KeyPair::from_der(der).ok()?;
        let pkcs8: Pkcs8V1Der<'_> = pair.as_der().ok()?;
        let key = PrivateDecryptingKey::from_pkcs8(pkcs8.as_ref()).ok()?;
        OaepPrivateDecryptingKey::new(key).ok().map(Self)
    }

    fn unwrap(&self, algorithm: &'static OaepAlgorithm, wrapped: &[u8]) -> Option<Vec<u8>> {
        let mut room = vec![0; self.0.min_output_size()];
        let key = self.0.decrypt(algorithm, wrapped, &mut room, None).ok()?;
        Some(key.to_vec())
    }
}

/// The text of an encrypted assertion, opened with the first of our keys that opens it.
pub fn decrypted(assertion: Node<'_>, keys: &[ReadingKey]) -> Result<String, Refusal> {
    if keys.is_empty() {
        return Err(Sealed::Unwanted.into());
    }
    let data = assertion.one(XENC, "EncryptedData", "EncryptedAssertion")?;
    let beside = assertion.optional(XENC, "EncryptedKey", "EncryptedAssertion")?;
    let wrapped = match beside {
        Some(wrapped) => wrapped,
        None => data.one(DSIG, "KeyInfo", "EncryptedData")?.one(XENC, "EncryptedKey", "KeyInfo")?,
    };
    let (algorithm, wrapped) = (wrapping(wrapped)?, cipher_value(wrapped)?);
    let secret = keys.iter().find_map(|key| key.unwrap(algorithm, &wrapped)).ok_or(Sealed::Unopened)?;
    let method = data.one(XENC, "EncryptionMethod", "EncryptedData")?.attribute("Algorithm").unwrap_or_default();
    let plain = open(method, &secret, cipher_value(data)?)?;
    Ok(String::from_utf8(plain).map_err(|_| Sealed::Unopened)?)
}

/// How the key is wrapped: the hash of `DigestMethod` serves for the mask too.
fn wrapping(key: Node<'_>) -> Result<&'static OaepAlgorithm, Refusal> {
    let method = key.one(XENC, "EncryptionMethod", "EncryptedKey")?;
    let name = method.attribute("Algorithm").unwrap_or_default();
    if name != "http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p" {
        return Err(Sealed::Algorithm(name.to_owned()).into());
    }
    let hash = method.optional(DSIG, "DigestMethod", "EncryptionMethod")?;
    match hash.map(|hash| hash.attribute("Algorithm").unwrap_or_default()) {
        None | Some("http://www.w3.org/2000/09/xmldsig#sha1") => Ok(&OAEP_SHA1_MGF1SHA1),
        Some("http://www.w3.org/2001/04/xmlenc#sha256" | "http://www.w3.org/2000/09/xmldsig#sha256") => {
            Ok(&OAEP_SHA256_MGF1SHA256)
        }
        Some("http://www.w3.org/2001/04/xmldsig-more#sha384") => Ok(&OAEP_SHA384_MGF1SHA384),
        Some("http://www.w3.org/2001/04/xmlenc#sha512" | "http://www.w3.org/2000/09/xmldsig#sha512") => {
            Ok(&OAEP_SHA512_MGF1SHA512)
        }
        Some(other) => Err(Sealed::Algorithm(other.to_owned()).into()),
    }
}

fn cipher_value(node: Node<'_>) -> Result<Vec<u8>, Refusal> {
    let value = node.one(XENC, "CipherData", "the encrypted element")?.one(XENC, "CipherValue", "CipherData")?;
    let text: String = value.text().chars().filter(|c| !c.is_ascii_whitespace()).collect();
    Ok(STANDARD.decode(text).map_err(|_| Sealed::Unopened)?)
}

fn open(method: &str, secret: &[u8], sealed: Vec<u8>) -> Result<Vec<u8>, Sealed> {
    match method {
        "http://www.w3.org/2009/xmlenc11#aes128-gcm" => open_gcm(&aead::AES_128_GCM, secret, sealed),
        "http://www.w3.org/2009/xmlenc11#aes192-gcm" => open_gcm(&aead::AES_192_GCM, secret, sealed),
        "http://www.w3.org/2009/xmlenc11#aes256-gcm" => open_gcm(&aead::AES_256_GCM, secret, sealed),
        "http://www.w3.org/2001/04/xmlenc#aes128-cbc" => open_cbc(&cipher::AES_128, secret, sealed),
        "http://www.w3.org/2001/04/xmlenc#aes192-cbc" => open_cbc(&cipher::AES_192, secret, sealed),
        "http://www.w3.org/2001/04/xmlenc#aes256-cbc" => open_cbc(&cipher::AES_256, secret, sealed),
        other => Err(Sealed::Algorithm(other.to_owned())),
    }
}

/// The nonce stands first, the tag last.
fn open_gcm(algorithm: &'static aead::Algorithm, secret: &[u8], mut sealed: Vec<u8>) -> Result<Vec<u8>, Sealed> {
    let key = LessSafeKey::new(UnboundKey::new(algorithm, secret).map_err(|_| Sealed::Unopened)?);
    let (nonce, _) = sealed.split_at_checked(algorithm.nonce_len()).ok_or(Sealed::Unopened)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| Sealed::Unopened)?;
    let body = &mut sealed[algorithm.nonce_len()..];
    Ok(key.open_in_place(nonce, Aad::empty(), body).map_err(|_| Sealed::Unopened)?.to_vec())
}

/// The first block starts the chain; the last byte says how many are padding, whatever the others are.
fn open_cbc(algorithm: &'static cipher::Algorithm, secret: &[u8], mut sealed: Vec<u8>) -> Result<Vec<u8>, Sealed> {
    let key = UnboundCipherKey::new(algorithm, secret).and_then(DecryptingKey::cbc).map_err(|_| Sealed::Unopened)?;
    let (start, body) = sealed.split_at_mut_checked(BLOCK).ok_or(Sealed::Unopened)?;
    let start: [u8; BLOCK] = (&*start).try_into().map_err(|_| Sealed::Unopened)?;
    let context = DecryptionContext::Iv128(FixedLength::from(start));
    let plain = key.decrypt(body, context).map_err(|_| Sealed::Unopened)?;
    let padding = plain.last().map(|last| usize::from(*last)).filter(|it| (1..=BLOCK).contains(it));
    let length = padding.and_then(|padding| plain.len().checked_sub(padding)).ok_or(Sealed::Unopened)?;
    Ok(plain[..length].to_vec())
}
