//! Ethereum: the key that signed a message is recovered from the signature (EIP-191), and its address compared.

use k256::ecdsa::{RecoveryId, Signature, VerifyingKey};
use sha3::{Digest, Keccak256};

/// Whether that address (`0x` and hexadecimal digits of any case) signed the text: 32 bytes `r`, 32 bytes `s`, and which of
/// the keys that fit is meant, from 0 or from 27.
pub(super) fn is_signed(address: &str, text: &str, signature: &[u8]) -> bool {
    recovered(text, signature).is_some_and(|signer| signer.eq_ignore_ascii_case(address))
}

/// The address that signed the text.
fn recovered(text: &str, signature: &[u8]) -> Option<String> {
    let ([r_and_s @ .., v], 65) = (signature, signature.len()) else { return None };
    let given = Signature::from_slice(r_and_s).ok()?;
    // Of the two forms of a signature the reference takes either; they name the same key by the other parity.
    let low = given.normalize_s();
    let id = RecoveryId::from_byte(if *v >= 27 { v - 27 } else { *v })?;
    let id = RecoveryId::new(id.is_y_odd() != (low != given), id.is_x_reduced());
    let key = VerifyingKey::recover_from_prehash(&digest(text), &low, id).ok()?;
    Some(address(&key))
}

/// What is signed of a text.
fn digest(text: &str) -> [u8; 32] {
    let start = format!("\x19Ethereum Signed Message:\n{}", text.len());
    Keccak256::new().chain_update(start).chain_update(text).finalize().into()
}

/// The last 20 bytes of the key's hash, in small letters.
fn address(key: &VerifyingKey) -> String {
    let point = key.to_sec1_point(false);
    let hash = Keccak256::digest(&point.as_bytes()[1..]);
    let digits = hash[12..].iter().map(|byte| format!("{byte:02x}"));
    std::iter::once("0x".to_owned()).chain(digits).collect()
}
