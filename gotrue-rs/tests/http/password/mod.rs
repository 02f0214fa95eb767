//! Passwords: what makes them weak, and how they and other secrets are kept.

mod fake_pwned_passwords;
mod leaked;
mod sealed;
mod session_keys;

use std::collections::BTreeMap;

use foundation::encryption::Encryption;
use foundation::secret::SecretKey;

/// Two keys, of which one may encrypt.
fn encryption(encrypt_with: Option<&str>) -> Encryption {
    let keys: BTreeMap<_, _> =
        [("old", [1; 32]), ("new", [2; 32])].map(|(id, key)| (id.to_owned(), SecretKey::new(key))).into();
    Encryption { encrypt_with: encrypt_with.map(str::to_owned), keys }
}
