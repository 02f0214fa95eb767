//! Which policies a caller lacks: the answer to the most frequent question about row security, for development.

use super::rows::text as column;
use super::scope::Scope;
use super::{array, sql, text};
use crate::error::{Code, Error};
use crate::service::Storage;

/// The commands out of `$2` for which no permissive policy of `storage.objects` counts for the role `$1`.
const MISSING: &str = "SELECT command FROM unnest($2::text[]) WITH ORDINALITY AS wanted (command, place) \
    WHERE NOT EXISTS (SELECT FROM pg_policies \
        WHERE schemaname = 'storage' AND tablename = 'objects' AND permissive = 'PERMISSIVE' \
        AND cmd IN ('ALL', wanted.command) \
        AND EXISTS (SELECT FROM unnest(roles) AS members (name) \
            WHERE members.name = 'public' \
            OR pg_has_role($1::name, (SELECT oid FROM pg_roles WHERE rolname = members.name), 'MEMBER'))) \
    ORDER BY place";

/// The commands that an upload needs policies for.
pub(crate) fn upload_commands(replaces: bool) -> &'static [&'static str] {
    if replaces { &["INSERT", "SELECT", "UPDATE"] } else { &["INSERT"] }
}

/// Adds to an error of row security what the caller lacks, where the settings say so. Other errors stay as they are.
pub(crate) async fn explain(
    storage: &Storage,
    service: &Scope,
    caller: &Scope,
    commands: &[&'static str],
    error: Error,
) -> Error {
    if !storage.config().explains_policies || error.code != Code::AccessDenied || caller.is_service {
        return error;
    }
    let role = caller.caller().role.as_str();
    let statement = sql(MISSING, [text(role), array(commands.iter().copied())]);
    // Without the explanation the error is still the answer.
    let Ok(rows) = storage.database().run(service, statement).await else { return error };
    let missing: Vec<String> = rows.iter().filter_map(|row| column(row, 0)).collect();
    let operation = caller.operation();
    let needed = enumerate(commands);
    let hint = if missing.is_empty() {
        format!(
            "{operation} needs policies on storage.objects for {needed}; {role} has some, and one of them is false here"
        )
    } else {
        let lacking = enumerate(&missing.iter().map(String::as_str).collect::<Vec<_>>());
        format!("{operation} needs policies on storage.objects for {needed}; {role} has none for {lacking}")
    };
    Error { hint: Some(hint), ..error }
}

/// Words with commas and "and".
fn enumerate(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [word] => (*word).to_owned(),
        [words @ .., last] => format!("{} and {last}", words.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_enumerated() {
        assert_eq!(enumerate(&["INSERT"]), "INSERT");
        assert_eq!(enumerate(&["INSERT", "SELECT", "UPDATE"]), "INSERT, SELECT and UPDATE");
    }
}
