//! `basalt db migrate`, `basalt migration new`, `basalt db diff` and the question of `basalt db reset`.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use sqlx::postgres::PgListener;

use super::project_schema::{TestProject, connect, stop, texts};
use super::support::{Basalt, basalt};

const NOTES: &str = "CREATE TABLE notes (id int PRIMARY KEY, text text);";
const VERSIONS: &str = "SELECT version FROM supabase_migrations.schema_migrations ORDER BY 1";

fn json_of(output: &std::process::Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

#[tokio::test]
async fn new_migrations_are_applied_to_the_running_and_to_the_stopped_database() {
    let project = TestProject::new(&[("migrations/1_notes.sql", NOTES)]);
    let (output, text) = project.run(&["db", "migrate"]);
    assert!(output.status.success(), "{text}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "applied supabase/migrations/1_notes.sql\n");
    let server = project.serve();
    project.write("migrations/2_more.sql", "ALTER TABLE notes ADD COLUMN made timestamptz;");
    project.write("seed.sql", "INSERT INTO notes VALUES (1, 'seeded');");
    let (output, text) = project.run(&["db", "migrate", "--json"]);
    assert!(output.status.success(), "{text}");
    assert_eq!(json_of(&output)["applied"], json!(["supabase/migrations/2_more.sql", "supabase/seed.sql"]));
    let mut connection = connect(&server).await;
    assert_eq!(texts(&mut connection, VERSIONS).await, ["1", "2"]);
    assert_eq!(texts(&mut connection, "SELECT text FROM notes WHERE made IS NULL").await, ["seeded"]);
    let (output, _) = project.run(&["db", "migrate"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "No file of the project is new.\n");
    drop(connection);
    stop(server);
}

#[tokio::test]
async fn skipped_statements_run_again_when_asked_for() {
    let project = TestProject::new(&[("migrations/1_notes.sql", "INSERT INTO notes VALUES (1, 'a'); SELECT 1;")]);
    let server = project.serve();
    let mut connection = connect(&server).await;
    sqlx::raw_sql("CREATE TABLE notes (id int, text text)").execute(&mut connection).await.expect("a table");
    let (output, text) = project.run(&["db", "migrate"]);
    assert_eq!(output.status.code(), Some(4), "{text}");
    assert!(text.contains("supabase/migrations/1_notes.sql:1: relation \"notes\" does not exist"), "{text}");
    let (output, text) = project.run(&["db", "migrate", "--retry-skipped"]);
    assert!(output.status.success(), "{text}");
    assert_eq!(texts(&mut connection, "SELECT text FROM notes").await, ["a"]);
    let (output, text) = project.run(&["db", "migrate", "--retry-skipped"]);
    assert!(output.status.success(), "{text}");
    assert_eq!(texts(&mut connection, "SELECT text FROM notes").await, ["a"], "it ran once");
}

#[test]
fn corrected_statements_are_counted_and_other_changes_of_applied_migrations_are_named() {
    let project = TestProject::new(&[
        ("migrations/1_notes.sql", "CREATE TABLE notes (id wrong);"),
        ("migrations/2_tags.sql", "CREATE TABLE tags (id int);"),
    ]);
    let (output, text) = project.run(&["db", "migrate"]);
    assert_eq!(output.status.code(), Some(4), "{text}");
    assert!(text.contains("1 statement of the project was skipped; the rest was applied:\n"), "{text}");
    assert_eq!(text.matches("type \"wrong\" does not exist").count(), 1, "{text}");
    project.write("migrations/1_notes.sql", "CREATE TABLE notes (id int);");
    project.write("migrations/2_tags.sql", "CREATE TABLE tags (id int); CREATE TABLE added (id int);");
    let (output, text) = project.run(&["db", "migrate"]);
    assert!(output.status.success(), "{text}");
    let expected = "ran 1 statement of supabase/migrations/1_notes.sql that had not run before\n";
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    let warning = "the migration was changed after it ran";
    assert!(text.contains(warning) && text.contains("2_tags.sql") && !text.contains("1_notes.sql"), "{text}");
    project.write("migrations/2_tags.sql", "CREATE TABLE tags\n  (id int);\n");
    let (output, text) = project.run(&["db", "migrate", "--json"]);
    assert!(output.status.success() && !text.contains(warning), "only space was changed: {text}");
    assert_eq!(json_of(&output)["changed_migrations"], json!([]));
}

#[tokio::test]
async fn failing_statement_undoes_its_file_in_a_database_of_an_operator() {
    let owner = Basalt::serve(&["--ephemeral"]);
    let url = owner.text("database_url");
    let project = TestProject::new(&[
        ("migrations/1_notes.sql", NOTES),
        ("migrations/2_broken.sql", "CREATE TABLE half (id int);\nSELECT wrong;\n"),
        ("migrations/3_later.sql", "CREATE TABLE later (id int);"),
        ("seed.sql", "INSERT INTO notes VALUES (1, 'seeded');"),
    ]);
    let (output, text) = project.run(&["db", "migrate", "--database-url", &url]);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("supabase/migrations/2_broken.sql:2: column \"wrong\" does not exist"), "{text}");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "applied supabase/migrations/1_notes.sql\n",
        "it stays applied"
    );
    let mut connection = connect(&owner).await;
    let tables = "SELECT relname::text FROM pg_class WHERE relname IN ('notes', 'half', 'later')";
    assert_eq!(texts(&mut connection, tables).await, ["notes"]);
    assert_eq!(texts(&mut connection, VERSIONS).await, ["1"]);

    project.write("migrations/2_broken.sql", "CREATE TABLE half (id int);");
    let (output, text) = project.run(&["db", "migrate", "--database-url", &url]);
    assert!(output.status.success(), "{text}");
    assert_eq!(texts(&mut connection, VERSIONS).await, ["1", "2", "3"]);
    assert!(texts(&mut connection, "SELECT text FROM notes").await.is_empty(), "seed files run when asked for");
}

#[tokio::test]
async fn data_apis_on_a_database_of_an_operator_learn_of_migrations() {
    let owner = Basalt::serve(&["--ephemeral"]);
    let url = owner.text("database_url");
    let mut listener = PgListener::connect(&url).await.expect("connected");
    // A database of an operator may not have them.
    sqlx::raw_sql("DROP EVENT TRIGGER pgrst_ddl_watch; DROP EVENT TRIGGER pgrst_drop_watch")
        .execute(&mut listener)
        .await
        .expect("dropped");
    listener.listen("pgrst").await.expect("listening");
    let project = TestProject::new(&[("migrations/1_notes.sql", NOTES)]);
    let (output, text) = project.run(&["db", "migrate", "--database-url", &url]);
    assert!(output.status.success(), "{text}");
    let notified = tokio::time::timeout(Duration::from_secs(30), listener.recv()).await.expect("a notification");
    assert_eq!(notified.expect("a notification").payload(), "reload schema");
}

#[test]
fn database_of_the_environment_has_to_be_named_on_the_command_line() {
    let project = TestProject::new(&[("migrations/1_notes.sql", NOTES)]);
    let url = "postgresql://nobody@127.0.0.1:9/none";
    let mut command = basalt();
    let output = command.current_dir(&project.0.0).env("DATABASE_URL", url).args(["db", "migrate"]).output();
    let output = output.expect("the program starts");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && text.contains("name it with --database-url"), "{text}");
}

