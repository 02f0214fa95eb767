//! The supported chains and the encodings of their signatures.

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use foundation::error::{Error, Result};

use crate::domain::policy::{Web3ChainPolicy, Web3Policy};

/// A blockchain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chain {
    /// Ethereum and compatible chains: Sign-In with Ethereum (EIP-4361).
    Ethereum,
    /// Solana: Sign-In with Solana.
    Solana,
}

/// As in the reference, trailing bits are ignored.
const SIGNATURE_BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);

impl Chain {
    /// Parses the chain's name in requests.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Ethereum, Self::Solana].into_iter().find(|chain| chain.as_str() == word)
    }

    /// The name in requests and claims.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ethereum => "ethereum",
            Self::Solana => "solana",
        }
    }

    /// The name in messages.
    pub fn display_name(self) -> &'static str {
        match self {
            Self::Ethereum => "Ethereum",
            Self::Solana => "Solana",
        }
    }

    /// The chain's settings.
    pub fn policy(self, policy: &Web3Policy) -> &Web3ChainPolicy {
        match self {
            Self::Ethereum => &policy.ethereum,
            Self::Solana => &policy.solana,
        }
    }

    /// The name of the message format, which prefixes error messages.
    pub(super) fn message_format(self) -> &'static str {
        match self {
            Self::Ethereum => "siwe",
            Self::Solana => "siws",
        }
    }

    /// Decodes a signature.
    /// One of the right length that cannot be decoded is empty, which never verifies.
    pub(super) fn decode_signature(self, text: &str) -> Result<Vec<u8>> {
        match self {
            Self::Ethereum => decode_ethereum_signature(text),
            Self::Solana => decode_solana_signature(text),
        }
    }
}

/// Decodes 65 bytes in hexadecimal digits after `0x`. The length check does not require the prefix.
fn decode_ethereum_signature(text: &str) -> Result<Vec<u8>> {
    let digits = text.strip_prefix("0x");
    if digits.unwrap_or(text).len() != 130 {
        let message = "signature must be 65 bytes long, encoded as a 130 character-long hexadecimal string";
        return Err(Error::invalid(message));
    }
    Ok(digits.and_then(|digits| hex::decode(digits).ok()).unwrap_or_default())
}

/// Decodes 64 bytes in standard or URL-safe base64, with or without padding.
fn decode_solana_signature(text: &str) -> Result<Vec<u8>> {
    if !matches!(text.len(), 86 | 88) {
        return Err(Error::invalid("signature must be 64 bytes encoded as base64 with or without padding"));
    }
    let text = text.trim_end_matches('=').replace('+', "-").replace('/', "_");
    SIGNATURE_BASE64.decode(text).map_err(|_| Error::invalid("signature does not contain valid base64 characters"))
}
