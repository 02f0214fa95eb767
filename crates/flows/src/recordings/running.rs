//! Runs groups of recordings beside each other.

use futures::StreamExt;
use futures::stream;

use crate::FlowError;

/// Runs groups beside each other, as many at a time as there are `jobs`, and calls `report` for each outcome.
///
/// # Errors
/// A group panicked.
pub(super) async fn run_groups<T: Send + 'static>(
    runs: impl Iterator<Item = impl Future<Output = Vec<T>> + Send + 'static>,
    jobs: usize,
    report: &(dyn Fn(&T) + Sync),
) -> Result<Vec<T>, FlowError> {
    let mut running = stream::iter(runs).map(tokio::spawn).buffer_unordered(jobs.max(1));
    let mut outcomes = Vec::new();
    while let Some(joined) = running.next().await {
        let ended = joined.map_err(|error| FlowError::new(format!("not judged: {error}"), "report this"))?;
        ended.iter().for_each(report);
        outcomes.extend(ended);
    }
    Ok(outcomes)
}
