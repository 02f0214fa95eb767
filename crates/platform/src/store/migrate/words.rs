//! The first words of a statement: what it creates or changes.

use std::ops::Range;

/// A word of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word {
    /// A name or keyword, in lower case unless it was quoted.
    Name(String),
    /// Any other character, or the quote that begins a text.
    Other(char),
}

impl Word {
    pub(super) fn is(&self, wanted: &str) -> bool {
        matches!(self, Self::Name(name) if name == wanted)
    }
}

/// Reads at most `most` words; comments are none.
pub(super) fn read_words(sql: &str, most: usize) -> Vec<Word> {
    locate_words(sql, most).into_iter().map(|(word, _)| word).collect()
}

/// Reads at most `most` words like [`read_words`], each with its place in the statement.
pub(super) fn locate_words(sql: &str, most: usize) -> Vec<(Word, Range<usize>)> {
    let mut words = Vec::new();
    let mut rest = sql;
    while words.len() < most {
        rest = skip_blanks(rest);
        let Some(first) = rest.chars().next() else { break };
        let start = sql.len() - rest.len();
        let word;
        if first == '"' {
            let (name, after) = read_quoted(&rest[1..]);
            word = Word::Name(name);
            rest = after;
        } else if first.is_alphabetic() || first == '_' {
            let is_part = |next: char| next.is_alphanumeric() || matches!(next, '_' | '$');
            let end = rest.find(|next| !is_part(next)).unwrap_or(rest.len());
            word = Word::Name(rest[..end].to_lowercase());
            rest = &rest[end..];
        } else {
            word = Word::Other(first);
            rest = &rest[first.len_utf8()..];
            if first == '\'' {
                rest = rest.find('\'').map_or("", |end| &rest[end + 1..]);
            }
        }
        words.push((word, start..sql.len() - rest.len()));
    }
    words
}

/// Skips white space and comments.
fn skip_blanks(mut rest: &str) -> &str {
    loop {
        rest = rest.trim_start();
        if rest.starts_with("--") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.find("*/").map_or("", |end| &comment[end + 2..]);
        } else {
            return rest;
        }
    }
}

/// Reads a name after its opening quote; returns the rest of the text, too.
fn read_quoted(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut rest = text;
    while let Some(end) = rest.find('"') {
        name.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(after) => {
                name.push('"');
                rest = after;
            }
            None => return (name, rest),
        }
    }
    (name + rest, "")
}

/// Words between `CREATE` and the kind of the object.
const MODIFIERS: [&str; 14] = [
    "or",
    "replace",
    "unique",
    "temp",
    "temporary",
    "unlogged",
    "materialized",
    "recursive",
    "constraint",
    "global",
    "local",
    "event",
    "default",
    "trusted",
];
/// Kinds of objects that a message names.
const KINDS: [&str; 15] = [
    "table",
    "view",
    "function",
    "procedure",
    "policy",
    "trigger",
    "type",
    "domain",
    "index",
    "schema",
    "extension",
    "sequence",
    "role",
    "publication",
    "aggregate",
];

/// An object that a statement creates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedObject {
    /// Its kind, such as `function`.
    pub kind: &'static str,
    /// Its schema, if the statement names one.
    pub schema: Option<String>,
    pub name: String,
    /// The table of a policy or trigger, with its schema if the statement names one.
    pub table: Option<String>,
}

impl std::fmt::Display for CreatedObject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ", self.kind)?;
        if let Some(schema) = &self.schema {
            write!(f, "{schema}.")?;
        }
        write!(f, "{}", self.name)?;
        match &self.table {
            Some(table) => write!(f, " on {table}"),
            None => Ok(()),
        }
    }
}

/// Returns the object that a `CREATE` statement creates.
pub fn find_created_object(sql: &str) -> Option<CreatedObject> {
    let words = read_words(sql, 64);
    let (first, mut rest) = words.split_first()?;
    if !first.is("create") {
        return None;
    }
    while let Some((Word::Name(next), after)) = rest.split_first()
        && MODIFIERS.contains(&next.as_str())
    {
        rest = after;
    }
    let (kind, mut rest) = rest.split_first()?;
    let kind = KINDS.into_iter().find(|candidate| kind.is(candidate))?;
    for optional in ["concurrently", "if", "not", "exists"] {
        if let Some((next, after)) = rest.split_first()
            && next.is(optional)
        {
            rest = after;
        }
    }
    let (schema, name, rest) = read_name(rest)?;
    let table = rest.iter().position(|word| word.is("on")).filter(|_| matches!(kind, "policy" | "trigger"));
    let table = table.and_then(|at| read_name(&rest[at + 1..])).map(|(schema, name, _)| match schema {
        Some(schema) => format!("{schema}.{name}"),
        None => name,
    });
    Some(CreatedObject { kind, schema, name, table })
}

/// Reads a name that may have a schema.
fn read_name(words: &[Word]) -> Option<(Option<String>, String, &[Word])> {
    match words {
        [Word::Name(schema), Word::Other('.'), Word::Name(name), rest @ ..] => {
            Some((Some(schema.clone()), name.clone(), rest))
        }
        [Word::Name(name), rest @ ..] => Some((None, name.clone(), rest)),
        _ => None,
    }
}

/// What a statement does with an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExtensionAction {
    /// `CREATE EXTENSION`.
    Create,
    /// `DROP EXTENSION`.
    Drop,
    /// `ALTER EXTENSION`, `COMMENT ON EXTENSION`.
    Change,
}

