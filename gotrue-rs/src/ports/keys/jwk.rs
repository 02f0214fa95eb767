//! JSON Web Keys: parsing, signing, verification, and the public form.

use std::str::FromStr;

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair as RsaKeyPair, KeyPairComponents, PublicKeyComponents};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P521_SHA512_FIXED, ECDSA_P521_SHA512_FIXED_SIGNING, EcdsaKeyPair,
    EcdsaSigningAlgorithm, Ed25519KeyPair, UnparsedPublicKey,
};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gotrue_rules::wire::go_base64;
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, EncodingKey};
use serde_json::{Value, json};

use super::token::{Object, Signature, VerifyError};

/// Members that must never be published.
const PRIVATE_MEMBERS: [&str; 9] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "aws:kms:arn"];

/// Why the keys cannot be used: names the key and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// No key has the operation `sign`.
    #[error("no signing key detected: one key needs \"sign\" in its key_ops")]
    NoSigner,
    /// More than one key has the operation `sign`.
    #[error(
        "multiple signing keys detected, only 1 signing key is supported: leave \"sign\" in the key_ops of one of {0}"
    )]
    ManySigners(String),
    /// A key is invalid.
    #[error("the JWT key {kid:?} cannot be used: {reason}")]
    Unusable {
        /// The key id.
        kid: String,
        /// Why it is invalid.
        reason: String,
    },
}

