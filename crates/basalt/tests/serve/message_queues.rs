//! Message queues of schema `pgmq`, which exist without the extension.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use sqlx::{Connection, PgConnection};

use super::project_schema::{TestProject, connect, texts};

const PROJECT: &str = "create extension if not exists pgmq with schema pgmq version '1.4.4';
     select pgmq.create('tasks'); select from pgmq.create_unlogged('fast'); select pgmq.create_partitioned('parts');
     grant usage on schema pgmq to authenticated; alter table pgmq.q_tasks enable row level security;
     do $$ begin perform pgmq.send('tasks', '{\"n\": 1}'); perform pgmq.send('tasks', '{\"n\": 2}'::jsonb, 3600);
       perform pgmq.send('tasks', '{\"n\": 3}', '{\"h\": true}'::jsonb);
       perform pgmq.send('tasks', '{\"n\": 4}', now() + interval '1 day');
       perform pgmq.send(queue_name => 'tasks', msg => '{\"n\": 5}', delay => 0);
       perform pgmq.send('tasks', '{\"n\": 6}', '{\"h\": 1}', 0);
       perform pgmq.send_batch('tasks', array['{\"n\": 7}', '{\"n\": 8}']::jsonb[]); end $$;";

async fn execute(connection: &mut PgConnection, sql: &'static str) {
    sqlx::raw_sql(sql).execute(connection).await.expect(sql);
}

