//! Finds out why the database answered no rows, or refused: row level security and privileges, for development.

use std::collections::BTreeSet;

use serde::Deserialize;
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::call::Call;
use super::explanation::{COUNTED_ROWS, Cause, Explanation, Policy};
use crate::error::Error;
use crate::execute::prepared::Connection;
use crate::plan::read::ReadNode;
use crate::plan::{PlanKind, StatementPlan, is_inner};
use crate::request::preferences::PreferReturn;
use crate::request::{Mutation, QualifiedName};
use crate::sql::{self, Sql, identifier_list};

/// SQLSTATE `insufficient_privilege`.
const INSUFFICIENT_PRIVILEGE: &str = "42501";

/// The most that finding out may take, in milliseconds.
const TIME_LIMIT: u32 = 1000;

/// The policies of relations, and whether they apply to a role. $1 is the role, $2 and $3 are schemas and names.
const POLICIES: &str = "SELECT coalesce(json_agg(q), '[]')::text FROM (
  SELECT n.nspname AS schema, c.relname AS name,
    c.relrowsecurity AND NOT coalesce((SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = $1), true)
      AND (c.relforcerowsecurity OR NOT pg_has_role($1, c.relowner, 'USAGE')) AS is_secured,
    coalesce((
      SELECT json_agg(json_build_object(
        'name', polname,
        'is_permissive', polpermissive,
        'command', CASE polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE' ELSE 'ALL' END,
        'roles', (SELECT json_agg(CASE r WHEN 0 THEN 'public' ELSE pg_get_userbyid(r)::text END) FROM unnest(polroles) r),
        'condition', pg_get_expr(polqual, polrelid),
        'check', pg_get_expr(polwithcheck, polrelid),
        'applies', EXISTS (SELECT FROM unnest(polroles) r WHERE r = 0 OR pg_has_role($1, r, 'USAGE'))
      ) ORDER BY polname)
      FROM pg_policy WHERE polrelid = c.oid
    ), '[]') AS policies
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE (n.nspname, c.relname) IN (SELECT * FROM unnest($2::text[], $3::text[]))
  ORDER BY 1, 2
) q";

/// A role that the login role may become and that sees all rows.
const ROLE_OF_ALL_ROWS: &str = "SELECT rolname::text FROM pg_roles
  WHERE rolbypassrls AND NOT rolsuper AND pg_has_role(session_user, oid, 'MEMBER') ORDER BY rolname = 'service_role' DESC LIMIT 1";

#[derive(Deserialize)]
struct SecuredRelation {
    schema: String,
    name: String,
    is_secured: bool,
    policies: Vec<Policy>,
}

/// Kind and name of the object in `permission denied for KIND NAME`.
fn find_denied(message: &str) -> Option<(String, String)> {
    let object = message.strip_prefix("permission denied for ")?;
    let kinds =
        ["materialized view", "table", "view", "sequence", "schema", "function", "procedure", "type", "relation"];
    let kind = kinds.into_iter().find(|kind| object.starts_with(&format!("{kind} ")))?;
    Some((kind.to_owned(), object[kind.len() + 1..].trim_matches('"').to_owned()))
}

/// The table in `… row-level security policy … for table "NAME"`.
fn find_secured(message: &str) -> Option<&str> {
    if !message.contains("row-level security") {
        return None;
    }
    message.rsplit_once(" table \"")?.1.strip_suffix('"')
}

/// What a plan does, and to which relation.
fn command_of(plan: &StatementPlan) -> (&'static str, Option<&QualifiedName>) {
    match &plan.kind {
        PlanKind::Read { relation, .. } => ("SELECT", Some(relation)),
        PlanKind::Mutate { relation, mutation, .. } => {
            let command = match mutation {
                Mutation::Insert | Mutation::SingleUpsert => "INSERT",
                Mutation::Update => "UPDATE",
                Mutation::Delete => "DELETE",
            };
            (command, Some(relation))
        }
        PlanKind::Call { .. } => ("EXECUTE", None),
    }
}

/// The relations without whose rows a read has none.
fn required_relations<'a>(node: &'a ReadNode, found: &mut BTreeSet<&'a QualifiedName>) {
    found.insert(&node.from);
    for child in node.children.iter().filter(|child| is_inner(child.join)) {
        required_relations(child, found);
    }
}

