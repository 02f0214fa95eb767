//! Statements that would keep the server out of its own database. Supabase refuses them: the role of migrations is no
//! superuser there.

use super::super::words::{Word, read_words};

/// The roles as which the server signs in.
const SERVER_ROLES: [&str; 4] = ["postgres", "supabase_auth_admin", "supabase_storage_admin", "authenticator"];
/// The roles that every Supabase database has; a dump of all roles creates them.
const SUPABASE_ROLES: [&str; 15] = [
    "postgres",
    "supabase_admin",
    "supabase_auth_admin",
    "supabase_storage_admin",
    "supabase_functions_admin",
    "supabase_realtime_admin",
    "supabase_replication_admin",
    "supabase_etl_admin",
    "supabase_read_only_user",
    "authenticator",
    "dashboard_user",
    "pgbouncer",
    "anon",
    "authenticated",
    "service_role",
];
/// Settings of new sessions with which the server could not use its database.
const SESSION_SETTINGS: [&str; 3] = ["default_transaction_read_only", "role", "session_authorization"];
/// What a change of a role must not contain, if the server signs in as the role.
const RIGHTS: [&str; 6] = ["nologin", "nosuperuser", "password", "connection", "valid", "rename"];
/// The longest statement about roles that is looked at, in words.
const MOST_WORDS: usize = 64;

/// What a statement would change.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ProtectedStatement {
    /// `ALTER SYSTEM` of this setting.
    SystemSetting(String),
    /// This setting for new sessions of a database, or of a role as which the server signs in.
    SessionSetting(String),
    /// Password or rights of a role as which the server signs in, or the role itself.
    ServerRole(String),
    /// How many connections a database accepts.
    ConnectionLimit,
}

/// Returns what the statement would change, if the server depends on it.
pub(super) fn find_protected(sql: &str) -> Option<ProtectedStatement> {
    let words = read_words(sql, MOST_WORDS);
    let is = |at: usize, wanted: &[&str]| words.get(at).is_some_and(|word| wanted.iter().any(|name| word.is(name)));
    let is_role = is(1, &["role", "user", "group"]) && !is(2, &["mapping"]);
    if is(0, &["alter"]) && is(1, &["system"]) && is(2, &["set"]) {
        return name_at(&words, 3).map(ProtectedStatement::SystemSetting);
    }
    if is(0, &["alter"]) && is(1, &["database"]) {
        let limits = words[2..].iter().any(|word| ["connection", "allow_connections"].iter().any(|name| word.is(name)));
        let setting = find_session_setting(&words).map(ProtectedStatement::SessionSetting);
        return setting.or_else(|| limits.then_some(ProtectedStatement::ConnectionLimit));
    }
    if is(0, &["alter"]) && is_role {
        let is_affected = |name: &String| name == "all" || SERVER_ROLES.contains(&name.as_str());
        if let Some(setting) = name_at(&words, 2).filter(is_affected).and_then(|_| find_session_setting(&words)) {
            return Some(ProtectedStatement::SessionSetting(setting));
        }
        let role = name_at(&words, 2).filter(|name| SERVER_ROLES.contains(&name.as_str()))?;
        let sets_parameter = is(3, &["set", "reset", "in"]);
        let changes_rights = words[3..].iter().any(|word| RIGHTS.iter().any(|right| word.is(right)));
        return (changes_rights && !sets_parameter).then_some(ProtectedStatement::ServerRole(role));
    }
    if is(0, &["drop"]) && is_role {
        let names = words[2..].iter().filter_map(|word| match word {
            Word::Name(name) => Some(name),
            Word::Other(_) => None,
        });
        let role = names.into_iter().find(|name| SERVER_ROLES.contains(&name.as_str()))?;
        return Some(ProtectedStatement::ServerRole(role.clone()));
    }
    None
}

/// Returns the setting that `ALTER ROLE … SET` or `ALTER DATABASE … SET` changes, if the server depends on it.
fn find_session_setting(words: &[Word]) -> Option<String> {
    let set = words.iter().skip(3).position(|word| word.is("set"))? + 3;
    let is_needed = |name: &String| SESSION_SETTINGS.contains(&name.as_str()) || name.ends_with("_preload_libraries");
    name_at(words, set + 1).filter(is_needed)
}

