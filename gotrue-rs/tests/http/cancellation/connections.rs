//! The pool by itself: work that is dropped at every place, the opening of the connection included.

use std::sync::Arc;
use std::time::Duration;

use gotrue_rs::args;
use gotrue_rs::journal::Journal;
use gotrue_rs::store::{Connection, Pool, Statement};
use gotrue_rs::testing::{Ledger, TestDatabase, dropped_at};

const INSERT: Statement = Statement { name: "tests.insert", sql: "INSERT INTO public.kept (n) VALUES ($1)" };
const WRONG: Statement = Statement { name: "tests.wrong", sql: "SELECT 1 / $1::int" };

struct Place {
    database: TestDatabase,
    ledger: Ledger,
}

impl Place {
    async fn new() -> Self {
        let database = TestDatabase::migrated().await;
        database.query("CREATE TABLE public.kept (n int)").await;
        database.query("GRANT ALL ON public.kept TO supabase_auth_admin").await;
        let ledger = Ledger::of(&database).await;
        Self { database, ledger }
    }

    /// A pool that has not opened its one connection.
    fn pool(&self) -> Pool {
        Pool::new(self.database.pool_options(Duration::ZERO).max_connections(1))
    }

    /// How many rows of that number are kept.
    async fn kept(&self, n: i32) -> usize {
        self.database.query(&format!("SELECT n FROM public.kept WHERE n = {n}")).await.len()
    }
}

fn alone(pool: &Pool) -> Connection {
    Connection::pooled(pool.clone(), Arc::new(Journal::default()))
}

async fn both(pool: &Pool, n: i32) -> gotrue_rs::store::Result<()> {
    let mut db = Connection::begin(pool, Arc::new(Journal::default())).await?;
    for _ in 0..2 {
        db.execute(&INSERT, args![n]).await?;
    }
    db.commit().await
}

#[tokio::test]
async fn a_transaction_that_is_dropped_anywhere_is_kept_as_a_whole_or_not_at_all_and_the_next_one_is_kept() {
    let place = Place::new().await;
    for n in 1..100 {
        let (pool, wait) = (place.pool(), usize::try_from(n).expect("a small number"));
        let outcome = dropped_at(wait, both(&pool, n)).await;
        place.ledger.rest(&pool).await.expect("at rest");
        let kept = place.kept(n).await;
        assert!(kept == 0 || kept == 2, "{kept} rows are kept of what was dropped at {n}");
        both(&pool, -n).await.expect("the next one is written");
        assert_eq!(place.kept(-n).await, 2, "after what was dropped at {n}");
        place.ledger.rest(&pool).await.expect("at rest");
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
async fn a_failing_statement_that_is_dropped_anywhere_leaves_its_connection_to_the_next() {
    let place = Place::new().await;
    for n in 1..100 {
        let pool = place.pool();
        let is_done = dropped_at(n, alone(&pool).execute(&WRONG, args![0_i32])).await.is_some();
        place.ledger.rest(&pool).await.expect("at rest");
        pool.close().await;
        if is_done {
            return;
        }
    }
    panic!("the statement does not end");
}
