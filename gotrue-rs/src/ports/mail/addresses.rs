//! Whether anybody reads mail at an address: by its spelling, by what the DNS knows of its host, by a service of the
//! operator's. Only a clear no counts: who does not answer, or not in time, has said nothing against the address.

mod dns;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join;
use gotrue_rules::domain::mail_address::{Spelling, judge};
use gotrue_rules::domain::policy::AddressCheck;
use gotrue_rules::wire::go_json::Document;
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue};
use serde::Deserialize;

use self::dns::{Dns, Found};
use crate::ports::http_client::{HttpClient, Limits};

/// Longest time for one address, whoever is asked.
const PATIENCE: Duration = Duration::from_secs(3);
/// An answer of the service is shorter than that: `{"valid":false}`.
const LONGEST_ANSWER: usize = 32;

/// What was found out about an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing speaks against it.
    Good,
    /// Nobody reads mail there.
    Invalid,
    /// Its mail server is one that the operator does not deliver to.
    Blocked,
}

/// Checks addresses as the operator wants it.
#[derive(Debug)]
pub struct Addresses {
    policy: AddressCheck,
    http: Arc<HttpClient>,
    dns: Dns,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Opinion {
    valid: Option<bool>,
}

impl Addresses {
    /// Asks nobody yet. Names are looked up as the system does it.
    pub fn new(policy: &AddressCheck, http: &Arc<HttpClient>) -> Self {
        Self { policy: policy.clone(), http: Arc::clone(http), dns: Dns::of_the_system() }
    }

    /// Looks names up at this name server instead.
    #[must_use]
    pub fn asking(self, name_server: SocketAddr) -> Self {
        Self { dns: Dns::at(name_server), ..self }
    }

    /// Whether anything is checked at all.
    pub fn is_on(&self) -> bool {
        self.policy.extended || !self.policy.service_url.is_empty()
    }

    /// Checks one address. Takes three seconds at most.
    pub async fn check(&self, address: &str) -> Verdict {
        let host = match judge(address) {
            _ if !self.policy.extended => None,
            Spelling::Nobodys => return Verdict::Invalid,
            Spelling::Known => None,
            Spelling::AskFor(host) => Some(host),
        };
        let (by_host, by_service) = join(
            in_time(async {
                match host {
                    Some(host) => self.by_host(host).await,
                    None => Verdict::Good,
                }
            }),
            in_time(self.by_service(address)),
        )
        .await;
        if by_host == Verdict::Good { by_service } else { by_host }
    }

    async fn by_host(&self, host: &str) -> Verdict {
        match self.dns.mail_hosts(host).await {
            Found::Nothing => Verdict::Invalid,
            Found::Hosts(hosts) if hosts.iter().any(|host| self.policy.blocked_mx.contains(host)) => Verdict::Blocked,
            Found::Hosts(_) | Found::Unknown => Verdict::Good,
        }
    }

    async fn by_service(&self, address: &str) -> Verdict {
        if self.policy.service_url.is_empty() {
            return Verdict::Good;
        }
        match self.ask_service(address).await {
            Ok(true) => Verdict::Good,
            Ok(false) => Verdict::Invalid,
            Err(error) => {
                tracing::warn!(%error, "the service that checks addresses gave no answer; the address is taken");
                Verdict::Good
            }
        }
    }

    async fn ask_service(&self, address: &str) -> anyhow::Result<bool> {
        let body = serde_json::json!({ "email": address }).to_string();
        let request = self.http.operators()?.post(&self.policy.service_url).body(body);
        let mut request = request.header(CONTENT_TYPE, "application/json").build()?;
        for (name, values) in &self.policy.service_headers {
            let name = HeaderName::from_bytes(name.as_bytes())?;
            for value in values {
                request.headers_mut().insert(name.clone(), HeaderValue::from_str(value)?);
            }
        }
        let answer = self.http.call(request, Limits { bytes: LONGEST_ANSWER, time: PATIENCE }).await?;
        if !(200..300).contains(&answer.status) {
            return Ok(true);
        }
        let opinion: Opinion = Document::parse_first(&answer.body).and_then(|answer| answer.read())?;
        Ok(opinion.valid.unwrap_or(true))
    }
}

async fn in_time(work: impl Future<Output = Verdict>) -> Verdict {
    tokio::time::timeout(PATIENCE, work).await.unwrap_or(Verdict::Good)
}
