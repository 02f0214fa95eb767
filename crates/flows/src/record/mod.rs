//! Records flows: from the traffic of a proxy, or from HAR files.

mod content;
mod data;
mod exchange;
mod har;
mod infer;
mod known;
mod multipart;
mod numbers;
mod object_bodies;
mod objects;
mod plain;
mod proxy;
mod redact;
mod request;
mod separate;
mod session;
mod settings;
mod steps;
mod texts;
mod times;
mod values;
mod writer;

pub use self::exchange::{Exchange, ParsedBodies, RecordedBody};
pub use self::har::{HarOptions, import_har};
pub use self::proxy::{ProxyLimits, ProxyOptions, RecordingProxy};
pub(crate) use self::redact::{Context, redact_response, redact_value};
pub use self::separate::{Recorder, RecorderOptions};
pub use self::session::RecordedUrls;
