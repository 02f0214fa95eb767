//! Which verified tokens open the API.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

type Judge = dyn Fn(&Map<String, Value>) -> Result<(), &'static str> + Send + Sync;

/// Judges the claims of a verified token.
///
/// A program that issues tokens of several kinds decides which of them open this API.
#[derive(Clone)]
pub struct TokenCheck(Arc<Judge>);

impl TokenCheck {
    /// A check by this function, which returns the reason of a refusal.
    pub fn new(judge: impl Fn(&Map<String, Value>) -> Result<(), &'static str> + Send + Sync + 'static) -> Self {
        Self(Arc::new(judge))
    }

    /// Judges verified claims.
    ///
    /// # Errors
    /// The reason of a refusal.
    pub(super) fn judge(&self, claims: &Map<String, Value>) -> Result<(), &'static str> {
        (self.0)(claims)
    }
}

impl fmt::Debug for TokenCheck {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("TokenCheck(…)")
    }
}
