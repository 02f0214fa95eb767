//! Verifies Solana signatures of a text or of Ledger's off-chain message.
//! The address is an Ed25519 public key.

use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};

/// The prefix of off-chain messages: <https://docs.anza.xyz/proposals/off-chain-message-signing>.
const OFFCHAIN_PREFIX: &[u8] = b"\xffsolana offchain";

/// Decodes an address: a key of 32 bytes in base58.
pub(super) fn decode_address(address: &str) -> Option<[u8; 32]> {
    bs58::decode(address).into_vec().ok()?.try_into().ok()
}

/// Whether the address signed the text for the domain.
pub(super) fn is_signed(address: &str, domain: &str, text: &str, signature: &[u8]) -> bool {
    let Some(key) = decode_address(address) else { return false };
    let fits = |message: &[u8]| UnparsedPublicKey::new(&ED25519, key).verify(message, signature).is_ok();
    fits(text.as_bytes()) || build_offchain_message(&key, domain, text).is_some_and(|envelope| fits(&envelope))
}

/// Builds an off-chain message; `None` if the text is too long.
/// Version 0, the domain in 32 bytes, format 0 (ASCII), one signer, the length in two bytes.
fn build_offchain_message(key: &[u8; 32], domain: &str, text: &str) -> Option<Vec<u8>> {
    let length = u16::try_from(text.len()).ok()?.to_le_bytes();
    let mut application_domain = [0; 32];
    for (byte, domain_byte) in application_domain.iter_mut().zip(domain.bytes()) {
        *byte = domain_byte;
    }
    Some([OFFCHAIN_PREFIX, &[0], &application_domain, &[0, 1], key, &length, text.as_bytes()].concat())
}
