//! Schema `auth`: created, or compared with what statements need.
//!
//! Runs at start, before the first request.
//!
//! Its statements are DDL and therefore not named statements; the SQL is in `sql/`.

mod auth;
mod error;
mod index_lock;
mod indexes;
mod recovery_codes;
pub mod shape;

pub use auth::{AuthSchemaOutcome, compare_auth_versions, migrate_auth, read_shape};
pub use error::{AuthMigrateError, SchemaDifference};
pub use indexes::{IndexOutcome, create_indexes};
use platform::store::migrate;
pub use recovery_codes::{
    RecoveryCodesOutcome, find_recovery_code_misfits, has_recovery_codes, migrate_recovery_codes,
};

/// Returns 16 hexadecimal digits that identify the SQL of roles and schemas.
pub fn schema_fingerprint() -> String {
    let additions = [&auth::VERSIONS, &recovery_codes::TABLES, &migrate::ROLES];
    let roles_and_auth = auth::FILES.iter().chain(additions).copied();
    let sql: Vec<&str> = roles_and_auth.chain(migrate::FILES.iter().map(|file| file.sql)).collect();
    let mut digits = migrate::checksum(&(sql.concat() + &migrate::concatenate_files()));
    digits.truncate(16);
    digits
}
