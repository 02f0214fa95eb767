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

/// Loads the schema cache; returns how long it takes.
async fn load(api: &TestApi) -> Duration {
    let started = Instant::now();
    api.api.reload_schema().await.unwrap();
    started.elapsed()
}

#[tokio::test]
async fn six_hundred_tables_load_within_seconds() {
    let large = TestApi::start(&tables(600, 5), &[]).await;
    let took = load(&large).await;
    assert!(took < Duration::from_secs(10), "{took:?}");
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
    let took = load(&api).await;
    let grown = resident().saturating_sub(before);
    eprintln!("10,000 tables, 50,000 columns: {took:?}, {} MiB", grown / 1024 / 1024);
    // An unoptimised build takes up to ten times as long.
    let limit = if cfg!(debug_assertions) { 20 } else { 2 };
    assert!(took < Duration::from_secs(limit), "{took:?}");
    assert!(grown < 120 * 1024 * 1024, "{grown} bytes");
    assert_eq!(api.get("/t9999?select=id,t9998(id)").await.status(), 200);
}
