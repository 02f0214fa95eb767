//! The forms a password hash is stored in, read from the text of `users.encrypted_password` (schema.md §5.2). Every
//! number in it is bounded before it costs time or memory: whoever may import accounts must not be able to stop us.

use base64::Engine;
use base64::alphabet::BCRYPT;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD, STANDARD, STANDARD_NO_PAD};
use gotrue_rules::domain::policy::PasswordHash;

use super::Verdict;

/// A stored hash, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stored {
    Bcrypt(BcryptHash),
    Argon2(Argon2Hash),
    Firebase(FirebaseHash),
}

/// `$2a$10$` and 53 characters; `$2b$`, `$2x$` and `$2y$` are the same.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BcryptHash {
    pub cost: u32,
    pub salt: [u8; 16],
    /// The last 31 characters, as written.
    pub hash: String,
}

/// `$argon2id$v=19$m=…,t=…,p=…$salt$hash`, or argon2i.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Argon2Hash {
    pub id: bool,
    pub memory_kib: u32,
    pub passes: u32,
    pub lanes: u32,
    pub salt: Vec<u8>,
    pub hash: Vec<u8>,
}

/// `$fbscrypt$v=1,n=…,r=…,p=…,ss=…,sk=…$salt$hash`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FirebaseHash {
    pub log_n: u8,
    pub r: u32,
    pub p: u32,
    pub separator: Vec<u8>,
    pub signer_key: Vec<u8>,
    pub salt: Vec<u8>,
    pub hash: Vec<u8>,
}

/// 1 GiB, as the reference.
const MAX_ARGON2_KIB: u32 = 1 << 20;
const MAX_ARGON2_PASSES: u32 = 20;
const MAX_ARGON2_LANES: u32 = 16;
/// Cost 16 takes seconds already, each step doubles; 31 would hold a thread for days.
const MAX_BCRYPT_COST: u32 = 16;
/// 128·r·N bytes of scrypt.
const MAX_SCRYPT_BYTES: u64 = 1 << 28;
const MAX_SCRYPT_PARALLEL: u32 = 16;
/// Some tools fill the unused bits at the end of a salt; the reference does not mind.
const BCRYPT_BASE64: GeneralPurpose = GeneralPurpose::new(&BCRYPT, NO_PAD.with_decode_allow_trailing_bits(true));

/// Whether a stored hash is what a new password would get today, so that it need not be written again.
pub fn is_current(stored: &str, how: PasswordHash) -> bool {
    match (read(stored), how) {
        (Ok(Stored::Bcrypt(hash)), PasswordHash::Bcrypt { cost }) => hash.cost == cost,
        (Ok(Stored::Argon2(hash)), PasswordHash::Argon2id) => {
            hash.id && (hash.memory_kib, hash.passes, hash.lanes) == super::compute::NEW_ARGON2ID
        }
        _ => false,
    }
}

/// Why a hash made elsewhere could not be compared with; none if it could.
pub fn unusable(stored: &str) -> Option<&'static str> {
    match read(stored) {
        Ok(_) | Err(Verdict::Match | Verdict::NoMatch) => None,
        Err(Verdict::Unusable(why) | Verdict::Unreadable(why)) => Some(why),
    }
}

/// Takes a stored hash apart, or says what to answer instead.
pub(super) fn read(stored: &str) -> Result<Stored, Verdict> {
    if let Some(rest) = stored.strip_prefix("$argon2") {
        argon2(rest).map(Stored::Argon2).map_err(Verdict::Unusable)
    } else if let Some(rest) = stored.strip_prefix("$fbscrypt$") {
        firebase(rest).map(Stored::Firebase).map_err(Verdict::Unusable)
    } else {
        bcrypt(stored).map(Stored::Bcrypt).map_err(Verdict::Unreadable)
    }
}

