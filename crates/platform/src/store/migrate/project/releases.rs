//! Statements for other releases: of PostgreSQL, and of extensions.
//!
//! `db diff`, `db pull` and `pg_dump` write what the database has that they read: the versions of its extensions, and
//! privileges and parameters of its PostgreSQL. What another release lacks of it is left out of a statement.

use sqlx::error::DatabaseError;

use crate::store::migrate::words::{ExtensionAction, Word, find_extension, locate_words, read_words};

/// Functions of extensions that only tools use, in schemas of the project.
const TOOL_FUNCTIONS: [&str; 2] = ["pgaudit_ddl_command_end", "pgaudit_sql_drop"];
/// Schemas of extensions that only tools use.
const TOOL_SCHEMAS: [&str; 5] = ["pgsodium", "pgsodium_masks", "graphql", "pgtle", "dbdev"];
/// Those of them whose functions install extensions, which the statements that create these report.
const INSTALLERS: [&str; 2] = ["pgtle", "dbdev"];
/// The largest number of words that are read of a list of privileges.
const MAX_PRIVILEGE_WORDS: usize = 64;

/// Schemas whose objects the server creates.
pub(super) const SERVER_SCHEMAS: [&str; 13] = [
    "_realtime",
    "auth",
    "basalt",
    "cron",
    "extensions",
    "graphql_public",
    "net",
    "pgmq",
    "realtime",
    "storage",
    "supabase_functions",
    "supabase_migrations",
    "vault",
];
/// SQLSTATEs of statements that create what is there: schema, relation, column, other object, routine, primary key.
const DUPLICATES: [&str; 6] = ["42P06", "42P07", "42701", "42710", "42723", "42P16"];

/// Functions that later releases of PostgreSQL have, and the first that has each (appendix "Release Notes" of its documentation).
const FUNCTIONS_OF_RELEASES: [(&str, i32); 25] = [
    ("any_value", 16),
    ("array_sample", 16),
    ("array_shuffle", 16),
    ("date_add", 16),
    ("date_subtract", 16),
    ("erf", 16),
    ("erfc", 16),
    ("json_array", 16),
    ("pg_input_error_info", 16),
    ("pg_input_is_valid", 16),
    ("random_normal", 16),
    ("merge_action", 17),
    ("random", 17),
    ("to_bin", 17),
    ("to_oct", 17),
    ("unicode_assigned", 17),
    ("uuid_extract_timestamp", 17),
    ("uuid_extract_version", 17),
    ("array_reverse", 18),
    ("array_sort", 18),
    ("casefold", 18),
    ("crc32", 18),
    ("crc32c", 18),
    ("uuidv4", 18),
    ("uuidv7", 18),
];

/// Words of the grammar of later releases.
const WORDS_OF_RELEASES: [(&str, i32); 8] = [
    ("json_arrayagg", 16),
    ("json_objectagg", 16),
    ("json_exists", 17),
    ("json_query", 17),
    ("json_scalar", 17),
    ("json_serialize", 17),
    ("json_table", 17),
    ("json_value", 17),
];

/// The largest number of words that are read of a statement that failed.
const MAX_STATEMENT_WORDS: usize = 4_096;

/// Returns the first release of PostgreSQL that has what a statement failed for; `None` if that is not known.
pub(super) fn find_first_release(sql: &str, message: &str) -> Option<i32> {
    if let Some(rest) = message.strip_prefix("function ").filter(|rest| rest.ends_with(" does not exist")) {
        let name = rest.split('(').next().unwrap_or_default();
        let name = name.strip_prefix("pg_catalog.").unwrap_or(name);
        let known = FUNCTIONS_OF_RELEASES.iter().chain(&WORDS_OF_RELEASES).find(|(function, _)| *function == name);
        return known.map(|(_, release)| *release);
    }
    // Digits with underscores, and those of another base.
    if message.starts_with("trailing junk after numeric literal") {
        return Some(16);
    }
    if !message.starts_with("syntax error") {
        return None;
    }
    let words = read_words(sql, MAX_STATEMENT_WORDS);
    let has = |wanted: &str| words.iter().any(|word| word.is(wanted));
    if message.contains("\"returning\"") || message.contains("\"RETURNING\"") {
        return has("merge").then_some(17);
    }
    WORDS_OF_RELEASES.iter().filter(|(word, _)| has(word)).map(|(_, release)| *release).max()
}

