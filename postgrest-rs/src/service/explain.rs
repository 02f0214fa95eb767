//! Finds out why the database answered no rows, or refused: row level security and privileges, for development.

use std::collections::BTreeSet;

use serde::Deserialize;
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

use super::call::Call;
use super::explanation::{COUNTED_ROWS, Cause, Explanation, Intermediary, Policy};
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

/// Relations and what views among them read, with the role whose rights count, and their policies. $1 is the role of the request, $2
/// and $3 are schemas and names.
const RELATIONS: &str = "WITH RECURSIVE caller AS (
  SELECT oid FROM pg_roles WHERE rolname = $1
), reached (oid, role, via) AS (
  SELECT c.oid, caller.oid, NULL::oid FROM caller, pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE (n.nspname, c.relname) IN (SELECT * FROM unnest($2::text[], $3::text[]))
  UNION
  SELECT d.refobjid, CASE WHEN v.is_invoker THEN caller.oid ELSE v.owner END, v.oid
  FROM caller, reached JOIN LATERAL (
    SELECT c.oid, c.relowner AS owner, EXISTS (
      SELECT FROM pg_options_to_table(c.reloptions) WHERE CASE option_name WHEN 'security_invoker' THEN option_value::boolean ELSE false END
    ) AS is_invoker
    FROM pg_class c WHERE c.oid = reached.oid AND c.relkind = 'v'
  ) v ON true
  JOIN pg_rewrite r ON r.ev_class = v.oid AND r.rulename = '_RETURN'
  JOIN pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND d.objid = r.oid
    AND d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid <> v.oid
)
SELECT coalesce(json_agg(q), '[]')::text FROM (
  SELECT n.nspname AS schema, c.relname AS name,
    CASE WHEN v.oid IS NOT NULL THEN json_build_object(
      'kind', 'view', 'name', vn.nspname || '.' || v.relname,
      'owner', CASE WHEN EXISTS (
        SELECT FROM pg_options_to_table(v.reloptions) WHERE CASE option_name WHEN 'security_invoker' THEN option_value::boolean ELSE false END
      ) THEN NULL ELSE pg_get_userbyid(reached.role) END
    ) END AS intermediary,
    c.relrowsecurity AND NOT coalesce((SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE oid = reached.role), true)
      AND (c.relforcerowsecurity OR NOT pg_has_role(reached.role, c.relowner, 'USAGE')) AS is_secured,
    coalesce((
      SELECT json_agg(json_build_object(
        'name', polname,
        'is_permissive', polpermissive,
        'command', CASE polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE' ELSE 'ALL' END,
        'roles', (SELECT json_agg(CASE r WHEN 0 THEN 'public' ELSE pg_get_userbyid(r)::text END) FROM unnest(polroles) r),
        'condition', pg_get_expr(polqual, polrelid),
        'check', pg_get_expr(polwithcheck, polrelid),
        'applies', EXISTS (SELECT FROM unnest(polroles) r WHERE r = 0 OR pg_has_role(reached.role, r, 'USAGE'))
      ) ORDER BY polname)
      FROM pg_policy WHERE polrelid = c.oid
    ), '[]') AS policies
  FROM reached JOIN pg_class c ON c.oid = reached.oid JOIN pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_class v ON v.oid = reached.via LEFT JOIN pg_namespace vn ON vn.oid = v.relnamespace
  ORDER BY v.oid IS NOT NULL, 1, 2
) q";

/// Whether all functions with the schema $1 and the name $2 have the rights of the same owner, and which.
const FUNCTION_RIGHTS: &str =
    "SELECT bool_and(p.prosecdef) AND min(pg_get_userbyid(p.proowner)::text) = max(pg_get_userbyid(p.proowner)::text),
    NOT bool_or(p.prosecdef), min(pg_get_userbyid(p.proowner)::text)
  FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = $1 AND p.proname = $2";

/// A role that the login role may become and that sees all rows.
const ROLE_OF_ALL_ROWS: &str = "SELECT rolname::text FROM pg_roles
  WHERE rolbypassrls AND NOT rolsuper AND pg_has_role(session_user, oid, 'MEMBER') ORDER BY rolname = 'service_role' DESC LIMIT 1";

#[derive(Deserialize)]
struct ReachedRelation {
    schema: String,
    name: String,
    intermediary: Option<Intermediary>,
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

/// All relations of a read.
fn all_relations<'a>(node: &'a ReadNode, found: &mut BTreeSet<&'a QualifiedName>) {
    found.insert(&node.from);
    for child in &node.children {
        all_relations(child, found);
    }
}

