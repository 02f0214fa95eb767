//! Why a response is empty or refused.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::request::QualifiedName;
use crate::sql::identifier_list;

/// The most rows that are counted to find out whether policies hide some.
pub(super) const COUNTED_ROWS: u32 = 1000;

/// Why a response is empty or refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The role of the request.
    pub role: String,
    /// What was done.
    pub command: &'static str,
    /// The message of the database, where it refused.
    pub refusal: Option<String>,
    /// The rows that the request would have had without policies; at most 1000 are counted.
    pub hidden_rows: Option<i64>,
    pub cause: Cause,
}

/// The cause of an empty or refused response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// A privilege is missing.
    Privilege {
        /// `table`, `view`, `sequence`, `schema`, `function` or another kind.
        kind: String,
        /// Its name, as the database reports it.
        name: String,
    },
    /// Row level security of a table.
    RowSecurity {
        table: QualifiedName,
        /// Its policies for the command and the role; without permissive ones no row is visible or allowed.
        policies: Vec<Policy>,
        /// Policies of other commands or roles.
        others: Vec<Policy>,
    },
}

/// A policy of row-level security, for an explanation.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Policy {
    pub name: String,
    /// Whether it allows rows, or restricts what others allow.
    pub is_permissive: bool,
    /// The command, or `ALL`.
    pub command: String,
    /// The roles; `public` for all.
    pub roles: Vec<String>,
    /// `USING`: which rows are visible.
    pub condition: Option<String>,
    /// `WITH CHECK`: which rows may be written.
    pub check: Option<String>,
    /// Whether it is for the role of the request.
    pub applies: bool,
}

impl Explanation {
    /// The cause in one sentence.
    pub fn reason(&self) -> String {
        let Self { role, command, refusal, hidden_rows, cause } = self;
        let mut text = String::new();
        match cause {
            Cause::Privilege { kind, name } => {
                let privilege = self.privilege(kind);
                let _ = write!(text, "The role {role} has no privilege {privilege} on the {kind} {name}.");
            }
            Cause::RowSecurity { table, policies, .. } => {
                text.push_str(if refusal.is_some() { "Refused: " } else { "0 rows: " });
                let table = format!("{}.{}", table.schema, table.name);
                let names: Vec<&str> = policies.iter().map(|policy| policy.name.as_str()).collect();
                let _ = if !policies.iter().any(|policy| policy.is_permissive) {
                    write!(text, "table {table} has row level security and no policy for {command} and role {role}")
                } else if let [name] = names[..] {
                    write!(text, "policy {name} of table {table} for role {role}")
                } else {
                    write!(text, "policies {} of table {table} for role {role}", names.join(", "))
                };
                if let Some(rows) = hidden_rows.filter(|_| refusal.is_none()) {
                    let more = if rows >= i64::from(COUNTED_ROWS) { "at least " } else { "" };
                    let _ = write!(text, "; without policies the request has {more}{rows}");
                }
                text.push('.');
            }
        }
        text
    }

    /// What changes the answer.
    pub fn remedy(&self) -> String {
        let Self { role, command, cause, .. } = self;
        match cause {
            Cause::Privilege { kind, name } => {
                let object = match kind.as_str() {
                    "table" | "view" | "materialized view" | "relation" => name.clone(),
                    kind => format!("{} {name}", kind.to_uppercase()),
                };
                format!("Grant it: GRANT {} ON {object} TO {role};", self.privilege(kind))
            }
            Cause::RowSecurity { table, policies, .. } => {
                let table =
                    identifier_list([table.schema.as_str(), table.name.as_str()].into_iter()).replace(", ", ".");
                if policies.iter().any(|policy| policy.is_permissive) {
                    let conditions = policies.iter().filter_map(|policy| {
                        let shown = if *command == "INSERT" { &policy.check } else { &policy.condition };
                        Some(format!("{}: {}", policy.name, shown.as_ref().or(policy.condition.as_ref())?))
                    });
                    let conditions: Vec<String> = conditions.collect();
                    return format!(
                        "Send the request with a token for which the condition holds, or change the policy. {}",
                        conditions.join("; ")
                    );
                }
                let clause = if *command == "INSERT" { "WITH CHECK" } else { "USING" };
                format!("Allow rows by a policy: CREATE POLICY … ON {table} FOR {command} TO {role} {clause} (…);")
            }
        }
    }

    fn privilege(&self, kind: &str) -> &'static str {
        match kind {
            "schema" | "sequence" | "type" => "USAGE",
            "function" | "procedure" => "EXECUTE",
            _ => self.command,
        }
    }
}
