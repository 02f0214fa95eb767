//! Statements about what another release of Supabase's services has in its schemas.
//!
//! `db pull` and `db diff` write them for a project whose Storage or Auth is not of the release that this server follows:
//! rights, triggers and columns that are gone. Nothing of the project is missing without them.

use super::preparation::STORAGE_FILES;
use super::releases::SERVER_SCHEMAS;
use crate::store::migrate::words::{Word, read_words};

/// Schemas of services that this server does not have.
const OTHER_SCHEMAS: [&str; 3] = ["pgbouncer", "_analytics", "_supavisor"];
/// SQLSTATEs of what does not exist: relation, function, column, other object, schema.
const MISSING: [&str; 5] = ["42P01", "42883", "42703", "42704", "3F000"];
/// A trigger or another object exists.
const DUPLICATE_OBJECT: &str = "42710";
/// Functions of triggers by which earlier releases of Supabase Storage kept a table of prefixes and the level of each object.
///
/// Here, where objects have no such column, the triggers would refuse each upload.
const STORAGE_TRIGGERS: [&str; 10] = [
    "delete_prefix_hierarchy_trigger",
    "objects_delete_cleanup",
    "objects_insert_prefix_trigger",
    "objects_update_cleanup",
    "objects_update_level_trigger",
    "objects_update_prefix_trigger",
    "prefixes_delete_cleanup",
    "prefixes_delete_trigger",
    "prefixes_insert_trigger",
    "prefixes_update_trigger",
];
/// The columns of schema `auth` that the auth API needs: `column <table>.<column> <type>`.
const AUTH_SHAPE: &str = include_str!("../../../../../../sql/auth/shape.txt");
/// The functions of schema `auth` that policies call.
const AUTH_FUNCTIONS: [&str; 4] = ["email", "jwt", "role", "uid"];
/// What `ALTER TABLE … ALTER COLUMN … DROP` removes without the column.
const PARTS_OF_COLUMNS: [&str; 4] = ["default", "expression", "identity", "not"];
/// The largest number of words that are read of a statement.
const MOST_WORDS: usize = 96;

/// Returns why a statement does not run with which the APIs of the server would fail, and whether nothing of the project is
/// missing without it.
pub(super) fn find_harm(sql: &str) -> Option<(String, bool)> {
    if creates_storage_trigger(sql) {
        let reason = "with this trigger of an earlier release of Supabase Storage no object could be stored";
        return Some((reason.to_owned(), true));
    }
    let removed = find_removed_object(sql)?;
    Some((format!("the server needs {removed}, which stays"), !adds_something(sql)))
}

/// Returns whether the statement creates a trigger of an earlier release of Supabase Storage.
fn creates_storage_trigger(sql: &str) -> bool {
    let words = read_words(sql, MOST_WORDS);
    let executed = find_executed_function(&words);
    executed.is_some_and(|(schema, name)| schema == "storage" && STORAGE_TRIGGERS.contains(&name))
}

/// Returns whether a statement failed because the server's schemas are those of another release; all that it names is in them.
///
/// `code` is the SQLSTATE.
pub(super) fn concerns_other_release(sql: &str, code: &str, message: &str) -> bool {
    let words = read_words(sql, MOST_WORDS);
    let is = |at: usize, wanted: &[&str]| words.get(at).is_some_and(|word| wanted.iter().any(|name| word.is(name)));
    if let Some((schema, _)) = find_executed_function(&words) {
        // Projects have functions of their own in schema auth, and webhooks on the server's tables.
        let is_of_services = is_of_service(schema)
            && !["auth", "supabase_functions"].contains(&schema)
            && find_table(&words).is_some_and(is_of_service);
        return is_of_services && (code == DUPLICATE_OBJECT || MISSING.contains(&code));
    }
    // A role that does not exist is of the project.
    if !MISSING.contains(&code) || message.starts_with("role ") {
        return false;
    }
    if is(0, &["grant", "revoke"]) {
        return has_one_target(&words);
    }
    let has_policy = words.iter().take(3).any(|word| word.is("policy"));
    if is(0, &["comment", "drop"]) && !has_policy {
        return find_first_schema(&words).is_some_and(is_of_service);
    }
    if is(0, &["alter"]) && !has_policy {
        return find_first_schema(&words).is_some_and(is_of_service) && !words.iter().any(|word| word.is("add"));
    }
    let is_index = is(1, &["index"]) || is(1, &["unique"]) && is(2, &["index"]);
    is(0, &["create"]) && is_index && find_table(&words).is_some_and(|schema| schema == "storage")
}

