//! Values that must never be printed. Taking one out is a word that a reviewer can search for: `reveal`.

use std::fmt;

/// A secret text: a key, a password, a connection URL. `Debug` prints `…`, there is no `Display`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a text into keeping.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself: for the one place that uses it, never for a log, an error or an answer.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether there is nothing to keep.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

/// A key of 256 bits. `Debug` prints `…`.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey([u8; 32]);

impl SecretKey {
    /// Takes a key into keeping.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes themselves.
    pub fn reveal(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_print_itself() {
        assert_eq!(format!("{:?} {:#?}", Secret::new("hidden"), SecretKey::new([7; 32])), "… …");
    }
}
