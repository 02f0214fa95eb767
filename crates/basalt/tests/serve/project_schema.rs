//! Migrations and seed files of a project on the embedded database, and `basalt db reset`.

use std::fs;
use std::process::Output;

use rustix::process::Signal;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use super::support::{Basalt, TempFolder, basalt};

const TABLE: &str = "-- Notes of users.\nCREATE TABLE public.notes (\n    text text PRIMARY KEY,\n    owner uuid REFERENCES auth.users\n);\n\
                     ALTER TABLE notes ENABLE ROW LEVEL SECURITY;\n";
const SEED: &str =
    "INSERT INTO notes VALUES ('semicolon; in quotes', NULL);\nINSERT INTO notes VALUES ('second', NULL);\n";

/// A folder with `supabase/config.toml`.
pub(crate) struct TestProject(pub(crate) TempFolder);

impl TestProject {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let project = Self(TempFolder::new());
        project.write("config.toml", "");
        for (name, text) in files {
            project.write(name, text);
        }
        project
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.0.0.join("supabase").join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("a file");
    }

    pub(crate) fn serve(&self) -> Basalt {
        Basalt::start(basalt().current_dir(&self.0.0), &[])
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> (Output, String) {
        let output = basalt().current_dir(&self.0.0).args(arguments).output().expect("the program starts");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        (output, text)
    }
}

pub(crate) async fn connect(server: &Basalt) -> PgConnection {
    PgConnection::connect(&server.text("database_url")).await.expect("connected")
}

pub(crate) async fn texts(connection: &mut PgConnection, sql: &'static str) -> Vec<String> {
    sqlx::query_scalar(sql).fetch_all(connection).await.expect("rows")
}

async fn notes(server: &Basalt) -> Vec<String> {
    texts(&mut connect(server).await, "SELECT text FROM notes ORDER BY text").await
}

pub(crate) fn stop(server: Basalt) {
    server.signal(Signal::TERM);
    assert!(server.wait_for_exit());
}

#[tokio::test]
async fn migrations_and_seeds_run_once_in_order_and_are_recorded_as_by_the_cli() {
    let project = TestProject::new(&[
        ("migrations/20240102000000_column.sql", "ALTER TABLE notes ADD COLUMN made timestamptz DEFAULT now()"),
        ("migrations/20240101000000_notes.sql", TABLE),
        ("migrations/notes.sql", "this is no migration"),
        ("seed.sql", SEED),
    ]);
    for _ in 0..2 {
        let server = project.serve();
        assert_eq!(notes(&server).await, ["second", "semicolon; in quotes"]);
        let mut connection = connect(&server).await;
        let recorded = "SELECT version || ' ' || name || ' ' || cardinality(statements)
            FROM supabase_migrations.schema_migrations ORDER BY 1";
        let recorded = texts(&mut connection, recorded).await;
        assert_eq!(recorded, ["20240101000000 notes 2", "20240102000000 column 1"]);
        let seeds = texts(&mut connection, "SELECT path FROM supabase_migrations.seed_files").await;
        assert_eq!(seeds, ["supabase/seed.sql"]);
        drop(connection);
        stop(server);
    }
    project.write("migrations/20240103000000_more.sql", "INSERT INTO notes VALUES ('third', NULL, now());");
    project.write("seed.sql", "INSERT INTO notes VALUES ('changed', NULL);");
    let server = project.serve();
    assert_eq!(
        notes(&server).await,
        ["second", "semicolon; in quotes", "third"],
        "a changed seed file does not run again"
    );
}

#[tokio::test]
async fn test_servers_have_the_schema_and_the_functions_of_a_supabase_project() {
    let policy = "CREATE EXTENSION IF NOT EXISTS \"uuid-ossp\" WITH SCHEMA extensions;\nCREATE TABLE ids (id uuid DEFAULT \
                  uuid_generate_v4());\nCREATE POLICY own ON notes USING (auth.uid() = owner);\n\
                  ALTER PUBLICATION supabase_realtime ADD TABLE notes; GRANT SELECT ON notes TO app_reader;";
    let project = TestProject::new(&[
        ("migrations/1_notes.sql", TABLE),
        ("migrations/2_policy.sql", policy),
        ("roles.sql", "CREATE ROLE app_reader NOLOGIN"),
        ("seed.sql", SEED),
    ]);
    let server = Basalt::start(basalt().current_dir(&project.0.0), &["--test"]);
    assert_eq!(notes(&server).await.len(), 2);
    let mut connection = connect(&server).await;
    let granted = "SELECT grantee FROM information_schema.role_table_grants WHERE table_name = 'notes' AND \
                   privilege_type = 'SELECT' AND grantee IN ('anon', 'authenticated', 'service_role') ORDER BY 1";
    assert_eq!(texts(&mut connection, granted).await, ["anon", "authenticated", "service_role"]);
    let (status, _) =
        server.auth("/signup", Some(json!({"email": "a@example.com", "password": "a long password"}))).await;
    assert_eq!(status, 200);
}

#[test]
fn files_are_logged_as_soon_as_they_are_applied() {
    let project = TestProject::new(&[
        ("migrations/1_notes.sql", TABLE),
        ("migrations/2_lost.sql", "SELECT pg_terminate_backend(pg_backend_pid());"),
    ]);
    let (output, text) = project.run(&["serve", "--port", "0"]);
    assert!(!output.status.success(), "{text}");
    let logged = "applied a file of the project";
    assert!(text.lines().any(|line| line.contains(logged) && line.contains("1_notes.sql")), "{text}");
    assert!(!text.lines().any(|line| line.contains(logged) && line.contains("2_lost.sql")), "{text}");
}

