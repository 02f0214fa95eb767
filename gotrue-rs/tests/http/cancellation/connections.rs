//! The pool by itself: work that is dropped at every place, the opening of the connection included.

use std::sync::Arc;
use std::time::Duration;

use gotrue_rs::testing::clone_migrated;
use platform::journal::Journal;
use platform::store::{Connection, Pool, Statement};
use platform::testing::TestDatabase;
use platform::testing::{DatabaseInspector, drop_at_poll};
use platform::{bind, statement};

const INSERT: Statement = statement!("tests.insert": "INSERT INTO public.kept (n) VALUES (:n)");
const WRONG: Statement = statement!("tests.wrong": "SELECT 1 / :value::int");

struct ConnectionFixture {
    database: TestDatabase,
    ledger: DatabaseInspector,
}

impl ConnectionFixture {
    async fn new() -> Self {
        let database = clone_migrated().await;
        database.query("CREATE TABLE public.kept (n int)").await;
        database.query("GRANT ALL ON public.kept TO supabase_auth_admin").await;
        let ledger = DatabaseInspector::connect(&database).await;
        Self { database, ledger }
    }

    /// A pool that has not opened its one connection.
    fn pool(&self) -> Pool {
        Pool::new(self.database.pool_options(Duration::ZERO).with_max_connections(1))
    }

    /// How many rows of that number are kept.
    async fn kept(&self, n: i32) -> usize {
        self.database.query(&format!("SELECT n FROM public.kept WHERE n = {n}")).await.len()
    }
}

fn alone(pool: &Pool) -> Connection {
    Connection::pooled(pool.clone(), Arc::new(Journal::default()))
}

async fn both(pool: &Pool, n: i32) -> platform::store::Result<()> {
    let mut db = Connection::begin(pool, Arc::new(Journal::default())).await?;
    for _ in 0..2 {
        db.execute(bind!(INSERT, n)).await?;
    }
    db.commit().await
}

#[tokio::test]
async fn transaction_cancelled_at_any_point_is_atomic_and_the_next_commits() {
    let place = ConnectionFixture::new().await;
    for n in 1..100 {
        let (pool, wait) = (place.pool(), usize::try_from(n).expect("a small number"));
        let outcome = drop_at_poll(wait, both(&pool, n)).await;
        place.ledger.wait_until_idle(&pool).await.expect("at rest");
        let kept = place.kept(n).await;
        assert!(kept == 0 || kept == 2, "{kept} rows are kept of what was dropped at {n}");
        both(&pool, -n).await.expect("the next one is written");
        assert_eq!(place.kept(-n).await, 2, "after what was dropped at {n}");
        place.ledger.wait_until_idle(&pool).await.expect("at rest");
        pool.close().await;
        if let Some(outcome) = outcome {
            outcome.expect("it is committed");
            assert_eq!(kept, 2);
            return;
        }
    }
    panic!("the transaction does not end");
}

#[tokio::test]
async fn failing_statement_cancelled_at_any_point_leaves_a_usable_connection() {
    let place = ConnectionFixture::new().await;
    for n in 1..100 {
        let pool = place.pool();
        let is_done = drop_at_poll(n, alone(&pool).execute(bind!(WRONG, value: 0_i32))).await.is_some();
        place.ledger.wait_until_idle(&pool).await.expect("at rest");
        pool.close().await;
        if is_done {
            return;
        }
    }
    panic!("the statement does not end");
}
