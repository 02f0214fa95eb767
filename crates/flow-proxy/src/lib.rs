//! The proxy of `basalt record`: forwards requests and hands a copy of each exchange to a recorder.
//!
//! A request stays on one thread from its client to the server and back: every hand-over to another thread waits for that
//! thread to wake. The recorder has a thread of its own, which collects exchanges and begins when requests leave it time.
//!
//! It is a crate of its own because every request pays for this code: what the recorder knows of flows is no part of it
//! (`docs/decisions/0132-the-recorder-forwards-on-one-thread.md`).

mod background;
mod body;
mod capture;
mod completion;
mod connections;
mod error;
mod headers;
mod proxy;
mod upstream;
mod websocket;

pub use self::background::CaptureRecorder;
pub use self::capture::{
    AUTH_PATH, Api, Capture, CapturedBody, FLOW_HEADER, FUNCTIONS_PATH, REST_PATH, STORAGE_PATH, is_s3_path,
};
pub use self::error::ProxyError;
pub use self::proxy::{FlowProxy, ProxyLimits, ProxyOptions};
