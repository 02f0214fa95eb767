//! Checks whether an e-mail address can receive mail.
//!
//! Checks its syntax, its host's DNS records, and a configured validation service. Failures and timeouts of a check
//! accept the address.

mod dns;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use foundation::error_chain::ErrorChain;
use futures::future::join;
use gotrue_rules::domain::mail_address::{Deliverability, classify_address};
use gotrue_rules::domain::policy::AddressCheck;
use gotrue_rules::wire::go_json::Document;
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue};
use platform::http_client::{HttpClient, ResponseLimits};
use serde::Deserialize;
use telemetry::log_limit::LogLimit;

use self::dns::{Dns, MailHosts};

/// The time limit of a check.
const CHECK_TIMEOUT: Duration = Duration::from_secs(3);
/// The maximum response of the service: `{"valid":false}`.
const MAX_RESPONSE_BYTES: usize = 32;

/// Lines about failed calls of the service.
static FAILED_CALLS: LogLimit = LogLimit::new();

/// The result of the checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressVerdict {
    /// No check rejects the address.
    Accepted,
    /// The address cannot receive mail.
    Invalid,
    /// The operator blocks its mail server.
    Blocked,
}

/// Checks addresses by the configured policy.
#[derive(Debug)]
pub struct AddressChecker {
    policy: AddressCheck,
    http: Arc<HttpClient>,
    dns: Dns,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ServiceResponse {
    valid: Option<bool>,
}

impl AddressChecker {
    /// Creates a checker that uses the system's resolver. No request is made yet.
    pub fn new(policy: &AddressCheck, http: &Arc<HttpClient>) -> Self {
        Self { policy: policy.clone(), http: Arc::clone(http), dns: Dns::from_system() }
    }

    /// Replaces the system's resolver by this name server.
    #[must_use]
    pub fn with_name_server(self, name_server: SocketAddr) -> Self {
        Self { dns: Dns::with_name_server(name_server), ..self }
    }

    /// Whether any check is enabled.
    pub fn is_enabled(&self) -> bool {
        self.policy.extended || !self.policy.service_url.is_empty()
    }

    /// Checks an address. The checks run concurrently and take at most three seconds.
    pub async fn check(&self, address: &str) -> AddressVerdict {
        let host = match classify_address(address) {
            _ if !self.policy.extended => None,
            Deliverability::Undeliverable => return AddressVerdict::Invalid,
            Deliverability::KnownHost => None,
            Deliverability::LookUp(host) => Some(host),
        };
        let (by_host, by_service) = join(
            within_timeout(async {
                match host {
                    Some(host) => self.check_host(host).await,
                    None => AddressVerdict::Accepted,
                }
            }),
            within_timeout(self.check_service(address)),
        )
        .await;
        if by_host == AddressVerdict::Accepted { by_service } else { by_host }
    }

    async fn check_host(&self, host: &str) -> AddressVerdict {
        match self.dns.find_mail_hosts(host).await {
            MailHosts::Nothing => AddressVerdict::Invalid,
            MailHosts::Hosts(hosts) if hosts.iter().any(|host| self.policy.blocked_mx.contains(host)) => {
                AddressVerdict::Blocked
            }
            MailHosts::Hosts(_) | MailHosts::Unknown => AddressVerdict::Accepted,
        }
    }

    async fn check_service(&self, address: &str) -> AddressVerdict {
        if self.policy.service_url.is_empty() {
            return AddressVerdict::Accepted;
        }
        match self.query_service(address).await {
            Ok(true) => AddressVerdict::Accepted,
            Ok(false) => AddressVerdict::Invalid,
            Err(error) => {
                let error = ErrorChain(error.as_ref());
                if let Some(left_out) = FAILED_CALLS.admit("") {
                    tracing::warn!(%error, left_out, "address validation service failed, address accepted");
                }
                AddressVerdict::Accepted
            }
        }
    }

    async fn query_service(&self, address: &str) -> anyhow::Result<bool> {
        let body = serde_json::json!({ "email": address }).to_string();
        let request = self.http.get_trusted_client()?.post(&self.policy.service_url).body(body);
        let mut request = request.header(CONTENT_TYPE, "application/json").build()?;
        for (name, values) in &self.policy.service_headers {
            let name = HeaderName::from_bytes(name.as_bytes())?;
            for value in values {
                request.headers_mut().insert(name.clone(), HeaderValue::from_str(value)?);
            }
        }
        let limits = ResponseLimits { bytes: MAX_RESPONSE_BYTES, time: CHECK_TIMEOUT };
        let answer = self.http.send_trusted("address-validation", request, limits).await?;
        if !(200..300).contains(&answer.status) {
            return Ok(true);
        }
        let opinion: ServiceResponse = Document::parse_first(&answer.body).and_then(|answer| answer.read())?;
        Ok(opinion.valid.unwrap_or(true))
    }
}

async fn within_timeout(work: impl Future<Output = AddressVerdict>) -> AddressVerdict {
    tokio::time::timeout(CHECK_TIMEOUT, work).await.unwrap_or(AddressVerdict::Accepted)
}