/// Returns what makes a statement run that needs a later release.
pub(super) fn describe_remedy(release: i32) -> String {
    format!(
        "it needs PostgreSQL {release}: install it, name its programs by PG_BIN_DIR=/usr/lib/postgresql/{release}/bin, move this \
         database by `basalt db upgrade`, then run the statement again with `basalt db migrate --retry-skipped`"
    )
}

/// What replaces a statement that this release cannot run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Replacement {
    /// Another statement. Nothing of its effect is missing here.
    Statement(String),
    /// Nothing is to be done.
    Nothing {
        /// Why, in a sentence without full stop.
        reason: String,
    },
    /// An extension of the version that there is, by this statement if it is not installed yet.
    ExtensionVersion { extension: String, wanted: String, statement: Option<String> },
}

/// Returns what replaces a statement that failed because it is of another release; `major` is that of PostgreSQL.
pub(super) fn find_replacement(sql: &str, error: &dyn DatabaseError, major: i32) -> Option<Replacement> {
    let message = error.message();
    let code = error.code();
    if let Some((action, extension)) = find_extension(sql) {
        return replace_extension(sql, action, extension, message, code.as_deref());
    }
    if message.eq_ignore_ascii_case("unrecognized privilege type \"maintain\"") {
        return match remove_privilege(sql, "maintain")? {
            Remainder::Statement(statement) => Some(Replacement::Statement(statement)),
            Remainder::Nothing => Some(Replacement::Nothing {
                reason: format!("PostgreSQL {major} does not have the privilege MAINTAIN, which PostgreSQL 17 has"),
            }),
        };
    }
    if message.starts_with("syntax error")
        && let Some(statement) = remove_membership_options(sql)
    {
        return Some(Replacement::Statement(statement));
    }
    if let Some(parameter) = message.strip_prefix("unrecognized configuration parameter ") {
        let is_set = read_words(sql, 1).first().is_some_and(|word| word.is("set") || word.is("reset"));
        let reason = format!("PostgreSQL {major} does not have the parameter {}", parameter.trim_matches('"'));
        return is_set.then_some(Replacement::Nothing { reason });
    }
    None
}

fn replace_extension(
    sql: &str,
    action: ExtensionAction,
    extension: String,
    message: &str,
    code: Option<&str>,
) -> Option<Replacement> {
    const DUPLICATE_OBJECT: &str = "42710";
    let is_create = action == ExtensionAction::Create;
    let without = remove_version(sql, if is_create { "version" } else { "to" });
    if is_create && message.contains("has no installation script nor update path for version") {
        let (wanted, statement) = without?;
        return Some(Replacement::ExtensionVersion { extension, wanted, statement: Some(statement) });
    }
    // A statement that is run again after its extension was installed in another version.
    let is_there = is_create && code == Some(DUPLICATE_OBJECT);
    let is_update = !is_create && message.contains("has no update path from version");
    if is_there || is_update {
        let (wanted, _) = without?;
        return Some(Replacement::ExtensionVersion { extension, wanted, statement: None });
    }
    None
}