fn bcrypt(stored: &str) -> Result<BcryptHash, &'static str> {
    let form = "not a bcrypt hash of 60 characters";
    let bytes = stored.as_bytes();
    let (Some(b"$2"), Some(b'a' | b'b' | b'y' | b'x')) = (bytes.get(..2), bytes.get(2)) else { return Err(form) };
    if bytes.len() != 60 || bytes[3] != b'$' || bytes[6] != b'$' || !bytes[4..6].iter().all(u8::is_ascii_digit) {
        return Err(form);
    }
    let cost = u32::from(bytes[4] - b'0') * 10 + u32::from(bytes[5] - b'0');
    if !(4..=MAX_BCRYPT_COST).contains(&cost) {
        return Err("a bcrypt cost outside 4 to 16");
    }
    let mut salt = [0; 16];
    let (salt_text, hash) = stored.get(7..).and_then(|rest| rest.split_at_checked(22)).ok_or(form)?;
    match BCRYPT_BASE64.decode_slice(salt_text, &mut salt) {
        Ok(16) => Ok(BcryptHash { cost, salt, hash: hash.to_owned() }),
        _ => Err("a bcrypt salt that is no base64"),
    }
}

fn argon2(rest: &str) -> Result<Argon2Hash, &'static str> {
    let mut parts = rest.split('$');
    let id = match parts.next() {
        Some("id") => true,
        Some("i") => false,
        _ => return Err("an argon2 variant other than argon2i and argon2id"),
    };
    if parts.next() != Some("v=19") {
        return Err("an argon2 version other than 19");
    }
    let (Some(parameters), Some(salt), Some(hash), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err("an argon2 hash without parameters, salt and hash");
    };
    let [memory_kib, passes, lanes] = argon2_parameters(parameters)?;
    let decode = |text| STANDARD_NO_PAD.decode(text).map_err(|_| "an argon2 salt or hash that is no base64");
    let (salt, hash) = (decode(salt)?, decode(hash)?);
    if hash.len() < 4 || salt.len() < 8 {
        return Err("an argon2 salt or hash that is too short");
    }
    Ok(Argon2Hash { id, memory_kib, passes, lanes, salt, hash })
}

/// `m=…,t=…,p=…`. `keyid` and `data` name inputs that we do not have.
fn argon2_parameters(text: &str) -> Result<[u32; 3], &'static str> {
    let mut fields = text.split(',');
    let mut number = |name: &str, most: u32| {
        let value = fields.next().and_then(|field| field.strip_prefix(name))?.parse().ok()?;
        (1..=most).contains(&value).then_some(value)
    };
    let read = [number("m=", MAX_ARGON2_KIB), number("t=", MAX_ARGON2_PASSES), number("p=", MAX_ARGON2_LANES)];
    let [Some(memory), Some(passes), Some(lanes)] = read else {
        return Err("argon2 parameters missing or over 1 GiB, 20 passes, 16 lanes");
    };
    if fields.next().is_some() {
        return Err("an argon2 hash made with a secret key or data");
    }
    Ok([memory, passes, lanes])
}

fn firebase(rest: &str) -> Result<FirebaseHash, &'static str> {
    let form = "a Firebase hash that is not v=1,n=,r=,p=,ss=,sk=, salt and hash";
    let mut parts = rest.split('$');
    let (Some(parameters), Some(salt), Some(hash), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(form);
    };
    let mut fields = parameters.split(',');
    let mut field = |name: &str| fields.next().and_then(|field| field.strip_prefix(name)).ok_or(form);
    if field("v=")? != "1" {
        return Err("a Firebase hash of another version");
    }
    let log_n: u8 = field("n=")?.parse().map_err(|_| form)?;
    let [r, p] = [field("r=")?.parse::<u32>().map_err(|_| form)?, field("p=")?.parse::<u32>().map_err(|_| form)?];
    let decode = |text: &str| STANDARD.decode(text).map_err(|_| "a Firebase hash with a part that is no base64");
    let [separator, signer_key] = [decode(field("ss=")?)?, decode(field("sk=")?)?];
    if fields.next().is_some() {
        return Err(form);
    }
    let bytes = 1_u64.checked_shl(log_n.into()).and_then(|n| n.checked_mul(128 * u64::from(r)));
    if log_n == 0
        || log_n > 30
        || r == 0
        || p == 0
        || p > MAX_SCRYPT_PARALLEL
        || bytes.is_none_or(|b| b > MAX_SCRYPT_BYTES)
    {
        return Err("Firebase parameters over 256 MiB or 16 lanes");
    }
    let (salt, hash) = (decode(salt)?, decode(hash)?);
    if signer_key.is_empty() || hash.len() != signer_key.len() {
        return Err("a Firebase hash that is not as long as the signer key");
    }
    Ok(FirebaseHash { log_n, r, p, separator, signer_key, salt, hash })
}
