//! Solana: an address is a key, which signs a message as it is, or the envelope that a Ledger puts around it.

use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};

/// How a Ledger marks what is no transaction: <https://docs.anza.xyz/proposals/off-chain-message-signing>.
const MARK: &[u8] = b"\xffsolana offchain";

/// The key that an address is: 32 bytes in base58; none if it is no address.
pub(super) fn key(address: &str) -> Option<[u8; 32]> {
    bs58::decode(address).into_vec().ok()?.try_into().ok()
}

/// Whether that address signed the text for that domain.
pub(super) fn is_signed(address: &str, domain: &str, text: &str, signature: &[u8]) -> bool {
    let Some(key) = key(address) else { return false };
    let fits = |message: &[u8]| UnparsedPublicKey::new(&ED25519, key).verify(message, signature).is_ok();
    fits(text.as_bytes()) || envelope(&key, domain, text).is_some_and(|envelope| fits(&envelope))
}

/// Version 0, the domain in 32 bytes, format 0 (ASCII), one signer, the length in two bytes; none for a longer text.
fn envelope(key: &[u8; 32], domain: &str, text: &str) -> Option<Vec<u8>> {
    let length = u16::try_from(text.len()).ok()?.to_le_bytes();
    let mut place = [0; 32];
    for (byte, letter) in place.iter_mut().zip(domain.bytes()) {
        *byte = letter;
    }
    Some([MARK, &[0], &place, &[0, 1], key, &length, text.as_bytes()].concat())
}
