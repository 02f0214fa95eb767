//! Used wallet messages (EIP-4361) in `basalt.limits`, as replay protection.
//!
//! Each is a bucket of capacity one that is full again when the message expires.
//! [`platform::store::outbox::delete_expired`] deletes full buckets.

use foundation::time::Time;
use platform::store::Result;
use platform::store::binding::{bind, statements};
use platform::store::statement::Connection;

statements! {
    INSERT = "used_messages.insert":
        "INSERT INTO basalt.limits (key, full_at, room)
         VALUES (:key, :until, greatest(:until::timestamptz - :now::timestamptz, interval '0'))
         ON CONFLICT (key) DO NOTHING";
}

/// Records a message, by its fingerprint, as used until it expires; false if it was used before.
///
/// Concurrent calls wait for each other.
pub async fn insert(db: &mut Connection, fingerprint: &str, until: Time, now: Time) -> Result<bool> {
    Ok(db.execute(bind!(INSERT, key: format!("web3/{fingerprint}"), until, now)).await? > 0)
}