/// Why a token could not be signed: a server error.
#[derive(Debug, thiserror::Error)]
pub enum SignError {
    /// The claims are not a JSON object.
    #[error("the claims are no JSON object: {0}")]
    Claims(#[from] serde_json::Error),
    /// The library rejected the key.
    #[error("signing failed: {0}")]
    Key(String),
}

/// One key.
#[derive(Debug)]
pub(super) struct PreparedKey {
    pub kid: String,
    pub method: &'static str,
    pub signing: Option<SigningMaterial>,
    pub verifying: Verifying,
    /// The published members; `None` for a secret.
    pub public: Option<Object>,
}

/// A signing key. jsonwebtoken supports all algorithms except ES512.
pub(super) enum SigningMaterial {
    Jwt(EncodingKey, Algorithm, &'static str),
    Es512(Box<EcdsaKeyPair>),
}

/// A verification key.
#[derive(Debug)]
pub(super) enum Verifying {
    Jwt(DecodingKey),
    /// A point on P-521.
    Es512(Vec<u8>),
}

/// Prepares a symmetric key. An empty one is refused: anyone could sign tokens with it.
pub(super) fn secret_key(bytes: &[u8], kid: &str) -> Result<PreparedKey, String> {
    let verifying = Verifying::secret(bytes).ok_or("it is empty")?;
    let signing = SigningMaterial::Jwt(EncodingKey::from_secret(bytes), Algorithm::HS256, "HS256");
    Ok(PreparedKey { kid: kid.to_owned(), method: "HS256", signing: Some(signing), verifying, public: None })
}

/// Parses one configured key.
pub(super) fn parse_key(object: &Object) -> Result<PreparedKey, KeyError> {
    let kid = object.get("kid").and_then(Value::as_str).unwrap_or_default().to_owned();
    parse(object, &kid).map_err(|reason| KeyError::Unusable { kid, reason })
}

fn parse(object: &Object, kid: &str) -> Result<PreparedKey, String> {
    if object.contains_key("aws:kms:arn") {
        return Err("keys held by AWS KMS are not supported; give the private key itself".to_owned());
    }
    let signs = object.get("key_ops").and_then(Value::as_array).is_some_and(|ops| ops.iter().any(|op| op == "sign"));
    let kty = object.get("kty").and_then(Value::as_str).unwrap_or_default();
    if kty == "oct" {
        let mut key = secret_key(&decode_octets(object)?, kid)?;
        key.signing = key.signing.filter(|_| signs);
        return Ok(key);
    }
    let (method, verifying) = parse_verifying(object, kty)?;
    let signing = if signs { Some(parse_signing(object, method)?) } else { None };
    Ok(PreparedKey { kid: kid.to_owned(), method, signing, verifying, public: Some(public_members(object)) })
}

fn parse_verifying(object: &Object, kty: &str) -> Result<(&'static str, Verifying), String> {
    let alg = object.get("alg").and_then(Value::as_str).unwrap_or_default();
    let curve = object.get("crv").and_then(Value::as_str).unwrap_or_default();
    match (alg, kty, curve) {
        ("RS256" | "RS512", "RSA", _) => {
            let modulus = decode_member(object, "n")?;
            if modulus.len() < 256 {
                return Err("an RSA key needs at least 2048 bits".to_owned());
            }
            let key = DecodingKey::from_rsa_raw_components(&modulus, &decode_member(object, "e")?);
            Ok((if alg == "RS256" { "RS256" } else { "RS512" }, Verifying::Jwt(key)))
        }
        ("ES256", "EC", "P-256") => Ok(("ES256", Verifying::Jwt(DecodingKey::from_ec_der(&decode_point(object, 32)?)))),
        ("ES512", "EC", "P-521") => Ok(("ES512", Verifying::Es512(decode_point(object, 66)?))),
        ("EdDSA", "OKP", "Ed25519") => {
            Ok(("EdDSA", Verifying::Jwt(DecodingKey::from_ed_der(&decode_member(object, "x")?))))
        }
        _ => Err(format!(
            "alg {alg:?} with kty {kty:?} and crv {curve:?}; use RS256 or RS512 with RSA, ES256 with P-256, ES512 with P-521, EdDSA \
             with Ed25519, or kty \"oct\""
        )),
    }
}

fn parse_signing(object: &Object, method: &'static str) -> Result<SigningMaterial, String> {
    let private = "its private members do not belong to its public ones";
    match method {
        "ES256" => {
            let der = parse_ec_key(object, &ECDSA_P256_SHA256_FIXED_SIGNING, 32)?.to_pkcs8v1().map_err(|_| private)?;
            Ok(SigningMaterial::Jwt(EncodingKey::from_ec_der(der.as_ref()), Algorithm::ES256, method))
        }
        "ES512" => Ok(SigningMaterial::Es512(Box::new(parse_ec_key(object, &ECDSA_P521_SHA512_FIXED_SIGNING, 66)?))),
        "EdDSA" => {
            let pair =
                Ed25519KeyPair::from_seed_and_public_key(&decode_member(object, "d")?, &decode_member(object, "x")?)
                    .map_err(|_| private)?;
            let der = pair.to_pkcs8().map_err(|_| private)?;
            Ok(SigningMaterial::Jwt(EncodingKey::from_ed_der(der.as_ref()), Algorithm::EdDSA, method))
        }
        _ => {
            let algorithm = if method == "RS256" { Algorithm::RS256 } else { Algorithm::RS512 };
            Ok(SigningMaterial::Jwt(EncodingKey::from_rsa_der(&parse_rsa_key(object)?), algorithm, method))
        }
    }
}

fn parse_ec_key(
    object: &Object,
    algorithm: &'static EcdsaSigningAlgorithm,
    size: usize,
) -> Result<EcdsaKeyPair, String> {
    let (private, public) = (decode_number(object, "d", size)?, decode_point(object, size)?);
    EcdsaKeyPair::from_private_key_and_public_key(algorithm, &private, &public)
        .map_err(|_| "d is not the private key of x and y".to_owned())
}

/// Returns the `RSAPrivateKey` (RFC 8017) of an RSA key.
///
/// The library writes it inside a `PrivateKeyInfo` (RFC 5208).
fn parse_rsa_key(object: &Object) -> Result<Vec<u8>, String> {
    let member = |name| decode_member(object, name);
    let components = KeyPairComponents {
        public_key: PublicKeyComponents { n: member("n")?, e: member("e")? },
        d: member("d")?,
        p: member("p")?,
        q: member("q")?,
        dP: member("dp")?,
        dQ: member("dq")?,
        qInv: member("qi")?,
    };
    let pair = RsaKeyPair::from_components(&components).map_err(|_| "its members are no RSA key")?;
    let info = pair.as_der().map_err(|_| "its members are no RSA key")?;
    // SEQUENCE, INTEGER 0, SEQUENCE of the algorithm: fixed lengths for RSA of at least 2048 bits, then OCTET STRING.
    info.as_ref().get(26..).map(<[u8]>::to_vec).ok_or_else(|| "its members are no RSA key".to_owned())
}

/// Returns the members without the private ones; unknown members are kept.
fn public_members(object: &Object) -> Object {
    let mut public = object.clone();
    public.retain(|name, _| !PRIVATE_MEMBERS.contains(&name.as_str()));
    public.insert("use".to_owned(), json!("sig"));
    public.insert("key_ops".to_owned(), json!(["verify"]));
    public
}

fn find_member<'a>(object: &'a Object, name: &str) -> Result<&'a str, String> {
    object.get(name).and_then(Value::as_str).ok_or_else(|| format!("member {name} is missing"))
}

