//! Checks encryption keys and SAML keys.

use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::KeyPair as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use foundation::encryption::Encryption;
use foundation::secret::{Secret, SecretKey};
use gotrue_rules::wire::go_base64;

use super::super::draft::Draft;
use super::super::values;

const ENCRYPTION_KEY: &str = "GOTRUE_SECURITY_DB_ENCRYPTION_ENCRYPTION_KEY";
/// The maximum length of the encryption key's id with bcrypt.
///
/// A sealed hash must fit the 255 characters of `users.encrypted_password`.
const MAX_KEY_ID_WITH_BCRYPT: usize = 80;
const MAX_KEY_ID_WITH_ARGON2: usize = 32;
const ENCRYPTION_KEY_ID: &str = "GOTRUE_SECURITY_DB_ENCRYPTION_ENCRYPTION_KEY_ID";
const DECRYPTION_KEYS: &str = "GOTRUE_SECURITY_DB_ENCRYPTION_DECRYPTION_KEYS";
const EXAMPLE_KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";

/// Checks the encryption keys: 32 bytes each.
///
/// The encrypting one needs an id and must be among the others.
pub(super) fn check_encryption(draft: &mut Draft) {
    let given = std::mem::take(&mut draft.encryption);
    let mut policy = Encryption::default();
    for (id, text) in &given.keys {
        let Some(key) = decode_key(text) else {
            let complaint = format!("holds under the id {id:?} no 32 bytes in base64url without padding");
            draft.problem(DECRYPTION_KEYS, complaint, &format!("2026:{EXAMPLE_KEY}"));
            continue;
        };
        policy.keys.insert(id.clone(), key);
    }
    if given.encrypt {
        check_encrypting_key(draft, &given.key_id, decode_key(&given.key), &policy);
        policy.encrypt_with = Some(given.key_id);
    }
    draft.policy.security.encryption = policy;
}

fn check_encrypting_key(draft: &mut Draft, id: &str, key: Option<SecretKey>, policy: &Encryption) {
    if id.is_empty() {
        draft.problem(ENCRYPTION_KEY_ID, "is empty, and encryption is on", "2026");
    }
    let room = if draft.password_hash == "argon2id" { MAX_KEY_ID_WITH_ARGON2 } else { MAX_KEY_ID_WITH_BCRYPT };
    if id.len() > room {
        let complaint =
            format!("has more than {room} characters; the column of passwords could not hold it beside a hash");
        draft.problem(ENCRYPTION_KEY_ID, complaint, "2026");
    }
    let Some(key) = key else {
        return draft.problem(ENCRYPTION_KEY, "is not 32 bytes in base64url without padding", EXAMPLE_KEY);
    };
    if policy.keys.get(id) != Some(&key) {
        let complaint =
            format!("does not hold the encrypting key under its id {id:?}, so that nothing could be read again");
        draft.problem(DECRYPTION_KEYS, complaint, &format!("2026:{EXAMPLE_KEY}"));
    }
}

fn decode_key(text: &Secret) -> Option<SecretKey> {
    let bytes = go_base64::decode(text.reveal(), &URL_SAFE, false)?;
    bytes.try_into().ok().map(SecretKey::new)
}

/// Checks the SAML keys and URL, if SAML is enabled.
pub(super) fn check_saml(draft: &mut Draft) {
    let saml = &mut draft.policy.saml;
    if !saml.enabled {
        saml.private_key = Secret::default();
        saml.private_key_next = None;
        return;
    }
    let keys = [
        ("GOTRUE_SAML_PRIVATE_KEY", Some(saml.private_key.clone())),
        ("GOTRUE_SAML_PRIVATE_KEY_NEXT", saml.private_key_next.clone()),
    ];
    let url = saml.external_url.clone();
    for (name, key) in keys {
        if let Some(Err(complaint)) = key.map(|key| validate_rsa_key(key.reveal())) {
            draft.problem(
                name,
                complaint,
                "the output of: openssl genrsa -traditional 2048 | openssl rsa -traditional -outform DER | base64 -w0",
            );
        }
    }
    if std::mem::take(&mut draft.is_saml_period_negative) {
        draft.problem("GOTRUE_SAML_RELAY_STATE_VALIDITY_PERIOD", "is a duration below zero", "2m");
    }
    if let Some(url) = url.filter(|url| !values::is_absolute(url)) {
        let complaint = format!("{url:?} is neither an absolute URL nor an absolute path");
        draft.problem("GOTRUE_SAML_EXTERNAL_URL", complaint, "https://sso.example.com");
    }
}

/// Checks that a text is a valid RSA key for SAML.
fn validate_rsa_key(text: &str) -> Result<(), &'static str> {
    let der = go_base64::decode(text, &STANDARD, true).ok_or("is not base64 (not shown)")?;
    let pair =
        KeyPair::from_der(&der).map_err(|_| "is not an RSA key of at least 2048 bits in PKCS#1 DER (not shown)")?;
    // The public key in DER ends with its exponent: an integer of three bytes, 65537.
    let usual = pair.public_key().as_ref().ends_with(&[0x02, 0x03, 0x01, 0x00, 0x01]);
    usual.then_some(()).ok_or("is an RSA key whose exponent is not 65537 (not shown)")
}
