//! Parses the hash formats of `users.encrypted_password`.
//!
//! Every parameter is bounded before it costs time or memory, so that an imported hash cannot exhaust the server.

use base64::Engine;
use base64::alphabet::{BCRYPT, STANDARD};
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD, PAD};
use gotrue_rules::domain::policy::{Argon2Cost, PasswordHash};

use super::verdict::PasswordVerdict;

/// A parsed hash.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StoredHash {
    Bcrypt(BcryptHash),
    Argon2(Argon2Hash),
    Firebase(FirebaseHash),
}

/// `$2a$10$` and 53 characters.
///
/// `$2b$`, `$2x$` and `$2y$` are equivalent; trailing characters are ignored.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BcryptHash {
    pub cost: u32,
    /// `None` if the characters are not of bcrypt's alphabet.
    pub salt: Option<[u8; 16]>,
    /// At most 31 characters after the salt, as stored.
    pub hash: Vec<u8>,
}

/// `$argon2id$v=19$m=…,t=…,p=…$salt$hash`, or argon2i.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Argon2Hash {
    pub id: bool,
    pub cost: Argon2Cost,
    pub salt: Vec<u8>,
    pub hash: Vec<u8>,
}

/// `$fbscrypt$v=1,n=…,r=…,p=…,ss=…,sk=…$salt$hash`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FirebaseHash {
    pub log_n: u32,
    pub r: u64,
    pub p: u8,
    pub separator: Vec<u8>,
    pub signer_key: Vec<u8>,
    pub salt: Vec<u8>,
    pub hash: Vec<u8>,
}

/// 1 GiB, the reference's limit.
const MAX_ARGON2_KIB: u32 = 1 << 20;
const MAX_ARGON2_PASSES: u32 = 20;
const MAX_ARGON2_LANES: u32 = 16;
/// Cost 16 takes seconds, and each step doubles the time; cost 31 would occupy a thread for days.
const MAX_BCRYPT_COST: u32 = 16;
/// The memory of scrypt: 128·r·N bytes.
const MAX_SCRYPT_BYTES: u64 = 1 << 28;
const MAX_SCRYPT_PARALLEL: u8 = 16;
/// Ignores non-zero trailing bits, which some tools write and the reference accepts.
const BCRYPT_BASE64: GeneralPurpose = GeneralPurpose::new(&BCRYPT, NO_PAD.with_decode_allow_trailing_bits(true));
const ARGON2_BASE64: GeneralPurpose = GeneralPurpose::new(&STANDARD, NO_PAD.with_decode_allow_trailing_bits(true));
const SCRYPT_BASE64: GeneralPurpose = GeneralPurpose::new(&STANDARD, PAD.with_decode_allow_trailing_bits(true));

/// Whether a stored hash has the algorithm and parameters of new ones, so that no rehash is needed.
pub fn is_current(stored: &str, how: PasswordHash) -> bool {
    match (parse_or_verdict(stored), how) {
        (Ok(StoredHash::Bcrypt(hash)), PasswordHash::Bcrypt { cost }) => hash.cost == cost,
        (Ok(StoredHash::Argon2(hash)), PasswordHash::Argon2id(cost)) => hash.id && hash.cost == cost,
        _ => false,
    }
}

/// Returns why an imported hash cannot be compared with; `None` if it can.
pub fn unusable_reason(stored: &str) -> Option<&'static str> {
    match parse_or_verdict(stored) {
        Ok(_) | Err(PasswordVerdict::Match | PasswordVerdict::NoMatch) => None,
        Err(PasswordVerdict::Unusable(why) | PasswordVerdict::Unreadable(why)) => Some(why),
    }
}

/// Returns why a text is not a known hash format.
///
/// `None` if it is, even if it can never be compared with.
pub fn malformed_reason(stored: &str) -> Option<&'static str> {
    match parse(stored) {
        Ok(_) | Err(PasswordVerdict::Match | PasswordVerdict::NoMatch) => None,
        Err(PasswordVerdict::Unusable(why) | PasswordVerdict::Unreadable(why)) => Some(why),
    }
}

/// Parses a stored hash, or returns the verdict for one that cannot be checked.
pub(super) fn parse_or_verdict(stored: &str) -> Result<StoredHash, PasswordVerdict> {
    let stored = parse(stored)?;
    match rejection_reason(&stored) {
        Some(why) => Err(PasswordVerdict::Unusable(why)),
        None => Ok(stored),
    }
}

fn parse(stored: &str) -> Result<StoredHash, PasswordVerdict> {
    if let Some(rest) = stored.strip_prefix("$argon2") {
        parse_argon2(rest).map(StoredHash::Argon2).map_err(PasswordVerdict::Unusable)
    } else if let Some(rest) = stored.strip_prefix("$fbscrypt") {
        parse_firebase(rest).map(StoredHash::Firebase).map_err(PasswordVerdict::Unusable)
    } else {
        parse_bcrypt(stored.as_bytes()).map(StoredHash::Bcrypt).map_err(PasswordVerdict::Unreadable)
    }
}

