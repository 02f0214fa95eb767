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
    /// What used the object for the request, where it was not the request itself.
    pub intermediary: Option<Intermediary>,
}

/// A view or function that uses an object for a request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Intermediary {
    /// `view` or `function`
    pub kind: String,
    /// With its schema.
    pub name: String,
    /// The owner, whose rights count; `None` where those of the caller do.
    pub owner: Option<String>,
}

impl Intermediary {
    /// What it does with an object, as a relative clause.
    fn clause(&self) -> String {
        let Self { kind, name, owner } = self;
        let verb = if kind == "view" { "reads" } else { "uses" };
        match owner {
            Some(owner) => format!(", which the {kind} {name} {verb} with the rights of its owner {owner}"),
            None if kind == "view" => {
                format!(", which the view {name} reads with the rights of its caller (security_invoker)")
            }
            None => format!(", which the function {name} uses with the rights of its caller (security invoker)"),
        }
    }
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
    /// The role whose privileges and policies count for the object.
    pub fn checked_role(&self) -> &str {
        self.intermediary.as_ref().and_then(|intermediary| intermediary.owner.as_ref()).unwrap_or(&self.role)
    }

    /// The cause in one sentence.
    pub fn reason(&self) -> String {
        let Self { command, refusal, hidden_rows, cause, .. } = self;
        let role = self.checked_role();
        let clause = self.intermediary.as_ref().map(Intermediary::clause).unwrap_or_default();
        let mut text = String::new();
        match cause {
            Cause::Privilege { kind, name } => {
                let _ = match self.privilege(kind) {
                    Some(privilege) => {
                        write!(text, "The role {role} has no privilege {privilege} on the {kind} {name}{clause}.")
                    }
                    None => write!(text, "The role {role} lacks a privilege on the {kind} {name}{clause}."),
                };
            }
            Cause::RowSecurity { table, policies, .. } => {
                text.push_str(if refusal.is_some() { "Refused: " } else { "0 rows: " });
                let table = format!("{}.{}", table.schema, table.name);
                let names: Vec<&str> = policies.iter().map(|policy| policy.name.as_str()).collect();
                let command = if *command == "EXECUTE" { "this" } else { command };
                let _ = if !policies.iter().any(|policy| policy.is_permissive) {
                    write!(text, "table {table} has row level security and no policy for {command} and role {role}")
                } else if let [name] = names[..] {
                    write!(text, "policy {name} of table {table} for role {role}")
                } else {
                    write!(text, "policies {} of table {table} for role {role}", names.join(", "))
                };
                text.push_str(&clause);
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
        let Self { command, cause, .. } = self;
        let role = self.checked_role();
        match cause {
            Cause::Privilege { kind, name } => {
                let object = match kind.as_str() {
                    "table" | "view" | "materialized view" | "relation" => name.clone(),
                    kind => format!("{} {name}", kind.to_uppercase()),
                };
                match self.privilege(kind) {
                    Some(privilege) => format!("Grant it: GRANT {privilege} ON {object} TO {role};"),
                    None => format!("Grant what the function needs, such as GRANT SELECT ON {object} TO {role};"),
                }
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
                let (command, clause) = match *command {
                    "EXECUTE" => ("…", "WITH CHECK"),
                    "INSERT" => ("INSERT", "WITH CHECK"),
                    command => (command, "USING"),
                };
                format!("Allow rows by a policy: CREATE POLICY … ON {table} FOR {command} TO {role} {clause} (…);")
            }
        }
    }

    /// The privilege that is missing; `None` where it is one of several that a function may need.
    fn privilege(&self, kind: &str) -> Option<&'static str> {
        match kind {
            "schema" | "sequence" | "type" => Some("USAGE"),
            "function" | "procedure" => Some("EXECUTE"),
            // What is written to is the relation of the request.
            _ if self.intermediary.as_ref().is_some_and(|intermediary| intermediary.kind == "view") => Some("SELECT"),
            _ => Some(self.command).filter(|command| *command != "EXECUTE"),
        }
    }
}
