//! Old rows, taken away in the background after writes: one kind after the other, a few rows at a time, on one connection,
//! and never for longer than it then rests. No request waits for it.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{Either, select};
use gotrue_rules::domain::policy::Policy;
use metrics::{counter, describe_counter};

use crate::app::App;
use crate::store::Connection;
use crate::store::cleanup::{ALWAYS, ANONYMOUS, Sweep, past_inactivity, past_timebox, sweep};

/// How many rows were swept.
const ROWS: &str = "basalt_cleanup_rows_total";
/// The rest after a sweep that found all there was.
const REST: Duration = Duration::from_secs(1);

/// Sweeps until `stop` completes, once after a write at the soonest; a write that was told of before comes first. Nothing to
/// do where the policy does not want it.
pub async fn run(app: Arc<App>, stop: impl Future<Output = ()>) {
    if !app.policy.operation.cleanup_enabled {
        return;
    }
    describe_counter!(ROWS, "Old rows that were taken away, by kind");
    let sweeps = sweeps(&app.policy);
    let mut stop = std::pin::pin!(stop.fuse());
    loop {
        let wrote = std::pin::pin!(app.cleanup.wrote());
        if let Either::Right(_) = select(wrote, stop.as_mut()).await {
            return;
        }
        let rest = one(&app, sweeps[app.cleanup.turn() % sweeps.len()]).await;
        if let Either::Left(_) = select(stop.as_mut(), app.clock.sleep(rest)).await {
            return;
        }
    }
}

/// All that are wanted, in turn.
fn sweeps(policy: &Policy) -> Vec<Sweep> {
    let anonymous = policy.sign_up.anonymous_enabled && !policy.operation.cleanup_keeps_anonymous;
    let mut sweeps = ALWAYS.to_vec();
    sweeps.extend(anonymous.then_some(ANONYMOUS));
    sweeps.extend(policy.sessions.timebox.map(past_timebox));
    sweeps.extend(policy.sessions.inactivity_timeout.into_iter().flat_map(past_inactivity));
    sweeps
}

/// Sweeps once, and says how long to rest. Where there is more, the same sweep is next, and it needs no write.
async fn one(app: &App, it: Sweep) -> Duration {
    let started = app.clock.now();
    let mut db = Connection::pooled(app.pool.clone(), Arc::default()).with_long_statements();
    match sweep(&mut db, it, started).await {
        Ok(rows) => {
            if rows > 0 {
                counter!(ROWS, "kind" => it.name()).increment(rows);
                tracing::debug!(kind = it.name(), rows, "old rows were taken away");
            }
            if rows < it.batch {
                app.cleanup.next_kind();
                return REST;
            }
            app.cleanup.tell();
            (app.clock.now() - started).to_std().unwrap_or_default()
        }
        Err(error) => {
            tracing::warn!(kind = it.name(), %error, "old rows could not be taken away; it is tried again after a write");
            app.cleanup.next_kind();
            REST
        }
    }
}
