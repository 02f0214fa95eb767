//! The rows of an import.

use foundation::time::Time;
use serde_json::{Map, Value};
use uuid::Uuid;

/// A database row by column name, or an import line by member name.
pub type ImportRow = Map<String, Value>;

/// Why a line is invalid; the text is shown to the author of the file.
pub type ImportError = String;

/// Defaults and functions for values that a line omits.
pub struct ImportDefaults<'a> {
    /// The time of the import.
    pub now: Time,
    /// Default `aud`.
    pub audience: &'a str,
    /// Default `role`.
    pub role: &'a str,
    /// Generates an id.
    pub new_id: &'a mut dyn FnMut() -> Uuid,
    /// Returns why a password hash cannot be verified; `None` if it can.
    pub unusable_hash: &'a dyn Fn(&str) -> Option<&'static str>,
}

impl std::fmt::Debug for ImportDefaults<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Given").field("now", &self.now).field("audience", &self.audience).finish_non_exhaustive()
    }
}
