//! A database that a newer server has migrated.

use rustix::process::Signal;
use serde_json::json;
use sqlx::{Connection, PgConnection};

use super::support::{Basalt, TempFolder, run};

/// Records a migration that this server does not know.
async fn record_migration(server: &Basalt, name: &str, compatible_since: i32) {
    let mut db = PgConnection::connect(&server.text("database_url")).await.expect("connected");
    let sql = "INSERT INTO basalt.migrations (name, checksum, compatible_since) VALUES ($1, 'unknown', $2)";
    sqlx::query(sql).bind(name).bind(compatible_since).execute(&mut db).await.expect("recorded");
}

#[tokio::test]
async fn database_of_newer_server_is_used_if_its_migrations_are_compatible() {
    let scratch = TempFolder::new();
    let data = scratch.path("data");
    let first = Basalt::serve(&["--data", &data]);
    let account = json!({ "email": "a@example.com", "password": "a long password" });
    assert_eq!(first.auth("/signup", Some(account.clone())).await.0, 200);
    record_migration(&first, "9001-compatible.sql", 8).await;
    first.signal(Signal::TERM);
    assert!(first.wait_for_exit());

    let second = Basalt::serve(&["--data", &data]);
    assert_eq!(second.auth("/token?grant_type=password", Some(account)).await.0, 200);
    record_migration(&second, "9002-incompatible.sql", 9001).await;
    second.signal(Signal::TERM);
    assert!(second.wait_for_exit());

    let refused = run(&["serve", "--port", "0", "--data", &data]);
    let complaint = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success());
    assert!(complaint.contains("(9002-incompatible.sql)"), "{complaint}");
    assert!(complaint.contains("the migrations up to 9001") && complaint.contains("restore a backup"), "{complaint}");
}
