//! The tracer of the process: which requests are sampled, ids, and the queue of finished spans.

use std::borrow::Cow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use http::HeaderMap;
use tokio::sync::mpsc::{Receiver, Sender, channel, error::TrySendError};

use crate::catalog::DROPPED_SPANS;
use crate::trace_context::TraceContext;

static TRACER: OnceLock<Tracer> = OnceLock::new();

/// Which traces are sampled (`OTEL_TRACES_SAMPLER`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampler {
    /// Whether a valid `traceparent` decides.
    pub is_parent_based: bool,
    /// The part of other traces that are sampled, from 0 to 1.
    pub ratio: f64,
}

impl Default for Sampler {
    /// `parentbased_always_on`.
    fn default() -> Self {
        Self { is_parent_based: true, ratio: 1.0 }
    }
}

impl Sampler {
    /// Whether a trace is sampled; the lower half of its id decides about the ratio.
    pub fn should_sample(&self, trace_id: u128, parent: Option<&TraceContext>) -> bool {
        match parent.filter(|_| self.is_parent_based) {
            Some(parent) => parent.is_sampled,
            None => is_below_ratio(trace_id, self.ratio),
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "a share of all ids; its last digits do not matter"
)]
fn is_below_ratio(trace_id: u128, ratio: f64) -> bool {
    let random = (trace_id as u64) >> 1;
    ratio >= 1.0 || (random as f64) < ratio * (i64::MAX as f64)
}

/// The start values of a tracer.
#[derive(Debug, Clone, Copy)]
pub struct TracerOptions {
    /// Which traces are sampled.
    pub sampler: Sampler,
    /// The maximum number of spans that wait for export.
    pub max_queue: usize,
    /// A random number from which ids are generated.
    pub seed: u128,
    /// The time since 1970.
    pub unix_time: Duration,
}

/// The kind of a span (OTLP `Span.SpanKind`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    /// Work of this process.
    Internal = 1,
    /// A request that this process answers.
    Server = 2,
    /// A call of another process.
    Client = 3,
}

/// The value of a span's attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum AttributeValue {
    Text(Cow<'static, str>),
    /// A whole number.
    Integer(i64),
    /// A truth value.
    Bool(bool),
}

/// A span that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedSpan {
    pub trace_id: u128,
    pub span_id: u64,
    /// The parent, if there is one.
    pub parent_id: Option<u64>,
    pub name: Cow<'static, str>,
    pub kind: SpanKind,
    /// The start, in nanoseconds since 1970.
    pub started: u64,
    /// The end, in nanoseconds since 1970.
    pub ended: u64,
    /// Whether it has failed.
    pub is_error: bool,
    pub attributes: Vec<(&'static str, AttributeValue)>,
}

/// The trace of a request: the context of its outgoing calls, and the ids of its span.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestTrace {
    /// The context; its parent is the span of the request, or without a tracer that of the client.
    pub context: Option<TraceContext>,
    /// The parent of the span of the request.
    pub parent_id: Option<u64>,
    /// Whether the request has a span.
    pub is_recorded: bool,
}

impl RequestTrace {
    /// Starts the trace of a request, or continues that of its headers.
    pub fn start(headers: &HeaderMap) -> Self {
        let incoming = TraceContext::from_headers(headers);
        let Some(tracer) = TRACER.get() else { return Self { context: incoming, ..Self::default() } };
        let trace_id = incoming.as_ref().map_or_else(|| tracer.new_trace_id(), |incoming| incoming.trace_id);
        let is_sampled = tracer.sampler.should_sample(trace_id, incoming.as_ref());
        let parent_id = incoming.as_ref().map(|incoming| incoming.span_id);
        let (state, baggage) = incoming.map(|incoming| (incoming.state, incoming.baggage)).unwrap_or_default();
        let context = TraceContext { trace_id, span_id: tracer.new_span_id(), is_sampled, state, baggage };
        Self { context: Some(context), parent_id, is_recorded: is_sampled }
    }

    pub fn trace_id(&self) -> Option<u128> {
        self.context.as_ref().map(|context| context.trace_id)
    }

    /// The id of the request's span, if it is recorded.
    pub fn span_id(&self) -> Option<u64> {
        self.context.as_ref().filter(|_| self.is_recorded).map(|context| context.span_id)
    }
}

/// Generates ids and takes finished spans.
struct Tracer {
    sampler: Sampler,
    queue: Sender<FinishedSpan>,
    seed: u128,
    next: AtomicU64,
    unix_time: Duration,
    installed: Instant,
}

/// Installs the tracer of the process and returns its queue; `None` if there is one already.
pub fn install(options: TracerOptions) -> Option<Receiver<FinishedSpan>> {
    let (queue, finished) = channel(options.max_queue.max(1));
    let TracerOptions { sampler, seed, unix_time, .. } = options;
    let tracer = Tracer { sampler, queue, seed, next: AtomicU64::new(1), unix_time, installed: Instant::now() };
    TRACER.set(tracer).ok().map(|()| finished)
}

/// Whether spans are recorded.
pub fn is_installed() -> bool {
    TRACER.get().is_some()
}

/// Returns an id for a span; `None` without a tracer.
pub fn new_span_id() -> Option<u64> {
    TRACER.get().map(Tracer::new_span_id)
}

/// Returns the time in nanoseconds since 1970; zero without a tracer.
pub fn unix_nanos() -> u64 {
    let elapsed = TRACER.get().map(|tracer| tracer.unix_time + tracer.installed.elapsed());
    elapsed.map_or(0, |elapsed| u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX))
}

/// Queues a span for export; a full queue drops it.
pub(crate) fn enqueue(span: FinishedSpan) {
    let Some(tracer) = TRACER.get() else { return };
    match tracer.queue.try_send(span) {
        Ok(()) => {}
        Err(TrySendError::Full(_)) => DROPPED_SPANS.increment(&["queue_full"]),
        Err(TrySendError::Closed(_)) => DROPPED_SPANS.increment(&["shutdown"]),
    }
}

impl Tracer {
    fn new_span_id(&self) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let [_, seed] = halves(self.seed);
        mix(seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15))).max(1)
    }

    fn new_trace_id(&self) -> u128 {
        let [seed, _] = halves(self.seed);
        let low = self.new_span_id();
        u128::from(mix(seed ^ low)) << 64 | u128::from(low)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "each half has 64 bits")]
fn halves(number: u128) -> [u64; 2] {
    [(number >> 64) as u64, number as u64]
}

/// The output function of `SplitMix64`, a permutation of all numbers.
fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
