//! The schema cache of a large schema.

use std::fmt::Write;
use std::time::{Duration, Instant};

use crate::api::TestApi;

/// Tables with so many columns, the last of which refers to the table before.
fn tables(count: usize, columns: usize) -> String {
    let mut sql = String::new();
    for table in 0..count {
        write!(sql, "CREATE TABLE t{table} (id int PRIMARY KEY").unwrap();
        for column in 2..columns {
            write!(sql, ", c{column} text").unwrap();
        }
        let parent = table.saturating_sub(1);
        writeln!(sql, ", parent int REFERENCES t{parent});").unwrap();
    }
    sql
}

/// The number of queries that a load of the schema cache runs, and how long it takes.
async fn load(api: &TestApi) -> (i64, Duration) {
    let statements = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()";
    let flush = "SELECT pg_stat_force_next_flush()";
    api.admin.execute(flush, &[]).await.ok();
    let count = async || api.admin.query_one(statements, &[]).await.unwrap().get::<_, i64>(0);
    let before = count().await;
    let started = Instant::now();
    api.api.reload_schema().await.unwrap();
    let took = started.elapsed();
    tokio::time::sleep(Duration::from_millis(1200)).await;
    (count().await - before, took)
}

#[tokio::test]
async fn load_asks_the_same_number_of_queries_for_any_number_of_tables() {
    let small = TestApi::start(&tables(3, 5), &[]).await;
    let large = TestApi::start(&tables(600, 5), &[]).await;
    let (few, _) = load(&small).await;
    let (many, took) = load(&large).await;
    // Statistics are reported late, and those of this test count as well.
    assert!((many - few).abs() <= 4, "{few} queries for 3 tables, {many} for 600");
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert_eq!(large.get("/t599?select=id,t598(id,t597(id))").await.status(), 200);
}

/// Ten thousand tables with fifty thousand columns: `cargo test -p postgrest-rs --release -- --ignored schema_size` measures it.
#[tokio::test]
#[ignore = "creates 10,000 tables, which takes about a minute"]
async fn ten_thousand_tables_load_in_two_seconds() {
    let api = TestApi::start("", &[]).await;
    for part in tables(10_000, 5).lines().collect::<Vec<_>>().chunks(500) {
        api.admin.batch_execute(&part.concat()).await.unwrap();
    }
    let grant = "GRANT ALL ON ALL TABLES IN SCHEMA public TO api_anonymous; ANALYZE";
    api.admin.batch_execute(grant).await.unwrap();
    let resident = || {
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
        pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
    };
    let before = resident();
    let (_, took) = load(&api).await;
    let grown = resident().saturating_sub(before);
    eprintln!("10,000 tables, 50,000 columns: {took:?}, {} MiB", grown / 1024 / 1024);
    // An unoptimised build takes up to ten times as long.
    let limit = if cfg!(debug_assertions) { 20 } else { 2 };
    assert!(took < Duration::from_secs(limit), "{took:?}");
    assert!(grown < 120 * 1024 * 1024, "{grown} bytes");
    assert_eq!(api.get("/t9999?select=id,t9998(id)").await.status(), 200);
}
