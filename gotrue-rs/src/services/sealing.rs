//! Secrets as they are stored: encrypted where the operator set a key, bound to the row that owns them. Whatever goes
//! into such a column goes through [`seal`], whatever comes out of it through [`open`]. Owners are those of schema.md
//! §5.4: a password belongs to its account, a TOTP secret to its factor, a code to its challenge, the key of refresh
//! tokens to its session.

use gotrue_rules::domain::error::{Error, Result};
use uuid::Uuid;

use crate::cx::Cx;
use crate::ports::sealing;
pub use crate::ports::sealing::Opened;

/// What to store of a secret; the secret itself where nothing is encrypted.
pub fn seal(cx: &Cx, owner: Uuid, secret: &str) -> String {
    sealing::seal(secret, owner, &cx.app.policy.security.encryption, &cx.entropy)
}

/// What a stored text stands for, and whether it should be stored anew. A text that is not encrypted stands for itself;
/// one that cannot be read is a failure of ours.
pub fn open<'a>(cx: &Cx, owner: Uuid, stored: &'a str) -> Result<Opened<'a>> {
    sealing::open(stored, owner, &cx.app.policy.security.encryption).map_err(Error::other)
}
