//! Ethereum and Solana wallets for tests; the key is derived from a number.

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use k256::ecdsa::SigningKey;
use serde_json::{Value, json};
use sha3::{Digest, Keccak256};

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
        Self::Ethereum(Box::new(SigningKey::from_slice(&[number; 32]).expect("a small number is a key")))
    }

    /// The Solana wallet of that number.
    pub fn solana(number: u8) -> Self {
        Self::Solana(Ed25519KeyPair::from_seed_unchecked(&[number; 32]).expect("any 32 bytes are a seed"))
    }

    /// The `chain` member of a request.
    pub fn chain(&self) -> &'static str {
        match self {
            Self::Ethereum(_) => "ethereum",
            Self::Solana(_) => "solana",
        }
    }

    /// The address.
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
    pub fn message(&self, domain: &str, now: DateTime<Utc>, more: &[&str]) -> String {
        let (name, network) = match self {
            Self::Ethereum(_) => ("Ethereum", "1"),
            Self::Solana(_) => ("Solana", "solana:mainnet"),
        };
        let issued = now.format("%Y-%m-%dT%H:%M:%SZ");
        let usual = format!(
            "{domain} wants you to sign in with your {name} account:\n{}\n\nSign in to the shop\n\nURI: https://{domain}/\nVersion: 1\nChain ID: {network}\nIssued At: {issued}",
            self.address()
        );
        more.iter().fold(usual, |text, line| format!("{text}\n{line}"))
    }

    /// Signs a text.
    pub fn sign(&self, text: &str) -> String {
        match self {
            Self::Ethereum(key) => {
                let start = format!("\x19Ethereum Signed Message:\n{}", text.len());
                let digest = Keccak256::new().chain_update(start).chain_update(text).finalize();
                let (signature, id) = key.sign_prehash_recoverable(&digest);
                format!("0x{}{:02x}", hex::encode(signature.to_bytes()), 27 + id.to_byte())
            }
            Self::Solana(key) => STANDARD.encode(key.sign(text.as_bytes())),
        }
    }

    /// The body of a Web3 grant with a text and its signature.
    pub fn grant(&self, text: &str) -> Value {
        json!({"chain": self.chain(), "message": text, "signature": self.sign(text)})
    }
}
