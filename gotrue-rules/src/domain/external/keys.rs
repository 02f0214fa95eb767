//! The public keys of an issuer (RFC 7517), and whether a signature is theirs.

use aws_lc_rs::signature::{self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::jws::{Algorithm, Compact};
use crate::wire::go_json::Document;

/// So many keys of a document are looked at.
const MOST_KEYS: usize = 100;

/// The keys of an issuer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeySet(Vec<Key>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Key {
    kid: String,
    /// The only algorithm it is for; none: any of its kind.
    algorithm: Option<Algorithm>,
    material: Material,
}

/// What a key is made of. The kind of key and the algorithm of a token must fit, so that no key is used as another.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Material {
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// A point, uncompressed, and its curve.
    Ec(Curve, Vec<u8>),
    Ed25519(Vec<u8>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Curve {
    P256,
    P384,
    P521,
}

/// A document that holds no keys. For the log only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is no set of keys")]
pub struct NoKeySet;

/// What a set of keys says of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is signed with one of them.
    Signed,
    /// It is not signed with the key that it names, or with any where it names none.
    NotSigned,
    /// It names a key that is not there.
    UnknownKey,
}

impl KeySet {
    /// Reads a set of keys. Keys of other kinds, for other uses and with members missing are passed over.
    pub fn parse(document: &[u8]) -> Result<Self, NoKeySet> {
        let document = Document::parse(document).map_err(|_| NoKeySet)?;
        let keys: Option<Vec<Value>> = document.member("keys").map_err(|_| NoKeySet)?;
        let keys = keys.ok_or(NoKeySet)?;
        Ok(Self(keys.iter().take(MOST_KEYS).filter_map(|key| Key::read(key.as_object()?)).collect()))
    }

    /// Whether a token is signed with one of them.
    pub fn verify(&self, token: &Compact<'_>) -> Verdict {
        let mut named = self.0.iter().filter(|key| token.kid.is_empty() || key.kid == token.kid).peekable();
        if named.peek().is_none() {
            return Verdict::UnknownKey;
        }
        if named.any(|key| key.has_signed(token)) { Verdict::Signed } else { Verdict::NotSigned }
    }
}

impl Key {
    fn read(members: &Map<String, Value>) -> Option<Self> {
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
            ("RSA", _) => Material::Rsa { n: bytes("n")?, e: bytes("e")? },
            ("EC", curve) => {
                let curve = Curve::from_name(curve)?;
                Material::Ec(curve, curve.point(&bytes("x")?, &bytes("y")?)?)
            }
            ("OKP", "Ed25519") => Material::Ed25519(bytes("x")?),
            _ => return None,
        };
        Some(Self { kid: text("kid").to_owned(), algorithm, material })
    }

    fn has_signed(&self, token: &Compact<'_>) -> bool {
        if self.algorithm.is_some_and(|only| only != token.algorithm) {
            return false;
        }
        let (message, signature) = (token.signed.as_bytes(), &token.signature);
        match &self.material {
            Material::Rsa { n, e } => rsa(token.algorithm)
                .is_some_and(|how| RsaPublicKeyComponents { n, e }.verify(how, message, signature).is_ok()),
            Material::Ec(curve, point) => {
                curve.of(token.algorithm).is_some_and(|how| checked(how, point, message, signature))
            }
            Material::Ed25519(point) => {
                token.algorithm == Algorithm::EdDSA && checked(&signature::ED25519, point, message, signature)
            }
        }
    }
}

fn checked(how: &'static dyn VerificationAlgorithm, key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    UnparsedPublicKey::new(how, key).verify(message, signature).is_ok()
}

/// How a key of RSA is used; of fewer than 2048 bits it is not.
fn rsa(algorithm: Algorithm) -> Option<&'static RsaParameters> {
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

    /// The algorithm of this curve, if it is that of the token.
    fn of(self, algorithm: Algorithm) -> Option<&'static dyn VerificationAlgorithm> {
        match (self, algorithm) {
            (Self::P256, Algorithm::ES256) => Some(&signature::ECDSA_P256_SHA256_FIXED),
            (Self::P384, Algorithm::ES384) => Some(&signature::ECDSA_P384_SHA384_FIXED),
            (Self::P521, Algorithm::ES512) => Some(&signature::ECDSA_P521_SHA512_FIXED),
            _ => None,
        }
    }

    /// The point of these coordinates, whose leading zeros may have been left out.
    fn point(self, x: &[u8], y: &[u8]) -> Option<Vec<u8>> {
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
