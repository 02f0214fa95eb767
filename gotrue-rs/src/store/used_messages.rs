//! Messages of wallets that have opened a session, in `basalt.limits`: a bucket that holds one, and is full again when the
//! message is over. The sweep of full buckets forgets them.

use gotrue_rules::domain::user::Time;

use super::Result;
use super::statement::{Connection, Statement, args};

const INSERT: Statement = Statement {
    name: "used_messages.insert",
    sql: "INSERT INTO basalt.limits (key, full_at, room)
          VALUES ($1, $2, greatest($2::timestamptz - $3::timestamptz, interval '0'))
          ON CONFLICT (key) DO NOTHING",
};

/// Notes a message that is used now and good until then, by its fingerprint; whether it is the first time. Two at once wait
/// for each other.
pub async fn insert(db: &mut Connection, fingerprint: &str, until: Time, now: Time) -> Result<bool> {
    Ok(db.execute(&INSERT, args![format!("web3/{fingerprint}"), until, now]).await? > 0)
}

/// Every statement of this file.
pub const ALL: &[&Statement] = &[&INSERT];