fn decode_member(object: &Object, name: &str) -> Result<Vec<u8>, String> {
    let text = find_member(object, name)?.trim_end_matches('=');
    URL_SAFE_NO_PAD.decode(text).map_err(|_| format!("member {name} is no base64url"))
}

/// Decodes a symmetric key; of its base64, the reference accepts every variant.
fn decode_octets(object: &Object) -> Result<Vec<u8>, String> {
    go_base64::decode_any(find_member(object, "k")?).ok_or_else(|| "member k is no base64".to_owned())
}

/// Decodes a number of that many bytes, whose leading zeros may be absent.
fn decode_number(object: &Object, name: &str, size: usize) -> Result<Vec<u8>, String> {
    let given = decode_member(object, name)?;
    let missing = size.checked_sub(given.len()).ok_or_else(|| format!("member {name} is longer than {size} bytes"))?;
    Ok([vec![0; missing], given].concat())
}

fn decode_point(object: &Object, size: usize) -> Result<Vec<u8>, String> {
    Ok([vec![4], decode_number(object, "x", size)?, decode_number(object, "y", size)?].concat())
}

impl SigningMaterial {
    pub(super) fn method(&self) -> &'static str {
        match self {
            Self::Jwt(_, _, method) => method,
            Self::Es512(_) => "ES512",
        }
    }

    /// Signs the message and returns the signature in base64url.
    pub(super) fn sign(&self, message: &[u8]) -> Result<String, SignError> {
        match self {
            Self::Jwt(key, algorithm, _) => {
                jsonwebtoken::crypto::sign(message, key, *algorithm).map_err(|error| SignError::Key(error.to_string()))
            }
            Self::Es512(pair) => {
                let signature =
                    pair.sign(&SystemRandom::new(), message).map_err(|error| SignError::Key(error.to_string()))?;
                Ok(URL_SAFE_NO_PAD.encode(signature))
            }
        }
    }
}

impl std::fmt::Debug for SigningMaterial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SigningMaterial({})", self.method())
    }
}

impl Verifying {
    /// Creates the key of a secret; an empty one verifies nothing.
    pub(super) fn secret(bytes: &[u8]) -> Option<Self> {
        (!bytes.is_empty()).then(|| Self::Jwt(DecodingKey::from_secret(bytes)))
    }

    /// Verifies the signature of the message under that algorithm.
    pub(super) fn verify(&self, method: &str, message: &[u8], signature: &Signature) -> Result<(), VerifyError> {
        let family = match method.get(..2) {
            Some("HS") => AlgorithmFamily::Hmac,
            Some("RS" | "PS") => AlgorithmFamily::Rsa,
            Some("ES") => AlgorithmFamily::Ec,
            Some("Ed") => AlgorithmFamily::Ed,
            _ => return Err(VerifyError::Signature("'none' signature type is not allowed")),
        };
        let (of_kind, wrong_kind, wrong_signature) = match family {
            AlgorithmFamily::Hmac => (self.is(family), "HMAC verify expects []byte", "signature is invalid"),
            AlgorithmFamily::Rsa => {
                (self.is(family), "RSA verify expects *rsa.PublicKey", "crypto/rsa: verification error")
            }
            AlgorithmFamily::Ec => {
                (self.is(family), "ECDSA verify expects *ecdsa.PublicKey", "crypto/ecdsa: verification error")
            }
            AlgorithmFamily::Ed => {
                (self.is(family), "Ed25519 verify expects crypto.PublicKey", "ed25519: verification error")
            }
        };
        if !of_kind {
            return Err(VerifyError::WrongKey(wrong_kind));
        }
        let verified = match self {
            _ if !signature.is_accepted_spelling => false,
            Self::Es512(point) => {
                let key = UnparsedPublicKey::new(&ECDSA_P521_SHA512_FIXED, point);
                method == "ES512" && key.verify(message, &signature.bytes).is_ok()
            }
            Self::Jwt(key) => Algorithm::from_str(method).is_ok_and(|algorithm| {
                let encoded = URL_SAFE_NO_PAD.encode(&signature.bytes);
                jsonwebtoken::crypto::verify(&encoded, message, key, algorithm).unwrap_or(false)
            }),
        };
        if verified { Ok(()) } else { Err(VerifyError::Signature(wrong_signature)) }
    }

    fn is(&self, family: AlgorithmFamily) -> bool {
        match self {
            Self::Jwt(key) => key.family() == family,
            Self::Es512(_) => family == AlgorithmFamily::Ec,
        }
    }
}
