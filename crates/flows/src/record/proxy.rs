//! The proxy whose traffic is recorded.

use std::sync::Arc;
use std::thread::JoinHandle;

use flow_proxy::{Api, Capture, CaptureRecorder, FlowProxy, ProxyError};
pub use flow_proxy::{ProxyLimits, ProxyOptions};
use http_edge::ShutdownSignal;
use platform::clock::{Clock, SystemClock};
use tokio::net::TcpListener;

use super::exchange::Exchange;
use super::separate::Recorder;
use crate::FlowError;
use crate::format::Service;

/// The proxy in front of one server.
pub struct RecordingProxy(Arc<FlowProxy>);

impl RecordingProxy {
    /// Creates the proxy and starts the thread of its recorder.
    ///
    /// The thread ends with [`Self::serve`] or the proxy, and returns the recorder.
    ///
    /// # Errors
    /// The URL of the server is invalid, or the system's root certificates cannot be read.
    pub fn new(options: ProxyOptions, recorder: Recorder) -> Result<(Arc<Self>, JoinHandle<Recorder>), FlowError> {
        let created = FlowProxy::new(options, recorder, now);
        let (proxy, thread) = created.map_err(|error| FlowError::new(error.to_string(), hint(&error)))?;
        Ok((Arc::new(Self(proxy)), thread))
    }

    /// Serves until `closing` is true and open requests have ended, or are abandoned.
    pub async fn serve(self: Arc<Self>, listener: TcpListener, closing: ShutdownSignal) {
        Arc::clone(&self.0).serve(listener, closing).await;
    }
}

fn hint(error: &ProxyError) -> &'static str {
    match error {
        ProxyError::InvalidUrl(_) => "give the URL of a project",
        ProxyError::NoCertificates(_) => "check the system's certificates",
    }
}

/// Returns the time in seconds.
#[expect(clippy::cast_precision_loss, reason = "milliseconds are below 2^52")]
fn now() -> f64 {
    SystemClock.now().timestamp_millis() as f64 / 1000.0
}

impl CaptureRecorder for Recorder {
    fn record(&mut self, capture: Capture) {
        if let Err(error) = Self::record(self, &capture.into()) {
            tracing::error!(%error, "a request is not recorded");
        }
    }

    fn set_name(&mut self, name: &str) {
        Self::set_name(self, name);
    }
}

impl From<Capture> for Exchange {
    fn from(capture: Capture) -> Self {
        Self {
            method: capture.method,
            path: capture.path,
            service: match capture.api {
                Api::Auth => Service::Auth,
                Api::Functions => Service::Functions,
                Api::Rest => Service::Rest,
                Api::Storage => Service::Storage,
            },
            headers: capture.headers,
            body: capture.body,
            status: capture.status,
            response_headers: capture.response_headers,
            response_body: capture.response_body,
            at: capture.at,
            client: capture.client,
            ..Self::default()
        }
    }
}
