//! Verifies Ethereum signatures: recovers the signing key (EIP-191) and compares its address.

use k256::ecdsa::{RecoveryId, Signature, VerifyingKey};
use sha3::{Digest, Keccak256};

/// Whether the address signed the text.
/// The address is `0x` and hexadecimal digits in any letter case.
/// The signature is 32 bytes `r`, 32 bytes `s` and the recovery id, counted from 0 or from 27.
pub(super) fn is_signed(address: &str, text: &str, signature: &[u8]) -> bool {
    recover_address(text, signature).is_some_and(|signer| signer.eq_ignore_ascii_case(address))
}

/// Recovers the address that signed the text.
fn recover_address(text: &str, signature: &[u8]) -> Option<String> {
    let ([r_and_s @ .., v], 65) = (signature, signature.len()) else { return None };
    let given = Signature::from_slice(r_and_s).ok()?;
    // The reference accepts low and high `s`; they name the same key with opposite parity.
    let low = given.normalize_s();
    let id = RecoveryId::from_byte(if *v >= 27 { v - 27 } else { *v })?;
    let id = RecoveryId::new(id.is_y_odd() != (low != given), id.is_x_reduced());
    let key = VerifyingKey::recover_from_prehash(&message_hash(text), &low, id).ok()?;
    Some(format_address(&key))
}

/// The signed hash of a text (EIP-191 version 0x45).
fn message_hash(text: &str) -> [u8; 32] {
    let start = format!("\x19Ethereum Signed Message:\n{}", text.len());
    Keccak256::new().chain_update(start).chain_update(text).finalize().into()
}

/// The last 20 bytes of the key's hash, in lower-case hexadecimal digits.
fn format_address(key: &VerifyingKey) -> String {
    let point = key.to_sec1_point(false);
    let hash = Keccak256::digest(&point.as_bytes()[1..]);
    format!("0x{}", hex::encode(&hash[12..]))
}
