//! Decrypts assertions (XML Encryption): RSA-OAEP key transport, and AES-CBC or AES-GCM data.
//! PKCS#1 v1.5 key transport (`rsa-1_5`) is not supported, since it allows padding oracle attacks.

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

use super::error::{DecryptionError, SamlError};
use super::namespaces::{DSIG, XENC};
use super::xml::XmlNode;

const AES_BLOCK_SIZE: usize = 16;

/// A private key of the service provider for decryption.
#[derive(Debug)]
pub struct DecryptionKey(OaepPrivateDecryptingKey);

impl DecryptionKey {
    /// Parses an RSA key in PKCS#1 DER.
    pub fn from_pkcs1(der: &[u8]) -> Option<Self> {
        let pair = KeyPair::from_der(der).ok()?;
        let pkcs8: Pkcs8V1Der<'_> = pair.as_der().ok()?;
        let key = PrivateDecryptingKey::from_pkcs8(pkcs8.as_ref()).ok()?;
        OaepPrivateDecryptingKey::new(key).ok().map(Self)
    }

    fn unwrap_key(&self, algorithm: &'static OaepAlgorithm, wrapped: &[u8]) -> Option<Vec<u8>> {
        let mut buffer = vec![0; self.0.min_output_size()];
        let key = self.0.decrypt(algorithm, wrapped, &mut buffer, None).ok()?;
        Some(key.to_vec())
    }
}

/// Decrypts an assertion with the first key that succeeds and returns its XML.
pub fn decrypt_assertion(assertion: XmlNode<'_>, keys: &[DecryptionKey]) -> Result<String, SamlError> {
    if keys.is_empty() {
        return Err(DecryptionError::NotAccepted.into());
    }
    let data = assertion.required_child(XENC, "EncryptedData", "EncryptedAssertion")?;
    let beside = assertion.optional_child(XENC, "EncryptedKey", "EncryptedAssertion")?;
    let wrapped = match beside {
        Some(wrapped) => wrapped,
        None => {
            data.required_child(DSIG, "KeyInfo", "EncryptedData")?.required_child(XENC, "EncryptedKey", "KeyInfo")?
        }
    };
    let (algorithm, wrapped) = (key_transport_algorithm(wrapped)?, cipher_value(wrapped)?);
    let secret = keys.iter().find_map(|key| key.unwrap_key(algorithm, &wrapped)).ok_or(DecryptionError::Failed)?;
    let method =
        data.required_child(XENC, "EncryptionMethod", "EncryptedData")?.attribute("Algorithm").unwrap_or_default();
    let plain = decrypt_data(method, &secret, cipher_value(data)?)?;
    Ok(String::from_utf8(plain).map_err(|_| DecryptionError::Failed)?)
}

