//! The audit log as an administrator reads it (`endpoints.md` §13.4): what is searched for, and an entry as JSON.

use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use super::time;
use crate::domain::error::{Error, Result};
use crate::domain::user::Time;

/// What is searched for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Search<'a> {
    /// The members of the payload that are looked at; none: every entry is wanted.
    pub members: &'static [&'static str],
    /// What one of them holds, in any letters; `%` and `_` stand for anything. Empty: every entry is wanted.
    pub text: &'a str,
}

impl<'a> Search<'a> {
    /// Reads `query`, a scope and a text with a colon between them; an empty one is not given.
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

/// An entry.
#[derive(Debug, Serialize)]
pub struct AuditEntryJson {
    /// `id`.
    pub id: Uuid,
    /// What happened, to whom, and who did it.
    pub payload: Value,
    /// When.
    #[serde(serialize_with = "time::serialize")]
    pub created_at: Time,
    /// The caller's address; `""` for most actions.
    pub ip_address: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_has_a_scope_and_a_text() {
        for (query, members, text) in [
            ("", &[] as &[&str], ""),
            ("author:ann", &["actor_username", "actor_name"], "ann"),
            ("action:", &["action"], ""),
            ("type:a:b", &["log_type"], "a:b"),
        ] {
            assert_eq!(Search::parse(query).unwrap(), Search { members, text }, "{query}");
        }
    }

    #[test]
    fn g1_a_search_for_what_the_database_cannot_hold_is_refused() {
        assert_eq!(Search::parse("author:a\0").unwrap_err().code(), "validation_failed");
    }

    #[test]
    fn a_search_of_another_scope_is_refused_in_its_own_words() {
        for query in ["login", "colour:red", ":", "Author:ann", " author:ann"] {
            assert_eq!(Search::parse(query).unwrap_err().message(), format!("Invalid query scope: {query}"));
        }
    }
}