/// Returns what a statement would remove of schema `auth` or `storage` that the APIs need; Supabase refuses it, because its
/// services own their tables.
///
/// `db diff` writes such statements where the database that it reads has an earlier release of these services.
fn find_removed_object(sql: &str) -> Option<String> {
    let words = read_words(sql, MOST_WORDS);
    let first = words.first()?;
    let kind = words.get(1)?;
    if first.is("drop") && kind.is("trigger") {
        let name = name_at(&words, skip_optional(&words, 2))?;
        let table = words.iter().position(|word| word.is("on")).and_then(|on| qualified_at(&words, on + 1));
        return table
            .filter(|(schema, _)| *schema == "storage" && has_storage_word(name, false))
            .map(|_| name.to_owned());
    }
    let target = skip_optional(&words, 2);
    let only = usize::from(words.get(target)?.is("only"));
    let (schema, name) = qualified_at(&words, target + only)?;
    if first.is("drop") && ["table", "type", "function", "index", "view"].iter().any(|wanted| kind.is(wanted)) {
        let is_needed = match schema {
            "auth" if kind.is("function") => AUTH_FUNCTIONS.contains(&name),
            "auth" if kind.is("table") => is_in_auth_shape(name, ""),
            "storage" => has_storage_word(name, false),
            _ => false,
        };
        return is_needed.then(|| format!("{schema}.{name}"));
    }
    if !(first.is("alter") && kind.is("table")) {
        return None;
    }
    words.iter().enumerate().filter(|(_, word)| word.is("drop")).find_map(|(at, _)| {
        let is_constraint = words.get(at + 1)?.is("constraint");
        let is_named = is_constraint || words.get(at + 1)?.is("column");
        let part = name_at(&words, skip_optional(&words, at + 1 + usize::from(is_named)))?;
        let is_needed = match schema {
            _ if !is_named && PARTS_OF_COLUMNS.contains(&part) => false,
            "auth" | "storage" if is_constraint && part.ends_with("_pkey") => true,
            "auth" => !is_constraint && is_in_auth_shape(name, part),
            "storage" => has_storage_word(part, true),
            _ => false,
        };
        is_needed.then(|| format!("{part} of {schema}.{name}"))
    })
}

/// Returns whether a statement adds something, too, that is missing if the statement does not run.
fn adds_something(sql: &str) -> bool {
    read_words(sql, MOST_WORDS).iter().any(|word| word.is("add"))
}

/// Returns whether the auth API needs this column, or the table if the column is empty.
fn is_in_auth_shape(table: &str, column: &str) -> bool {
    let end = if column.is_empty() { "" } else { " " };
    let line = format!("column {table}.{column}{end}");
    AUTH_SHAPE.lines().any(|known| known.starts_with(&line))
}

/// Returns whether the SQL of the storage API, or that of its tables alone, has this name outside of comments and texts.
fn has_storage_word(name: &str, is_of_table: bool) -> bool {
    let files = STORAGE_FILES.iter().filter(|file| !is_of_table || file.contains("CREATE TABLE"));
    files.into_iter().any(|file| read_words(file, usize::MAX).iter().any(|word| word.is(name)))
}

/// Returns the place behind `IF EXISTS`, if it is at this place.
fn skip_optional(words: &[Word], at: usize) -> usize {
    let is_there =
        words.get(at).is_some_and(|word| word.is("if")) && words.get(at + 1).is_some_and(|word| word.is("exists"));
    if is_there { at + 2 } else { at }
}

fn is_of_service(schema: &str) -> bool {
    SERVER_SCHEMAS.contains(&schema) || OTHER_SCHEMAS.contains(&schema)
}

/// Returns schema and name of the function that a trigger executes; `None` if the statement creates no trigger.
fn find_executed_function(words: &[Word]) -> Option<(&str, &str)> {
    let is_trigger = words.first()?.is("create") && words.iter().take(5).any(|word| word.is("trigger"));
    let kind = words
        .windows(2)
        .position(|pair| pair[0].is("execute") && (pair[1].is("function") || pair[1].is("procedure")))?;
    qualified_at(words, kind + 2).filter(|_| is_trigger)
}