/// Returns the version behind this keyword, and the statement without both.
fn remove_version(sql: &str, keyword: &str) -> Option<(String, String)> {
    let words = locate_words(sql, 24);
    let at = words.iter().rposition(|(word, _)| word.is(keyword)).filter(|at| *at > 2)?;
    let (version, place) = words.get(at + 1)?;
    let version = match version {
        Word::Name(name) => name.clone(),
        Word::Other('\'') => sql[place.clone()].trim_matches('\'').to_owned(),
        Word::Other(_) => return None,
    };
    let before = sql[..words[at].1.start].trim_end();
    Some((version, format!("{before}{}", &sql[place.end..])))
}

/// A statement that grants or revokes, without one of its privileges.
#[derive(Debug, PartialEq, Eq)]
enum Remainder {
    Statement(String),
    /// It was the only privilege.
    Nothing,
}

/// Removes a privilege from a statement that grants or revokes; `None` if the statement does not name it.
fn remove_privilege(sql: &str, privilege: &str) -> Option<Remainder> {
    let words = locate_words(sql, MAX_PRIVILEGE_WORDS);
    let first = words.iter().position(|(word, _)| word.is("grant") || word.is("revoke"))?;
    let end = first + words[first..].iter().position(|(word, _)| word.is("on"))?;
    let at = first + words[first..end].iter().position(|(word, _)| word.is(privilege))?;
    let is_comma = |at: usize| matches!(words[at].0, Word::Other(','));
    let removed = if is_comma(at + 1) {
        words[at].1.start..words[at + 1].1.end
    } else if is_comma(at - 1) {
        words[at - 1].1.start..words[at].1.end
    } else {
        return Some(Remainder::Nothing);
    };
    Some(Remainder::Statement(format!("{}{}", &sql[..removed.start], &sql[removed.end..])))
}

/// Removes the options of `GRANT role TO role` that PostgreSQL 16 has and that say what earlier releases do anyway.
fn remove_membership_options(sql: &str) -> Option<String> {
    let words = locate_words(sql, MAX_PRIVILEGE_WORDS);
    if !words.first()?.0.is("grant") || words.iter().any(|(word, _)| word.is("on")) {
        return None;
    }
    let with = words.iter().position(|(word, _)| word.is("with"))?;
    let end = words.iter().position(|(word, _)| word.is("granted")).unwrap_or(words.len());
    let options: Vec<&Word> = words.get(with + 1..end)?.iter().map(|(word, _)| word).collect();
    let mut is_admin = false;
    for option in options.split(|word| **word == Word::Other(',')) {
        match option {
            [name, value] if name.is("admin") => is_admin = value.is("true") || value.is("option"),
            // Without it, the member would not have the rights.
            [name, value] if (name.is("inherit") || name.is("set")) && !value.is("false") => {}
            _ => return None,
        }
    }
    let admin = if is_admin { "WITH ADMIN OPTION " } else { "" };
    let rest = words.get(end).map_or("", |(_, place)| &sql[place.start..]);
    Some(format!("{}{admin}{rest}", &sql[..words[with].1.start]))
}

/// Returns whether a statement failed because it creates what the server has created; dumps of whole databases have such.
///
/// `code` is the SQLSTATE. Policies and triggers are those of the project.
pub(super) fn is_of_server(sql: &str, code: &str) -> bool {
    let words = read_words(sql, MAX_PRIVILEGE_WORDS);
    let is = |at: usize, wanted: &[&str]| words.get(at).is_some_and(|word| wanted.iter().any(|name| word.is(name)));
    if !DUPLICATES.contains(&code) || !is(0, &["create", "alter"]) || is(1, &["policy", "trigger"]) {
        return false;
    }
    let name = if is(1, &["schema", "publication"]) {
        words.iter().skip(2).find(|word| !["if", "not", "exists"].iter().any(|optional| word.is(optional)))
    } else {
        // Behind a parenthesis or `AS` stands what the object is made of.
        let end = words.iter().position(|word| *word == Word::Other('(') || word.is("as")).unwrap_or(words.len());
        words[..end].windows(2).find(|pair| pair[1] == Word::Other('.')).map(|pair| &pair[0])
    };
    name.is_some_and(|name| name.is("supabase_realtime") || SERVER_SCHEMAS.iter().any(|schema| name.is(schema)))
}