/// Returns why a hash of a known format is not computed: excessive cost or invalid parameters.
fn rejection_reason(stored: &StoredHash) -> Option<&'static str> {
    match stored {
        StoredHash::Bcrypt(hash) if hash.cost > MAX_BCRYPT_COST => Some("a bcrypt cost over 16"),
        StoredHash::Bcrypt(hash) if hash.salt.is_none() => Some("a bcrypt salt that is no base64"),
        StoredHash::Argon2(hash) if hash.hash.len() < 4 || hash.salt.len() < 8 => {
            Some("an argon2 salt or hash that is too short")
        }
        StoredHash::Argon2(Argon2Hash { cost: Argon2Cost { memory_kib, passes, lanes }, .. })
            if *passes == 0 || *lanes == 0 || *memory_kib < 8 * lanes =>
        {
            Some("argon2 parameters of no hash")
        }
        StoredHash::Firebase(hash) => {
            let bytes = 1_u64.checked_shl(hash.log_n).and_then(|n| n.checked_mul(128)?.checked_mul(hash.r));
            let is_bounded = hash.log_n <= 30 && hash.p <= MAX_SCRYPT_PARALLEL;
            if !is_bounded || bytes.is_none_or(|bytes| bytes > MAX_SCRYPT_BYTES) {
                return Some("Firebase parameters over 256 MiB or 16 lanes");
            }
            let fits = !hash.signer_key.is_empty() && hash.hash.len() == hash.signer_key.len();
            (!fits).then_some("a Firebase hash that is not as long as the signer key")
        }
        _ => None,
    }
}

/// Parses like the reference's library: version, cost, salt and hash.
///
/// The hash may lack its last character.
fn parse_bcrypt(bytes: &[u8]) -> Result<BcryptHash, &'static str> {
    let form = "not a bcrypt hash of 60 characters";
    let (59.., [b'$', ..=b'2', minor, ..]) = (bytes.len(), bytes) else { return Err(form) };
    let rest = &bytes[if *minor == b'$' { 3 } else { 4 }..];
    let (Some(cost), Some(salt), Some(hash)) = (rest.get(..2), rest.get(3..25), rest.get(25..)) else {
        return Err(form);
    };
    let cost: Option<i32> = std::str::from_utf8(cost).ok().and_then(|digits| digits.parse().ok());
    let cost = cost.and_then(|cost| u32::try_from(cost).ok()).filter(|cost| (4..=31).contains(cost));
    let cost = cost.ok_or("a bcrypt cost outside 4 to 31")?;
    let mut decoded = [0; 16];
    let salt = BCRYPT_BASE64.decode_slice(salt, &mut decoded).is_ok_and(|bytes| bytes == 16).then_some(decoded);
    Ok(BcryptHash { cost, salt, hash: hash[..hash.len().min(31)].to_vec() })
}

fn parse_argon2(rest: &str) -> Result<Argon2Hash, &'static str> {
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
    let cost = parse_argon2_cost(parameters)?;
    let decode = |text| ARGON2_BASE64.decode(text).map_err(|_| "an argon2 salt or hash that is no base64");
    let (salt, hash) = (decode(salt)?, decode(hash)?);
    if hash.is_empty() || salt.is_empty() {
        return Err("an argon2 hash without a salt or a hash");
    }
    Ok(Argon2Hash { id, cost, salt, hash })
}

/// `m=…,t=…,p=…`. `keyid` and `data` refer to inputs that are not supported.
fn parse_argon2_cost(text: &str) -> Result<Argon2Cost, &'static str> {
    let mut fields = text.split(',');
    let mut field =
        |name: &str, most: u32| parse_number(fields.next()?.strip_prefix(name)?).filter(|number: &u32| *number <= most);
    let read = [field("m=", MAX_ARGON2_KIB), field("t=", MAX_ARGON2_PASSES), field("p=", MAX_ARGON2_LANES)];
    let [Some(memory_kib), Some(passes), Some(lanes)] = read else {
        return Err("argon2 parameters missing or over 1 GiB, 20 passes, 16 lanes");
    };
    if fields.next().is_some() {
        return Err("an argon2 hash made with a secret key or data");
    }
    Ok(Argon2Cost { memory_kib, passes, lanes })
}

/// Parses digits without a sign.
fn parse_number<T: std::str::FromStr>(digits: &str) -> Option<T> {
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// Separator and signer key are optional.
fn parse_firebase(rest: &str) -> Result<FirebaseHash, &'static str> {
    let form = "a Firebase hash that is not v=1,n=,r=,p=,ss=,sk=, salt and hash";
    let mut parts = rest.splitn(4, '$');
    let (Some(""), Some(parameters), Some(salt), Some(hash)) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(form);
    };
    let mut fields = parameters.split(',').peekable();
    let mut field = |name: &str| {
        let value = fields.peek().and_then(|field| field.strip_prefix(name))?;
        fields.next();
        Some(value)
    };
    if field("v=").ok_or(form)? != "1" {
        return Err("a Firebase hash of another version");
    }
    let log_n: Option<u32> = field("n=").and_then(parse_number);
    let r: Option<u64> = field("r=").and_then(parse_number);
    let p: Option<u8> = field("p=").and_then(parse_number);
    let (Some(log_n @ 1..), Some(r @ 1..), Some(p @ 1..)) = (log_n, r, p) else { return Err(form) };
    let decode = |text: &str| SCRYPT_BASE64.decode(text).map_err(|_| "a Firebase hash with a part that is no base64");
    let separator = decode(field("ss=").unwrap_or_default())?;
    let signer_key = decode(field("sk=").unwrap_or_default())?;
    if fields.next().is_some() || salt.is_empty() || hash.is_empty() {
        return Err(form);
    }
    Ok(FirebaseHash { log_n, r, p, separator, signer_key, salt: decode(salt)?, hash: decode(hash)? })
}
