//! Background jobs that look for what is due at intervals.

use std::time::Duration;

use foundation::error_chain::ErrorChain;
use futures::FutureExt;
use futures::future::{Either, select};
use platform::clock::SharedClock;
use platform::store::Result;
use telemetry::jobs::JobRun;

/// A background job.
#[derive(Debug)]
pub(crate) struct PeriodicJob<'a> {
    /// Its name in metrics and in the log.
    pub name: &'static str,
    /// The wait between two runs.
    pub interval: Duration,
    /// The clock of waits and measurements.
    pub clock: &'a SharedClock,
}

impl PeriodicJob<'_> {
    /// Runs the job until `stop` completes. A failure is logged, and the next run is another attempt.
    pub(crate) async fn run<T, Run>(&self, stop: impl Future<Output = ()>, run_due: impl Fn() -> Run)
    where
        Run: Future<Output = Result<T>>,
    {
        let mut stop = std::pin::pin!(stop.fuse());
        loop {
            let started = self.clock.now();
            let outcome = run_due().await;
            let ended = self.clock.now();
            let duration = (ended - started).to_std().unwrap_or_default();
            JobRun { job: self.name, is_successful: outcome.is_ok(), duration, ended: ended.timestamp() }.record();
            if let Err(error) = outcome {
                tracing::warn!(job = self.name, error = %ErrorChain(&error), "a job on submissions failed, retrying");
            }
            if let Either::Left(_) = select(stop.as_mut(), self.clock.sleep(self.interval)).await {
                return;
            }
        }
    }
}