impl Call<'_> {
    /// Records why the database refused a statement, where it is row level security or a privilege.
    pub(super) async fn explain_refusal(&self, plan: &StatementPlan, error: &Error) {
        if !self.dependencies.explains || error.code != INSUFFICIENT_PRIVILEGE {
            return;
        }
        let (command, relation) = command_of(plan);
        let explanation = |cause| Explanation {
            role: self.identity.role.clone(),
            command,
            refusal: Some(error.message.clone()),
            hidden_rows: None,
            cause,
        };
        if let Some((kind, name)) = find_denied(&error.message) {
            let _ = self.explanation.set(explanation(Cause::Privilege { kind, name }));
            return;
        }
        let table = relation.filter(|relation| find_secured(&error.message) == Some(&relation.name));
        let Some(table) = table else { return };
        let commands: &[&str] =
            if self.request.preferences.representation == Some(PreferReturn::Representation) || command == "UPDATE" {
                &[command, "SELECT"]
            } else {
                &[command]
            };
        if let Some(found) = self.find_row_security(&[table], commands).await {
            let _ = self.explanation.set(explanation(found));
        }
    }

    /// Records that row level security hides the rows of a response without any.
    pub(super) async fn explain_no_rows(&self, plan: &StatementPlan) {
        let (command, Some(relation)) = command_of(plan) else { return };
        if !self.dependencies.explains || command == "INSERT" || self.request.top_level_range.offset() > 0 {
            return;
        }
        let mut relations = BTreeSet::from([relation]);
        if command == "SELECT" {
            required_relations(&plan.read, &mut relations);
        }
        let relations: Vec<&QualifiedName> = relations.into_iter().collect();
        let commands: &[&str] = if command == "SELECT" { &["SELECT"] } else { &[command, "SELECT"] };
        let Some(cause) = self.find_row_security(&relations, commands).await else { return };
        let hidden_rows = self.count_all(plan).await;
        // Without policies there are no rows either.
        if hidden_rows == Some(0) {
            return;
        }
        let role = self.identity.role.clone();
        let _ = self.explanation.set(Explanation { role, command, refusal: None, hidden_rows, cause });
    }

    /// The row level security of the first of these relations that has it for the role.
    async fn find_row_security(&self, relations: &[&QualifiedName], commands: &[&str]) -> Option<Cause> {
        let schemas: Vec<&str> = relations.iter().map(|relation| relation.schema.as_str()).collect();
        let names: Vec<&str> = relations.iter().map(|relation| relation.name.as_str()).collect();
        let lease = self.pool.acquire().await.ok()?;
        let types = [Type::TEXT, Type::TEXT_ARRAY, Type::TEXT_ARRAY];
        let client = lease.connection().ok()?.client();
        let role = self.identity.role.as_str();
        let rows = client
            .query_typed(
                POLICIES,
                &[(&role, types[0].clone()), (&schemas, types[1].clone()), (&names, types[2].clone())],
            )
            .await;
        let text: String = rows.ok()?.first()?.try_get(0).ok()?;
        lease.give_back();
        let found: Vec<SecuredRelation> = serde_json::from_str(&text).ok()?;
        let SecuredRelation { schema, name, policies, .. } = found.into_iter().find(|relation| relation.is_secured)?;
        let is_of_command = |policy: &Policy| {
            policy.applies && (policy.command == "ALL" || commands.contains(&policy.command.as_str()))
        };
        let (policies, others) = policies.into_iter().partition(is_of_command);
        Some(Cause::RowSecurity { table: QualifiedName { schema, name }, policies, others })
    }

    /// The rows that the request would have without policies; `None` where no role of the login role sees them all.
    async fn count_all(&self, plan: &StatementPlan) -> Option<i64> {
        let statement = sql::statement::build_count(plan, COUNTED_ROWS)?;
        let settings = sql::settings::build(self.config, self.roles, self.identity, self.request, self.plan);
        let lease = self.pool.acquire().await.ok()?;
        let connection = lease.connection().ok()?;
        let rows = run_as_role_of_all_rows(connection, &settings, &statement).await;
        let ended = connection.client().batch_execute("ROLLBACK").await;
        if ended.is_ok() {
            lease.give_back();
        }
        rows
    }
}

async fn run_as_role_of_all_rows(connection: &Connection, settings: &Sql, statement: &Sql) -> Option<i64> {
    let client: &Client = connection.client();
    let role: String = client.query_typed(ROLE_OF_ALL_ROWS, &[]).await.ok()?.first()?.try_get(0).ok()?;
    client.batch_execute("BEGIN READ ONLY").await.ok()?;
    let known = connection.find(settings);
    connection.run(&known, settings).await.ok()?;
    let limits = format!(
        "SET LOCAL statement_timeout = {TIME_LIMIT}; SET LOCAL ROLE {}",
        identifier_list(std::iter::once(role.as_str()))
    );
    client.batch_execute(&limits).await.ok()?;
    let known = connection.find(statement);
    connection.run(&known, statement).await.ok()?.first()?.try_get(0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_messages_are_found() {
        let denied = |text: &str| find_denied(text).map(|(kind, name)| format!("{kind}:{name}"));
        assert_eq!(denied("permission denied for table todos").as_deref(), Some("table:todos"));
        assert_eq!(denied("permission denied for materialized view a b").as_deref(), Some("materialized view:a b"));
        assert_eq!(denied("must be owner of table todos"), None);
        let secured = "new row violates row-level security policy for table \"todos\"";
        assert_eq!(find_secured(secured), Some("todos"));
        let named = "new row violates row-level security policy \"strict\" for table \"my todos\"";
        assert_eq!(find_secured(named), Some("my todos"));
        assert_eq!(find_secured("permission denied for table todos"), None);
    }
}
