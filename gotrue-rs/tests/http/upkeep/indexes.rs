//! Indexes for listing and searching accounts, made in the background.

use std::time::Duration;

use gotrue_rs::store::migrate::{IndexOutcome, create_indexes};
use gotrue_rs::testing::World;
use gotrue_rules::domain::policy::IndexWorkerPolicy;
use platform::store::leases::JobLease;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};

const ALL: [&str; 4] =
    ["idx_users_created_at_desc", "idx_users_email", "idx_users_last_sign_in_at_desc", "idx_users_name"];

const WANTED: IndexWorkerPolicy = IndexWorkerPolicy { ensure_user_search_indexes_exist: true, max_users_threshold: 0 };

async fn made(world: &World, policy: &IndexWorkerPolicy) -> IndexOutcome {
    create_indexes(&world.app.pool, policy, None).await.expect("the database lets them be made")
}

fn options(world: &World) -> PgConnectOptions {
    world.app.pool.connect_options().clone()
}

async fn usable(world: &World) -> Vec<String> {
    let sql = "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
               WHERE c.relname LIKE 'idx_users_%' AND i.indisvalid ORDER BY 1";
    world.database.query(sql).await
}

#[tokio::test]
async fn indexes_are_created_once() {
    let world = World::new().await;
    let IndexOutcome::Created(mut names) = made(&world, &WANTED).await else { panic!("none were made") };
    names.sort_unstable();
    assert_eq!(names, ALL);
    assert_eq!(usable(&world).await, ALL);
    assert_eq!(made(&world, &WANTED).await, IndexOutcome::Present);
}

#[tokio::test]
async fn hardened_policy_creates_indexes() {
    let world = World::builder().as_served().build().await;
    assert!(matches!(made(&world, &world.app.policy.operation.index_worker).await, IndexOutcome::Created(_)));
    assert_eq!(usable(&world).await, ALL);
}

#[tokio::test]
async fn missing_and_invalid_indexes_are_recreated() {
    let world = World::new().await;
    made(&world, &WANTED).await;
    world.database.query("DROP INDEX auth.idx_users_name").await;
    world
        .database
        .query("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'auth.idx_users_email'::regclass")
        .await;
    assert_eq!(made(&world, &WANTED).await, IndexOutcome::Created(vec!["idx_users_email", "idx_users_name"]));
    assert_eq!(usable(&world).await, ALL);
}

#[tokio::test]
async fn concurrent_servers_create_indexes_once() {
    let world = World::new().await;
    let mut other = PgConnection::connect_with(&options(&world)).await.expect("a connection");
    let locked = "SELECT pg_advisory_lock(hashtext('auth_index_worker')::bigint)";
    sqlx::raw_sql(locked).execute(&mut other).await.expect("the lock is free");
    assert_eq!(made(&world, &WANTED).await, IndexOutcome::InProgress);
    other.close().await.expect("it ends");
    assert!(matches!(made(&world, &WANTED).await, IndexOutcome::Created(_)));
}

#[tokio::test]
async fn lease_of_another_server_is_respected_until_it_expires() {
    let world = World::new().await;
    let lease = |seconds| {
        JobLease::new(world.app.pool.clone(), "indexes", world.app.entropy.uuid(), Duration::from_secs(seconds))
    };
    let (other, own) = (lease(1), lease(15));
    assert!(other.acquire().await.expect("acquired"));
    let create = || create_indexes(&world.app.pool, &WANTED, Some(&own));
    assert_eq!(create().await.expect("the lease is read"), IndexOutcome::InProgress);
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert!(matches!(create().await, Ok(IndexOutcome::Created(_))));
    assert!(other.acquire().await.expect("the lease is free again"));
}