/// Returns the schema of the table behind `ON`.
fn find_table(words: &[Word]) -> Option<&str> {
    // Events of triggers and columns are before it, conditions and columns of indexes behind it.
    let on = words.iter().position(|word| word.is("on"))?;
    let only = usize::from(words.get(on + 1)?.is("only"));
    qualified_at(words, on + 1 + only).map(|(schema, _)| schema)
}

/// Returns the schema of the first name that has one, or the name behind `SCHEMA`.
fn find_first_schema(words: &[Word]) -> Option<&str> {
    (1..words.len()).find_map(|at| match words.get(at)? {
        word if word.is("schema") => name_at(words, at + 1),
        _ => qualified_at(words, at).map(|(schema, _)| schema),
    })
}

/// Returns whether a list of privileges is for one object of a service, or one schema.
fn has_one_target(words: &[Word]) -> bool {
    let Some(on) = words.iter().position(|word| word.is("on")) else { return false };
    let kinds = ["table", "sequence", "function", "procedure", "routine", "type", "schema"];
    let kind = words.get(on + 1).filter(|word| kinds.iter().any(|kind| word.is(kind)));
    let at = on + 1 + usize::from(kind.is_some());
    let (schema, end) = match kind {
        Some(kind) if kind.is("schema") => (name_at(words, at), at + 1),
        _ => (qualified_at(words, at).map(|(schema, _)| schema), at + 3),
    };
    let is_last = words.get(end).is_some_and(|word| word.is("to") || word.is("from") || *word == Word::Other('('));
    // Another function may follow the parameters of the first.
    let names = words[end.min(words.len())..].windows(2).filter(|pair| pair[1] == Word::Other('.')).count();
    is_last && names == 0 && schema.is_some_and(is_of_service)
}

/// Returns the schema and the name at this place, which has `schema.name`.
fn qualified_at(words: &[Word], at: usize) -> Option<(&str, &str)> {
    let schema = name_at(words, at)?;
    let name = name_at(words, at + 2)?;
    (words.get(at + 1) == Some(&Word::Other('.'))).then_some((schema, name))
}