/// The key transport algorithm; the hash of `DigestMethod` is also the MGF1 hash.
fn key_transport_algorithm(key: XmlNode<'_>) -> Result<&'static OaepAlgorithm, SamlError> {
    let method = key.required_child(XENC, "EncryptionMethod", "EncryptedKey")?;
    let name = method.attribute("Algorithm").unwrap_or_default();
    if name != "http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p" {
        return Err(DecryptionError::Algorithm(name.to_owned()).into());
    }
    let hash = method.optional_child(DSIG, "DigestMethod", "EncryptionMethod")?;
    match hash.map(|hash| hash.attribute("Algorithm").unwrap_or_default()) {
        None | Some("http://www.w3.org/2000/09/xmldsig#sha1") => Ok(&OAEP_SHA1_MGF1SHA1),
        Some("http://www.w3.org/2001/04/xmlenc#sha256" | "http://www.w3.org/2000/09/xmldsig#sha256") => {
            Ok(&OAEP_SHA256_MGF1SHA256)
        }
        Some("http://www.w3.org/2001/04/xmldsig-more#sha384") => Ok(&OAEP_SHA384_MGF1SHA384),
        Some("http://www.w3.org/2001/04/xmlenc#sha512" | "http://www.w3.org/2000/09/xmldsig#sha512") => {
            Ok(&OAEP_SHA512_MGF1SHA512)
        }
        Some(other) => Err(DecryptionError::Algorithm(other.to_owned()).into()),
    }
}

fn cipher_value(node: XmlNode<'_>) -> Result<Vec<u8>, SamlError> {
    let value = node.required_child(XENC, "CipherData", "the encrypted element")?.required_child(
        XENC,
        "CipherValue",
        "CipherData",
    )?;
    let text: String = value.text().chars().filter(|c| !c.is_ascii_whitespace()).collect();
    Ok(STANDARD.decode(text).map_err(|_| DecryptionError::Failed)?)
}

fn decrypt_data(method: &str, secret: &[u8], sealed: Vec<u8>) -> Result<Vec<u8>, DecryptionError> {
    match method {
        "http://www.w3.org/2009/xmlenc11#aes128-gcm" => decrypt_gcm(&aead::AES_128_GCM, secret, sealed),
        "http://www.w3.org/2009/xmlenc11#aes192-gcm" => decrypt_gcm(&aead::AES_192_GCM, secret, sealed),
        "http://www.w3.org/2009/xmlenc11#aes256-gcm" => decrypt_gcm(&aead::AES_256_GCM, secret, sealed),
        "http://www.w3.org/2001/04/xmlenc#aes128-cbc" => decrypt_cbc(&cipher::AES_128, secret, sealed),
        "http://www.w3.org/2001/04/xmlenc#aes192-cbc" => decrypt_cbc(&cipher::AES_192, secret, sealed),
        "http://www.w3.org/2001/04/xmlenc#aes256-cbc" => decrypt_cbc(&cipher::AES_256, secret, sealed),
        other => Err(DecryptionError::Algorithm(other.to_owned())),
    }
}

/// The nonce precedes the ciphertext, the tag follows it.
fn decrypt_gcm(
    algorithm: &'static aead::Algorithm,
    secret: &[u8],
    mut sealed: Vec<u8>,
) -> Result<Vec<u8>, DecryptionError> {
    let key = LessSafeKey::new(UnboundKey::new(algorithm, secret).map_err(|_| DecryptionError::Failed)?);
    let (nonce, _) = sealed.split_at_checked(algorithm.nonce_len()).ok_or(DecryptionError::Failed)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| DecryptionError::Failed)?;
    let body = &mut sealed[algorithm.nonce_len()..];
    Ok(key.open_in_place(nonce, Aad::empty(), body).map_err(|_| DecryptionError::Failed)?.to_vec())
}

/// Decrypts CBC data: the first block is the initialization vector.
/// The last byte is the padding length; the other padding bytes are arbitrary.
fn decrypt_cbc(
    algorithm: &'static cipher::Algorithm,
    secret: &[u8],
    mut sealed: Vec<u8>,
) -> Result<Vec<u8>, DecryptionError> {
    let key =
        UnboundCipherKey::new(algorithm, secret).and_then(DecryptingKey::cbc).map_err(|_| DecryptionError::Failed)?;
    let (start, body) = sealed.split_at_mut_checked(AES_BLOCK_SIZE).ok_or(DecryptionError::Failed)?;
    let start: [u8; AES_BLOCK_SIZE] = (&*start).try_into().map_err(|_| DecryptionError::Failed)?;
    let context = DecryptionContext::Iv128(FixedLength::from(start));
    let plain = key.decrypt(body, context).map_err(|_| DecryptionError::Failed)?;
    let padding = plain.last().map(|last| usize::from(*last)).filter(|length| (1..=AES_BLOCK_SIZE).contains(length));
    let length = padding.and_then(|padding| plain.len().checked_sub(padding)).ok_or(DecryptionError::Failed)?;
    Ok(plain[..length].to_vec())
}