#[tokio::test]
async fn older_migrations_are_applied_when_all_are_included() {
    let project = TestProject::new(&[("migrations/2_notes.sql", NOTES)]);
    stop(project.serve());
    project.write("migrations/1_earlier.sql", "CREATE TABLE earlier (id int);");
    project.write("migrations/3_later.sql", "CREATE TABLE later (id int);");
    let (output, text) = project.run(&["db", "migrate"]);
    assert!(!output.status.success() && text.contains("`basalt db migrate --include-all`"), "{text}");
    let (output, text) = project.run(&["db", "migrate", "--include-all"]);
    assert!(output.status.success(), "{text}");
    let server = project.serve();
    assert_eq!(texts(&mut connect(&server).await, VERSIONS).await, ["1", "2", "3"]);
}

#[tokio::test]
async fn two_commands_at_once_apply_each_migration_once() {
    let project = TestProject::new(&[]);
    let server = project.serve();
    project.write("migrations/1_notes.sql", "CREATE TABLE notes (id int); SELECT pg_sleep(1);");
    project.write("migrations/2_index.sql", "CREATE INDEX CONCURRENTLY notes_id ON notes (id);");
    let run = || basalt().current_dir(&project.0.0).args(["db", "migrate"]).output().expect("the program starts");
    let outputs = std::thread::scope(|scope| {
        let commands = [scope.spawn(run), scope.spawn(run)];
        commands.map(|command| command.join().expect("no panic"))
    });
    assert!(outputs.iter().all(|output| output.status.success()), "{outputs:?}");
    let applied = outputs.iter().filter(|output| output.stdout.starts_with(b"applied")).count();
    assert_eq!(applied, 1, "{outputs:?}");
    assert_eq!(texts(&mut connect(&server).await, VERSIONS).await, ["1", "2"]);
}