#[tokio::test]
async fn queues_work_as_those_of_the_extension() {
    let project = TestProject::new(&[("migrations/1_queues.sql", PROJECT)]);
    let server = project.serve();
    assert_eq!(server.announcement["skipped_statements"], serde_json::Value::Null);
    let mut connection = connect(&server).await;
    let db = &mut connection;
    let queues = "SELECT queue_name || is_unlogged::text || is_partitioned::text FROM pgmq.list_queues() ORDER BY 1";
    assert_eq!(texts(db, queues).await, ["fasttruefalse", "partsfalsefalse", "tasksfalsefalse"]);
    let read = "SELECT concat_ws(' ', msg_id, read_ct, message, headers, vt > now()) FROM pgmq.read('tasks', 60, 2)";
    assert_eq!(texts(db, read).await, [r#"1 1 {"n": 1} t"#, r#"3 1 {"n": 3} {"h": true} t"#]);
    let found = "SELECT message::text FROM pgmq.read('tasks', 60, 9, '{\"n\": 8}')";
    assert_eq!(texts(db, found).await, [r#"{"n": 8}"#]);
    assert_eq!(texts(db, "SELECT msg_id::text FROM pgmq.pop('tasks')").await, ["5"]);
    // A message that was not deleted comes again after its time.
    assert_eq!(texts(db, "SELECT msg_id::text FROM pgmq.set_vt('tasks', 1, 1)").await, ["1"]);
    let poll = "SELECT msg_id || ' ' || read_ct FROM pgmq.read_with_poll('tasks', 60, 1, 20, 50, '{\"n\": 1}')";
    assert_eq!(texts(db, poll).await, ["1 2"]);
    let poll = "SELECT msg_id::text FROM pgmq.read_with_poll('tasks', 60, 1, 1, 50, '{\"n\": 99}')";
    assert_eq!(texts(db, poll).await, Vec::<String>::new());
    let ended = "SELECT concat_ws(' ', pgmq.archive('tasks', 1), pgmq.archive('tasks', 1), pgmq.delete('tasks', 3), pgmq.delete('tasks', 3))";
    assert_eq!(texts(db, ended).await, ["t f t f"]);
    assert_eq!(texts(db, "SELECT pgmq.archive('tasks', ARRAY[6, 99])::text").await, ["6"]);
    assert_eq!(texts(db, "SELECT pgmq.delete('tasks', ARRAY[7, 99])::text").await, ["7"]);
    assert_eq!(
        texts(db, "SELECT msg_id || ' ' || message FROM pgmq.a_tasks ORDER BY msg_id").await,
        [r#"1 {"n": 1}"#, r#"6 {"n": 6}"#]
    );
    let metrics = "SELECT concat_ws(' ', queue_name, queue_length, total_messages, queue_visible_length) FROM pgmq.metrics('tasks')";
    assert_eq!(texts(db, metrics).await, ["tasks 3 8 0"]);
    assert_eq!(texts(db, "SELECT queue_name FROM pgmq.metrics_all() ORDER BY 1").await, ["fast", "parts", "tasks"]);
    assert_eq!(texts(db, "SELECT pgmq.purge_queue('tasks')::text").await, ["3"]);
    assert_eq!(texts(db, "SELECT pgmq.drop_queue('fast')::text || pgmq.drop_queue('fast')").await, ["truefalse"]);
    let refused = sqlx::raw_sql("SELECT pgmq.convert_archive_partitioned('tasks')").execute(&mut *db).await;
    assert!(refused.expect_err("refused").to_string().contains("pg_partman"));
    // Others than the owner need the rights that the project grants.
    execute(db, "SET ROLE anon").await;
    let refused = sqlx::raw_sql("SELECT pgmq.send('tasks', '{}')").execute(&mut *db).await;
    assert!(refused.expect_err("refused").to_string().contains("permission denied"));
}

#[tokio::test]
async fn concurrent_readers_never_get_one_message_twice() {
    const MESSAGES: usize = 300;
    let project = TestProject::new(&[("migrations/1_queue.sql", "select pgmq.create('work');")]);
    let server = project.serve();
    let mut connection = connect(&server).await;
    let fill = "SELECT count(*)::text FROM generate_series(1, 300) AS n, pgmq.send('work', to_jsonb(n))";
    assert_eq!(texts(&mut connection, fill).await, ["300"]);
    let read_all = async |url: String| {
        let mut reader = PgConnection::connect(&url).await.expect("connected");
        let mut read = Vec::new();
        for _ in 0..2 * MESSAGES {
            let some = "SELECT msg_id::text FROM pgmq.read('work', 600, 3)";
            let ids = texts(&mut reader, some).await;
            if ids.is_empty() && !read.is_empty() {
                break;
            }
            read.extend(ids);
        }
        read
    };
    let url = server.text("database_url");
    let readers = [(); 4].map(|()| read_all(url.clone()));
    let [one, two, three, four] = readers;
    let parts = tokio::time::timeout(Duration::from_mins(2), async { tokio::join!(one, two, three, four) });
    let (one, two, three, four) = Box::pin(parts).await.expect("all were read");
    let all = [one, two, three, four].concat();
    let distinct: BTreeSet<&String> = all.iter().collect();
    assert_eq!((all.len(), distinct.len()), (MESSAGES, MESSAGES));
}

#[tokio::test]
async fn names_of_queues_run_as_no_sql() {
    let project = TestProject::new(&[(
        "migrations/1_canary.sql",
        "create table canary (id int); insert into canary values (1); select pgmq.create('canary');",
    )]);
    let server = project.serve();
    let mut connection = connect(&server).await;
    let parts = prop::sample::select(vec![
        "\"",
        "\"\"",
        "'",
        ";",
        "--",
        "/*",
        "$$",
        "\\",
        "%s",
        "%I",
        "%1$I",
        " ",
        ".",
        "é",
        "Q",
        "x",
        ")",
        "(id int)",
        "drop table canary",
        "\"; drop table canary",
        " cascade",
        "\n",
    ]);
    let names = prop::collection::vec(parts, 1..6).prop_map(|parts| parts.concat());
    let mut runner = TestRunner::deterministic();
    for _ in 0..200 {
        let name = names.new_tree(&mut runner).expect("a name").current();
        let call = async |connection: &mut PgConnection, sql: &'static str| {
            sqlx::query(sql).bind(&name).execute(connection).await.is_ok()
        };
        let is_created = call(&mut connection, "SELECT pgmq.create($1)").await;
        let is_refused = name.contains(['$', ';', '\'']) || name.contains("--") || name.to_lowercase().len() > 47;
        assert_eq!(is_created, !is_refused, "{name:?}");
        for sql in [
            "SELECT pgmq.send($1, '{}')",
            "SELECT pgmq.read($1, 0, 1)",
            "SELECT pgmq.set_vt($1, 1, 0)",
            "SELECT pgmq.archive($1, 1)",
            "SELECT pgmq.delete($1, 1)",
            "SELECT pgmq.pop($1)",
            "SELECT pgmq.metrics($1)",
            "SELECT pgmq.purge_queue($1)",
            "SELECT pgmq.drop_queue($1)",
        ] {
            assert_eq!(call(&mut connection, sql).await, is_created, "{sql} {name:?}");
        }
    }
    assert_eq!(texts(&mut connection, "SELECT id::text FROM public.canary").await, ["1"]);
    assert_eq!(texts(&mut connection, "SELECT queue_name::text FROM pgmq.meta").await, ["canary"]);
    let tables = "SELECT tablename::text FROM pg_tables WHERE schemaname IN ('public', 'pgmq') ORDER BY 1";
    assert_eq!(texts(&mut connection, tables).await, ["a_canary", "canary", "meta", "q_canary"]);
}
