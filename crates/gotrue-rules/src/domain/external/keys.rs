//! An issuer's public keys (RFC 7517) and signature verification.

use aws_lc_rs::signature::{self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::jws::{Algorithm, CompactJws};
use crate::wire::go_json::Document;

/// The number of keys of a document that are read.
const MAX_KEYS: usize = 100;

/// The keys of an issuer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeySet(Vec<Jwk>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Jwk {
    kid: String,
    /// The only algorithm of the key; `None` allows every algorithm of its type.
    algorithm: Option<Algorithm>,
    material: KeyMaterial,
}

/// The key material. The key type must fit the token's algorithm.
#[derive(Debug, Clone, PartialEq, Eq)]
enum KeyMaterial {
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// The curve and the uncompressed point.
    Ec(Curve, Vec<u8>),
    Ed25519(Vec<u8>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Curve {
    P256,
    P384,
    P521,
}

/// The document is not a JWK set. For the log only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the document is not a JWK set")]
pub struct KeySetError;

/// The outcome of a signature verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureOutcome {
    /// The signature is valid for one of the keys.
    Valid,
    /// The signature is not valid for the key that the token names, or for any key if it names none.
    Invalid,
    /// The token names a key that the set does not contain.
    UnknownKey,
}

impl KeySet {
    /// Parses a JWK set. Keys of other types or uses and incomplete keys are skipped.
    pub fn parse(document: &[u8]) -> Result<Self, KeySetError> {
        let document = Document::parse(document).map_err(|_| KeySetError)?;
        let keys: Option<Vec<Value>> = document.member("keys").map_err(|_| KeySetError)?;
        let keys = keys.ok_or(KeySetError)?;
        Ok(Self(keys.iter().take(MAX_KEYS).filter_map(|key| Jwk::parse(key.as_object()?)).collect()))
    }

    /// Verifies the token's signature with the keys of the set.
    pub fn verify(&self, token: &CompactJws<'_>) -> SignatureOutcome {
        let mut named = self.0.iter().filter(|key| token.kid.is_empty() || key.kid == token.kid).peekable();
        if named.peek().is_none() {
            return SignatureOutcome::UnknownKey;
        }
        if named.any(|key| key.verifies(token)) { SignatureOutcome::Valid } else { SignatureOutcome::Invalid }
    }
}

impl Jwk {
    fn parse(members: &Map<String, Value>) -> Option<Self> {
        let text = |name: &str| members.get(name).and_then(Value::as_str).unwrap_or_default();
        let bytes = |name: &str| URL_SAFE_NO_PAD.decode(text(name).trim_end_matches('=')).ok();
        if !matches!(text("use"), "" | "sig") {
            return None;
        }
        let algorithm = match text("alg") {
            "" => None,
            name => Some(Algorithm::from_name(name)?),
        };
        let material = match (text("kty"), text("crv")) {
            ("RSA", _) => KeyMaterial::Rsa { n: bytes("n")?, e: bytes("e")? },
            ("EC", curve) => {
                let curve = Curve::from_name(curve)?;
                KeyMaterial::Ec(curve, curve.encode_point(&bytes("x")?, &bytes("y")?)?)
            }
            ("OKP", "Ed25519") => KeyMaterial::Ed25519(bytes("x")?),
            _ => return None,
        };
        Some(Self { kid: text("kid").to_owned(), algorithm, material })
    }

    fn verifies(&self, token: &CompactJws<'_>) -> bool {
        if self.algorithm.is_some_and(|only| only != token.algorithm) {
            return false;
        }
        let (message, signature) = (token.signing_input.as_bytes(), &token.signature);
        match &self.material {
            KeyMaterial::Rsa { n, e } => rsa_parameters(token.algorithm)
                .is_some_and(|how| RsaPublicKeyComponents { n, e }.verify(how, message, signature).is_ok()),
            KeyMaterial::Ec(curve, point) => curve
                .verification_algorithm(token.algorithm)
                .is_some_and(|how| is_signature_valid(how, point, message, signature)),
            KeyMaterial::Ed25519(point) => {
                token.algorithm == Algorithm::EdDSA
                    && is_signature_valid(&signature::ED25519, point, message, signature)
            }
        }
    }
}

fn is_signature_valid(how: &'static dyn VerificationAlgorithm, key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    UnparsedPublicKey::new(how, key).verify(message, signature).is_ok()
}

/// The RSA parameters of an algorithm. Keys shorter than 2048 bits are rejected.
fn rsa_parameters(algorithm: Algorithm) -> Option<&'static RsaParameters> {
    match algorithm {
        Algorithm::RS256 => Some(&signature::RSA_PKCS1_2048_8192_SHA256),
        Algorithm::RS384 => Some(&signature::RSA_PKCS1_2048_8192_SHA384),
        Algorithm::RS512 => Some(&signature::RSA_PKCS1_2048_8192_SHA512),
        Algorithm::PS256 => Some(&signature::RSA_PSS_2048_8192_SHA256),
        Algorithm::PS384 => Some(&signature::RSA_PSS_2048_8192_SHA384),
        Algorithm::PS512 => Some(&signature::RSA_PSS_2048_8192_SHA512),
        _ => None,
    }
}

impl Curve {
    fn from_name(name: &str) -> Option<Self> {
        match name {
            "P-256" => Some(Self::P256),
            "P-384" => Some(Self::P384),
            "P-521" => Some(Self::P521),
            _ => None,
        }
    }

    /// The verification algorithm, if the token's algorithm uses this curve.
    fn verification_algorithm(self, algorithm: Algorithm) -> Option<&'static dyn VerificationAlgorithm> {
        match (self, algorithm) {
            (Self::P256, Algorithm::ES256) => Some(&signature::ECDSA_P256_SHA256_FIXED),
            (Self::P384, Algorithm::ES384) => Some(&signature::ECDSA_P384_SHA384_FIXED),
            (Self::P521, Algorithm::ES512) => Some(&signature::ECDSA_P521_SHA512_FIXED),
            _ => None,
        }
    }

    /// Encodes the uncompressed point. Leading zeros of the coordinates may be missing.
    fn encode_point(self, x: &[u8], y: &[u8]) -> Option<Vec<u8>> {
        let size: usize = match self {
            Self::P256 => 32,
            Self::P384 => 48,
            Self::P521 => 66,
        };
        let mut point = vec![4];
        for coordinate in [x, y] {
            point.resize(point.len() + size.checked_sub(coordinate.len())?, 0);
            point.extend_from_slice(coordinate);
        }
        Some(point)
    }
}

#[cfg(test)]
mod tests;
