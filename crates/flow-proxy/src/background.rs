//! The thread of the recorder.

use std::thread::park_timeout;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::mpsc::error::TryRecvError;

use super::capture::Capture;
use super::completion::Event;

/// How long exchanges are collected, which are then recorded together; an interruption loses them.
///
/// To wake the thread for each exchange would delay the end of the response, and the next request.
const COLLECTING: Duration = Duration::from_millis(25);
/// After so many collections without an exchange the thread waits for the next one without a timer.
const MAX_EMPTY: u32 = 40;

/// The niceness of the thread: the smallest share of a busy processor.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 19;

/// Records what has passed a proxy.
pub trait CaptureRecorder: Send + 'static {
    /// Records an exchange.
    fn record(&mut self, capture: Capture);

    /// Names the flow of the following requests that name none.
    fn set_name(&mut self, name: &str);
}

/// Records what it receives until the end.
///
/// It begins earlier when the thread is unparked.
pub(super) fn record_all<R: CaptureRecorder>(mut recorder: R, mut received: UnboundedReceiver<Event>) -> R {
    lower_priority();
    let mut empty = MAX_EMPTY;
    loop {
        let next = if empty < MAX_EMPTY {
            received.try_recv()
        } else {
            let first = received.blocking_recv().ok_or(TryRecvError::Disconnected);
            park_timeout(COLLECTING);
            empty = 0;
            first
        };
        match next {
            Ok(Event::Exchange(capture, permit)) => {
                empty = 0;
                recorder.record(*capture);
                drop(permit);
            }
            Ok(Event::Name(name)) => recorder.set_name(&name),
            Err(TryRecvError::Empty) => {
                empty += 1;
                park_timeout(COLLECTING);
            }
            Ok(Event::End) | Err(TryRecvError::Disconnected) => return recorder,
        }
    }
}

/// Lets the requests go first: the recorder would take the processors of a small machine from them.
fn lower_priority() {
    // On other systems the niceness is that of the whole process.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        tracing::debug!(%error, "the recorder has the priority of the proxy");
    }
}
