//! Calls that report an event to another service: one signed POST, whose response body is not used.

use std::sync::Arc;
use std::time::Duration;

use foundation::error_chain::ErrorChain;
use foundation::secret::Secret;
use http::header::CONTENT_TYPE;
use reqwest::Request;
use uuid::Uuid;

use crate::clock::SharedClock;
use crate::http_client::{HttpClient, ResponseLimits};
use crate::webhook_signature::Signer;

/// The limits of a response, whose body is not used.
const LIMITS: ResponseLimits = ResponseLimits { bytes: 4096, time: Duration::from_secs(10) };

/// A URL of the operator that receives events.
///
/// The caller repeats failed calls with the same id, by which the receiver recognises repetitions.
#[derive(Debug)]
pub struct EventWebhook {
    service: &'static str,
    url: String,
    signer: Signer,
    http: Arc<HttpClient>,
    clock: SharedClock,
}

impl EventWebhook {
    /// Creates a client of a configured URL; `service` names it in traces. Nothing is called yet.
    pub fn new(service: &'static str, url: &str, secret: &Secret, http: Arc<HttpClient>, clock: SharedClock) -> Self {
        let signer = Signer::new(std::slice::from_ref(secret));
        Self { service, url: url.to_owned(), signer, http, clock }
    }

    /// Delivers a message once, without following redirects.
    ///
    /// A redirect would deliver nothing, or deliver to another host.
    ///
    /// # Errors
    /// There was no successful response within ten seconds; the text is for the log.
    pub async fn deliver(&self, id: Uuid, payload: &str) -> Result<(), String> {
        let request = self.build_request(id, payload)?;
        match self.http.send_without_redirects(self.service, request, LIMITS).await {
            Ok(response) if (200..300).contains(&response.status) => Ok(()),
            Ok(response) => Err(format!("the response has the status {}", response.status)),
            Err(error) => Err(ErrorChain(&error).to_string()),
        }
    }

    fn build_request(&self, id: Uuid, payload: &str) -> Result<Request, String> {
        let timestamp = self.clock.now().timestamp();
        let signature = self.signer.sign(id, timestamp, payload).map_err(|error| ErrorChain(&error).to_string())?;
        let client = self.http.get_client_without_redirects().map_err(|error| error.to_string())?;
        let request = client
            .post(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .header("webhook-id", id.to_string())
            .header("webhook-timestamp", timestamp.to_string())
            .header("webhook-signature", signature)
            .body(payload.to_owned());
        request.build().map_err(|error| error.to_string())
    }
}
