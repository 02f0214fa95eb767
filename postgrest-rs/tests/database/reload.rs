//! Reloading the schema cache and the settings.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::StatusCode;
use postgrest_rs::service::DataApi;
use postgrest_rs::upkeep::{self, ReloadRequests};

use crate::api::{TestApi, sources, text};
use crate::cluster::{Cluster, cluster};

/// Waits until a request is answered with a status.
async fn wait_for(api: &TestApi, target: &str, status: StatusCode) {
    let started = Instant::now();
    loop {
        let response = api.get(target).await;
        if response.status() == status {
            return;
        }
        assert!(started.elapsed() < Duration::from_secs(20), "{target}: {}", text(&response));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Keeps the API current while a test runs.
fn keep_current(api: &TestApi) -> tokio::task::JoinHandle<()> {
    tokio::spawn(upkeep::run(Arc::clone(&api.api), None, Arc::new(ReloadRequests::default())))
}

#[tokio::test]
async fn notification_reloads_the_schema() {
    let api = TestApi::start("", &[]).await;
    let upkeep = keep_current(&api);
    assert_eq!(api.get("/late").await.status(), StatusCode::NOT_FOUND);
    let statements = "CREATE TABLE late (id int); GRANT SELECT ON late TO api_anonymous; NOTIFY pgrst, 'reload schema'";
    api.admin.batch_execute(statements).await.unwrap();
    wait_for(&api, "/late", StatusCode::OK).await;
    api.admin.batch_execute("DROP TABLE late; NOTIFY pgrst").await.unwrap();
    wait_for(&api, "/late", StatusCode::NOT_FOUND).await;
    upkeep.abort();
}

#[tokio::test]
async fn lost_listener_reloads_when_it_is_back() {
    let api = TestApi::start("", &[]).await;
    let upkeep = keep_current(&api);
    let query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'";
    let started = Instant::now();
    while api.admin.query(query, &[]).await.unwrap().is_empty() {
        assert!(started.elapsed() < Duration::from_secs(20), "nothing listens");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    api.admin.batch_execute("CREATE TABLE unseen (id int); GRANT SELECT ON unseen TO api_anonymous").await.unwrap();
    wait_for(&api, "/unseen", StatusCode::OK).await;
    upkeep.abort();
}

#[tokio::test]
async fn failed_reload_keeps_the_cache() {
    let api = TestApi::start("CREATE TABLE kept (id int);", &[]).await;
    let name: String = api.admin.query_one("SELECT current_database()::text", &[]).await.unwrap().get(0);
    api.admin.batch_execute(&format!("ALTER DATABASE {name} SET statement_timeout = '1ms'")).await.unwrap();
    assert!(api.api.check_ready().await);
    assert!(api.api.reload_schema().await.is_err());
    assert!(!api.api.check_ready().await);
    api.admin.batch_execute(&format!("ALTER DATABASE {name} RESET statement_timeout")).await.unwrap();
    assert_eq!(api.get("/kept").await.status(), StatusCode::OK);
    let figures = api.api.metrics();
    assert!(figures.contains("pgrst_schema_cache_loads_total{status=\"SUCCESS\"} 1\n"), "{figures}");
    assert!(figures.contains("pgrst_schema_cache_loads_total{status=\"FAIL\"} 1\n"), "{figures}");
    api.api.reload_schema().await.unwrap();
    assert!(api.api.check_ready().await);
}

/// The number of statements that the sessions of the API have prepared, of those that name the table.
async fn count_prepared(api: &TestApi) -> String {
    let body = text(&api.get("/prepared").await);
    let rows: serde_json::Value = serde_json::from_str(&body).unwrap();
    rows[0]["count"].to_string()
}

#[tokio::test]
async fn setting_of_the_database_ends_prepared_statements() {
    let objects = "CREATE TABLE repeated (id int);
        CREATE VIEW prepared AS SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%repeated%';
        GRANT SELECT ON prepared TO api_anonymous;";
    let api = TestApi::start(objects, &[("db-pool", "1")]).await;
    let name: String = api.admin.query_one("SELECT current_database()::text", &[]).await.unwrap().get(0);
    let set =
        |value: &str| format!("ALTER ROLE api_login IN DATABASE {name} SET pgrst.db_prepared_statements = '{value}'");
    for (value, expected) in [("true", "1"), ("false", "0"), ("true", "1")] {
        api.admin.batch_execute(&set(value)).await.unwrap();
        api.api.reload_config(None).await.unwrap();
        for _ in 0..3 {
            assert_eq!(api.get("/repeated").await.status(), StatusCode::OK);
        }
        assert_eq!(count_prepared(&api).await, expected, "{value}");
    }
}

#[tokio::test]
async fn many_reloads_disturb_no_request() {
    let api = TestApi::start("CREATE TABLE steady (id int);", &[("db-pool", "2")]).await;
    let reloads = async {
        for _ in 0..20 {
            api.api.reload_schema().await.unwrap();
            api.api.reload_config(None).await.unwrap();
        }
    };
    let requests = async {
        for _ in 0..200 {
            assert_eq!(api.get("/steady").await.status(), StatusCode::OK);
        }
    };
    tokio::join!(reloads, requests);
}

#[tokio::test]
async fn schema_is_reloaded_with_the_settings_notified_before_it() {
    let objects =
        "CREATE SCHEMA second; CREATE TABLE second.rows (id int); GRANT USAGE ON SCHEMA second TO api_anonymous;
        GRANT SELECT ON second.rows TO api_anonymous;";
    let api = TestApi::start(objects, &[]).await;
    let upkeep = keep_current(&api);
    let name: String = api.admin.query_one("SELECT current_database()::text", &[]).await.unwrap().get(0);
    // Whichever is read first by chance would be wrong in half of these rounds.
    for (schema, status) in [("second", StatusCode::OK), ("public", StatusCode::NOT_FOUND)].repeat(4) {
        let set = format!("ALTER ROLE api_login IN DATABASE {name} SET pgrst.db_schemas = '{schema}'");
        api.admin.batch_execute(&set).await.unwrap();
        api.admin.batch_execute("NOTIFY pgrst, 'reload config'; NOTIFY pgrst, 'reload schema'").await.unwrap();
        wait_for(&api, "/rows", status).await;
    }
    upkeep.abort();
}

#[tokio::test]
async fn keys_are_replaced_while_the_database_does_not_answer() {
    let settings = |secret: &str| {
        let unreachable = "postgresql://nobody@127.0.0.1:1/none".to_owned();
        crate::api::sources(unreachable, &[("jwt-secret", secret)])
    };
    let (former, present) = ("the former secret with 32 characters", "the present secret with 32 characters");
    let api = postgrest_rs::service::DataApi::new(settings(former)).unwrap();
    assert!(api.reload_config(None).await.is_err());
    assert!(api.reload_schema().await.is_err());
    let answer = async |secret: &str| {
        let key = jsonwebtoken::EncodingKey::from_secret(secret.as_bytes());
        let token = jsonwebtoken::encode(&jsonwebtoken::Header::default(), &serde_json::json!({}), &key).unwrap();
        let request = http::Request::get("/items").header("authorization", format!("Bearer {token}"));
        let (parts, ()) = request.body(()).unwrap().into_parts();
        api.handle(&parts, bytes::Bytes::new()).await.status().as_u16()
    };
    assert_eq!((answer(former).await, answer(present).await), (503, 401));
    api.replace_settings(settings(present)).unwrap();
    assert_eq!((answer(former).await, answer(present).await), (401, 503));
    assert!(api.replace_settings(settings("short")).is_err());
    assert_eq!((answer(former).await, answer(present).await), (401, 503), "unusable settings change nothing");
}

/// Ends the connections of the API to a database.
const TERMINATE: &str =
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND usename = 'api_login'";

#[tokio::test]
async fn api_is_not_ready_while_the_database_refuses_connections() {
    let api = TestApi::start("CREATE TABLE kept (id int);", &[]).await;
    let upkeep = keep_current(&api);
    let other = cluster().connect("postgres").await;
    let started = Instant::now();
    while !api.api.check_ready().await {
        assert!(started.elapsed() < Duration::from_secs(20), "it becomes ready");
    }
    other.batch_execute(&format!("ALTER DATABASE {} ALLOW_CONNECTIONS false", api.name)).await.unwrap();
    other.query(TERMINATE, &[&api.name]).await.unwrap();
    for ready in [false, true] {
        let started = Instant::now();
        while api.api.check_ready().await != ready {
            assert!(started.elapsed() < Duration::from_secs(20), "it becomes ready: {ready}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        other.batch_execute(&format!("ALTER DATABASE {} ALLOW_CONNECTIONS true", api.name)).await.unwrap();
    }
    upkeep.abort();
}

#[tokio::test]
async fn lost_connection_is_final_without_automatic_recovery() {
    let api = TestApi::start("", &[("db-pool-automatic-recovery", "false")]).await;
    let upkeep = keep_current(&api);
    let started = Instant::now();
    let listener = format!("{TERMINATE} AND query LIKE 'LISTEN%'");
    while api.admin.query(&listener, &[&api.name]).await.unwrap().is_empty() {
        assert!(started.elapsed() < Duration::from_secs(20), "nothing listens");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let reason = tokio::time::timeout(Duration::from_secs(20), api.api.wait_for_final_failure()).await.unwrap();
    assert!(reason.contains("db-pool-automatic-recovery"), "{reason}");
    upkeep.abort();
}

#[tokio::test]
async fn wrong_password_is_final_before_the_first_load() {
    let cluster = Cluster::start("password");
    let admin = cluster.connect("postgres").await;
    admin.batch_execute("CREATE ROLE api_login LOGIN PASSWORD 'right'").await.unwrap();
    let rules = "local all postgres trust\nlocal all all scram-sha-256\n";
    std::fs::write(cluster.folder().join("data/pg_hba.conf"), rules).unwrap();
    admin.batch_execute("SELECT pg_reload_conf()").await.unwrap();
    let uri = |password: &str| format!("{} password={password}", cluster.uri("api_login", "postgres"));
    let right = DataApi::new(sources(uri("right"), &[])).unwrap();
    let wrong = DataApi::new(sources(uri("wrong"), &[])).unwrap();
    let started = Instant::now();
    // The server reads its rules a moment after it was asked to.
    while wrong.reload_schema().await.is_ok() {
        assert!(started.elapsed() < Duration::from_secs(20), "the rules are read");
    }
    right.reload_schema().await.unwrap();
    let limit = Duration::from_millis(200);
    assert!(tokio::time::timeout(limit, right.wait_for_final_failure()).await.is_err());
    let wrong = DataApi::new(sources(uri("wrong"), &[])).unwrap();
    wrong.reload_config(None).await.unwrap_err();
    let reason = tokio::time::timeout(limit, wrong.wait_for_final_failure()).await.unwrap();
    assert!(reason.contains("password authentication failed"), "{reason}");
}
