//! An unresponsive, stopped, exhausted or read-only database: 503, `Retry-After` and recovery.

use std::time::{Duration, Instant};

use gotrue_rs::testing::{World, clone_migrated};
use platform::store::Connection;
use platform::testing::Answer;
use platform::testing::TestDatabase;
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use super::relay::Relay;

/// From the silence of all connections to the first success.
const RECOVERY: Duration = Duration::from_secs(5);

#[track_caller]
fn assert_unavailable(answer: &Answer) {
    assert_eq!(answer.status, 503, "{}", answer.text);
    assert_eq!((answer.header("retry-after"), answer.str("error_code")), ("1", "database_unavailable"));
    assert!(!answer.text.contains("connection") && !answer.text.contains("SQL"), "{}", answer.text);
}

/// Runs SQL in the database `postgres` of the test server.
async fn beside(database: &TestDatabase, sql: &str) {
    let options = database.admin_options().database("postgres");
    let mut connection = PgConnection::connect_with(&options).await.expect("the test server answers");
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.expect("the test's SQL is right");
}

async fn end_sessions(database: &TestDatabase, name: &str) {
    let sql = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'");
    beside(database, &sql).await;
}

async fn name_of(world: &World) -> String {
    world.database.query("SELECT current_database()").await.remove(0)
}

#[tokio::test]
async fn silent_connections_are_replaced_within_seconds() {
    let database = clone_migrated().await;
    let relay = Relay::before(&database);
    let options = relay.options(&database.pool_options(Duration::ZERO).connect);
    let world = World::builder()
        .with_database(database)
        .connections(4)
        .pool(|usual| platform::store::PoolOptions { connect: options, ..usual })
        .build()
        .await;
    let ann = world.create_user("ann@example.com").await;
    // Every connection of the pool is open and idle.
    let all = (0..8).map(|_| world.get_as(&ann.access_token, "/user"));
    for answer in futures::future::join_all(all).await {
        answer.expect(200);
    }
    relay.silence();
    let silent_since = Instant::now();
    let waiting = (0..8).map(|_| async {
        loop {
            let answer = world.get_as(&ann.access_token, "/user").await;
            if answer.status == 200 {
                break;
            }
            assert_unavailable(&answer);
        }
    });
    futures::future::join_all(waiting).await;
    assert!(silent_since.elapsed() < RECOVERY, "recovered after {:?}", silent_since.elapsed());
    world.put_as(&ann.access_token, "/user", json!({"data": {"after": "silence"}})).await.expect(200);
}

#[tokio::test]
async fn unavailable_database_returns_503_and_recovers() {
    let world = World::new().await;
    let ann = world.create_user("ann@example.com").await;
    let name = name_of(&world).await;
    beside(&world.database, &format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false")).await;
    end_sessions(&world.database, &name).await;
    let token = &ann.access_token;
    assert_unavailable(&world.get_as(token, "/user").await);
    assert_unavailable(&world.try_password("ann@example.com", "wrong").await);
    assert_unavailable(&world.refresh(&ann.refresh_token).await);
    assert_unavailable(&world.post("/otp", json!({"email": "ann@example.com"})).await);
    assert_unavailable(&world.get("/verify?type=recovery&token=0000&redirect_to=http://shop.example.com").await);
    assert_unavailable(&world.put_as(token, "/user", json!({"data": {"n": 1}})).await);
    assert_unavailable(&world.get_as(&world.service_token(), "/admin/users").await);
    beside(&world.database, &format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true")).await;
    world.get_as(token, "/user").await.expect(200);
    world.refresh(&ann.refresh_token).await.expect(200);
}

#[tokio::test]
async fn read_only_database_returns_503_and_is_disconnected() {
    let world = World::builder().connections(1).build().await;
    let ann = world.create_user("ann@example.com").await;
    let name = name_of(&world).await;
    beside(&world.database, &format!("ALTER DATABASE {name} SET default_transaction_read_only = on")).await;
    end_sessions(&world.database, &name).await;
    // The first notices that its session was ended, the others that their new ones are read-only.
    drop(world.get_as(&ann.access_token, "/user").await);
    for data in 0..3 {
        assert_unavailable(&world.put_as(&ann.access_token, "/user", json!({"data": {"n": data}})).await);
    }
    assert_unavailable(&world.refresh(&ann.refresh_token).await);
    world.get_as(&ann.access_token, "/user").await.expect(200);
    assert_unavailable(&world.post("/signup", json!({"email": "bob@example.com", "password": "correct horse"})).await);
    beside(&world.database, &format!("ALTER DATABASE {name} SET default_transaction_read_only = off")).await;
    // No session that was opened while it was read-only is used for another write.
    world.put_as(&ann.access_token, "/user", json!({"data": {"n": 4}})).await.expect(200);
    world.refresh(&ann.refresh_token).await.expect(200);
}

#[tokio::test]
async fn waiting_for_a_connection_is_bounded() {
    let short = Duration::from_millis(200);
    let world = World::builder()
        .connections(1)
        .pool(move |usual| platform::store::PoolOptions { acquire_timeout: short, ..usual })
        .build()
        .await;
    let ann = world.create_user("ann@example.com").await;
    let held = Connection::begin(&world.app.pool, std::sync::Arc::default()).await.expect("a transaction");
    assert_unavailable(&world.get_as(&ann.access_token, "/user").await);
    drop(held);
    world.get_as(&ann.access_token, "/user").await.expect(200);
}

#[tokio::test]
async fn exhausted_database_connections_return_503() {
    let world = World::new().await;
    let ann = world.create_user("ann@example.com").await;
    let name = name_of(&world).await;
    beside(&world.database, &format!("ALTER DATABASE {name} CONNECTION LIMIT 0")).await;
    end_sessions(&world.database, &name).await;
    assert_unavailable(&world.get_as(&ann.access_token, "/user").await);
    beside(&world.database, &format!("ALTER DATABASE {name} CONNECTION LIMIT -1")).await;
    world.get_as(&ann.access_token, "/user").await.expect(200);
}