fn name_at(words: &[Word], at: usize) -> Option<&str> {
    match words.get(at)? {
        Word::Name(name) => Some(name),
        Word::Other(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn statements_about_other_releases_of_services_are_found() {
        for (sql, code, message) in [
            (
                "revoke delete on table \"storage\".\"prefixes\" from \"anon\"",
                "42P01",
                "relation \"storage.prefixes\" does not exist",
            ),
            ("GRANT ALL ON storage.prefixes TO anon", "42P01", "relation \"storage.prefixes\" does not exist"),
            (
                "grant execute on function storage.get_level(name text) to anon",
                "42883",
                "function storage.get_level(text) does not exist",
            ),
            ("grant usage on schema pgbouncer to postgres", "3F000", "schema \"pgbouncer\" does not exist"),
            ("drop table \"storage\".\"prefixes\"", "42P01", "table \"prefixes\" does not exist"),
            (
                "alter table \"storage\".\"objects\" drop column \"level\"",
                "42703",
                "column \"level\" of relation \"objects\" does not exist",
            ),
            (
                "CREATE UNIQUE INDEX a ON storage.objects USING btree (name COLLATE \"C\", level)",
                "42703",
                "column \"level\" does not exist",
            ),
            (
                "CREATE TRIGGER enforce AFTER DELETE ON storage.buckets FOR EACH ROW EXECUTE FUNCTION storage.enforce()",
                "42710",
                "trigger \"enforce\" for relation \"buckets\" already exists",
            ),
            (
                "CREATE TRIGGER p BEFORE INSERT ON storage.prefixes FOR EACH ROW EXECUTE FUNCTION storage.added()",
                "42P01",
                "relation \"storage.prefixes\" does not exist",
            ),
        ] {
            assert!(concerns_other_release(sql, code, message), "{sql}");
        }
    }

    #[test]
    fn statements_about_the_project_are_not() {
        for (sql, code, message) in [
            (
                "grant select on storage.prefixes, public.t to anon",
                "42P01",
                "relation \"storage.prefixes\" does not exist",
            ),
            ("grant select on storage.prefixes, t to anon", "42P01", "relation \"storage.prefixes\" does not exist"),
            ("grant execute on function auth.a(), public.b() to anon", "42883", "function auth.a() does not exist"),
            ("grant select on public.t to anon", "42P01", "relation \"public.t\" does not exist"),
            ("grant select on storage.objects to reader", "42704", "role \"reader\" does not exist"),
            ("alter table auth.users add constraint c check (tenant > 0)", "42703", "column \"tenant\" does not exist"),
            (
                "create policy p on storage.prefixes using (true)",
                "42P01",
                "relation \"storage.prefixes\" does not exist",
            ),
            ("drop policy p on storage.objects", "42704", "policy \"p\" for table \"objects\" does not exist"),
            ("create index i on public.t (level)", "42703", "column \"level\" does not exist"),
            ("revoke all on storage.objects from anon", "42501", "permission denied"),
            (
                "create trigger t after insert on auth.users for each row execute function public.f()",
                "42883",
                "function public.f() does not exist",
            ),
            (
                "create trigger t after insert on auth.users for each row execute function auth.tenant()",
                "42883",
                "function auth.tenant() does not exist",
            ),
            (
                "create trigger t after insert on storage.objects for each row execute function supabase_functions.http_request('a')",
                "42710",
                "trigger \"t\" for relation \"objects\" already exists",
            ),
            ("select storage.get_level('a')", "42883", "function storage.get_level(unknown) does not exist"),
        ] {
            assert!(!concerns_other_release(sql, code, message), "{sql}");
        }
    }

    #[test]
    fn removals_of_what_the_apis_need_are_found() {
        for (sql, expected) in [
            ("alter table \"storage\".\"buckets\" drop column \"type\"", Some("type of storage.buckets")),
            (
                "ALTER TABLE IF EXISTS ONLY storage.objects DROP COLUMN IF EXISTS owner_id",
                Some("owner_id of storage.objects"),
            ),
            ("alter table auth.sessions drop column ip, drop column refreshed_at", Some("ip of auth.sessions")),
            ("alter table auth.users add column a int, drop is_anonymous", Some("is_anonymous of auth.users")),
            ("alter table auth.identities drop constraint identities_pkey", Some("identities_pkey of auth.identities")),
            (
                "drop trigger if exists \"protect_objects_delete\" on \"storage\".\"objects\"",
                Some("protect_objects_delete"),
            ),
            ("drop function if exists storage.foldername(name text)", Some("storage.foldername")),
            ("drop function auth.uid()", Some("auth.uid")),
            ("drop table if exists auth.sessions cascade", Some("auth.sessions")),
            ("alter table auth.users drop column tenant_of_the_project", None),
            ("alter table auth.users alter column phone drop default", None),
            ("alter table auth.users alter column phone drop not null", None),
            ("alter table public.buckets drop column type", None),
            ("alter table storage.objects drop column level", None),
            ("drop trigger on_auth_user_created on auth.users", None),
            ("drop trigger mine on storage.objects", None),
            ("drop function auth.tenant_of_the_project()", None),
            ("drop policy \"objects\" on storage.objects", None),
            ("drop table if exists", None),
        ] {
            assert_eq!(find_removed_object(sql).as_deref(), expected, "{sql}");
        }
        assert!(adds_something("alter table auth.users add column a int, drop is_anonymous"));
        assert!(!adds_something("alter table auth.users drop is_anonymous"));
    }

    #[test]
    fn triggers_of_earlier_releases_of_storage_are_found() {
        let trigger = |table: &str, function: &str| {
            format!(
                "create trigger t before insert on {table} for each row when (pg_trigger_depth() < 1) execute function {function}()"
            )
        };
        assert!(creates_storage_trigger(&trigger("storage.objects", "storage.objects_insert_prefix_trigger")));
        assert!(!creates_storage_trigger(&trigger("storage.objects", "public.objects_insert_prefix_trigger")));
        assert!(!creates_storage_trigger(&trigger("storage.objects", "storage.mine")));
        assert!(!creates_storage_trigger("create function storage.objects_insert_prefix_trigger() returns trigger"));
    }

    proptest! {
        #[test]
        fn arbitrary_statements_do_not_panic(sql in "(grant |revoke |create trigger |drop |alter )?[a-z.,\"( ]{0,30}( on )?[a-z.( ]{0,20}( execute function)?( to b)?") {
            let _ = (creates_storage_trigger(&sql), concerns_other_release(&sql, "42P01", ""), find_removed_object(&sql));
        }
    }
}
