//! Background tasks.

use std::pin::Pin;

use tokio::task::JoinHandle;

/// Runs a future in a background task, like [`tokio::spawn`].
///
/// The future is boxed: all tasks share one instance of the runtime's generic code, of which each type of future would need
/// 3 kB of the binary.
///
/// # Panics
///
/// There is no Tokio runtime.
pub fn spawn_task(future: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    tokio::spawn(Box::pin(future) as Pin<Box<dyn Future<Output = ()> + Send>>)
}
