//! Wallets of users: keys derived from a name, signatures of Ethereum (EIP-191) and Solana.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k256::ecdsa::SigningKey;
use serde_json::Value;
use sha3::{Digest, Keccak256};

use super::arguments::Arguments;
use crate::FlowError;

/// The length of the domain in the message of a hardware wallet.
const DOMAIN_LENGTH: usize = 32;

/// Answers a call; `None` if the name is none of a wallet.
pub(super) fn call(name: &str, arguments: &Value) -> Result<Option<Value>, FlowError> {
    let sign: fn(&Value) -> Option<String> = match name {
        "ethereum_sign" => sign_ethereum,
        "solana_sign" => sign_solana,
        "solana_ledger_sign" => sign_solana_envelope,
        _ => return Ok(None),
    };
    let of = Arguments::new(name, arguments);
    sign(arguments).map(|text| Some(text.into())).ok_or_else(|| of.wanted("{\"seed\": name, \"message\": text}"))
}

/// The 32 bytes that the key of a name is derived from.
fn seed(arguments: &Value) -> Option<Vec<u8>> {
    Some(digest(&SHA256, arguments["seed"].as_str()?.as_bytes()).as_ref().to_vec())
}

/// `0x`, then r, s and v in hexadecimal digits; `v` is the value for an even point.
fn sign_ethereum(arguments: &Value) -> Option<String> {
    let key = SigningKey::from_slice(&seed(arguments)?).ok()?;
    let message = arguments["message"].as_str()?;
    let start = format!("\x19Ethereum Signed Message:\n{}", message.len());
    let digest = Keccak256::new().chain_update(start).chain_update(message).finalize();
    let (signature, id) = key.sign_prehash_recoverable(&digest);
    let first = u8::try_from(arguments["v"].as_u64().unwrap_or(27)).ok()?;
    Some(format!("0x{}{:02x}", hex::encode(signature.to_bytes()), first + id.to_byte()))
}

fn solana(arguments: &Value) -> Option<Ed25519KeyPair> {
    Ed25519KeyPair::from_seed_unchecked(&seed(arguments)?).ok()
}

fn sign_solana(arguments: &Value) -> Option<String> {
    let message = arguments["message"].as_str()?;
    Some(STANDARD.encode(solana(arguments)?.sign(message.as_bytes())))
}

/// Signs the off-chain message envelope, as hardware wallets do.
fn sign_solana_envelope(arguments: &Value) -> Option<String> {
    let (key, message) = (solana(arguments)?, arguments["message"].as_str()?);
    let mut domain = arguments["domain"].as_str()?.as_bytes().to_vec();
    domain.resize(DOMAIN_LENGTH, 0);
    let mut envelope = b"\xffsolana offchain\0".to_vec();
    envelope.extend(domain);
    envelope.extend([0, 1]);
    envelope.extend(key.public_key().as_ref());
    envelope.extend(u16::try_from(message.len()).ok()?.to_le_bytes());
    envelope.extend(message.as_bytes());
    Some(STANDARD.encode(key.sign(&envelope)))
}