#[test]
fn new_migration_has_the_present_time_as_version() {
    let project = TestProject::new(&[]);
    let mut created = Vec::new();
    for _ in 0..2 {
        let (output, text) = project.run(&["migration", "new", "create notes"]);
        assert!(output.status.success(), "{text}");
        created.push(String::from_utf8_lossy(&output.stdout).trim_end().to_owned());
    }
    assert_ne!(created[0], created[1]);
    for line in &created {
        let name = line.strip_prefix("Created supabase/migrations/").expect("a path");
        let (version, rest) = name.split_once('_').expect("a version");
        assert_eq!((version.len(), rest), (14, "create_notes.sql"));
        let path = project.0.0.join("supabase/migrations").join(name);
        assert_eq!(fs::read_to_string(path).expect("the file"), "");
    }
    for name in ["../outside", "a/b", " ", "line\nbreak"] {
        let (output, text) = project.run(&["migration", "new", name]);
        assert!(!output.status.success() && text.contains("no slash"), "{text}");
    }
}

#[tokio::test]
async fn difference_is_what_was_changed_without_a_migration() {
    let before = "CREATE TYPE mood AS ENUM ('low', 'high');
        CREATE TABLE notes (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, text varchar(10) DEFAULT 'x', gone int);
        CREATE TABLE old (id serial PRIMARY KEY); CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1';
        CREATE VIEW shown AS SELECT id FROM notes; CREATE POLICY replaced ON notes USING (true);";
    let project = TestProject::new(&[("migrations/1_before.sql", before)]);
    let server = project.serve();
    let (output, text) = project.run(&["db", "diff"]);
    assert!(output.status.success() && output.stdout.is_empty(), "{text} {output:?}");

    let changes = "ALTER TYPE mood ADD VALUE 'middle' BEFORE 'high';
        ALTER TABLE notes ALTER COLUMN text TYPE text, ALTER COLUMN text DROP DEFAULT, ALTER COLUMN text SET NOT NULL;
        ALTER TABLE notes ADD COLUMN owner uuid NOT NULL DEFAULT gen_random_uuid(), DROP COLUMN gone;
        DROP TABLE old;
        CREATE TABLE tags (id serial PRIMARY KEY, note bigint REFERENCES notes ON DELETE CASCADE,
            mood mood DEFAULT 'low', size int GENERATED ALWAYS AS (length('a')) STORED, CHECK (id > 0));
        CREATE UNIQUE INDEX tags_note ON tags (note) WHERE note IS NOT NULL;
        CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 2';
        CREATE FUNCTION count_tags(t tags) RETURNS SETOF notes LANGUAGE sql AS 'SELECT * FROM notes';
        CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN new; END $$;
        CREATE TRIGGER touched BEFORE UPDATE ON tags FOR EACH ROW EXECUTE FUNCTION touch();
        CREATE TRIGGER joined AFTER INSERT ON auth.users FOR EACH ROW EXECUTE FUNCTION touch();
        ALTER TABLE tags ENABLE ROW LEVEL SECURITY;
        CREATE POLICY own ON tags FOR SELECT TO authenticated USING (auth.uid() IS NOT NULL);
        CREATE POLICY bucket ON storage.objects FOR SELECT USING (bucket_id = 'a');
        DROP POLICY replaced ON notes; CREATE POLICY replaced ON notes FOR SELECT USING (id > 0);
        DROP VIEW shown; CREATE VIEW shown AS SELECT id, text FROM notes;
        CREATE VIEW of_shown AS SELECT text FROM shown;
        REVOKE ALL ON tags FROM anon; REVOKE UPDATE ON notes FROM anon;";
    let mut connection = connect(&server).await;
    sqlx::raw_sql(changes).execute(&mut connection).await.expect("changed");
    drop(connection);
    let (output, text) = project.run(&["db", "diff", "--file", "changes"]);
    assert!(output.status.success(), "{text}");
    let line = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
    let path = project.0.0.join(line.strip_prefix("Created ").expect("a path"));
    let sql = fs::read_to_string(&path).expect("the migration");
    for expected in [
        "ALTER TYPE public.mood ADD VALUE 'middle' AFTER 'low';",
        "ALTER TABLE public.notes ADD COLUMN owner uuid DEFAULT gen_random_uuid() NOT NULL;",
        "DROP TABLE public.old;",
        "CREATE TRIGGER joined AFTER INSERT ON auth.users",
        "REVOKE ALL ON TABLE public.tags FROM anon;",
    ] {
        assert!(sql.contains(expected), "{expected} is missing in {sql}");
    }

    // The new migration brings another database to the same state.
    let (output, text) = project.run(&["db", "diff"]);
    assert!(output.status.success() && output.stdout.is_empty(), "{text} {output:?}");
}