#[tokio::test]
async fn lease_is_renewed_while_an_index_waits() {
    let world = World::new().await;
    let lease = |seconds| {
        JobLease::new(world.app.pool.clone(), "indexes", world.app.entropy.uuid(), Duration::from_secs(seconds))
    };
    let (own, other) = (lease(1), lease(1));
    let mut writer = PgConnection::connect_with(&world.database.admin_options()).await.expect("a connection");
    let mut working = writer.begin().await.expect("a transaction");
    sqlx::raw_sql("UPDATE auth.users SET email = email").execute(&mut *working).await.expect("it writes");
    let pool = world.app.pool.clone();
    let making = tokio::spawn(async move { create_indexes(&pool, &WANTED, Some(&own)).await });
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert!(!other.acquire().await.expect("the lease is read"), "two and a half leases later");
    // What another worker sees that has no lease, such as the reference's.
    assert_eq!(made(&world, &WANTED).await, IndexOutcome::InProgress);
    working.rollback().await.expect("it ends");
    assert!(matches!(making.await.expect("no panic"), Ok(IndexOutcome::Created(_))));
    assert_eq!(usable(&world).await, ALL);
}

#[tokio::test]
async fn indexes_are_skipped_above_the_user_limit() {
    let world = World::new().await;
    let at_most = |max_users_threshold| IndexWorkerPolicy { max_users_threshold, ..IndexWorkerPolicy::default() };
    let sql = "INSERT INTO auth.users (id) SELECT gen_random_uuid() FROM generate_series(1, 5)";
    world.database.query(sql).await;
    world.database.query("ANALYZE auth.users").await;
    assert_eq!(made(&world, &at_most(0)).await, IndexOutcome::Disabled);
    assert_eq!(made(&world, &at_most(4)).await, IndexOutcome::TooManyAccounts(5));
    assert!(usable(&world).await.is_empty());
    assert!(matches!(made(&world, &at_most(5)).await, IndexOutcome::Created(_)));
}

#[tokio::test]
async fn failed_index_does_not_block_the_others() {
    let world = World::new().await;
    // A table has taken the name.
    world.database.query("CREATE TABLE auth.idx_users_name ()").await;
    let error = create_indexes(&world.app.pool, &WANTED, None).await.expect_err("one name is taken");
    assert_eq!(
        error.to_string(),
        "these indexes could not be made and are tried again at the next start: idx_users_name"
    );
    assert_eq!(usable(&world).await, &ALL[..3]);
}

#[tokio::test]
async fn index_creation_ignores_the_request_timeout() {
    let world = World::with(|policy| policy.api.max_request_duration = Duration::from_millis(300)).await;
    let mut other = PgConnection::connect_with(&world.database.admin_options()).await.expect("a connection");
    let mut working = other.begin().await.expect("a transaction");
    sqlx::raw_sql("UPDATE auth.users SET email = email").execute(&mut *working).await.expect("it writes");
    let pool = world.app.pool.clone();
    let making = tokio::spawn(async move { create_indexes(&pool, &WANTED, None).await });
    // The index waits for the transaction, which ends later than any request.
    let slept = sqlx::raw_sql("SELECT pg_sleep(0.8)").execute(&mut *working).await;
    slept.expect("it sleeps");
    working.rollback().await.expect("it ends");
    assert!(matches!(making.await.expect("no panic"), Ok(IndexOutcome::Created(_))));
}

#[tokio::test]
async fn index_whose_creation_ended_a_deadlock_is_created_again() {
    let world = World::new().await;
    let mut change = PgConnection::connect_with(&world.database.admin_options()).await.expect("a connection");
    let snapshot =
        "SET deadlock_timeout = '1min'; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM auth.users";
    sqlx::raw_sql(snapshot).execute(&mut change).await.expect("a snapshot");
    let changing = async {
        let waiting = "SELECT pid::text FROM pg_stat_activity
                       WHERE query LIKE 'CREATE INDEX CONCURRENTLY%' AND datname = current_database() AND wait_event_type = 'Lock'";
        while world.database.query(waiting).await.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let sql = "LOCK TABLE auth.users IN SHARE ROW EXCLUSIVE MODE; COMMIT";
        sqlx::raw_sql(sql).execute(&mut change).await.expect("the index gives way");
    };
    let (outcome, ()) = tokio::join!(made(&world, &WANTED), changing);
    assert!(matches!(outcome, IndexOutcome::Created(names) if names.len() == 4));
    assert_eq!(usable(&world).await, ALL);
}
