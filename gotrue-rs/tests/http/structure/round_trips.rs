//! Network round trips per statement.
//!
//! A relay between pool and database counts the waits of the client: each begins with a `Sync` or a simple query.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use foundation::secret::SecretKey;
use gotrue_rs::testing::{World, clone_migrated};
use gotrue_rules::domain::policy::Policy;
use platform::journal::Journal;
use platform::store::{BoundStatement, Connection, Pool, PoolOptions, SessionSettings, Statement, StatementMode};
use platform::testing::TestDatabase;
use platform::{bind, statement};
use serde_json::json;
use sqlx::postgres::PgSslMode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

const SLEEP: Statement = statement!("tests.sleep": "SELECT pg_sleep(:seconds::int)");
const ONE: Statement = statement!(#[repeatable] "tests.one": "SELECT :value::int");
const WRONG: Statement = statement!("tests.wrong": "SELECT 1 / :value::int");

/// A relay between a client and the test database.
struct Relay {
    folder: PathBuf,
    waits: Arc<AtomicUsize>,
}

impl Relay {
    fn before(database: &TestDatabase, name: &str) -> Self {
        let behind = database.admin_options().get_socket().expect("the test server has a socket").join(".s.PGSQL.5432");
        let folder = std::env::temp_dir().join(format!("relay-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        let listener = UnixListener::bind(folder.join(".s.PGSQL.5432")).expect("a socket can be made");
        let waits = Arc::new(AtomicUsize::new(0));
        let counted = waits.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = UnixStream::connect(&behind).await.expect("the test server answers");
                let (mut from_server, to_server) = server.into_split();
                let (from_client, mut to_client) = client.into_split();
                tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
                tokio::spawn(relay(from_client, to_server, counted.clone()));
            }
        });
        Self { folder, waits }
    }

    fn pool(&self, database: &TestDatabase, most: u32) -> Pool {
        let options = database.admin_options().socket(&self.folder).ssl_mode(PgSslMode::Disable);
        Pool::new(PoolOptions::new(options).with_max_connections(most))
    }

    /// The waits since the last call. What is sent behind the caller's back has come by then.
    async fn waits(&self) -> usize {
        tokio::time::sleep(Duration::from_millis(50)).await;
        self.waits.swap(0, Ordering::SeqCst)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

/// Passes messages on: the first has a length alone, each other a tag before it.
async fn relay(
    mut from: tokio::net::unix::OwnedReadHalf,
    mut to: tokio::net::unix::OwnedWriteHalf,
    waits: Arc<AtomicUsize>,
) -> std::io::Result<()> {
    let mut is_first = true;
    loop {
        let tag = if is_first { None } else { Some(from.read_u8().await?) };
        let length = from.read_u32().await?;
        let mut rest = vec![0; length as usize - 4];
        from.read_exact(&mut rest).await?;
        if matches!(tag, Some(b'S' | b'Q')) {
            waits.fetch_add(1, Ordering::SeqCst);
        }
        if let Some(tag) = tag {
            to.write_u8(tag).await?;
        }
        to.write_u32(length).await?;
        to.write_all(&rest).await?;
        is_first = false;
    }
}

async fn run(pool: &Pool, bound: BoundStatement) -> Result<u64, platform::store::Error> {
    Connection::pooled(pool.clone(), Arc::new(Journal::default())).execute(bound).await
}

#[tokio::test]
async fn single_statement_is_one_round_trip() {
    let database = clone_migrated().await;
    let relay = Relay::before(&database, "alone");
    let pool = relay.pool(&database, 2);
    run(&pool, bind!(ONE, value: 1_i32)).await.expect("one is selected");
    relay.waits().await;
    for value in 0..5 {
        run(&pool, bind!(ONE, value)).await.expect("one is selected");
    }
    assert_eq!(relay.waits().await, 5);
}

#[tokio::test]
async fn pool_recovers_from_failure_cancellation_and_closed_connection() {
    let database = clone_migrated().await;
    let relay = Relay::before(&database, "mended");
    let pool = relay.pool(&database, 1);
    run(&pool, bind!(WRONG, value: 0_i32)).await.expect_err("nothing can be divided by zero");
    run(&pool, bind!(ONE, value: 1_i32)).await.expect("the connection still works");
    let given_up = tokio::time::timeout(Duration::from_millis(20), run(&pool, bind!(SLEEP, seconds: 1_i32))).await;
    given_up.expect_err("the database sleeps for longer");
    run(&pool, bind!(ONE, value: 1_i32)).await.expect("the connection was mended");
    database.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()").await;
    drop(run(&pool, bind!(ONE, value: 1_i32)).await);
    run(&pool, bind!(ONE, value: 1_i32)).await.expect("a new connection is opened");
}

#[tokio::test]
async fn concurrent_statements_are_limited_by_connections() {
    let database = clone_migrated().await;
    let relay = Relay::before(&database, "bounded");
    let pool = relay.pool(&database, 3);
    let many = (0..60).map(|value| run(&pool, bind!(ONE, value)));
    for outcome in futures::future::join_all(many).await {
        outcome.expect("each has its turn");
    }
    let open = database.query("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'").await;
    assert!(open[0].parse::<u32>().expect("a number") <= 3, "{open:?}");
    pool.close().await;
    run(&pool, bind!(ONE, value: 1_i32)).await.expect_err("a closed pool opens nothing");
}

/// A server with one connection, whose round trips the relay counts.
async fn world_behind_relay(mode: StatementMode, name: &str, change: impl FnOnce(&mut Policy)) -> (World, Relay) {
    let database = clone_migrated().await;
    let relay = Relay::before(&database, name);
    let folder = relay.folder.clone();
    let world = World::builder()
        .with_database(database)
        .connections(1)
        .policy(|policy| {
            policy.mail.max_frequency = Duration::ZERO;
            policy.mail.autoconfirm = true;
            change(policy);
        })
        .pool(move |usual| {
            let connect = usual.connect.clone().socket(folder).ssl_mode(PgSslMode::Disable);
            PoolOptions { connect, statement_mode: mode, ..usual }
        })
        .build()
        .await;
    (world, relay)
}

/// Counts the round trips of usual requests whose statements ran on the connection before.
async fn count_requests(mode: StatementMode, name: &str) -> Vec<(&'static str, usize)> {
    let (world, relay) = world_behind_relay(mode, name, |_| {}).await;
    let ann = json!({ "email": "ann@example.com", "password": "a long password" });
    world.post("/signup", ann.clone()).await.expect(200);
    let mut counted = Vec::new();
    for number in 0..2 {
        relay.waits().await;
        counted.clear();
        let session = world.post("/token?grant_type=password", ann.clone()).await.expect(200);
        counted.push(("login", relay.waits().await));
        let token = json!({ "refresh_token": session.str("refresh_token") });
        let session = world.post("/token?grant_type=refresh_token", token).await.expect(200);
        counted.push(("refresh", relay.waits().await));
        world.get_as(session.str("access_token"), "/user").await.expect(200);
        counted.push(("user", relay.waits().await));
        let new = json!({ "email": format!("new{number}@example.com"), "password": "a long password" });
        world.post("/signup", new).await.expect(200);
        counted.push(("sign-up", relay.waits().await));
        world.post("/otp", json!({ "email": "ann@example.com" })).await.expect(200);
        counted.push(("otp", relay.waits().await));
    }
    counted
}

#[tokio::test]
async fn requests_behind_poolers_have_the_round_trips_of_direct_ones() {
    let direct = count_requests(StatementMode::Prepare, "direct").await;
    let pooled = count_requests(StatementMode::Text, "pooled").await;
    assert!(direct.iter().all(|(_, count)| *count > 0), "{direct:?}");
    assert_eq!(pooled, direct);
}

/// Counts the round trips of a refresh with a signed token, after one that prepared its statements.
async fn count_signed_refresh(name: &str, change: impl FnOnce(&mut Policy)) -> usize {
    let (world, relay) = world_behind_relay(StatementMode::Prepare, name, |policy| {
        policy.refresh.algorithm_version = 2;
        change(policy);
    })
    .await;
    let ann = json!({ "email": "ann@example.com", "password": "a long password" });
    let session = world.post("/signup", ann).await.expect(200);
    let next = world.refresh(session.str("refresh_token")).await.expect(200);
    relay.waits().await;
    world.refresh(next.str("refresh_token")).await.expect(200);
    relay.waits().await
}

#[tokio::test]
async fn refresh_with_signed_token_is_two_round_trips() {
    assert_eq!(count_signed_refresh("signed", |_| {}).await, 2);
}

#[tokio::test]
async fn refresh_with_encrypted_key_is_two_round_trips() {
    let encrypt = |policy: &mut Policy| {
        policy.security.encryption.keys.insert("key".to_owned(), SecretKey::new([1; 32]));
        policy.security.encryption.encrypt_with = Some("key".to_owned());
    };
    assert_eq!(count_signed_refresh("encrypted", encrypt).await, 2);
}

/// Rules that need more facts than the fast path has.
#[tokio::test]
async fn refresh_by_the_general_path_is_five_round_trips() {
    let low_aal = |policy: &mut Policy| policy.sessions.allow_low_aal = Some(Duration::from_hours(1_000_000));
    assert_eq!(count_signed_refresh("general", low_aal).await, 5);
}

#[tokio::test]
async fn statement_behind_poolers_is_one_round_trip_and_recovers() {
    let database = clone_migrated().await;
    let relay = Relay::before(&database, "text");
    let connect = database.admin_options().socket(&relay.folder).ssl_mode(PgSslMode::Disable);
    let session = SessionSettings { search_path: "auth".to_owned(), statement_timeout: Duration::from_millis(300) };
    let options = PoolOptions { statement_mode: StatementMode::Text, ..PoolOptions::new(connect) };
    let pool = Pool::new(options.with_session(session).with_max_connections(1));
    for value in 0..5 {
        run(&pool, bind!(ONE, value)).await.expect("one is selected");
    }
    assert_eq!(relay.waits().await, 5);
    let cancelled = run(&pool, bind!(SLEEP, seconds: 1_i32)).await.expect_err("the database cancels it");
    assert!(cancelled.is_timeout(), "{cancelled}");
    run(&pool, bind!(WRONG, value: 0_i32)).await.expect_err("nothing can be divided by zero");
    let given_up = tokio::time::timeout(Duration::from_millis(20), run(&pool, bind!(SLEEP, seconds: 1_i32))).await;
    given_up.expect_err("the database sleeps for longer");
    run(&pool, bind!(ONE, value: 1_i32)).await.expect("the connection was replaced");
}
