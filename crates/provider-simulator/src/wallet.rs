//! Wallets of users: signatures of Ethereum (EIP-191) and Solana.

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use foundation::time::{Time, format_seconds};
use k256::ecdsa::SigningKey;
use serde_json::{Value, json};
use sha3::{Digest, Keccak256};

/// The length of the domain in the message of a hardware wallet.
const DOMAIN_LENGTH: usize = 32;

/// A wallet with a private key.
pub enum Wallet {
    /// An Ethereum wallet.
    Ethereum(Box<SigningKey>),
    /// A Solana wallet.
    Solana(Ed25519KeyPair),
}

impl std::fmt::Debug for Wallet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.chain(), self.address())
    }
}

impl Wallet {
    /// The Ethereum wallet of that number; 0 is not a valid key.
    pub fn ethereum(number: u8) -> Self {
        Self::ethereum_of(&[number; 32]).expect("a small number is a key")
    }

    /// The Solana wallet of that number.
    pub fn solana(number: u8) -> Self {
        Self::solana_of(&[number; 32]).expect("any 32 bytes are a seed")
    }

    /// The Ethereum wallet of a secret, if it is a key.
    pub fn ethereum_of(secret: &[u8]) -> Option<Self> {
        SigningKey::from_slice(secret).ok().map(|key| Self::Ethereum(Box::new(key)))
    }

    /// The Solana wallet of a seed of 32 bytes.
    pub fn solana_of(seed: &[u8]) -> Option<Self> {
        Ed25519KeyPair::from_seed_unchecked(seed).ok().map(Self::Solana)
    }

    /// The `chain` member of a request.
    pub fn chain(&self) -> &'static str {
        match self {
            Self::Ethereum(_) => "ethereum",
            Self::Solana(_) => "solana",
        }
    }

    pub fn address(&self) -> String {
        match self {
            Self::Ethereum(key) => {
                let point = key.verifying_key().to_sec1_point(false);
                let hash = Keccak256::digest(&point.as_bytes()[1..]);
                format!("0x{}", hex::encode(&hash[12..]))
            }
            Self::Solana(key) => bs58::encode(key.public_key()).into_string(),
        }
    }

    /// A sign-in message for a domain, issued at `now`, with additional lines at the end.
    pub fn message(&self, domain: &str, now: Time, more: &[&str]) -> String {
        let (name, network) = match self {
            Self::Ethereum(_) => ("Ethereum", "1"),
            Self::Solana(_) => ("Solana", "solana:mainnet"),
        };
        let issued = format_seconds(now);
        let usual = format!(
            "{domain} wants you to sign in with your {name} account:\n{}\n\nSign in to the shop\n\nURI: https://{domain}/\nVersion: 1\nChain ID: {network}\nIssued At: {issued}",
            self.address()
        );
        more.iter().fold(usual, |text, line| format!("{text}\n{line}"))
    }

    /// Signs a text.
    pub fn sign(&self, text: &str) -> String {
        self.sign_with(text, 27)
    }

    /// Signs a text; `even` is the value `v` of a signature of Ethereum whose point is even.
    pub fn sign_with(&self, text: &str, even: u8) -> String {
        match self {
            Self::Ethereum(key) => {
                let start = format!("\x19Ethereum Signed Message:\n{}", text.len());
                let digest = Keccak256::new().chain_update(start).chain_update(text).finalize();
                let (signature, id) = key.sign_prehash_recoverable(&digest);
                format!("0x{}{:02x}", hex::encode(signature.to_bytes()), even.saturating_add(id.to_byte()))
            }
            Self::Solana(key) => STANDARD.encode(key.sign(text.as_bytes())),
        }
    }

    /// Signs the off-chain message envelope of Solana, as hardware wallets do; `None` if the text is too long for it.
    pub fn sign_envelope(&self, domain: &str, text: &str) -> Option<String> {
        let Self::Solana(key) = self else { return None };
        let mut domain = domain.as_bytes().to_vec();
        domain.resize(DOMAIN_LENGTH, 0);
        let mut envelope = b"\xffsolana offchain\0".to_vec();
        envelope.extend(domain);
        envelope.extend([0, 1]);
        envelope.extend(key.public_key().as_ref());
        envelope.extend(u16::try_from(text.len()).ok()?.to_le_bytes());
        envelope.extend(text.as_bytes());
        Some(STANDARD.encode(key.sign(&envelope)))
    }

    /// The body of a Web3 grant with a text and its signature.
    pub fn grant(&self, text: &str) -> Value {
        json!({"chain": self.chain(), "message": text, "signature": self.sign(text)})
    }
}
