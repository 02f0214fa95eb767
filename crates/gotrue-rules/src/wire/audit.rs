//! The audit log of the admin API: search parameters and entries as JSON.

use foundation::error::{Error, Result};
use foundation::time::Time;
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use super::time;

/// A search in the audit log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AuditSearch<'a> {
    /// The payload members to search; empty: every entry matches.
    pub members: &'static [&'static str],
    /// The text to find, ignoring case; `%` and `_` are wildcards. Empty: every entry matches.
    pub text: &'a str,
}

impl<'a> AuditSearch<'a> {
    /// Parses `query`, a scope and a text separated by a colon; empty means absent.
    pub fn parse(query: &'a str) -> Result<Self> {
        if query.is_empty() {
            return Ok(Self::default());
        }
        let refused = || Error::invalid(format!("Invalid query scope: {query}"));
        if query.contains('\0') {
            return Err(Error::invalid("Invalid query: it holds a zero byte, which no entry does"));
        }
        let (scope, text) = query.split_once(':').ok_or_else(refused)?;
        let members: &[&str] = match scope {
            "author" => &["actor_username", "actor_name"],
            "action" => &["action"],
            "type" => &["log_type"],
            _ => return Err(refused()),
        };
        Ok(Self { members, text })
    }
}

/// An audit log entry.
#[derive(Debug, Serialize)]
pub struct AuditEntryJson {
    pub id: Uuid,
    /// Action, target and actor.
    pub payload: Value,
    /// The time of the action.
    #[serde(serialize_with = "time::serialize")]
    pub created_at: Time,
    /// The client address; `""` for most actions.
    pub ip_address: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_has_scope_and_text() {
        for (query, members, text) in [
            ("", &[] as &[&str], ""),
            ("author:ann", &["actor_username", "actor_name"], "ann"),
            ("action:", &["action"], ""),
            ("type:a:b", &["log_type"], "a:b"),
        ] {
            assert_eq!(AuditSearch::parse(query).unwrap(), AuditSearch { members, text }, "{query}");
        }
    }

    #[test]
    fn search_with_nul_is_rejected() {
        assert_eq!(AuditSearch::parse("author:a\0").unwrap_err().code().as_str(), "validation_failed");
    }

    #[test]
    fn search_of_unknown_scope_is_rejected() {
        for query in ["login", "colour:red", ":", "Author:ann", " author:ann"] {
            assert_eq!(AuditSearch::parse(query).unwrap_err().message(), format!("Invalid query scope: {query}"));
        }
    }
}
