//! Indexes for listing and searching accounts, made in the background.

use gotrue_rs::store::migrate::{Indexes, indexes};
use gotrue_rs::testing::World;
use gotrue_rules::domain::policy::IndexWorkerPolicy;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};

const ALL: [&str; 4] =
    ["idx_users_created_at_desc", "idx_users_email", "idx_users_last_sign_in_at_desc", "idx_users_name"];

const WANTED: IndexWorkerPolicy = IndexWorkerPolicy { ensure_user_search_indexes_exist: true, max_users_threshold: 0 };

async fn made(world: &World, policy: &IndexWorkerPolicy) -> Indexes {
    indexes(&options(world), policy).await.expect("the database lets them be made")
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
async fn they_are_made_once() {
    let world = World::new().await;
    let Indexes::Made(mut names) = made(&world, &WANTED).await else { panic!("none were made") };
    names.sort_unstable();
    assert_eq!(names, ALL);
    assert_eq!(usable(&world).await, ALL);
    assert_eq!(made(&world, &WANTED).await, Indexes::There);
}

#[tokio::test]
async fn a_missing_one_and_a_broken_one_are_made_anew_and_the_others_stay() {
    let world = World::new().await;
    made(&world, &WANTED).await;
    world.database.query("DROP INDEX auth.idx_users_name").await;
    world
        .database
        .query("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'auth.idx_users_email'::regclass")
        .await;
    assert_eq!(made(&world, &WANTED).await, Indexes::Made(vec!["idx_users_email", "idx_users_name"]));
    assert_eq!(usable(&world).await, ALL);
}

#[tokio::test]
async fn of_two_servers_one_makes_them() {
    let world = World::new().await;
    let mut other = PgConnection::connect_with(&options(&world)).await.expect("a connection");
    let locked = "SELECT pg_advisory_lock(hashtext('auth_index_worker')::bigint)";
    sqlx::raw_sql(locked).execute(&mut other).await.expect("the lock is free");
    assert_eq!(made(&world, &WANTED).await, Indexes::Elsewhere);
    other.close().await.expect("it ends");
    assert!(matches!(made(&world, &WANTED).await, Indexes::Made(_)));
}

#[tokio::test]
async fn above_the_number_of_accounts_that_the_operator_set_none_is_made() {
    let world = World::new().await;
    let at_most = |max_users_threshold| IndexWorkerPolicy { max_users_threshold, ..IndexWorkerPolicy::default() };
    let sql = "INSERT INTO auth.users (id) SELECT gen_random_uuid() FROM generate_series(1, 5)";
    world.database.query(sql).await;
    world.database.query("ANALYZE auth.users").await;
    assert_eq!(made(&world, &at_most(0)).await, Indexes::NotWanted);
    assert_eq!(made(&world, &at_most(4)).await, Indexes::TooManyAccounts(5));
    assert!(usable(&world).await.is_empty());
    assert!(matches!(made(&world, &at_most(5)).await, Indexes::Made(_)));
}

#[tokio::test]
async fn one_that_cannot_be_made_does_not_keep_the_others_from_being_made() {
    let world = World::new().await;
    // A table has taken the name.
    world.database.query("CREATE TABLE auth.idx_users_name ()").await;
    let error = indexes(&options(&world), &WANTED).await.expect_err("one name is taken");
    assert_eq!(
        error.to_string(),
        "these indexes could not be made and are tried again at the next start: idx_users_name"
    );
    assert_eq!(usable(&world).await, &ALL[..3]);
}

#[tokio::test]
async fn a_statement_that_takes_long_is_not_stopped_by_the_deadline_of_requests() {
    let world = World::with(|policy| policy.api.max_request_duration = std::time::Duration::from_millis(300)).await;
    let mut other = PgConnection::connect_with(&world.database.admin_options()).await.expect("a connection");
    let mut working = other.begin().await.expect("a transaction");
    sqlx::raw_sql("UPDATE auth.users SET email = email").execute(&mut *working).await.expect("it writes");
    let options = options(&world);
    let making = tokio::spawn(async move { indexes(&options, &WANTED).await });
    // The index waits for the transaction, which ends later than any request.
    let slept = sqlx::raw_sql("SELECT pg_sleep(0.8)").execute(&mut *working).await;
    slept.expect("it sleeps");
    working.rollback().await.expect("it ends");
    assert!(matches!(making.await.expect("no panic"), Ok(Indexes::Made(_))));
}
