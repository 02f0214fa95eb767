//! The chains whose wallets may sign, and how their signatures are written.

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::domain::error::{Error, Result};
use crate::domain::policy::{Web3ChainPolicy, Web3Policy};

/// A chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chain {
    /// Ethereum and what speaks like it: EIP-4361.
    Ethereum,
    /// Solana: Sign-in with Solana.
    Solana,
}

/// Bits after the last whole byte are not looked at, as the reference does not.
const SIGNATURE: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);

impl Chain {
    /// The chain of that name, as requests spell it.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Ethereum, Self::Solana].into_iter().find(|chain| chain.word() == word)
    }

    /// Its name on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ethereum => "ethereum",
            Self::Solana => "solana",
        }
    }

    /// Its name in texts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ethereum => "Ethereum",
            Self::Solana => "Solana",
        }
    }

    /// What the operator decided about it.
    pub fn policy(self, policy: &Web3Policy) -> &Web3ChainPolicy {
        match self {
            Self::Ethereum => &policy.ethereum,
            Self::Solana => &policy.solana,
        }
    }

    /// The name of its messages' grammar, with which complaints begin.
    pub(super) fn grammar(self) -> &'static str {
        match self {
            Self::Ethereum => "siwe",
            Self::Solana => "siws",
        }
    }

    /// The bytes of a signature; none where it has the length of one but is none, and so fits nothing.
    pub(super) fn signature(self, text: &str) -> Result<Vec<u8>> {
        match self {
            Self::Ethereum => ethereum(text),
            Self::Solana => solana(text),
        }
    }
}

/// 65 bytes in hexadecimal after `0x`, which only counts when the length is looked at.
fn ethereum(text: &str) -> Result<Vec<u8>> {
    let digits = text.strip_prefix("0x");
    if digits.unwrap_or(text).len() != 130 {
        let words = "signature must be 65 bytes long, encoded as a 130 character-long hexadecimal string";
        return Err(Error::invalid(words));
    }
    Ok(digits.and_then(from_hex).unwrap_or_default())
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, _) = text.as_bytes().as_chunks::<2>();
    pairs.iter().map(|[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect()
}

/// 64 bytes in base64 of either alphabet, with or without padding.
fn solana(text: &str) -> Result<Vec<u8>> {
    if !matches!(text.len(), 86 | 88) {
        return Err(Error::invalid("signature must be 64 bytes encoded as base64 with or without padding"));
    }
    let text = text.trim_end_matches('=').replace('+', "-").replace('/', "_");
    SIGNATURE.decode(text).map_err(|_| Error::invalid("signature does not contain valid base64 characters"))
}