#[tokio::test]
async fn migration_of_a_difference_is_recorded_where_it_was_found() {
    let project = TestProject::new(&[("migrations/1_notes.sql", NOTES)]);
    let server = project.serve();
    let mut connection = connect(&server).await;
    sqlx::raw_sql("CREATE TABLE tags (id int)").execute(&mut connection).await.expect("a table");
    let (output, text) = project.run(&["db", "diff", "--file", "tags"]);
    assert!(output.status.success() && text.contains("recorded as applied"), "{text}");
    let recorded = "SELECT name || ' ' || array_to_string(statements, ' ') FROM supabase_migrations.schema_migrations
        WHERE name = 'tags'";
    let recorded = texts(&mut connection, recorded).await;
    assert!(recorded.len() == 1 && recorded[0].contains("CREATE TABLE public.tags"), "{recorded:?}");
    drop(connection);
    let (output, text) = project.run(&["db", "migrate"]);
    assert!(output.status.success(), "{text}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "No file of the project is new.\n");
    stop(server);
    // The stopped database, and a start after it.
    let (output, text) = project.run(&["db", "migrate"]);
    assert!(output.status.success(), "{text}");
    let server = project.serve();
    assert_eq!(server.announcement["skipped_statements"], Value::Null);
    stop(server);
}

#[tokio::test]
async fn difference_of_another_database_is_recorded_when_asked_for() {
    let owner = Basalt::serve(&["--ephemeral"]);
    let url = owner.text("database_url");
    let project = TestProject::new(&[("migrations/1_notes.sql", NOTES)]);
    let (output, text) = project.run(&["db", "migrate", "--database-url", &url]);
    assert!(output.status.success(), "{text}");
    let mut connection = connect(&owner).await;
    sqlx::raw_sql("CREATE TABLE tags (id int)").execute(&mut connection).await.expect("a table");
    let (output, text) = project.run(&["db", "diff", "--file", "tags", "--database-url", &url]);
    assert!(output.status.success() && text.contains("not recorded in that database"), "{text}");
    assert_eq!(texts(&mut connection, VERSIONS).await, ["1"]);
    // The migration of the first call is not applied there.
    let arguments = ["db", "diff", "--file", "more", "--record", "--database-url", &url];
    let (output, text) = project.run(&arguments);
    assert!(!output.status.success() && text.contains("run `basalt db migrate` first"), "{text}");
    let folder = project.0.0.join("supabase/migrations");
    for entry in fs::read_dir(&folder).expect("the folder").flatten() {
        if entry.file_name() != "1_notes.sql" {
            fs::remove_file(entry.path()).expect("removed");
        }
    }
    let (output, text) = project.run(&arguments);
    assert!(output.status.success(), "{text}");
    assert_eq!(texts(&mut connection, VERSIONS).await.len(), 2);
    let (output, text) = project.run(&["db", "migrate", "--database-url", &url]);
    assert!(output.status.success(), "{text}");
}

#[tokio::test]
async fn reset_names_rows_of_the_project_that_its_files_do_not_make() {
    let project = TestProject::new(&[
        ("migrations/1_notes.sql", NOTES),
        ("migrations/2_tags.sql", "CREATE SCHEMA app; CREATE TABLE app.tags (id int);"),
        ("seed.sql", "INSERT INTO notes VALUES (1, 'seeded');"),
    ]);
    stop(project.serve());
    let (output, text) = project.run(&["db", "reset"]);
    assert!(output.status.success(), "seeded rows are made again: {text}");
    let server = project.serve();
    let add = "INSERT INTO notes VALUES (2, 'typed'); INSERT INTO app.tags VALUES (1), (2)";
    sqlx::raw_sql(add).execute(&mut connect(&server).await).await.expect("rows");
    stop(server);
    let (output, text) = project.run(&["db", "reset"]);
    let expected =
        "with 3 rows that the files of the project do not make (app.tags: 2, public.notes: 1) was not deleted";
    assert!(!output.status.success() && text.contains(expected), "{text}");
    let server = project.serve();
    assert_eq!(texts(&mut connect(&server).await, "SELECT text FROM notes ORDER BY 1").await, ["seeded", "typed"]);
    stop(server);
    let (output, text) = project.run(&["db", "reset", "--yes"]);
    assert!(output.status.success(), "{text}");
}

#[tokio::test]
async fn reset_asks_before_it_deletes_accounts_or_another_folder() {
    let project = TestProject::new(&[("migrations/1_notes.sql", NOTES)]);
    stop(project.serve());
    let (output, text) = project.run(&["db", "reset"]);
    assert!(output.status.success(), "without accounts nothing is asked: {text}");
    let server = project.serve();
    let account = json!({"email": "a@example.com", "password": "a long password"});
    assert_eq!(server.auth("/signup", Some(account)).await.0, 200);
    stop(server);
    let (output, text) = project.run(&["db", "reset"]);
    assert!(!output.status.success() && text.contains("with an account was not deleted"), "{text}");
    let server = project.serve();
    let users = texts(&mut connect(&server).await, "SELECT email::text FROM auth.users").await;
    assert_eq!(users, ["a@example.com"]);
    let add = "INSERT INTO storage.buckets (id, name) VALUES ('a', 'a');
               INSERT INTO storage.objects (bucket_id, name) VALUES ('a', '1'), ('a', '2');
               DELETE FROM auth.users";
    sqlx::raw_sql(add).execute(&mut connect(&server).await).await.expect("objects");
    stop(server);
    let (output, text) = project.run(&["db", "reset"]);
    assert!(!output.status.success() && text.contains("with 2 stored objects was not deleted"), "{text}");

    let other = project.0.path("production");
    let (output, text) = project.run(&["db", "migrate", "--data", &other]);
    assert!(output.status.success(), "{text}");
    let (output, text) = project.run(&["db", "reset", "--data", &other]);
    assert!(!output.status.success() && text.contains("production was not deleted"), "{text}");
    let (output, text) = project.run(&["db", "reset", "--data", &other, "--yes"]);
    assert!(output.status.success(), "{text}");
}

#[test]
fn database_that_is_not_reached_is_named_with_the_cause() {
    let project = TestProject::new(&[("migrations/1_notes.sql", NOTES)]);
    let url = "postgresql://ann:secret@127.0.0.1:1/none";
    let (output, text) = project.run(&["db", "migrate", "--database-url", url]);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("127.0.0.1 port 1: Connection refused"), "{text}");
    assert!(text.contains("does PostgreSQL run there?") && !text.contains("secret"), "{text}");
}

