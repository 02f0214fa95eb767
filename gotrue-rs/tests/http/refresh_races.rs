//! Concurrent refreshes with one token on two servers issue one successor.
//!
//! Commits are delayed, as they are on a disk.

use std::time::Duration;

use chrono::TimeDelta;
use futures::future::join_all;
use gotrue_rs::testing::{TestUser, World};
use platform::testing::{Answer, scaled_load};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

const ANN: &str = "ann@example.com";

/// How the tokens of a world are made and replaced.
#[derive(Debug, Clone, Copy)]
struct Rules {
    version: u8,
    reuse_interval: u64,
    /// Whether a refresh writes by one statement.
    has_fast_lane: bool,
}

/// Both versions, both intervals, and both ways through the code.
fn all_rules() -> Vec<Rules> {
    let mut all = Vec::new();
    for reuse_interval in [0, 10] {
        for (version, has_fast_lane) in [(1, true), (1, false), (2, true), (2, false)] {
            all.push(Rules { version, reuse_interval, has_fast_lane });
        }
    }
    all
}

/// Two servers on one database, and a user with a session.
async fn servers(rules: Rules) -> (World, World, TestUser) {
    let builder = || {
        World::builder().connections(24).policy(|policy| {
            policy.refresh.algorithm_version = rules.version;
            policy.refresh.reuse_interval = Duration::from_secs(rules.reuse_interval);
            // Has no effect without factors, but disables the fast path.
            policy.sessions.allow_low_aal = (!rules.has_fast_lane).then(|| Duration::from_hours(1_000_000));
        })
    };
    let first = builder().build().await;
    let second = builder().sharing_state_with(&first).build().await;
    let ann = first.create_user(ANN).await;
    (first, second, ann)
}

/// Makes every commit that wrote a session or a token take two milliseconds.
async fn delay_commits(world: &World) {
    world
        .database
        .query(
            "CREATE FUNCTION public.delay_commit() RETURNS trigger LANGUAGE plpgsql AS
                 'BEGIN PERFORM pg_sleep(0.002); RETURN NULL; END';
             CREATE CONSTRAINT TRIGGER delay_commit AFTER UPDATE ON auth.sessions
                 DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.delay_commit()",
        )
        .await;
}

fn token(answer: &Answer) -> &str {
    answer.str("refresh_token")
}

/// The tokens with which the session can still be refreshed: rows, or the one counter.
async fn live_tokens(world: &World, version: u8) -> usize {
    if version == 2 {
        return world.database.query("SELECT id FROM auth.sessions").await.len();
    }
    world.database.query("SELECT id FROM auth.refresh_tokens WHERE NOT revoked").await.len()
}

