//! Runs load in a closed or open loop, and holds idle connections.

use crate::Load;
use crate::http::{Connection, PATIENCE};
use crate::report::Report;
use crate::work::{Kind, Work};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

struct Caller {
    work: Arc<Work>,
    connection: Connection,
    report: Report,
}

impl Caller {
    fn new(o: &Load, work: &Arc<Work>) -> Caller {
        Caller { work: work.clone(), connection: Connection::new(o.target), report: Report::default() }
    }

    /// Sends one request; its latency counts from `since`.
    async fn call(&mut self, since: Instant) {
        let call = self.work.next();
        let kind = call.kind;
        let answer = match since.elapsed() > PATIENCE {
            true => Err("came too late to be sent"),
            false => self.connection.send(&call).await,
        };
        let wrong = self.work.check(call, answer);
        self.report.answer(kind, since.elapsed(), wrong);
    }
}

pub async fn closed(o: &Load, work: &Arc<Work>) -> Report {
    let (start, limit, sent) = (Instant::now(), o.requests, Arc::new(AtomicU64::new(0)));
    let end = start + o.duration();
    let callers = (0..o.connections).map(|_| {
        let (mut caller, sent) = (Caller::new(o, work), sent.clone());
        tokio::spawn(async move {
            while Instant::now() < end && sent.fetch_add(1, Relaxed) < limit {
                caller.call(Instant::now()).await;
            }
            caller.report
        })
    });
    gather(start, callers.collect()).await
}

/// A clock thread announces each arrival at its time; the first idle caller sends the request.
pub async fn open<A>(o: &Load, work: &Arc<Work>, arrivals: A) -> Report
where
    A: Iterator<Item = Duration> + Send + 'static,
{
    let start = Instant::now();
    let (announce, announced) = async_channel::unbounded();
    std::thread::spawn(move || {
        for due in arrivals.map(|after| start + after) {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if announce.send_blocking(due).is_err() {
                break;
            }
        }
    });
    let callers = (0..o.connections).map(|_| {
        let (mut caller, announced) = (Caller::new(o, work), announced.clone());
        tokio::spawn(async move {
            while let Ok(due) = announced.recv().await {
                caller.call(due).await;
            }
            caller.report
        })
    });
    gather(start, callers.collect()).await
}

async fn gather(start: Instant, callers: Vec<tokio::task::JoinHandle<Report>>) -> Report {
    let mut all = Report::default();
    for caller in callers {
        all.merge(caller.await.expect("a caller gave up"));
    }
    all.elapsed = start.elapsed();
    all
}

pub async fn idle(o: &Load) {
    let work = Work::new(o, &[(Kind::Health, 1)], []);
    let mut callers = Vec::new();
    for _ in 0..o.connections {
        let mut caller = Caller::new(o, &work);
        caller.call(Instant::now()).await;
        callers.push(caller);
    }
    let mut all = Report::default();
    callers.iter_mut().for_each(|caller| all.merge(std::mem::take(&mut caller.report)));
    all.elapsed = Duration::from_secs(1);
    println!("{}", all.json());
    let held = tokio::task::spawn_blocking(|| std::io::stdin().lines().count());
    held.await.unwrap();
}
