//! The tables of recovery codes in schema `auth`, which the reference has since its migration 20260824000001.

use platform::store::acquire_connection;
use platform::store::migrate::{ErrorContext, lock_migrations, run_script};
use sqlx::PgPool;

use super::auth::{SchemaState, read_shape};
use super::error::{AuthMigrateError, SchemaDifference};
use super::shape::{SchemaShape, ShapeMisfits};

/// Creates the tables and the word of the enum.
pub(super) const TABLES: &str = include_str!("../../../../sql/auth-additions/recovery-codes.sql");

/// What statements need of the tables.
const NEEDED: &str = "\
column mfa_recovery_code_sets.failed_verification_count integer
column mfa_recovery_code_sets.id uuid demanded
column mfa_recovery_code_sets.mfa_factor_id uuid demanded
column mfa_recovery_code_sets.updated_at timestamp with time zone
column mfa_recovery_code_sets.user_id uuid demanded
column mfa_recovery_code_sets.verification_locked_until timestamp with time zone
column mfa_recovery_codes.code_hash text demanded
column mfa_recovery_codes.consumed_at timestamp with time zone
column mfa_recovery_codes.created_at timestamp with time zone
column mfa_recovery_codes.id uuid demanded
column mfa_recovery_codes.mfa_recovery_code_set_id uuid demanded
enum factor_type recovery_code
key mfa_recovery_code_sets (user_id)
";

const TABLE_NAMES: [&str; 2] = ["mfa_recovery_code_sets", "mfa_recovery_codes"];

/// The outcome of [`migrate_recovery_codes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryCodesOutcome {
    /// The tables were created.
    Created,
    /// The tables existed.
    Unchanged,
}

/// Creates the tables of recovery codes in schema `namespace` where they are absent.
///
/// They have the shape of the reference, which finds them when it takes the database over. No version is recorded.
///
/// # Errors
///
/// Tables of these names have another shape, the role does not own the schema, or the database fails. Nothing is
/// changed then.
pub async fn migrate_recovery_codes(pool: &PgPool, namespace: &str) -> Result<RecoveryCodesOutcome, AuthMigrateError> {
    let mut connection = acquire_connection(pool).await.during("connecting to the database")?;
    if is_present(&read_shape(&mut connection, namespace).await?, namespace)? {
        return Ok(RecoveryCodesOutcome::Unchanged);
    }
    let mut transaction = sqlx::Connection::begin(&mut *connection).await.during("beginning the transaction")?;
    lock_migrations(&mut transaction).await?;
    if is_present(&read_shape(&mut transaction, namespace).await?, namespace)? {
        return Ok(RecoveryCodesOutcome::Unchanged);
    }
    let place = SchemaState::read(&mut transaction, namespace).await.during("reading the state of schema auth")?;
    run_script(&mut transaction, place.build_prelude(namespace)).await.during("preparing to create tables")?;
    run_script(&mut transaction, TABLES.to_owned())
        .await
        .during("creating the tables of recovery codes, which requires the owner of schema auth")?;
    transaction.commit().await.during("committing the tables of recovery codes")?;
    Ok(RecoveryCodesOutcome::Created)
}

/// Whether a schema has the tables of recovery codes, of whatever shape.
pub fn has_recovery_codes(shape: &SchemaShape) -> bool {
    TABLE_NAMES.iter().all(|name| shape.has_table(name)) && shape.has_word("factor_type", "recovery_code")
}

/// Returns what statements need of the tables of recovery codes and a schema that has them lacks.
pub fn find_recovery_code_misfits(shape: &SchemaShape) -> ShapeMisfits {
    if has_recovery_codes(shape) { SchemaShape::parse(NEEDED).find_misfits(shape) } else { ShapeMisfits::default() }
}

/// Whether the tables are there; an error if they have another shape.
fn is_present(shape: &SchemaShape, namespace: &str) -> Result<bool, AuthMigrateError> {
    if !has_recovery_codes(shape) {
        return Ok(false);
    }
    let misfits = find_recovery_code_misfits(shape);
    if misfits.is_empty() {
        return Ok(true);
    }
    let namespace = namespace.to_owned();
    let difference = SchemaDifference { namespace, misfits, missing: Vec::new(), unknown: Vec::new() };
    Err(AuthMigrateError::Schema(Box::new(difference)))
}
