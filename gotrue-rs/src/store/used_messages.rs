//! Used wallet messages (EIP-4361) in `basalt.limits`, as replay protection.
//!
//! Each is a bucket of capacity one that is full again when the message expires.
//! [`super::outbox::delete_expired`] deletes full buckets.

use gotrue_rules::domain::user::Time;

use super::Result;
use super::statement::{Connection, Statement, args};

const INSERT: Statement = Statement {
    name: "used_messages.insert",
    sql: "INSERT INTO basalt.limits (key, full_at, room)
          VALUES ($1, $2, greatest($2::timestamptz - $3::timestamptz, interval '0'))
          ON CONFLICT (key) DO NOTHING",
};

/// Records a message, by its fingerprint, as used until it expires; false if it was used before.
///
/// Concurrent calls wait for each other.
pub async fn insert(db: &mut Connection, fingerprint: &str, until: Time, now: Time) -> Result<bool> {
    Ok(db.execute(&INSERT, args![format!("web3/{fingerprint}"), until, now]).await? > 0)
}

/// All statements of this file.
pub const ALL: &[&Statement] = &[&INSERT];
