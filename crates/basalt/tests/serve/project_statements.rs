//! Statements of real projects: each is applied, or skipped alone and reported; the server starts and the rest is applied.

use rustix::process::Signal;
use serde_json::Value;

use super::project_schema::{TestProject, connect, stop, texts};
use super::support::{Basalt, basalt};

/// Statements that are applied.
const APPLIED: &[(&str, &str)] = &[
    (
        "the first lines of a file of `db pull`",
        "SET statement_timeout = 0; SET client_encoding = 'UTF8'; SELECT pg_catalog.set_config('search_path', '', false);
         SET check_function_bodies = false; CREATE EXTENSION IF NOT EXISTS \"pg_net\" WITH SCHEMA \"extensions\";
         COMMENT ON EXTENSION pg_net IS 'requests'; CREATE TABLE IF NOT EXISTS \"public\".\"pulled\" (\"id\" uuid DEFAULT
         \"gen_random_uuid\"() NOT NULL); ALTER TABLE \"public\".\"pulled\" OWNER TO \"postgres\";",
    ),
    ("extensions whose SQL is built in", "create extension pg_cron; create extension if not exists supabase_vault;
         create extension pgjwt with schema extensions; drop extension if exists pg_net; drop extension pg_cron;"),
    ("contrib", "create extension if not exists pg_trgm with schema extensions; create extension if not exists citext;
         create table ci(e citext); create extension hstore; create extension btree_gin; create extension ltree;"),
    ("extensions in the search path", "select crypt('x', gen_salt('bf')); select encode(digest('a', 'sha256'), 'hex');
         create table ids(id uuid default uuid_generate_v4(), other uuid default extensions.uuid_generate_v4());"),
    ("a token", "do $$ begin assert (select valid from verify(sign('{\"sub\": \"1\"}', 'secret'), 'secret')); end $$;"),
    ("rights of roles", "create function role_test() returns int language sql as 'select 1';
         grant execute on function role_test() to authenticator, dashboard_user, supabase_functions_admin;
         grant usage on schema public to supabase_storage_admin, supabase_realtime_admin, supabase_read_only_user,
         supabase_replication_admin, pgbouncer, supabase_etl_admin;
         alter function role_test() owner to supabase_auth_admin; grant anon to postgres;
         create role app_user nologin; grant app_user to authenticator;"),
    ("settings of roles and databases", "alter role authenticator set pgrst.db_pre_request = 'public.x';
         alter role anon set statement_timeout = '5s'; alter database postgres set \"app.setting\" to 'x';
         do $$ begin execute format('alter database %I set timezone to %L', current_database(), 'UTC'); end $$;
         alter default privileges for role supabase_admin in schema public grant all on tables to postgres, anon;"),
    ("a publication", "create table published(id int primary key); alter publication supabase_realtime add table published;"),
    ("a publication that is created again", "begin; drop publication if exists supabase_realtime;
         create publication supabase_realtime; commit;"),
    ("storage", "insert into storage.buckets(id, name, public) values ('a', 'a', true) on conflict do nothing;
         create policy \"read a\" on storage.objects for select using (bucket_id = 'a'
             and (storage.foldername(name))[1] = auth.uid()::text);"),
    ("deletion of stored objects while there are none", "delete from storage.objects where name like 'old/%';
         delete from storage.buckets where id = 'old';"),
    ("the role of Supabase's administrator", "set role supabase_admin; create table of_admin(id int); reset role;
         select net.wake(), net.worker_restart();"),
    ("realtime", "create policy \"listen\" on realtime.messages for select to authenticated using (realtime.topic() = 'x');
         select realtime.send('{\"a\": 1}', 'event', 'topic', false);"),
    ("jobs", "select cron.schedule('nightly', '0 3 * * *', 'vacuum'); select cron.schedule('* * * * *', $$select 1$$);
         select cron.unschedule('nightly'); select cron.schedule('often', '30 seconds', 'select 1');
         update cron.job set active = false;"),
    ("requests", "create function call_out() returns trigger language plpgsql as $$
         begin perform net.http_post(url := 'https://example.com', body := to_jsonb(new)); return new; end $$;"),
    ("a webhook", "create table hooked(id int); create trigger hook after insert on hooked for each row execute function
         supabase_functions.http_request('https://example.com', 'POST', '{}', '{}', '1000');"),
    ("a secret", "select vault.create_secret('a secret', 'name', 'what it is'); do $$ begin
         assert (select decrypted_secret from vault.decrypted_secrets where name = 'name') = 'a secret';
         assert (select secret not like '%a secret%' from vault.secrets where name = 'name'); end $$;
         select vault.update_secret((select id from vault.secrets where name = 'name'), 'another');"),
    ("policies with functions of schema auth", "create table owned(id uuid references auth.users on delete cascade default
         auth.uid()); alter table owned enable row level security; create policy p on owned using ((select auth.uid()) = id);
         create policy q on owned using ((auth.jwt() -> 'app_metadata' ->> 'role') = 'admin');
         create or replace function auth.user_role() returns text language sql stable as 'select auth.jwt() ->> ''role''';"),
    ("commands outside of a transaction", "create table indexed(id int); create index concurrently i on indexed(id);
         reindex index concurrently i; vacuum; vacuum indexed; drop index concurrently i; alter system set work_mem = '8MB';"),
    ("a value of an enumeration", "create type mood as enum ('a'); alter type mood add value 'b';
         create table moods(m mood default 'b'); insert into moods values ('b');"),
    ("a dump for psql", "\\restrict abc\n\\connect postgres\ncreate table copied(id int, name text);\n
         COPY public.copied (id, name) FROM stdin;\n1\t\\N\n2\tsemi;colon\n\\.\n\nselect 1 / (count(*) - 1) from copied;\n\\unrestrict abc\n"),
    ("transactions and roles", "begin; savepoint s; create table rolled(id int); rollback to s; release savepoint s;
         create table kept(id int); commit; set role postgres; create table as_postgres(id int); reset role;"),
    ("an event trigger", "create function et() returns event_trigger language plpgsql as $$ begin end $$;
         create event trigger e on ddl_command_end execute function et();"),
    ("the CLI's tables", "select * from supabase_migrations.schema_migrations; select count(*) from auth.schema_migrations;"),
    ("a user", "insert into auth.users(id, email, encrypted_password, email_confirmed_at)
         values (gen_random_uuid(), 'seed@example.com', crypt('a long password', gen_salt('bf')), now());"),
    ("a privilege of PostgreSQL 17", "create table maintained(id int); grant select, maintain, update on maintained to anon;
         GRANT ALL ON TABLE \"public\".\"maintained\" TO \"service_role\"; alter default privileges for role postgres in schema
         public grant select,insert,maintain on tables to anon; revoke maintain, delete on maintained from anon;"),
    ("a membership of PostgreSQL 16", "create role reader; grant anon to reader with inherit true granted by postgres;
         do $$ begin assert pg_has_role('reader', 'anon', 'usage'); end $$;"),
    ("a comment for GraphQL", "comment on schema public is e'@graphql({\"inflect_names\": true})';"),
];

/// Statements that are skipped, with the line, a part of the reason, and the object that is missing.
const SKIPPED: &[(&str, usize, &str, Option<&str>)] = &[
    (
        "create table before_it(id int);\ncreate table docs(e no_such_type(3));",
        2,
        "type \"no_such_type\"",
        Some("table docs"),
    ),
    (
        "insert into storage.buckets(id, name) values ('a', 'a'); insert into storage.objects(bucket_id, name) values ('a', 'b');
         \ncreate policy p on no_such_table using (true);",
        3,
        "no_such_table",
        Some("policy p on no_such_table"),
    ),
    (
        "create trigger t after insert on nothing for each row execute function f();",
        1,
        "nothing",
        Some("trigger t on nothing"),
    ),
    ("create extension no_such_extension;", 1, "no_such_extension", Some("extension no_such_extension")),
    ("security label for anon on column auth.users.email is 'x';", 1, "label", None),
    ("select 1 +;", 1, "syntax error", None),
    ("delete from storage.objects;", 1, "Use the Storage API instead. The files", None),
    ("\\i other.sql", 1, "psql", None),
    ("vacuum no_such_table;", 1, "no_such_table", None),
    ("release savepoint no_such_savepoint;", 1, "savepoint", None),
    (
        "create table twice(id int primary key); insert into twice select 1 from generate_series(1, 2);",
        1,
        "duplicate key",
        None,
    ),
    ("create table x();\ndrop table y;", 2, "\"y\" does not exist", None),
    (
        "create table child(id int unique, parent int references child (id) deferrable initially deferred);
         insert into child values (1, 2);",
        1,
        "could not be committed",
        Some("table child"),
    ),
];

/// One migration for each statement, each with a table at its end.
fn project(statements: impl Iterator<Item = String>) -> TestProject {
    let project = TestProject::new(&[]);
    for (at, sql) in statements.enumerate() {
        let name = format!("migrations/{:03}_statement.sql", at + 1);
        project.write(&name, format!("{}\n;create table public.after_it_{at} (id int);\n", sql.trim_end()));
    }
    project
}

fn skipped_of(server: &Basalt) -> Vec<Value> {
    server.announcement["skipped_statements"].as_array().cloned().unwrap_or_default()
}

#[tokio::test]
async fn statements_of_supabase_projects_are_applied() {
    let project = project(APPLIED.iter().map(|(_, sql)| (*sql).to_owned()));
    let server = project.serve();
    assert_eq!(skipped_of(&server), Vec::<Value>::new());
    let mut connection = connect(&server).await;
    let tables =
        texts(&mut connection, "SELECT tablename::text FROM pg_tables WHERE tablename LIKE 'after_it_%'").await;
    assert_eq!(tables.len(), APPLIED.len());
    let copied = "SELECT coalesce(name, 'null') FROM public.copied ORDER BY id";
    assert_eq!(texts(&mut connection, copied).await, ["null", "semi;colon"]);
    let kept = "SELECT tablename::text FROM pg_tables WHERE tablename IN ('rolled', 'kept')";
    assert_eq!(texts(&mut connection, kept).await, ["kept"]);
    assert_eq!(texts(&mut connection, "SHOW wal_level").await, ["logical"]);
    // What a project has set stays at the next start.
    drop(connection);
    stop(server);
    let server = project.serve();
    let limits = "SELECT array_to_string(rolconfig, ',') FROM pg_roles WHERE rolname IN ('anon', 'authenticated') ORDER BY rolname";
    assert_eq!(texts(&mut connect(&server).await, limits).await, ["statement_timeout=5s", "statement_timeout=8s"]);
}

#[tokio::test]
async fn failing_statement_is_skipped_alone_and_reported() {
    let project = project(SKIPPED.iter().map(|(sql, ..)| (*sql).to_owned()));
    let server = project.serve();
    let mut connection = connect(&server).await;
    let skipped = skipped_of(&server);
    for (at, (sql, line, reason, missing)) in SKIPPED.iter().enumerate() {
        let file = format!("supabase/migrations/{:03}_statement.sql", at + 1);
        let of_file: Vec<&Value> = skipped.iter().filter(|statement| statement["file"] == file.as_str()).collect();
        let found = of_file.iter().any(|statement| {
            statement["line"] == *line
                && statement["reason"].as_str().is_some_and(|text| text.contains(reason))
                && statement["missing"].as_str() == *missing
        });
        assert!(found, "{sql}: {of_file:?}");
    }
    let tables = "SELECT tablename::text FROM pg_tables WHERE tablename LIKE 'after_it_%' ORDER BY 1";
    // The file that cannot be committed is undone as a whole.
    assert_eq!(texts(&mut connection, tables).await.len(), SKIPPED.len() - 1);
    let others = "SELECT tablename::text FROM pg_tables WHERE tablename IN ('before_it', 'x', 'twice') ORDER BY 1";
    assert_eq!(texts(&mut connection, others).await, ["before_it", "twice", "x"]);
    let versions = "SELECT count(*)::text FROM supabase_migrations.schema_migrations";
    assert_eq!(texts(&mut connection, versions).await, [SKIPPED.len().to_string()]);
}

#[tokio::test]
async fn files_change_their_session_and_the_records_without_stopping_the_start() {
    let project = TestProject::new(&[
        ("migrations/0_z.sql", "create table z (id int);"),
        ("migrations/1_a.sql", "drop table supabase_migrations.schema_migrations; create table a (id int);"),
        ("migrations/2_b.sql", "set default_transaction_read_only = on; commit; create table b (id int);"),
    ]);
    let utf_16: Vec<u8> = "\u{feff}create table c (id int);".encode_utf16().flat_map(u16::to_le_bytes).collect();
    project.write("migrations/3_c.sql", utf_16);
    project.write("migrations/4_d.sql", "select pg_catalog.uuidv7();\ncreate table d (id int);");
    let tables = "SELECT tablename::text FROM pg_tables WHERE tablename IN ('a', 'b', 'c', 'd') ORDER BY 1";
    let versions = "SELECT version FROM supabase_migrations.schema_migrations ORDER BY 1";
    let server = project.serve();
    let skipped = skipped_of(&server);
    let mut connection = connect(&server).await;
    assert_eq!(texts(&mut connection, tables).await, ["a", "b", "c", "d"], "{skipped:?}");
    assert_eq!(texts(&mut connection, versions).await, ["0", "1", "2", "3", "4"]);
    // The release that has it is named, unless it is this one.
    if let [of_later_release] = &skipped[..] {
        let remedy = of_later_release["remedy"].as_str().unwrap_or_default();
        assert!(remedy.starts_with("it needs PostgreSQL 18: "), "{skipped:?}");
    }
    drop(connection);
    stop(server);
    let server = project.serve();
    assert_eq!(texts(&mut connect(&server).await, tables).await, ["a", "b", "c", "d"]);
}

#[tokio::test]
async fn statements_with_bytes_that_are_no_text_are_skipped_alone() {
    let project = TestProject::new(&[]);
    let latin_1 = b"create table a (id int);\n-- caf\xe9\ncreate table b (id int);\ncreate table c (id int);";
    project.write("migrations/1_a.sql", latin_1);
    project.write("migrations/2_b.sql", b"create table d (id text);\ncopy d from stdin;\nx\n\xff\n\\.\nselect '\0';");
    let tables = "SELECT tablename::text FROM pg_tables WHERE tablename IN ('a', 'b', 'c', 'd') ORDER BY 1";
    let server = project.serve();
    let skipped = skipped_of(&server);
    let places: Vec<_> = skipped.iter().map(|statement| (&statement["file"], &statement["line"])).collect();
    let (first, second) = ("supabase/migrations/1_a.sql".into(), "supabase/migrations/2_b.sql".into());
    assert_eq!(places, [(&first, &2.into()), (&second, &4.into()), (&second, &6.into())], "{skipped:?}");
    assert_eq!(skipped[0]["remedy"], "save the file as UTF-8");
    assert_eq!(texts(&mut connect(&server).await, tables).await, ["a", "c", "d"]);
    stop(server);
    project.write("migrations/1_a.sql", String::from_utf8_lossy(latin_1).replace('\u{fffd}', "é"));
    project.write("migrations/2_b.sql", "create table d (id text);\ncopy d from stdin;\nx\né\n\\.\nselect '';");
    let server = project.serve();
    assert_eq!(skipped_of(&server), Vec::<Value>::new());
    let mut connection = connect(&server).await;
    assert_eq!(texts(&mut connection, tables).await, ["a", "b", "c", "d"]);
    assert_eq!(texts(&mut connection, "SELECT id FROM d ORDER BY id").await, ["x", "é"]);
}

#[tokio::test]
async fn statements_that_would_keep_the_server_out_of_its_database_do_not_run() {
    let project = TestProject::new(&[
        (
            "roles.sql",
            "CREATE ROLE anon;\nALTER ROLE anon WITH NOSUPERUSER NOINHERIT NOCREATEROLE NOCREATEDB NOLOGIN;
             CREATE ROLE supabase_auth_admin;\nALTER ROLE supabase_auth_admin WITH NOSUPERUSER NOLOGIN PASSWORD 'other';
             CREATE ROLE postgres;\nALTER ROLE postgres WITH NOSUPERUSER LOGIN PASSWORD 'other';
             ALTER ROLE postgres SET statement_timeout TO '1min'; ALTER USER authenticator CONNECTION LIMIT 0;",
        ),
        (
            "migrations/1_a.sql",
            "alter system set shared_preload_libraries = 'no_such_library'; alter system set ssl = on;
             alter system set max_connections = 1000000; alter system set work_mem = '8MB'; create table a (id int);
             alter database postgres set session_preload_libraries = 'no_such_library';
             alter role authenticator set session_preload_libraries to 'supautils', 'safeupdate';
             alter database postgres connection limit 0; alter role all set default_transaction_read_only = on;",
        ),
        ("migrations/2_b.sql", "create table b (id int);\nprepare transaction 'x';\ncreate table c (id int);"),
    ]);
    let tables = "SELECT tablename::text FROM pg_tables WHERE tablename IN ('a', 'b', 'c') ORDER BY 1";
    for _ in 0..2 {
        let server = project.serve();
        let skipped = skipped_of(&server);
        let (notes, missing): (Vec<&Value>, Vec<&Value>) =
            skipped.iter().partition(|statement| statement["note"] == true);
        assert_eq!((notes.len(), missing.len()), (13, 1), "{skipped:?}");
        assert!(missing[0]["reason"].as_str().is_some_and(|reason| reason.contains("prepared")), "{missing:?}");
        let mut connection = connect(&server).await;
        assert_eq!(texts(&mut connection, tables).await, ["a", "b", "c"]);
        let applied = "SELECT setting FROM pg_file_settings WHERE name = 'work_mem'";
        assert_eq!(texts(&mut connection, applied).await, ["8MB"]);
        let (status, body) = server.auth("/health", None).await;
        assert_eq!(status, 200, "{body}");
        drop(connection);
        stop(server);
    }
}

#[tokio::test]
async fn statements_in_a_comment_without_an_end_are_reported() {
    let text = "create table a (id int);\n/* files are in x/*.pdf\n */\ncreate table b (id int);\n
        alter table a enable row level security;";
    let project = TestProject::new(&[("migrations/1_a.sql", text)]);
    let (output, _) = project.run(&["check"]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(printed.contains("1_a.sql:2: unterminated /* comment [without table b]"), "{printed}");
    let server = project.serve();
    let skipped = skipped_of(&server);
    assert_eq!((skipped.len(), &skipped[0]["restricts_access"]), (1, &true.into()), "{skipped:?}");
    assert!(skipped[0]["remedy"].as_str().is_some_and(|remedy| remedy.contains("comments nest")), "{skipped:?}");
    stop(server);
    project.write("migrations/1_a.sql", text.replace("x/*.pdf", "x/…pdf"));
    let server = project.serve();
    assert_eq!(skipped_of(&server), Vec::<Value>::new());
    let tables = "SELECT tablename || ' ' || rowsecurity FROM pg_tables WHERE tablename IN ('a', 'b') ORDER BY 1";
    assert_eq!(texts(&mut connect(&server).await, tables).await, ["a true", "b false"]);
}

#[tokio::test]
async fn corrected_statement_of_an_applied_file_runs_at_the_next_start() {
    let project = TestProject::new(&[
        ("migrations/1_a.sql", "CREATE TABLE a (id int);\nINSERT INTO a VALUES (1);\nCREATE TABLE b (id wrong);\n"),
        ("migrations/2_b.sql", "INSERT INTO a VALUES (2); SET ROLE anon;"),
    ]);
    for _ in 0..2 {
        let server = project.serve();
        let skipped = skipped_of(&server);
        assert!(skipped.len() == 1 && skipped[0]["line"] == 3, "reported at every start: {skipped:?}");
        stop(server);
    }
    project.write(
        "migrations/1_a.sql",
        "CREATE TABLE a (id int);\nINSERT INTO a VALUES (1);\nCREATE TABLE b (id text);\n",
    );
    let server = project.serve();
    assert_eq!(skipped_of(&server), Vec::<Value>::new());
    let mut connection = connect(&server).await;
    assert_eq!(texts(&mut connection, "SELECT id::text FROM a ORDER BY 1").await, ["1", "2"]);
    assert_eq!(texts(&mut connection, "SELECT id FROM b").await, Vec::<String>::new());
}

#[tokio::test]
async fn skipped_statements_are_reported_by_every_command() {
    let config =
        "[auth.hook.custom_access_token]\nenabled = true\nuri = \"pg-functions://postgres/public/my_claims\"\n";
    let project = TestProject::new(&[
        ("config.toml", config),
        ("migrations/1_a.sql", "CREATE FUNCTION my_claims(event jsonb) RETURNS wrong LANGUAGE sql AS 'SELECT event';"),
    ]);
    let place = "supabase/migrations/1_a.sql:1: type \"wrong\" does not exist [without function my_claims]";
    let hook = "auth.hook.custom_access_token.uri: calls public.my_claims, which does not exist";
    let (output, text) = project.run(&["check"]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && printed.contains(place) && printed.contains(hook), "{printed}{text}");
    for arguments in [&["check", "--strict"][..], &["check", "--strict", "--json"]] {
        let (output, text) = project.run(arguments);
        assert_eq!(output.status.code(), Some(4), "{arguments:?}: {text}");
    }
    let data_api = "\nData API: /rest/v1 serves public, graphql_public\n";
    assert!(printed.contains(data_api), "{printed}");
    let (output, _) = project.run(&["parity", "--config", "supabase/config.toml"]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(printed.contains(data_api), "{printed}");
    assert!(output.status.code() == Some(1) && printed.contains(&format!("! {place}")), "{printed}");
    for (arguments, status) in [
        (&["exec", "--", "true"][..], 4),
        (&["exec", "--allow-skipped", "--", "true"], 0),
        (&["exec", "--", "false"], 1),
        (&["db", "reset"], 4),
    ] {
        let (output, text) = project.run(arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {text}");
        assert!(status != 4 || text.contains(place), "{arguments:?}: {text}");
    }
    let server = project.serve();
    let url = format!("{}/readyz", server.text("url"));
    let ready: Value = server.client.get(url).send().await.expect("an answer").json().await.expect("JSON");
    assert_eq!((&ready["status"], &ready["project"]["skipped_statements"]), (&"ready".into(), &1.into()), "{ready}");
    assert_eq!(ready["project"]["skipped"][0]["missing"], "function my_claims");
    stop(server);
}

#[tokio::test]
async fn test_server_ends_with_a_status_that_tells_of_skipped_statements() {
    let project = TestProject::new(&[("migrations/1_a.sql", "SELECT wrong;")]);
    for (arguments, expected) in [(&["--test"][..], 4), (&["--test", "--allow-skipped"], 0)] {
        let mut server = Basalt::start(basalt().current_dir(&project.0.0), arguments);
        assert_eq!(skipped_of(&server).len(), 1);
        server.signal(Signal::TERM);
        assert_eq!(server.exit_status(), Some(expected), "{arguments:?}");
    }
}

/// Statements on which nothing else of a project depends, with a part of the reason.
const NOTED: &[(&str, &str)] = &[
    (
        "create extension if not exists \"ltree\" with schema \"extensions\" version '0.9';",
        "version 0.9 of ltree was asked for, 1",
    ),
    ("create extension ltree version '1.0.7' cascade;", "version 1.0.7 of ltree was asked for, 1"),
    ("alter extension ltree update to '0.9';", "version 0.9 of ltree was asked for, 1"),
    ("SET no_such_parameter_of_a_release = 0;", "does not have the parameter no_such_parameter_of_a_release"),
    ("SELECT pg_catalog.setval('\"pgsodium\".\"key_key_id_seq\"', 1, false);", "pgsodium"),
    ("SELECT pg_catalog.setval('\"graphql\".\"seq_schema_version\"', 1, false);", "graphql"),
    ("COPY \"pgsodium\".\"key\" (\"id\") FROM stdin;\n\\.\n", "pgsodium"),
    ("grant usage on schema pgsodium to anon;", "pgsodium"),
    ("select pgtle.uninstall_extension_if_exists('supabase-dbdev');", "pgtle"),
    ("create extension \"supabase-dbdev\";", "supabase-dbdev"),
    ("select dbdev.install('supabase-dbdev');", "dbdev"),
    ("revoke delete on table \"storage\".\"prefixes\" from \"anon\";", "storage.prefixes"),
    ("alter table \"storage\".\"objects\" drop column \"level\";", "level"),
    ("drop table \"storage\".\"prefixes\";", "prefixes"),
    (
        "CREATE TRIGGER enforce_bucket_name_length_trigger BEFORE INSERT OR UPDATE OF name ON storage.buckets
             FOR EACH ROW EXECUTE FUNCTION storage.enforce_bucket_name_length();",
        "already exists",
    ),
    (
        "CREATE OR REPLACE FUNCTION storage.objects_insert_prefix_trigger() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN NEW.level := 1; RETURN NEW; END $$;
         CREATE TRIGGER objects_insert_create_prefix BEFORE INSERT ON storage.objects
             FOR EACH ROW EXECUTE FUNCTION storage.objects_insert_prefix_trigger();
         insert into storage.buckets(id, name) values ('of_a_dump', 'of_a_dump');
         insert into storage.objects(bucket_id, name) values ('of_a_dump', 'a/b');",
        "no object could be stored",
    ),
    ("alter table \"storage\".\"buckets\" drop column \"type\";", "the server needs type of storage.buckets"),
    (
        "alter table \"auth\".\"sessions\" drop column \"refreshed_at\";",
        "the server needs refreshed_at of auth.sessions",
    ),
    ("drop function if exists storage.foldername(name text) cascade;", "the server needs storage.foldername"),
];

#[tokio::test]
async fn statements_for_other_releases_are_notes() {
    let project = project(NOTED.iter().map(|(sql, _)| (*sql).to_owned()));
    project.write("migrations/900_uses.sql", "create table paths (path ltree);");
    let server = project.serve();
    let skipped = skipped_of(&server);
    for (at, (sql, reason)) in NOTED.iter().enumerate() {
        let file = format!("supabase/migrations/{:03}_statement.sql", at + 1);
        let of_file: Vec<&Value> = skipped.iter().filter(|statement| statement["file"] == file.as_str()).collect();
        let is_found = |statement: &&Value| {
            statement["note"] == true && statement["reason"].as_str().is_some_and(|text| text.contains(reason))
        };
        assert!(of_file.len() == 1 && of_file.iter().all(is_found), "{sql}: {of_file:?}");
    }
    assert_eq!(skipped.len(), NOTED.len(), "{skipped:?}");
    let tables = "SELECT tablename::text FROM pg_tables WHERE tablename LIKE 'after_it_%' OR tablename = 'paths'";
    assert_eq!(texts(&mut connect(&server).await, tables).await.len(), NOTED.len() + 1);
    stop(server);
    let (output, text) = project.run(&["exec", "--", "true"]);
    assert_eq!(output.status.code(), Some(0), "{text}");
}

#[tokio::test]
async fn remedy_does_not_install_what_is_there() {
    let project = TestProject::new(&[(
        "migrations/1_a.sql",
        "create extension ltree with schema nowhere;\ncreate extension no_such_extension;",
    )]);
    let server = project.serve();
    let skipped = skipped_of(&server);
    assert_eq!(skipped[0]["remedy"], "create the schema in a statement before: CREATE SCHEMA nowhere", "{skipped:?}");
    assert!(skipped[1]["remedy"].as_str().is_some_and(|remedy| remedy.contains("install")), "{skipped:?}");
}

#[tokio::test]
async fn skipped_statements_that_restrict_access_are_named_first() {
    let project = TestProject::new(&[
        (
            "migrations/1_a.sql",
            "create table a (id wrong);\ncreate policy p on a using (true);\ncreate view v as select * from a;",
        ),
        ("migrations/2_b.sql", "do $$ begin perform wrong(); revoke all on schema public from anon; end $$;\n"),
        ("migrations/3_c.sql", "create table b (id int); alter table b force row level security, add column x wrong;"),
        ("migrations/4_d.sql", "alter table a enable row level security;"),
    ]);
    let (output, text) = project.run(&["check"]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines[0].starts_with("2 statements that restrict access were skipped"), "{printed}");
    for (line, place) in lines[1..].iter().zip(["2_b.sql:1: ", "3_c.sql:1: "]) {
        let is_named =
            line.starts_with(&format!("  supabase/migrations/{place}")) && line.contains("[it restricts access");
        assert!(is_named, "{printed}{text}");
    }
    assert_eq!(printed.matches("[it restricts access").count(), 2, "{printed}");
    let server = project.serve();
    let skipped = skipped_of(&server);
    let restricting: Vec<&Value> = skipped.iter().filter(|statement| statement["restricts_access"] == true).collect();
    assert_eq!((restricting.len(), skipped.len()), (2, 6), "{skipped:?}");
}

#[tokio::test]
async fn check_shows_the_first_statements_of_each_cause() {
    let mut sql = "create table a (id wrong);\n".to_owned();
    sql.extend((0..30).map(|at| format!("insert into a values ({at});\n")));
    sql.push_str("select 1 / 0;\n");
    let project = TestProject::new(&[("migrations/1_a.sql", &sql)]);
    let count = |printed: &str| printed.lines().filter(|line| line.contains("relation \"a\" does not exist")).count();
    let (output, _) = project.run(&["check"]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(count(&printed) == 19 && printed.contains("division by zero"), "{printed}");
    assert!(printed.contains("and 11 more because of table a: `basalt check --all` lists them"), "{printed}");
    assert!(printed.starts_with("32 statements of the project were skipped; the rest was applied:\n  "), "{printed}");
    let (output, _) = project.run(&["check", "--all"]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(count(&printed) == 30 && !printed.contains(" more "), "{printed}");
}

#[tokio::test]
async fn other_release_of_postgresql_is_named_once() {
    let project =
        TestProject::new(&[("config.toml", "[db]\nmajor_version = 13\n"), ("migrations/1_a.sql", "select 1;")]);
    let (output, text) = project.run(&["check"]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let expected = "line 2: db.major_version: PostgreSQL 13 is asked for, and ";
    assert!(output.status.success() && printed.matches(expected).count() == 1, "{printed}{text}");
    let server = project.serve();
    let count = || server.log().matches("PostgreSQL 13 is asked for").count();
    // The log is read beside the announcement.
    for _ in 0..100 {
        if count() > 0 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(count(), 1, "{}", server.log());
}

#[tokio::test]
async fn provided_extensions_are_listed_as_installed_for_conditions_of_projects() {
    const JOB: &str = "create extension if not exists pg_cron;
        create extension pg_net with schema extensions; create extension pgmq;
        do $$ begin
            if exists (select 1 from pg_extension where extname = 'pg_cron') then
                perform cron.schedule('nightly', '0 3 * * *', 'select 1');
            end if;
            create extension if not exists pg_net;
        end $$;
        drop extension pgmq;
        drop extension pg_graphql;";
    const LISTED: &str =
        "SELECT extname::text FROM pg_extension WHERE extname IN ('pg_cron', 'pg_net', 'pgmq') ORDER BY 1";
    let project = TestProject::new(&[("migrations/1_jobs.sql", JOB)]);
    let server = project.serve();
    let skipped = skipped_of(&server);
    assert!(skipped.len() == 1 && skipped[0]["note"] == true, "pg_graphql is a note: {skipped:?}");
    let mut connection = connect(&server).await;
    assert_eq!(texts(&mut connection, LISTED).await, ["pg_cron", "pg_net"]);
    assert_eq!(texts(&mut connection, "SELECT jobname FROM cron.job").await, ["nightly"]);
    drop(connection);
    stop(server);
    // The next start finds the same database, and so does one with prepared SQL of another version.
    let server = project.serve();
    let mut connection = connect(&server).await;
    assert_eq!(texts(&mut connection, LISTED).await, ["pg_cron", "pg_net"]);
    sqlx::raw_sql("DROP EXTENSION pg_net").execute(&mut connection).await.expect("dropped as others are");
    assert_eq!(texts(&mut connection, LISTED).await, ["pg_cron"]);
}

#[tokio::test]
async fn new_tables_are_hidden_from_the_apis_if_the_configuration_says_so() {
    const MADE: &str = "create table notes (id serial primary key);
        create table shown (id int); grant select on shown to anon;
        create function hidden() returns int language sql as 'select 1';";
    const READABLE: &str = "SELECT relname::text || ' ' || rolname
        FROM pg_class, pg_roles
        WHERE relname IN ('notes', 'shown') AND rolname IN ('anon', 'authenticated', 'service_role')
            AND has_table_privilege(pg_roles.oid, pg_class.oid, 'SELECT')
        ORDER BY 1";
    for (setting, readable) in [
        ("auto_expose_new_tables = false", vec!["shown anon"]),
        (
            "",
            vec![
                "notes anon",
                "notes authenticated",
                "notes service_role",
                "shown anon",
                "shown authenticated",
                "shown service_role",
            ],
        ),
    ] {
        let project = TestProject::new(&[("migrations/1_notes.sql", MADE)]);
        project.write("config.toml", format!("[api]\n{setting}\n"));
        let server = project.serve();
        assert_eq!(texts(&mut connect(&server).await, READABLE).await, readable, "{setting}");
    }
}

#[tokio::test]
async fn passwords_can_be_compared_in_sql_with_the_hashes_of_supabase() {
    const COMPARE: &str = "create function is_password(given text) returns bool language sql as
        'select encrypted_password = extensions.crypt(given, encrypted_password) from auth.users';";
    const RIGHT: &str = "SELECT is_password('correct horse')::text || is_password('wrong horse')::text";
    let project = TestProject::new(&[("migrations/1_compare.sql", COMPARE)]);
    let check = || String::from_utf8_lossy(&project.run(&["check"]).0.stdout).into_owned();
    let text = check();
    assert!(text.contains("supabase/migrations/1_compare.sql compares passwords by crypt()"), "{text}");
    project.write("config.toml", "[basalt]\npassword_hash = \"bcrypt\"\n[auth.email]\nenable_confirmations = false\n");
    let text = check();
    assert!(!text.contains("crypt()"), "{text}");
    let server = project.serve();
    let account = serde_json::json!({"email": "ann@example.com", "password": "correct horse"});
    for path in ["/auth/v1/signup", "/auth/v1/token?grant_type=password"] {
        let request = server.client.post(server.url(path)).header("apikey", server.text("publishable_key"));
        assert_eq!(request.json(&account).send().await.expect("an answer").status(), 200, "{path}");
        assert_eq!(texts(&mut connect(&server).await, RIGHT).await, ["truefalse"], "{path}");
    }
}

#[test]
fn files_without_the_name_of_a_migration_are_counted() {
    let project = TestProject::new(&[
        ("migrations/1_notes.sql", "create table notes (id int);"),
        ("migrations/20250609234010-first.sql", "create table first (id int);"),
        ("migrations/20250609234011-second.sql", "create table second (id int);"),
    ]);
    let (output, text) = project.run(&["db", "migrate"]);
    assert!(output.status.success(), "{text}");
    let expected = "supabase/migrations: 2 files are left out, such as supabase/migrations/20250609234010-first.sql: ";
    assert!(text.contains(expected) && text.matches("left out").count() == 1, "{text}");
}