/// Returns whether a statement that failed changes only objects of extensions that only tools use.
///
/// Dumps of data have such statements. A statement that creates something of the project needs the extension.
pub(super) fn changes_only_tools(sql: &str, message: &str) -> bool {
    let function = message.strip_prefix("function ").and_then(|rest| rest.split('(').next());
    let is_function_of_tool =
        function.is_some_and(|name| TOOL_FUNCTIONS.contains(&name.rsplit('.').next().unwrap_or_default()));
    let quoted = message.split('"').nth(1);
    let is_in_schema_of_tool =
        quoted.is_some_and(|name| TOOL_SCHEMAS.contains(&name.split('.').next().unwrap_or_default()));
    let is_of_tool = message.ends_with("does not exist") && (is_function_of_tool || is_in_schema_of_tool);
    let words = read_words(sql, 6);
    if let [select, schema, Word::Other('.'), ..] = &words[..]
        && select.is("select")
        && INSTALLERS.iter().any(|name| schema.is(name))
    {
        // What it reads may be missing before the schema is looked for.
        return true;
    }
    let is_tool = |word: &Word| TOOL_SCHEMAS.iter().any(|schema| word.is(schema));
    let is_change = match words.first() {
        Some(Word::Name(verb)) => match verb.as_str() {
            "copy" | "insert" | "delete" | "update" | "truncate" | "alter" | "drop" => words.iter().any(is_tool),
            "select" => words.iter().any(|word| word.is("setval")),
            "grant" | "revoke" | "comment" => true,
            _ => false,
        },
        _ => false,
    };
    is_of_tool && is_change
}

/// Returns whether a statement takes rights or restricts which rows roles see.
///
/// Without it, the database grants more than the project wants.
pub(super) fn restricts_access(sql: &str) -> bool {
    let code: Vec<&str> = sql.lines().map(|line| line.split("--").next().unwrap_or_default()).collect();
    let code = code.join("\n").to_ascii_lowercase();
    let words: Vec<&str> =
        code.split(|next: char| !next.is_alphanumeric() && next != '_').filter(|word| !word.is_empty()).collect();
    let is_row_level = |at: usize| words[at..].starts_with(&["row", "level", "security"]);
    words.iter().enumerate().any(|(at, word)| match *word {
        "revoke" => true,
        "enable" | "force" => is_row_level(at + 1) && (at == 0 || words[at - 1] != "no"),
        _ => false,
    })
}