/// Returns whether the statement creates a role that every Supabase database has.
pub(super) fn creates_supabase_role(sql: &str) -> bool {
    let words = read_words(sql, 3);
    let creates_role = matches!(&words[..], [create, kind, _]
        if create.is("create") && ["role", "user", "group"].iter().any(|name| kind.is(name)));
    creates_role && name_at(&words, 2).is_some_and(|name| SUPABASE_ROLES.contains(&name.as_str()))
}

/// Returns whether PostgreSQL may not start, or accept no connection, with another value of the setting.
///
/// `context` is that of `pg_settings`.
pub(super) fn prevents_start(setting: &str, context: &str) -> bool {
    context == "postmaster" || setting.starts_with("ssl") || setting.ends_with("_preload_libraries")
}

fn name_at(words: &[Word], at: usize) -> Option<String> {
    match words.get(at)? {
        Word::Name(name) => Some(name.clone()),
        Word::Other(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::store::migrate::ROLES;

    #[test]
    fn statements_that_the_server_depends_on_are_found() {
        let role = |name: &str| Some(ProtectedStatement::ServerRole(name.to_owned()));
        let session = |name: &str| Some(ProtectedStatement::SessionSetting(name.to_owned()));
        for (sql, expected) in [
            (
                "-- x\nALTER SYSTEM SET Shared_Preload_Libraries = 'x'",
                Some(ProtectedStatement::SystemSetting("shared_preload_libraries".to_owned())),
            ),
            ("alter role postgres with nosuperuser inherit login password 'x'", role("postgres")),
            ("ALTER USER \"authenticator\" WITH PASSWORD 'x'", role("authenticator")),
            ("alter role supabase_auth_admin nologin", role("supabase_auth_admin")),
            ("alter user postgres connection limit 0", role("postgres")),
            ("drop role if exists mine, supabase_storage_admin", role("supabase_storage_admin")),
            (
                "ALTER DATABASE postgres SET session_preload_libraries = 'safeupdate'",
                session("session_preload_libraries"),
            ),
            (
                "alter role authenticator set session_preload_libraries to 'supautils', 'safeupdate'",
                session("session_preload_libraries"),
            ),
            (
                "alter role all in database postgres set local_preload_libraries = 'x'",
                session("local_preload_libraries"),
            ),
            ("alter role postgres set role = 'anon'", session("role")),
            ("alter database postgres connection limit 0", Some(ProtectedStatement::ConnectionLimit)),
            ("alter database postgres set timezone to 'UTC'", None),
            ("alter database postgres reset session_preload_libraries", None),
            ("alter role anon set session_preload_libraries = 'x'", None),
            ("alter role postgres set statement_timeout = '1min'", None),
            ("alter role postgres set \"app.password\" = 'x'", None),
            ("alter role postgres with superuser", None),
            ("alter role anon with nologin", None),
            ("alter system reset all", None),
            ("create role postgres password 'x'", None),
            ("drop role", None),
            ("alter role", None),
            ("drop user mapping for postgres server other", None),
        ] {
            assert_eq!(find_protected(sql), expected, "{sql}");
        }
    }

    #[test]
    fn roles_of_supabase_are_those_that_the_server_creates() {
        let created: Vec<&str> =
            ROLES.lines().filter_map(|line| line.trim().strip_prefix("('")?.split('\'').next()).collect();
        for role in SUPABASE_ROLES {
            assert!(created.contains(&role), "{role}");
            assert!(creates_supabase_role(&format!("-- x\nCREATE ROLE \"{role}\" WITH LOGIN")), "{role}");
        }
        assert!(
            !creates_supabase_role("create role mine")
                && !creates_supabase_role("create user mapping for anon server x")
        );
    }

    #[test]
    fn settings_of_the_start_are_told_from_others() {
        for (setting, context, expected) in [
            ("max_connections", "postmaster", true),
            ("ssl", "sighup", true),
            ("session_preload_libraries", "superuser", true),
            ("work_mem", "user", false),
        ] {
            assert_eq!(prevents_start(setting, context), expected, "{setting}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_statements_do_not_panic(sql in "\\PC*", rest in "[a-z.\"', ]{0,20}") {
            let _ = find_protected(&sql);
            for start in ["alter system set ", "alter role ", "alter database x ", "drop user ", "create role "] {
                let sql = format!("{start}{rest}");
                let _ = (find_protected(&sql), creates_supabase_role(&sql));
            }
        }
    }
}