impl Call<'_> {
    /// Records why the database refused a statement, where it is row level security or a privilege.
    pub(super) async fn explain_refusal(&self, plan: &StatementPlan, error: &Error) {
        if !self.dependencies.explains || error.code != INSUFFICIENT_PRIVILEGE {
            return;
        }
        let (command, _) = command_of(plan);
        let found = match find_denied(&error.message) {
            Some((kind, name)) => {
                let intermediary = self.find_intermediary(plan, &kind, &name).await;
                Some((Cause::Privilege { kind, name }, intermediary))
            }
            None => self.find_refusing_policies(plan, &error.message).await,
        };
        if let Some((cause, intermediary)) = found {
            let (role, refusal) = (self.identity.role.clone(), Some(error.message.clone()));
            let _ =
                self.explanation.set(Explanation { role, command, refusal, hidden_rows: None, cause, intermediary });
        }
    }

    /// The policies that refused a row.
    async fn find_refusing_policies(
        &self,
        plan: &StatementPlan,
        message: &str,
    ) -> Option<(Cause, Option<Intermediary>)> {
        let name = find_secured(message)?;
        let (command, relation) = command_of(plan);
        let Some(relation) = relation else {
            // A function wrote to a table, of one of the schemas most likely.
            let schemas = self.config.db_schemas.iter();
            let tables: Vec<_> =
                schemas.map(|schema| QualifiedName { schema: schema.clone(), name: name.to_owned() }).collect();
            let intermediary = self.find_function(plan).await;
            let role = intermediary.as_ref().and_then(|function| function.owner.clone());
            let role = role.unwrap_or_else(|| self.identity.role.clone());
            let tables: Vec<&QualifiedName> = tables.iter().collect();
            let (cause, _) = self.find_row_security(&role, &tables, &["INSERT", "UPDATE"]).await?;
            return Some((cause, intermediary));
        };
        let returns = self.request.preferences.representation == Some(PreferReturn::Representation);
        let commands: &[&str] = if returns || command == "UPDATE" { &[command, "SELECT"] } else { &[command] };
        let relations = self.find_relations(&self.identity.role, &[relation]).await?;
        pick_secured(relations.into_iter().filter(|reached| reached.name == name), commands)
    }

    /// What used an object for the request, which names another one.
    async fn find_intermediary(&self, plan: &StatementPlan, kind: &str, name: &str) -> Option<Intermediary> {
        if let PlanKind::Call { function, .. } = &plan.kind {
            let is_called = kind == "function" && function.name == name;
            return if is_called || kind == "schema" { None } else { self.find_function(plan).await };
        }
        let mut requested = BTreeSet::new();
        all_relations(&plan.read, &mut requested);
        requested.extend(command_of(plan).1);
        let requested: Vec<&QualifiedName> = requested.into_iter().collect();
        let reached = self.find_relations(&self.identity.role, &requested).await?;
        // The first is one that the request names.
        reached.into_iter().find(|relation| relation.name == name)?.intermediary
    }

    /// The function that is called, with the role whose rights count in it; `None` where functions of this name differ in it.
    async fn find_function(&self, plan: &StatementPlan) -> Option<Intermediary> {
        let PlanKind::Call { function, .. } = &plan.kind else { return None };
        let lease = self.pool.acquire().await.ok()?;
        let (schema, name) = (function.schema.as_str(), function.name.as_str());
        let client = lease.connection().ok()?.client();
        let rows = client.query_typed(FUNCTION_RIGHTS, &[(&schema, Type::TEXT), (&name, Type::TEXT)]).await.ok()?;
        let row = rows.first()?;
        let (is_definer, is_invoker): (bool, bool) = (row.try_get(0).ok()?, row.try_get(1).ok()?);
        let owner: String = row.try_get(2).ok()?;
        lease.give_back();
        let rights = if is_definer { Some(owner) } else { None };
        (is_definer || is_invoker).then(|| Intermediary {
            kind: "function".to_owned(),
            name: format!("{schema}.{name}"),
            owner: rights,
        })
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
        let role = self.identity.role.clone();
        let Some((cause, intermediary)) = self.find_row_security(&role, &relations, commands).await else { return };
        // A view with the rights of its owner is subject to the policies for the owner, not to those for the caller.
        let is_countable = intermediary.as_ref().is_none_or(|view| view.owner.is_none());
        let hidden_rows = if is_countable { self.count_all(plan).await } else { None };
        // Without policies there are no rows either.
        if hidden_rows == Some(0) {
            return;
        }
        let _ = self.explanation.set(Explanation { role, command, refusal: None, hidden_rows, cause, intermediary });
    }

    /// The row level security of the first of these relations, or of those that views among them read, that has it for the role.
    async fn find_row_security(
        &self,
        role: &str,
        relations: &[&QualifiedName],
        commands: &[&str],
    ) -> Option<(Cause, Option<Intermediary>)> {
        pick_secured(self.find_relations(role, relations).await?.into_iter(), commands)
    }

    /// These relations, and those that views among them read.
    async fn find_relations(&self, role: &str, relations: &[&QualifiedName]) -> Option<Vec<ReachedRelation>> {
        let schemas: Vec<&str> = relations.iter().map(|relation| relation.schema.as_str()).collect();
        let names: Vec<&str> = relations.iter().map(|relation| relation.name.as_str()).collect();
        let lease = self.pool.acquire().await.ok()?;
        let client = lease.connection().ok()?.client();
        let list = Type::TEXT_ARRAY;
        let values: [(&(dyn ToSql + Sync), Type); 3] = [(&role, Type::TEXT), (&schemas, list.clone()), (&names, list)];
        let rows = client.query_typed(RELATIONS, &values).await;
        let text: String = rows.ok()?.first()?.try_get(0).ok()?;
        lease.give_back();
        serde_json::from_str(&text).ok()
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

/// The row level security of the first of these relations that has it.
fn pick_secured(
    mut relations: impl Iterator<Item = ReachedRelation>,
    commands: &[&str],
) -> Option<(Cause, Option<Intermediary>)> {
    let ReachedRelation { schema, name, intermediary, policies, .. } =
        relations.find(|relation| relation.is_secured)?;
    // A view reads, whatever is done with it.
    let is_read = intermediary.is_some() && commands != ["INSERT"];
    let is_of_command = |policy: &Policy| {
        let is_wanted = commands.contains(&policy.command.as_str()) || (is_read && policy.command == "SELECT");
        policy.applies && (policy.command == "ALL" || is_wanted)
    };
    let (policies, others) = policies.into_iter().partition(is_of_command);
    Some((Cause::RowSecurity { table: QualifiedName { schema, name }, policies, others }, intermediary))
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