#[test]
fn migration_before_an_applied_one_is_refused() {
    let project = TestProject::new(&[("migrations/2_notes.sql", TABLE)]);
    stop(project.serve());
    project.write("migrations/1_earlier.sql", "SELECT 1");
    let (output, text) = project.run(&["serve", "--port", "0"]);
    assert!(!output.status.success() && text.contains("supabase/migrations/1_earlier.sql was not applied"), "{text}");
}

#[tokio::test]
async fn migrations_with_one_version_all_run_once() {
    let project = TestProject::new(&[
        ("migrations/1_notes.sql", TABLE),
        ("migrations/1_twin.sql", "INSERT INTO notes VALUES ('twin', NULL)"),
    ]);
    for _ in 0..2 {
        let server = project.serve();
        assert_eq!(notes(&server).await, ["twin"]);
        let versions = "SELECT version FROM supabase_migrations.schema_migrations ORDER BY 1";
        assert_eq!(texts(&mut connect(&server).await, versions).await, ["1", "1_twin"]);
        stop(server);
    }
}

#[tokio::test]
async fn configuration_selects_seeds_and_disables_migrations() {
    let project = TestProject::new(&[
        ("config.toml", "[db.seed]\nsql_paths = [\"./seeds/b.sql\", \"./seeds/*.sql\"]\n"),
        ("migrations/1_notes.sql", TABLE),
        ("seeds/a.sql", "INSERT INTO notes SELECT 'a after ' || string_agg(text, '') FROM notes"),
        ("seeds/b.sql", "INSERT INTO notes VALUES ('b')"),
        ("seed.sql", SEED),
    ]);
    let server = project.serve();
    assert_eq!(notes(&server).await, ["a after b", "b"]);
    stop(server);
    project.write("config.toml", "[db.migrations]\nenabled = false\n[db.seed]\nenabled = false\n");
    let (output, text) = project.run(&["db", "reset"]);
    assert!(!output.status.success() && text.contains("public.notes: 2"), "no enabled file makes them: {text}");
    let (output, text) = project.run(&["db", "reset", "--yes"]);
    assert!(output.status.success(), "{text}");
    let server = project.serve();
    let tables = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'";
    assert!(texts(&mut connect(&server).await, tables).await.is_empty());
}

#[tokio::test]
async fn reset_recreates_the_database_and_keeps_the_keys() {
    let project = TestProject::new(&[("migrations/1_notes.sql", TABLE), ("seed.sql", SEED)]);
    let server = project.serve();
    let old = server.text("secret_key");
    let keys = |action: &[&str]| {
        let (output, text) = project.run(&[&["keys", "--json"], action].concat());
        assert!(output.status.success(), "{text}");
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")
    };
    let key = keys(&["add", "secret"])["key"]["key"].as_str().expect("a key").to_owned();
    keys(&["rotate", "secret"]);
    keys(&["retire", "secret_key"]);
    let account = json!({"email": "a@example.com", "password": "a long password"});
    assert_eq!(server.auth("/signup", Some(account.clone())).await.0, 200);
    let (output, text) = project.run(&["db", "reset"]);
    assert!(!output.status.success() && text.contains("another basalt (process "), "{text}");
    assert_eq!(server.auth("/token?grant_type=password", Some(account.clone())).await.0, 200, "nothing was lost");
    stop(server);

    project.write("seed.sql", "INSERT INTO notes VALUES ('changed', NULL);");
    let (output, text) = project.run(&["db", "reset", "--yes"]);
    assert!(output.status.success(), "{text}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("2 files of the project applied"));
    let server = project.serve();
    assert_eq!(server.text("secret_key"), key);
    for (key, expected) in [(key, 200), (old, 401)] {
        let request = server.client.get(server.url("/auth/v1/admin/users")).header("apikey", key);
        assert_eq!(request.send().await.expect("an answer").status(), expected, "a retired key stays retired");
    }
    assert_eq!(notes(&server).await, ["changed"]);
    assert_eq!(server.auth("/token?grant_type=password", Some(account)).await.0, 400, "the user is gone");
}

#[tokio::test]
async fn external_databases_are_never_changed() {
    let owner = Basalt::serve(&["--ephemeral"]);
    let url = owner.text("database_url");
    let project = TestProject::new(&[("migrations/1_notes.sql", TABLE)]);
    let reset = basalt().current_dir(&project.0.0).env("DATABASE_URL", &url).args(["db", "reset"]).output();
    let reset = reset.expect("the program starts");
    let text = String::from_utf8_lossy(&reset.stderr).into_owned();
    assert!(!reset.status.success() && text.contains("DATABASE_URL names an external database"), "{text}");

    let server = Basalt::start(basalt().current_dir(&project.0.0), &["--database-url", &url]);
    assert_eq!(server.auth("/health", None).await.0, 200);
    let applied = "SELECT version FROM supabase_migrations.schema_migrations
        UNION ALL SELECT tablename::text FROM pg_tables WHERE tablename = 'notes'";
    assert!(texts(&mut connect(&owner).await, applied).await.is_empty());
}
