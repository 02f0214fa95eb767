//! Names of the Supabase CLI, and others that come to mind, for commands that have another name here or none.

/// The advice by the path of a command that does not exist.
const OTHER_NAMES: [(&str, &str); 32] = [
    ("start", "`basalt serve` starts the server with its database"),
    ("run", "`basalt serve` starts the server with its database"),
    ("dev", "`basalt serve` starts the server with its database"),
    ("up", "`basalt serve` starts the server with its database"),
    ("db start", "`basalt serve` starts the server with its database"),
    ("stop", "`basalt serve` ends with Ctrl+C or SIGTERM, and its database ends with it"),
    ("down", "`basalt serve` ends with Ctrl+C or SIGTERM, and its database ends with it"),
    ("services", "`basalt status` prints the URLs of the services"),
    ("bootstrap", "`basalt init` writes a first supabase/config.toml"),
    (
        "link",
        "no project is linked: commands take another database by `--database-url URL`, as `basalt db migrate` does",
    ),
    (
        "unlink",
        "no project is linked: commands take another database by `--database-url URL`, as `basalt db migrate` does",
    ),
    ("login", "nothing here needs an account"),
    ("logout", "nothing here needs an account"),
    ("test", "`basalt exec -- COMMAND` runs a test suite with a server of its own"),
    (
        "seed",
        "`basalt storage seed` creates the buckets of config.toml, `basalt db migrate` runs seed files that have not run yet",
    ),
    ("migrate", "`basalt db migrate` applies the migrations that have not run yet"),
    ("diff", "`basalt db diff` prints what was changed in the database without a migration"),
    ("reset", "`basalt db reset` creates the embedded database again"),
    ("upgrade", "`basalt db upgrade` moves the embedded database to a newer PostgreSQL"),
    (
        "db push",
        "`basalt db migrate --database-url URL` applies new migrations to another database, `basalt db migrate` to the project's own",
    ),
    (
        "db pull",
        "`basalt db diff --file NAME --record --database-url URL` writes what another database has as a migration",
    ),
    ("db dump", "`basalt backup FILE` backs the embedded database up; pg_dump takes the DB_URL of `basalt status`"),
    (
        "db seed",
        "`basalt db migrate` runs seed files that have not run yet, `basalt db reset` runs all in a new database",
    ),
    ("migration up", "`basalt db migrate` applies the migrations that have not run yet"),
    ("migration list", "`basalt db diff` names a migration that the database lacks, `basalt db migrate` applies it"),
    ("gen signing-key", "`basalt keys add signing` creates a signing key"),
    ("gen keys", "`basalt keys add signing` creates a signing key, `basalt status` prints the API keys"),
    ("functions", "Basalt runs no Edge Functions: [basalt.upstreams] functions names a server that does"),
    ("storage ls", STORAGE),
    ("storage cp", STORAGE),
    ("storage mv", STORAGE),
    ("storage rm", STORAGE),
];

const STORAGE: &str =
    "a client of the S3 protocol does this, such as `aws s3`, with the URL and the key of `basalt status`";

/// Commands of the Supabase CLI for projects that Supabase hosts.
const OF_HOSTED_PROJECTS: [&str; 14] = [
    "backups",
    "branches",
    "domains",
    "encryption",
    "network-bans",
    "network-restrictions",
    "orgs",
    "postgres-config",
    "projects",
    "secrets",
    "snippets",
    "ssl-enforcement",
    "sso",
    "vanity-subdomains",
];

/// Returns what to use in place of a command that does not exist.
pub(super) fn find_advice(path: &str) -> Option<&'static str> {
    if OF_HOSTED_PROJECTS.contains(&path) {
        return Some(
            "the Supabase CLI has this command for projects that Supabase hosts; config.toml has the settings here",
        );
    }
    OTHER_NAMES.iter().find(|(name, _)| *name == path).map(|(_, advice)| *advice)
}

#[cfg(test)]
mod tests {
    use super::super::definition::build;
    use super::*;

    #[test]
    fn advice_names_commands_that_exist_for_names_that_do_not() {
        let root = build();
        let find = |path: &str| {
            let mut words =
                path.split(' ').take_while(|word| word.starts_with(|letter: char| letter.is_ascii_lowercase()));
            words.try_fold(&root, |command, word| match command.find_subcommand(word) {
                Some(below) => Some(below),
                None => command.get_positionals().next().map(|_| command),
            })
        };
        for (name, advice) in OTHER_NAMES {
            assert!(find(name).is_none(), "{name} is a command");
            for command in advice.split('`').filter_map(|part| part.strip_prefix("basalt ")) {
                assert!(find(command).is_some(), "{name}: {command}");
            }
        }
        for name in OF_HOSTED_PROJECTS {
            assert!(find(name).is_none() && find_advice(name).is_some(), "{name}");
        }
    }
}