#[tokio::test]
async fn tables_without_row_level_security_are_named_with_the_remedy() {
    let create = |number: u8| format!("CREATE TABLE t{number} (id int);");
    let tables: String = (1..=7).map(create).collect();
    let others = "ALTER TABLE t6 ENABLE ROW LEVEL SECURITY; REVOKE ALL ON t7 FROM anon, authenticated;
        CREATE TABLE \"Mixed\" (id int); CREATE SCHEMA hidden; CREATE TABLE hidden.other (id int);
        GRANT USAGE ON SCHEMA hidden TO anon; GRANT ALL ON hidden.other TO anon;";
    let project = TestProject::new(&[("migrations/1_tables.sql", &format!("{tables}{others}"))]);
    let (output, text) = project.run(&["db", "migrate"]);
    assert!(output.status.success(), "{text}");
    let named = "public.\"Mixed\", public.t1, public.t2, public.t3, public.t4 and 1 more table";
    let remedy = "`alter table NAME enable row level security;`";
    let line = text.lines().find(|line| line.contains("row level security")).expect("a line");
    assert!(line.contains(named) && line.contains(remedy), "{text}");
    let (output, text) = project.run(&["check"]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && printed.contains(named) && printed.contains(remedy), "{printed}{text}");

    project.write("config.toml", "[api]\nschemas = [\"hidden\"]\n");
    let (_, text) = project.run(&["db", "migrate"]);
    assert!(text.contains("hidden.other") && !text.contains("public.t1"), "{text}");
    project.write("migrations/2_security.sql", "ALTER TABLE hidden.other ENABLE ROW LEVEL SECURITY;");
    let (_, text) = project.run(&["db", "migrate"]);
    assert!(!text.contains("row level security"), "{text}");
}
