//! Which policies a caller lacks: the answer to the most frequent question about row security, for development.

use std::sync::Arc;

use crate::database::rows::text as column;
use crate::database::scope::Scope;
use crate::database::{array, sql, text};
use crate::error::policy_refusal::PolicyRefusal;
use crate::error::{Code, Error};
use crate::storage::Storage;

/// A table of the schema `storage`, and the commands that a request needs policies of it for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NeededPolicies {
    /// The name of the table.
    pub(crate) table: &'static str,
    pub(crate) commands: &'static [&'static str],
}

/// What a new bucket needs.
pub(crate) const BUCKET_CREATION: NeededPolicies = NeededPolicies { table: "buckets", commands: &["INSERT"] };
/// What a move needs.
pub(crate) const MOVE: NeededPolicies = NeededPolicies { table: "objects", commands: &["SELECT", "UPDATE"] };
/// What a removal needs.
pub(crate) const REMOVAL: NeededPolicies = NeededPolicies { table: "objects", commands: &["SELECT", "DELETE"] };

/// The commands out of `$2` for which no permissive policy of the table `$3` counts for the role `$1`.
const MISSING: &str = "SELECT command FROM unnest($2::text[]) WITH ORDINALITY AS wanted (command, place) \
    WHERE NOT EXISTS (SELECT FROM pg_policies \
        WHERE schemaname = 'storage' AND tablename = $3 AND permissive = 'PERMISSIVE' \
        AND cmd IN ('ALL', wanted.command) \
        AND EXISTS (SELECT FROM unnest(roles) AS members (name) \
            WHERE members.name = 'public' \
            OR pg_has_role($1::name, (SELECT oid FROM pg_roles WHERE rolname = members.name), 'MEMBER'))) \
    ORDER BY place";

/// What an upload needs.
pub(crate) fn of_upload(replaces: bool) -> NeededPolicies {
    NeededPolicies { table: "objects", commands: if replaces { &["INSERT", "SELECT", "UPDATE"] } else { &["INSERT"] } }
}

/// Adds to an error of row security what the caller lacks, where the settings say so. Other errors stay as they are.
pub(crate) async fn explain(
    storage: &Storage,
    service: &Scope,
    caller: &Scope,
    policies: NeededPolicies,
    error: Error,
) -> Error {
    if !storage.config().explains_policies || error.code != Code::AccessDenied || caller.is_service {
        return error;
    }
    let NeededPolicies { table, commands } = policies;
    let role = caller.caller().role.as_str();
    let statement = sql(MISSING, [text(role), array(commands.iter().copied()), text(table)]);
    // Without the explanation the error is still the answer.
    let Ok(rows) = storage.database().run(service, statement).await else { return error };
    let missing: Vec<String> = rows.iter().filter_map(|row| column(row, 0)).collect();
    let refusal = PolicyRefusal {
        operation: caller.operation(),
        role: role.to_owned(),
        table,
        needed: commands.to_vec(),
        missing,
    };
    Error { refusal: Some(Arc::new(refusal)), ..error }
}