/// Returns whether a statement failed because the table that it alters does not exist: roles cannot use that one either.
pub(super) fn alters_missing_table(sql: &str, message: &str) -> bool {
    let Some(missing) = message.strip_prefix("relation \"").and_then(|rest| rest.split('"').next()) else {
        return false;
    };
    let words = read_words(sql, 12);
    let [alter, table, rest @ ..] = &words[..] else { return false };
    let optional = rest.iter().take_while(|word| ["if", "exists", "only"].iter().any(|name| word.is(name))).count();
    let name = match &rest[optional..] {
        [Word::Name(schema), Word::Other('.'), Word::Name(name), ..] => format!("{schema}.{name}"),
        [Word::Name(name), ..] => name.clone(),
        _ => return false,
    };
    alter.is("alter") && table.is("table") && message.contains("does not exist") && name == missing
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn memberships_are_granted_without_the_options_of_later_releases() {
        for (sql, expected) in [
            ("GRANT a TO b WITH INHERIT TRUE", Some("GRANT a TO b ")),
            (
                "grant a, c to b with admin option, inherit true granted by d",
                Some("grant a, c to b WITH ADMIN OPTION granted by d"),
            ),
            ("GRANT a TO b WITH SET TRUE, ADMIN FALSE", Some("GRANT a TO b ")),
            ("GRANT a TO b WITH INHERIT FALSE", None),
            ("GRANT SELECT ON a TO b WITH GRANT OPTION", None),
            ("GRANT a TO b WITH", None),
            ("GRANT a TO b", None),
        ] {
            assert_eq!(remove_membership_options(sql).as_deref(), expected, "{sql}");
        }
    }

    #[test]
    fn what_the_server_creates_is_told_from_what_is_of_the_project() {
        for (sql, code, expected) in [
            ("CREATE SCHEMA auth", "42P06", true),
            ("CREATE SCHEMA IF NOT EXISTS mine", "42P06", false),
            ("CREATE TABLE auth.users (id uuid)", "42P07", true),
            ("CREATE TABLE auth.users (id uuid)", "42501", false),
            ("CREATE INDEX i ON \"storage\".\"objects\" USING btree (name)", "42P07", true),
            ("ALTER TABLE ONLY auth.users ADD CONSTRAINT users_pkey PRIMARY KEY (id)", "42P16", true),
            ("CREATE PUBLICATION supabase_realtime WITH (publish = 'insert')", "42710", true),
            ("CREATE FUNCTION public.f() RETURNS uuid LANGUAGE sql AS 'SELECT auth.uid()'", "42723", false),
            ("CREATE TABLE users (id uuid REFERENCES auth.users)", "42P07", false),
            ("CREATE VIEW users AS SELECT * FROM auth.users", "42P07", false),
            ("CREATE POLICY p ON storage.objects USING (true)", "42710", false),
            ("CREATE TRIGGER t AFTER INSERT ON auth.users EXECUTE FUNCTION f()", "42710", false),
        ] {
            assert_eq!(is_of_server(sql, code), expected, "{sql}");
        }
    }

    #[test]
    fn release_that_has_what_is_missing_is_known() {
        let syntax = "syntax error at or near \"returning\"";
        for (sql, message, expected) in [
            ("select any_value(v) from a", "function any_value(integer) does not exist", Some(16)),
            ("select pg_catalog.random(1, 2)", "function pg_catalog.random(integer, integer) does not exist", Some(17)),
            ("merge into a using b on true when matched then delete returning a.id", syntax, Some(17)),
            ("insert into a values (1) returning", syntax, None),
            (
                "select * from json_table('{}', '$' columns (a int path '$.a'))",
                "syntax error at or near \"(\"",
                Some(17),
            ),
            ("select any_values(v) from a", "function any_values(integer) does not exist", None),
            ("select my.any_value(v) from a", "function my.any_value(integer) does not exist", None),
            ("select json_value", "column \"json_value\" does not exist", None),
        ] {
            assert_eq!(find_first_release(sql, message), expected, "{sql}");
        }
    }

    #[test]
    fn versions_are_removed_from_statements_about_extensions() {
        let create = |sql: &str| remove_version(sql, "version");
        let removed = |version: &str, sql: &str| Some((version.to_owned(), sql.to_owned()));
        assert_eq!(
            create("create extension if not exists \"vector\" with schema \"public\" version '0.8.0'"),
            removed("0.8.0", "create extension if not exists \"vector\" with schema \"public\"")
        );
        assert_eq!(
            create("CREATE EXTENSION ltree VERSION \"1.3\" CASCADE"),
            removed("1.3", "CREATE EXTENSION ltree CASCADE")
        );
        assert_eq!(create("create extension version"), None);
        assert_eq!(create("create extension vector"), None);
        assert_eq!(
            remove_version("alter extension vector update to '0.7'", "to").map(|(version, _)| version),
            Some("0.7".to_owned())
        );
    }

    #[test]
    fn privileges_are_removed_from_lists() {
        let without = |sql: &str| remove_privilege(sql, "maintain");
        let rest = |sql: &str| Some(Remainder::Statement(sql.to_owned()));
        assert_eq!(
            without("GRANT SELECT,MAINTAIN,UPDATE ON TABLE \"maintain\" TO anon"),
            rest("GRANT SELECT,UPDATE ON TABLE \"maintain\" TO anon")
        );
        assert_eq!(without("grant select, MAINTAIN on t to anon"), rest("grant select on t to anon"));
        assert_eq!(
            without("ALTER DEFAULT PRIVILEGES FOR ROLE postgres GRANT MAINTAIN, SELECT ON TABLES TO anon"),
            rest("ALTER DEFAULT PRIVILEGES FOR ROLE postgres GRANT  SELECT ON TABLES TO anon")
        );
        assert_eq!(without("grant maintain on table t to anon"), Some(Remainder::Nothing));
        assert_eq!(without("grant select on table maintain to anon"), None);
        assert_eq!(without("maintain"), None);
    }

    #[test]
    fn statements_that_change_only_tools_are_found() {
        let missing = "relation \"pgsodium.key_key_id_seq\" does not exist";
        assert!(changes_only_tools("SELECT pg_catalog.setval('\"pgsodium\".\"key_key_id_seq\"', 1, false)", missing));
        assert!(changes_only_tools(
            "COPY \"pgsodium\".\"key\" (id) FROM stdin",
            "relation \"pgsodium.key\" does not exist"
        ));
        assert!(changes_only_tools("grant usage on schema graphql to anon", "schema \"graphql\" does not exist"));
        let missing_type = "type \"http_header\" does not exist";
        assert!(changes_only_tools(
            "select pgtle.install_extension('a', '1', 'b', contents) from http(('GET')::http_request)",
            missing_type
        ));
        assert!(!changes_only_tools("select http(('GET', row('a', 'b')::http_header)::http_request)", missing_type));
        for sql in [
            "create table t (id uuid default pgsodium.create_key())",
            "alter table t alter column id set default pgsodium.create_key()",
            "do $$ begin perform pgsodium.create_key(); end $$",
        ] {
            assert!(!changes_only_tools(sql, "schema \"pgsodium\" does not exist"), "{sql}");
        }
        assert!(!changes_only_tools("select setval('a', 1)", "relation \"a\" does not exist"));
    }

    #[test]
    fn statements_that_restrict_access_are_found() {
        for sql in [
            "REVOKE ALL ON t FROM anon",
            "do $$ begin execute 'revoke execute on function f() from public'; end $$",
            "alter table t enable row level security",
            "alter table t\n  FORCE ROW LEVEL SECURITY",
            "alter default privileges in schema public revoke all on tables from anon",
        ] {
            assert!(restricts_access(sql), "{sql}");
        }
        for sql in [
            "alter table t disable row level security",
            "alter table t no force row level security",
            "-- revoke it later\ncreate table t (id int)",
            "create table revoked (id int)",
            "grant select on t to anon",
        ] {
            assert!(!restricts_access(sql), "{sql}");
        }
    }

    #[test]
    fn alterations_of_missing_tables_are_found() {
        let missing = "relation \"public.t\" does not exist";
        assert!(alters_missing_table("ALTER TABLE ONLY \"public\".\"t\" ENABLE ROW LEVEL SECURITY", missing));
        assert!(!alters_missing_table("alter table public.other enable row level security", missing));
        assert!(!alters_missing_table("revoke all on public.t, public.other from anon", missing));
    }

    proptest! {
        #[test]
        fn arbitrary_statements_do_not_panic(sql in "(create extension a |grant |revoke |copy )?[a-z.,\"'( /*-]{0,30}( on t| version '1'?)?") {
            let _ = (remove_version(&sql, "version"), remove_privilege(&sql, "on"), remove_privilege(&sql, "a"));
            let _ = alters_missing_table(&sql, "relation \"a\" does not exist");
            let _ = (restricts_access(&sql), changes_only_tools(&sql, "schema \"graphql\" does not exist"));
        }
    }
}
