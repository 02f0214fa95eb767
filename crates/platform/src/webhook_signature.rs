//! Signatures of outgoing calls by Standard Webhooks.

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use foundation::error::{Error, Result};
use foundation::secret::Secret;
use uuid::Uuid;

/// The signing keys of a hook, or why calls cannot be signed.
pub enum Signer {
    /// The keys, each of which signs.
    Keys(Vec<hmac::Key>),
    /// The reason why nothing can be signed.
    Unusable(&'static str),
}

/// Omits the keys.
impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Keys(keys) => write!(f, "Keys({})", keys.len()),
            Self::Unusable(why) => write!(f, "Unusable({why})"),
        }
    }
}

impl Signer {
    /// Asymmetric key pairs pass the check at start and fail to sign, like in the reference.
    pub fn new(secrets: &[Secret]) -> Self {
        let key = |secret: &Secret| {
            let text = secret.reveal().strip_prefix("v1,").ok_or("invalid signature format")?;
            let bytes = STANDARD.decode(text.strip_prefix("whsec_").unwrap_or(text));
            let bytes = bytes.map_err(|_| "a secret is not base64 with its padding")?;
            Ok(hmac::Key::new(hmac::HMAC_SHA256, &bytes))
        };
        secrets.iter().map(key).collect::<std::result::Result<_, _>>().map_or_else(Self::Unusable, Self::Keys)
    }

    /// Returns one signature per secret.
    pub fn sign(&self, id: Uuid, timestamp: i64, payload: &str) -> Result<String> {
        let message = format!("{id}.{timestamp}.{payload}");
        let keys = match self {
            Self::Keys(keys) => keys,
            Self::Unusable(why) => return Err(Error::internal(format!("Error generating signatures: {why}"))),
        };
        let signature =
            |key: &hmac::Key| format!("v1,{}", STANDARD.encode(hmac::sign(key, message.as_bytes()).as_ref()));
        Ok(keys.iter().map(signature).collect::<Vec<_>>().join(", "))
    }
}
