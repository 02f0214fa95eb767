//! The headers `traceparent`, `tracestate` and `baggage`.
//!
//! [Trace Context](https://www.w3.org/TR/trace-context/) and [Baggage](https://www.w3.org/TR/baggage/) of the W3C.

use std::fmt;
use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};

/// The header with trace, parent and flags.
pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// The header with values of tracing systems.
pub const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");
/// The header with values of the application.
pub const BAGGAGE: HeaderName = HeaderName::from_static("baggage");

/// The maximum length of `tracestate`, and of its list (§3.3.1).
const MAX_STATE_BYTES: usize = 512;
const MAX_STATE_MEMBERS: usize = 32;
/// The maximum length of `baggage`, and of its list.
const MAX_BAGGAGE_BYTES: usize = 8192;
const MAX_BAGGAGE_MEMBERS: usize = 64;
/// The flag of a sampled trace.
const SAMPLED: u8 = 1;

tokio::task_local! {
    static CURRENT: Arc<TraceContext>;
}

/// The trace that a request belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    /// The id of the trace, not zero.
    pub trace_id: u128,
    /// The id of the span that is the parent of the next one, not zero.
    pub span_id: u64,
    /// Whether spans are recorded.
    pub is_sampled: bool,
    /// `tracestate`; empty for none.
    pub state: String,
    /// `baggage`; empty for none.
    pub baggage: String,
}

impl TraceContext {
    /// Reads the headers; `None` without a valid `traceparent`.
    ///
    /// An invalid `tracestate` or `baggage` counts as absent.
    pub fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(TRACEPARENT).iter();
        let parent = values.next()?;
        if values.next().is_some() {
            return None;
        }
        let context = Self::parse(parent.to_str().ok()?)?;
        let state = join(headers, &TRACESTATE, MAX_STATE_BYTES).filter(|state| is_state(state));
        let baggage = join(headers, &BAGGAGE, MAX_BAGGAGE_BYTES).filter(|baggage| is_baggage(baggage));
        Some(Self { state: state.unwrap_or_default(), baggage: baggage.unwrap_or_default(), ..context })
    }

    /// Parses `traceparent`; a later version may have more parts (§4.3).
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let is_separated = bytes.len() >= 55 && [2, 35, 52].iter().all(|at| bytes[*at] == b'-');
        if !is_separated || !text.is_ascii() {
            return None;
        }
        let version = parse_hex(&text[..2])?;
        let is_complete = if version == 0 { bytes.len() == 55 } else { bytes.len() == 55 || bytes[55] == b'-' };
        let trace_id = parse_hex(&text[3..35])?;
        let span_id = u64::try_from(parse_hex(&text[36..52])?).ok()?;
        let flags = u8::try_from(parse_hex(&text[53..55])?).ok()?;
        let is_valid = version != 0xff && is_complete && trace_id != 0 && span_id != 0;
        is_valid.then(|| Self {
            trace_id,
            span_id,
            is_sampled: flags & SAMPLED != 0,
            state: String::new(),
            baggage: String::new(),
        })
    }

    /// Returns this trace with another parent.
    #[must_use]
    pub fn with_span(&self, span_id: u64) -> Self {
        Self { span_id, ..self.clone() }
    }

    /// Inserts `traceparent` and `tracestate` into an outgoing request.
    ///
    /// `baggage` is for services of the operator and not inserted here.
    pub fn insert_headers(&self, headers: &mut HeaderMap) {
        if let Ok(value) = HeaderValue::try_from(self.to_string()) {
            headers.insert(TRACEPARENT, value);
        }
        if let Some(state) = Some(&self.state).filter(|state| !state.is_empty())
            && let Ok(value) = HeaderValue::try_from(state)
        {
            headers.insert(TRACESTATE, value);
        }
    }
}

impl fmt::Display for TraceContext {
    /// Formats the value of `traceparent`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace_id, self.span_id, u8::from(self.is_sampled))
    }
}

/// Runs a future in a trace.
pub async fn run_in<F: Future>(context: Arc<TraceContext>, work: F) -> F::Output {
    CURRENT.scope(context, work).await
}

/// Returns the trace of the running request.
pub fn current() -> Option<Arc<TraceContext>> {
    CURRENT.try_with(Arc::clone).ok()
}

/// Returns the value of `baggage` for a service of the operator.
pub fn current_baggage() -> Option<HeaderValue> {
    let context = current().filter(|context| !context.baggage.is_empty())?;
    HeaderValue::try_from(&context.baggage).ok()
}

/// Parses lower-case hexadecimal digits (§3.2.2).
fn parse_hex(text: &str) -> Option<u128> {
    let is_lower_hex = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if is_lower_hex { u128::from_str_radix(text, 16).ok() } else { None }
}

/// Joins the values of a header; `None` if there is none, or they are too long or not ASCII.
fn join(headers: &HeaderMap, name: &HeaderName, max_bytes: usize) -> Option<String> {
    let mut joined = String::new();
    for value in headers.get_all(name) {
        if !joined.is_empty() {
            joined.push(',');
        }
        joined.push_str(value.to_str().ok()?.trim());
        if joined.len() > max_bytes {
            return None;
        }
    }
    Some(joined).filter(|joined| !joined.is_empty())
}

/// Whether this is a list of `key=value` (§3.3.1).
fn is_state(state: &str) -> bool {
    let is_key_byte = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-*/@".contains(&byte);
    let is_member = |member: &str| {
        let Some((key, value)) = member.trim().split_once('=') else { return member.trim().is_empty() };
        let is_key = !key.is_empty() && key.len() <= 256 && key.bytes().all(is_key_byte);
        is_key && value.len() <= 256 && value.bytes().all(|byte| (0x20..0x7f).contains(&byte) && byte != b'=')
    };
    state.split(',').count() <= MAX_STATE_MEMBERS && state.split(',').all(is_member)
}

/// Whether this is a list of `key=value` with properties.
fn is_baggage(baggage: &str) -> bool {
    let is_token_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let is_member = |member: &str| {
        let Some((key, value)) = member.trim().split_once('=') else { return false };
        let key = key.trim_end();
        !key.is_empty() && key.bytes().all(is_token_byte) && value.bytes().all(|byte| (0x20..0x7f).contains(&byte))
    };
    baggage.split(',').count() <= MAX_BAGGAGE_MEMBERS && baggage.split(',').all(is_member)
}
