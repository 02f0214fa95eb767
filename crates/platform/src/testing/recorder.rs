//! Records spans and log events of one thread.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};

/// The spans and events of a thread since [`Recording::start`], of every crate and level.
#[derive(Debug, Default)]
pub struct Recording {
    /// The spans in the order in which they began.
    pub spans: Vec<RecordedSpan>,
    /// The events in order.
    pub events: Vec<RecordedEvent>,
}

/// A span with its latest fields.
#[derive(Debug)]
pub struct RecordedSpan {
    id: u64,
    parent: Option<u64>,
    pub name: &'static str,
    /// The fields that have a value.
    pub fields: RecordedFields,
}

/// A log event.
#[derive(Debug)]
pub struct RecordedEvent {
    pub level: Level,
    /// The module or log target.
    pub target: &'static str,
    /// The fields, the message included.
    pub fields: RecordedFields,
}

/// Fields by name; text is recorded without quotation marks.
#[derive(Debug, Default)]
pub struct RecordedFields(BTreeMap<&'static str, String>);

impl RecordedFields {
    /// The value of a field; empty if it has none.
    pub fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// All values.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(String::as_str)
    }
}

impl Visit for RecordedFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

thread_local! {
    static RECORDING: RefCell<Option<Recording>> = const { RefCell::new(None) };
    /// The entered spans, innermost last.
    static ENTERED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

impl Recording {
    /// Starts recording what the current thread logs.
    pub fn start() {
        // For the whole process: a subscriber of one thread alone may miss what another thread has logged first.
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            tracing::subscriber::set_global_default(ThreadRecorder).expect("no other subscriber is set");
        });
        RECORDING.set(Some(Self::default()));
    }

    /// Stops recording and returns the spans and events of the current thread.
    pub fn stop() -> Self {
        RECORDING.take().unwrap_or_default()
    }

    /// The spans of this name.
    pub fn spans_named(&self, name: &str) -> Vec<&RecordedSpan> {
        self.spans.iter().filter(|span| span.name == name).collect()
    }

    /// The enclosing span.
    pub fn parent(&self, span: &RecordedSpan) -> Option<&RecordedSpan> {
        self.spans.iter().find(|other| Some(other.id) == span.parent)
    }

    /// All field values, one a line.
    pub fn text(&self) -> String {
        let spans = self.spans.iter().flat_map(|span| span.fields.values());
        let events = self.events.iter().flat_map(|event| event.fields.values());
        spans.chain(events).collect::<Vec<_>>().join("\n")
    }
}

/// Records on threads with an active recording.
struct ThreadRecorder;

impl ThreadRecorder {
    fn change_span(id: &Id, change: impl FnOnce(&mut RecordedSpan)) {
        RECORDING.with_borrow_mut(|recording| {
            let mut spans = recording.iter_mut().flat_map(|recording| &mut recording.spans);
            if let Some(span) = spans.find(|span| span.id == id.into_u64()) {
                change(span);
            }
        });
    }
}

impl Subscriber for ThreadRecorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        RECORDING.with_borrow(Option::is_some)
    }

    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        static LATEST: AtomicU64 = AtomicU64::new(0);
        let id = LATEST.fetch_add(1, Ordering::Relaxed) + 1;
        let metadata = attributes.metadata();
        let parent = match attributes.parent() {
            Some(parent) => Some(parent.into_u64()),
            None if attributes.is_root() => None,
            None => ENTERED.with_borrow(|entered| entered.last().copied()),
        };
        let mut fields = RecordedFields::default();
        attributes.record(&mut fields);
        let span = RecordedSpan { id, parent, name: metadata.name(), fields };
        RECORDING.with_borrow_mut(|recording| {
            if let Some(recording) = recording {
                recording.spans.push(span);
            }
        });
        Id::from_u64(id)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        let mut fields = RecordedFields::default();
        values.record(&mut fields);
        Self::change_span(id, |span| span.fields.0.extend(fields.0));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = RecordedFields::default();
        event.record(&mut fields);
        let metadata = event.metadata();
        let event = RecordedEvent { level: *metadata.level(), target: metadata.target(), fields };
        RECORDING.with_borrow_mut(|recording| {
            if let Some(recording) = recording {
                recording.events.push(event);
            }
        });
    }

    fn enter(&self, id: &Id) {
        ENTERED.with_borrow_mut(|entered| entered.push(id.into_u64()));
    }

    fn exit(&self, id: &Id) {
        ENTERED.with_borrow_mut(|entered| {
            if let Some(at) = entered.iter().rposition(|other| *other == id.into_u64()) {
                entered.remove(at);
            }
        });
    }
}