/// Sends `width` concurrent refreshes of one token, `rounds` times; all get the same successor.
async fn storm(rules: Rules, rounds: usize, width: usize) {
    let (first, second, ann) = servers(rules).await;
    delay_commits(&first).await;
    first.clock.run();
    let mut current = ann.refresh_token;
    for round in 0..rounds {
        let worlds = [&first, &second];
        let requests = (0..width).map(|n| worlds[n % 2].refresh(&current));
        let answers = join_all(requests).await;
        for answer in &answers {
            assert_eq!(answer.status, 200, "{rules:?}, round {round}: {}", answer.text);
        }
        let successor = token(&answers[0]).to_owned();
        assert_ne!(successor, current, "{rules:?}, round {round}");
        assert!(answers.iter().all(|answer| token(answer) == successor), "{rules:?}, round {round}: two successors");
        assert_eq!(live_tokens(&first, rules.version).await, 1, "{rules:?}, round {round}");
        current = successor;
    }
    first.refresh(&current).await.expect(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_pairs_of_refreshes_have_one_successor() {
    for rules in all_rules() {
        storm(rules, scaled_load(40, 10_000), 2).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_concurrent_refreshes_have_one_successor() {
    for rules in all_rules() {
        storm(rules, scaled_load(2, 200), scaled_load(30, 60)).await;
    }
}

/// Stops the next statement that reads a table between its snapshot and its locks.
struct Pause {
    holder: PgConnection,
}

const KEY: i64 = 42;

impl Pause {
    /// Row-level security calls a function per scanned row; its first call waits for the test.
    async fn on(world: &World, table: &str) -> Self {
        let options = world.database.admin_options();
        let mut holder = PgConnection::connect_with(&options).await.expect("the test server answers");
        let sql = format!(
            "CREATE SEQUENCE public.reads;
             GRANT USAGE ON SEQUENCE public.reads TO PUBLIC;
             CREATE FUNCTION public.pause() RETURNS boolean LANGUAGE plpgsql AS
                 'BEGIN IF nextval(''public.reads'') = 1 THEN PERFORM pg_advisory_lock_shared({KEY});
                      PERFORM pg_advisory_unlock_shared({KEY}); END IF; RETURN true; END';
             SELECT pg_advisory_lock({KEY});
             CREATE POLICY pause ON auth.{table} USING (public.pause());
             ALTER TABLE auth.{table} ENABLE ROW LEVEL SECURITY;
             ALTER TABLE auth.{table} FORCE ROW LEVEL SECURITY"
        );
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut holder).await.expect("a policy can be made");
        Self { holder }
    }

    /// Completes when a statement stands there.
    async fn reached(&self, world: &World) {
        let waiting = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'";
        while world.database.query(waiting).await.is_empty() {
            tokio::task::yield_now().await;
        }
    }

    async fn end(mut self) {
        let sql = format!("SELECT pg_advisory_unlock({KEY})");
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut self.holder).await.expect("we hold it");
    }
}

/// The losing statement takes its snapshot, the winner commits, then the loser locks the rows.
async fn pause_between_snapshot_and_lock(rules: Rules, statement: &'static str, table: &str) {
    let (first, second, ann) = servers(rules).await;
    first.clock.run();
    let gate = first.faults.wait(statement, 1);
    let loser = first.refresh(&ann.refresh_token);
    let winner = async {
        gate.wait_until_reached().await;
        let pause = Pause::on(&first, table).await;
        gate.open();
        pause.reached(&first).await;
        let answer = second.refresh(&ann.refresh_token).await;
        pause.end().await;
        answer
    };
    let (loser, winner) = futures::future::join(loser, winner).await;
    assert_eq!(winner.status, 200, "{rules:?}: {}", winner.text);
    assert_eq!(loser.status, 200, "{rules:?}: {}", loser.text);
    assert_eq!(token(&loser), token(&winner), "{rules:?}");
    assert_eq!(live_tokens(&first, rules.version).await, 1, "{rules:?}");
    first.advance(TimeDelta::minutes(1));
    second.refresh(token(&winner)).await.expect(200);
}

#[tokio::test]
async fn refresh_committed_between_snapshot_and_lock_is_seen() {
    for rules in all_rules() {
        let (statement, table) = match rules {
            Rules { version: 2, has_fast_lane: true, .. } => ("sessions.advance_fast", "sessions"),
            Rules { version: 2, .. } => ("sessions.with_account_locked", "sessions"),
            Rules { has_fast_lane: true, .. } => ("refresh_tokens.rotate_fast", "refresh_tokens"),
            Rules { .. } => ("refresh_tokens.lock", "refresh_tokens"),
        };
        pause_between_snapshot_and_lock(rules, statement, table).await;
    }
}

/// A refresh that waits for a locked user row holds no other lock.
///
/// The transaction that locks the user can then lock its sessions.
#[tokio::test]
async fn refresh_waiting_for_the_user_row_locks_neither_token_nor_session() {
    let rules = Rules { version: 1, reuse_interval: 0, has_fast_lane: true };
    let (first, _, ann) = servers(rules).await;
    let mut other = PgConnection::connect_with(&first.database.admin_options()).await.expect("the test server answers");
    let lock = "BEGIN; SELECT id FROM auth.users FOR UPDATE";
    sqlx::raw_sql(AssertSqlSafe(lock)).execute(&mut other).await.expect("a row can be locked");
    let change = async {
        let waiting =
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        while first.database.query(waiting).await.is_empty() {
            tokio::task::yield_now().await;
        }
        let rest =
            "SELECT id FROM auth.refresh_tokens FOR UPDATE NOWAIT; SELECT id FROM auth.sessions FOR UPDATE NOWAIT;
                    COMMIT";
        sqlx::raw_sql(AssertSqlSafe(rest)).execute(&mut other).await
    };
    let (answer, change) = futures::future::join(first.refresh(&ann.refresh_token), change).await;
    change.expect("nothing else is locked");
    answer.expect(200);
}
