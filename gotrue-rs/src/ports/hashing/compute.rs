//! Computation of a single hash on a hashing thread. Each thread reuses its memory for argon2.

use argon2::{Algorithm, Argon2, Block, Params, Version};
use aws_lc_rs::cipher::{AES_256, EncryptingKey, EncryptionContext, UnboundCipherKey};
use aws_lc_rs::iv::FixedLength;
use base64::Engine;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD, STANDARD_NO_PAD};
use gotrue_rules::domain::policy::{Argon2Cost, PasswordHash};
use subtle::ConstantTimeEq;

use super::stored::{Argon2Hash, FirebaseHash, StoredHash, parse_or_verdict};
use super::verdict::{HashingError, PasswordVerdict};

/// The number of 1 KiB blocks that a thread keeps (64 MiB). More is freed after the job.
const KEPT_BLOCKS: usize = 64 * 1024;

/// Memory that a hashing thread keeps between jobs.
#[derive(Default)]
pub(super) struct HashMemory {
    blocks: Vec<Block>,
}

pub(super) fn hash(
    memory: &mut HashMemory,
    password: &[u8],
    how: PasswordHash,
    salt: [u8; 16],
) -> Result<String, HashingError> {
    match how {
        PasswordHash::Bcrypt { cost } => bcrypt::hash_with_salt(password, cost, salt)
            .map(|parts| parts.format_for_version(bcrypt::Version::TwoA))
            .map_err(|error| HashingError::Parameters(error.to_string())),
        PasswordHash::Argon2id(cost) => {
            let mut new = Argon2Hash { id: true, cost, salt: salt.to_vec(), hash: vec![0; 32] };
            new.hash =
                compute_argon2(memory, password, &new).map_err(|error| HashingError::Parameters(error.to_string()))?;
            Ok(format_argon2id(cost, &new.salt, &new.hash))
        }
    }
}

/// Returns a hash like those of [`hash`] that no password matches.
///
/// It contains random bytes in place of computed ones.
pub(super) fn unusable_hash(how: PasswordHash, salt: [u8; 16], hash: [u8; 32]) -> String {
    match how {
        PasswordHash::Bcrypt { cost } => {
            let encoding = GeneralPurpose::new(&alphabet::BCRYPT, NO_PAD);
            format!("$2a${cost:02}${}{}", encoding.encode(salt), encoding.encode(&hash[..23]))
        }
        PasswordHash::Argon2id(cost) => format_argon2id(cost, &salt, &hash),
    }
}

fn format_argon2id(cost: Argon2Cost, salt: &[u8], hash: &[u8]) -> String {
    let Argon2Cost { memory_kib, passes, lanes } = cost;
    let [salt, hash] = [salt, hash].map(|bytes| STANDARD_NO_PAD.encode(bytes));
    format!("$argon2id$v=19$m={memory_kib},t={passes},p={lanes}${salt}${hash}")
}

pub(super) fn verify(memory: &mut HashMemory, password: &[u8], stored: &str) -> PasswordVerdict {
    let computed = match parse_or_verdict(stored) {
        Err(verdict) => return verdict,
        Ok(StoredHash::Bcrypt(hash)) => bcrypt::hash_with_salt(password, hash.cost, hash.salt.unwrap_or_default())
            .map(|computed| computed.to_string().as_bytes()[29..].ct_eq(&hash.hash).into())
            .map_err(|_| PasswordVerdict::Unreadable("bcrypt parameters that do not fit each other")),
        Ok(StoredHash::Argon2(hash)) => compute_argon2(memory, password, &hash)
            .map(|computed| computed.ct_eq(&hash.hash).into())
            .map_err(|_| PasswordVerdict::Unusable("argon2 parameters that do not fit each other")),
        Ok(StoredHash::Firebase(hash)) => compute_firebase(password, &hash)
            .map(|computed| computed.ct_eq(&hash.hash).into())
            .ok_or(PasswordVerdict::Unusable("Firebase parameters that scrypt does not take")),
    };
    match computed {
        Ok(true) => PasswordVerdict::Match,
        Ok(false) => PasswordVerdict::NoMatch,
        Err(verdict) => verdict,
    }
}

/// Computes the hash of the password with the parameters of `like`.
fn compute_argon2(memory: &mut HashMemory, password: &[u8], like: &Argon2Hash) -> argon2::Result<Vec<u8>> {
    let Argon2Cost { memory_kib, passes, lanes } = like.cost;
    let params = Params::new(memory_kib, passes, lanes, Some(like.hash.len()))?;
    let needed = params.block_count();
    if memory.blocks.len() < needed {
        memory.blocks.resize(needed, Block::new());
    }
    let algorithm = if like.id { Algorithm::Argon2id } else { Algorithm::Argon2i };
    let mut computed = vec![0; like.hash.len()];
    let done = Argon2::new(algorithm, Version::V0x13, params).hash_password_into_with_memory(
        password,
        &like.salt,
        &mut computed,
        &mut memory.blocks[..needed],
    );
    if memory.blocks.len() > KEPT_BLOCKS {
        memory.blocks = Vec::new();
    }
    done.map(|()| computed)
}

/// Firebase's scrypt variant: AES-256-CTR over the signer key, keyed by scrypt of the password.
fn compute_firebase(password: &[u8], like: &FirebaseHash) -> Option<Vec<u8>> {
    let (log_n, r) = (u8::try_from(like.log_n).ok()?, u32::try_from(like.r).ok()?);
    let params = scrypt::Params::new(log_n, r, like.p.into()).ok()?;
    let mut key = [0; 32];
    scrypt::scrypt(password, &[&like.salt[..], &like.separator[..]].concat(), &params, &mut key).ok()?;
    let cipher = EncryptingKey::ctr(UnboundCipherKey::new(&AES_256, &key).ok()?).ok()?;
    let mut computed = like.signer_key.clone();
    cipher.less_safe_encrypt(&mut computed, EncryptionContext::Iv128(FixedLength::from([0; 16]))).ok()?;
    Some(computed)
}