/// Returns the extension of a statement about one.
pub(super) fn find_extension(sql: &str) -> Option<(ExtensionAction, String)> {
    let words = read_words(sql, 8);
    let at = words.iter().take(3).position(|word| word.is("extension"))?;
    let action = match &words[..at] {
        [verb] if verb.is("create") => ExtensionAction::Create,
        [verb] if verb.is("drop") => ExtensionAction::Drop,
        [verb] if verb.is("alter") => ExtensionAction::Change,
        [comment, on] if comment.is("comment") && on.is("on") => ExtensionAction::Change,
        _ => return None,
    };
    let mut rest = &words[at + 1..];
    for optional in ["if", "not", "exists"] {
        if let Some((next, after)) = rest.split_first()
            && next.is(optional)
        {
            rest = after;
        }
    }
    // A single dropped extension only: the others of a list are changed, too.
    match rest {
        [Word::Name(_), Word::Other(','), ..] => None,
        [Word::Name(name), ..] => Some((action, name.clone())),
        _ => None,
    }
}

/// A statement that begins or ends a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TransactionCommand {
    /// `BEGIN`, `START TRANSACTION`.
    Begin,
    /// `COMMIT`, `END`.
    Commit,
    /// `ROLLBACK`, `ABORT`.
    Rollback,
    Savepoint,
    /// `RELEASE`, `ROLLBACK TO`.
    EndSavepoint,
    /// `PREPARE TRANSACTION`.
    Prepare,
}

impl TransactionCommand {
    /// Returns the command of a statement.
    pub(super) fn find(sql: &str) -> Option<Self> {
        let words = read_words(sql, 4);
        let is = |at: usize, wanted: &str| words.get(at).is_some_and(|word| word.is(wanted));
        let is_prepared = is(1, "prepared");
        match words.first()? {
            Word::Other(_) => None,
            Word::Name(name) => match name.as_str() {
                "begin" => Some(Self::Begin),
                "start" if is(1, "transaction") => Some(Self::Begin),
                "commit" | "end" if !is_prepared => Some(Self::Commit),
                "rollback" if is(1, "to") || is(2, "to") => Some(Self::EndSavepoint),
                "rollback" | "abort" if !is_prepared => Some(Self::Rollback),
                "savepoint" => Some(Self::Savepoint),
                "prepare" if is(1, "transaction") => Some(Self::Prepare),
                "release" => Some(Self::EndSavepoint),
                _ => None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn created_objects_are_named() {
        let named = |sql: &str| find_created_object(sql).map(|object| object.to_string());
        for (sql, expected) in [
            ("CREATE FUNCTION public.my_hook(event jsonb)", "function public.my_hook"),
            ("-- a comment\ncreate or replace function My_Hook (event jsonb)", "function my_hook"),
            ("create /* x */ function \"public\".\"My\"\"Hook\"(event jsonb)", "function public.My\"Hook"),
            (
                "create policy \"Read all\" on storage.objects for select using (true)",
                "policy Read all on storage.objects",
            ),
            ("CREATE TRIGGER t AFTER INSERT ON auth.users FOR EACH ROW", "trigger t on auth.users"),
            ("create constraint trigger t after insert on x", "trigger t on x"),
            ("create unique index concurrently if not exists i on t(id)", "index i"),
            ("create materialized view v as select 1", "view v"),
        ] {
            assert_eq!(named(sql).as_deref(), Some(expected), "{sql}");
        }
        for sql in ["SELECT 'create function f()'", "CREATE", "CREATE DATABASE x", "create index on t(id)", ""] {
            assert!(named(sql).is_none_or(|name| name == "index on"), "{sql}");
        }
    }

    #[test]
    fn extensions_are_found() {
        let found = |sql: &str| find_extension(sql);
        let create = |name: &str| Some((ExtensionAction::Create, name.to_owned()));
        let drop = |name: &str| Some((ExtensionAction::Drop, name.to_owned()));
        let change = |name: &str| Some((ExtensionAction::Change, name.to_owned()));
        assert_eq!(found("CREATE EXTENSION IF NOT EXISTS \"pg_net\" WITH SCHEMA \"extensions\""), create("pg_net"));
        assert_eq!(found("create extension vector"), create("vector"));
        assert_eq!(found("drop extension if exists \"pg_net\""), drop("pg_net"));
        assert_eq!(found("alter extension pg_net update"), change("pg_net"));
        assert_eq!(found("COMMENT ON EXTENSION pgjwt IS 'x'"), change("pgjwt"));
        assert_eq!(found("drop extension a, b"), None);
        assert_eq!(found("create table extension (id int)"), None);
    }

    #[test]
    fn transaction_commands_are_found() {
        for (sql, expected) in [
            ("begin", Some(TransactionCommand::Begin)),
            ("-- x\nSTART TRANSACTION", Some(TransactionCommand::Begin)),
            ("COMMIT", Some(TransactionCommand::Commit)),
            ("end", Some(TransactionCommand::Commit)),
            ("rollback to savepoint a", Some(TransactionCommand::EndSavepoint)),
            ("ROLLBACK WORK TO a", Some(TransactionCommand::EndSavepoint)),
            ("rollback", Some(TransactionCommand::Rollback)),
            ("savepoint a", Some(TransactionCommand::Savepoint)),
            ("prepare transaction 'x'", Some(TransactionCommand::Prepare)),
            ("prepare q as select 1", None),
            ("commit prepared 'x'", None),
            ("select 1", None),
        ] {
            assert_eq!(TransactionCommand::find(sql), expected, "{sql}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_statements_do_not_panic(sql in "\\PC*", rest in "[a-z.\"',( /*-]{0,30}") {
            let sql = format!("{sql} {rest}");
            let _ = (find_created_object(&sql), find_extension(&sql), TransactionCommand::find(&sql));
            let _ = find_created_object(&format!("create or replace function {rest}"));
        }
    }
}
