//! The details of one request for its explanation: durations, rows, and what it changed.
//!
//! A trace exists only where explanations or events are recorded.

use std::borrow::Cow;
use std::time::Duration;

use foundation::time::Time;
use serde_json::Value;
use uuid::Uuid;

/// The maximum number of statements and of facts of one request.
const MAX_ENTRIES: usize = 200;

/// The details of one request.
#[derive(Debug, Default)]
pub struct Trace {
    /// The template of the matched route.
    pub route: Option<String>,
    /// The authenticated user.
    pub user_id: Option<Uuid>,
    /// The guard that refused the request.
    pub refusing_guard: Option<&'static str>,
    /// The statements, in order.
    pub statements: Vec<TracedStatement>,
    facts: Vec<NotedFact>,
}

/// A statement that was sent to the database.
#[derive(Debug, Clone)]
pub struct TracedStatement {
    pub name: &'static str,
    /// The number of returned or affected rows; `None` if it failed.
    pub rows: Option<u64>,
    /// The time until the response.
    pub duration: Duration,
    /// The SQLSTATE or kind of the failure.
    pub error: Option<String>,
}

/// Something that the request did.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// An audit entry was written.
    Audit {
        at: Time,
        payload: Value,
    },
    /// A message was queued or sent.
    Message {
        /// `email` or `sms`.
        channel: &'static str,
        /// The kind, such as `confirmation`.
        kind: Cow<'static, str>,
        /// The recipient.
        to: String,
        /// The subject, for an e-mail.
        subject: Option<String>,
    },
    SessionsEnded(EndedSessions),
    /// A secret was issued, by its digest; earlier ones with the same purpose and owner are superseded.
    SecretIssued {
        digest: SecretDigest,
        /// What the secret is for, and its owner.
        slot: String,
    },
    /// A secret was used, by its digest.
    SecretUsed {
        digest: SecretDigest,
    },
}

/// The kind of a [`Fact`], which declarations of statements name: `#[proves(Audit)]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactKind {
    Audit,
    Message,
    SessionsEnded,
    SecretIssued,
    SecretUsed,
}

impl Fact {
    fn kind(&self) -> FactKind {
        match self {
            Self::Audit { .. } => FactKind::Audit,
            Self::Message { .. } => FactKind::Message,
            Self::SessionsEnded(_) => FactKind::SessionsEnded,
            Self::SecretIssued { .. } => FactKind::SecretIssued,
            Self::SecretUsed { .. } => FactKind::SecretUsed,
        }
    }
}

/// Which sessions ended; `None` does not restrict them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EndedSessions {
    /// The only user whose sessions ended.
    pub user_id: Option<Uuid>,
    /// The only session that ended.
    pub only: Option<Uuid>,
    /// The session that was kept.
    pub kept: Option<Uuid>,
    /// The only OAuth client whose sessions ended.
    pub client_id: Option<Uuid>,
}

impl EndedSessions {
    /// All sessions of a user.
    pub fn of_user(user_id: Uuid) -> Self {
        Self { user_id: Some(user_id), ..Self::default() }
    }

    /// One session.
    pub fn only(session_id: Uuid) -> Self {
        Self { only: Some(session_id), ..Self::default() }
    }

    /// Whether a session is among them; `client_id` is that of its tokens.
    pub fn contains(&self, user_id: Uuid, session_id: Uuid, client_id: Option<Uuid>) -> bool {
        self.user_id.is_none_or(|wanted| wanted == user_id)
            && self.only.is_none_or(|only| only == session_id)
            && self.kept.is_none_or(|kept| kept != session_id)
            && self.client_id.is_none_or(|wanted| Some(wanted) == client_id)
    }
}

/// A digest that identifies a secret without containing it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SecretDigest(pub [u8; 16]);

/// What makes a fact true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactCondition {
    /// It is true.
    Now,
    /// The request is not refused.
    Success,
    /// A statement that proves facts of its kind succeeds, and its transaction is committed.
    Statement,
}

#[derive(Debug)]
struct NotedFact {
    fact: Fact,
    condition: FactCondition,
    state: FactState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FactState {
    Noted,
    Written,
    True,
}

impl Trace {
    /// Notes a fact.
    pub fn note(&mut self, fact: Fact, condition: FactCondition) {
        let state = if condition == FactCondition::Now { FactState::True } else { FactState::Noted };
        if self.facts.len() < MAX_ENTRIES {
            self.facts.push(NotedFact { fact, condition, state });
        }
    }

    /// Records a statement that returned, and the facts that it proves.
    pub fn record_statement(&mut self, statement: TracedStatement, proves: &[FactKind], is_in_transaction: bool) {
        if statement.error.is_none() {
            let state = if is_in_transaction { FactState::Written } else { FactState::True };
            for noted in self.facts.iter_mut().filter(|noted| noted.state == FactState::Noted) {
                if noted.condition == FactCondition::Statement && proves.contains(&noted.fact.kind()) {
                    noted.state = state;
                }
            }
        }
        if self.statements.len() < MAX_ENTRIES {
            self.statements.push(statement);
        }
    }

    /// Makes the facts of the transaction true: it was committed.
    pub fn commit(&mut self) {
        for noted in self.facts.iter_mut().filter(|noted| noted.state == FactState::Written) {
            noted.state = FactState::True;
        }
    }

    /// Removes the facts of a transaction that was rolled back.
    pub fn roll_back(&mut self) {
        self.facts.retain(|noted| noted.state != FactState::Written);
    }

    /// Returns what is true at the end of the request.
    pub fn facts(&self, is_refused: bool) -> Vec<Fact> {
        let is_true = |noted: &&NotedFact| {
            noted.state == FactState::True || (noted.condition == FactCondition::Success && !is_refused)
        };
        self.facts.iter().filter(is_true).map(|noted| noted.fact.clone()).collect()
    }
}
