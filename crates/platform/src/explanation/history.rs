//! What became of secrets and sessions, for the explanation of a later refusal.
//!
//! Secrets are identified by digests. Everything is kept in memory, in a limited number, in development only.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_lc_rs::digest::{SHA256, digest};
use foundation::time::Time;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::journal::{EndedSessions, Fact, SecretDigest};

/// The maximum number of secrets, and of ended sessions.
const MAX_ENTRIES: usize = 5_000;

/// A request that used or ended something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRef {
    pub id: String,
    /// Method and path template.
    pub route: String,
    pub at: Time,
    /// The client's address.
    pub client: Option<IpAddr>,
    pub user_agent: Option<String>,
}

impl RequestRef {
    /// Returns the JSON of an explanation.
    pub fn to_json(&self) -> Value {
        json!({
            "request_id": self.id,
            "route": self.route,
            "at": self.at.to_rfc3339(),
            "client": self.client.map(|client| client.to_string()),
            "user_agent": self.user_agent,
        })
    }
}

/// What became of a secret.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecretRecord {
    /// The request that issued it.
    pub issued_by: Option<Arc<RequestRef>>,
    /// The first request that used it.
    pub used_by: Option<Arc<RequestRef>>,
    /// The request that issued its successor.
    pub superseded_by: Option<Arc<RequestRef>>,
}

#[derive(Debug, Clone)]
struct SessionEnd {
    sessions: EndedSessions,
    by: Arc<RequestRef>,
}

/// What became of the latest secrets and sessions.
#[derive(Debug, Default)]
pub struct History(Mutex<HistoryState>);

#[derive(Debug, Default)]
struct HistoryState {
    secrets: HashMap<SecretDigest, SecretRecord>,
    /// The digests in the order in which they were inserted.
    order: VecDeque<SecretDigest>,
    /// The latest secret of each purpose and owner.
    latest: HashMap<String, SecretDigest>,
    ends: VecDeque<SessionEnd>,
}

/// Returns the digest of a secret.
pub fn digest_secret(secret: &str) -> SecretDigest {
    let full = digest(&SHA256, secret.as_bytes());
    let mut short = [0; 16];
    short.copy_from_slice(&full.as_ref()[..16]);
    SecretDigest(short)
}

impl History {
    /// Records what a request did.
    pub fn record(&self, fact: &Fact, by: &Arc<RequestRef>) {
        let mut state = self.lock();
        match fact {
            Fact::SecretIssued { digest, slot } => state.issue(*digest, slot, by),
            Fact::SecretUsed { digest } => {
                state.entry(*digest).used_by.get_or_insert_with(|| Arc::clone(by));
            }
            Fact::SessionsEnded(sessions) => {
                if state.ends.len() >= MAX_ENTRIES {
                    state.ends.pop_front();
                }
                state.ends.push_back(SessionEnd { sessions: *sessions, by: Arc::clone(by) });
            }
            Fact::Audit { .. } | Fact::Message { .. } => {}
        }
    }

    /// Finds what became of a secret.
    pub fn find_secret(&self, digest: SecretDigest) -> Option<SecretRecord> {
        self.lock().secrets.get(&digest).cloned()
    }

    /// Finds the request that ended a session of a user; `client_id` is that of its tokens.
    ///
    /// A request that ended this session only is preferred: a step-up ends other sessions unless they were raised.
    pub fn find_session_end(
        &self,
        user_id: Uuid,
        session_id: Uuid,
        client_id: Option<Uuid>,
    ) -> Option<Arc<RequestRef>> {
        let state = self.lock();
        let ended = |end: &&SessionEnd| end.sessions.contains(user_id, session_id, client_id);
        let only = state.ends.iter().filter(|end| end.sessions.only.is_some()).find(ended);
        only.or_else(|| state.ends.iter().find(ended)).map(|end| Arc::clone(&end.by))
    }

    fn lock(&self) -> MutexGuard<'_, HistoryState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HistoryState {
    fn issue(&mut self, digest: SecretDigest, slot: &str, by: &Arc<RequestRef>) {
        if let Some(previous) = self.latest.insert(slot.to_owned(), digest)
            && let Some(record) = self.secrets.get_mut(&previous)
            && record.used_by.is_none()
        {
            record.superseded_by.get_or_insert_with(|| Arc::clone(by));
        }
        self.entry(digest).issued_by = Some(Arc::clone(by));
    }

    fn entry(&mut self, digest: SecretDigest) -> &mut SecretRecord {
        if !self.secrets.contains_key(&digest) {
            self.order.push_back(digest);
            if self.order.len() > MAX_ENTRIES
                && let Some(oldest) = self.order.pop_front()
            {
                self.secrets.remove(&oldest);
                self.latest.retain(|_, latest| *latest != oldest);
            }
        }
        self.secrets.entry(digest).or_default()
    }
}
