//! `send-submission`: takes what a visitor of the shop has to say, keeps it, and tells the owner and the visitor by mail. The
//! submission and its mails are one transaction: what was answered is stored and will be mailed, the owner's mail by itself
//! or, where too many come, counted in a [`digest`].

pub mod address;
pub mod digest;
pub mod limits;
pub mod mails;
pub mod queue;
pub mod store;
pub mod text;

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use futures::future::BoxFuture;
use gotrue_rs::journal::Step;
use gotrue_rs::ports::mail::Message;
use gotrue_rs::ports::mail::outbox::Outbox;
use gotrue_rs::store::{Connection, Pool};
use http::{Method, StatusCode};
use serde::Serialize;
use uuid::Uuid;

use self::address::Address;
use self::limits::SubmissionLimits;
use self::mails::{Sender, Told};
use self::queue::Queue;
use self::store::{Charge, Charged, Earlier, Entered, New, Repeat};
use self::text::{Invalid, Text};
use crate::caller::Caller;
use crate::function::{Answer, Function, FunctionError, Invocation};

/// What the operator decides about submissions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Who is told of each submission. Default nobody.
    pub owner: Option<String>,
    /// What the shop calls itself in mails. Default `Email Templates`.
    pub shop: String,
    /// The host in the mails' `Message-ID`s: that of the server's own URL. Default `localhost`.
    pub host: String,
    /// How much one visitor may send.
    pub limits: SubmissionLimits,
    /// How long the same text of the same visitor is the same submission: a double click, or a second try after an answer that
    /// was lost. Default 2 min.
    pub repeat_within: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            owner: None,
            shop: "Email Templates".to_owned(),
            host: "localhost".to_owned(),
            limits: SubmissionLimits::default(),
            repeat_within: Duration::from_mins(2),
        }
    }
}

/// The function.
#[derive(Debug)]
pub struct SendSubmission {
    pool: Pool,
    outbox: Arc<Outbox>,
    settings: Settings,
    queue: Queue,
}

/// What the client gets as `data`.
#[derive(Debug, Serialize)]
struct Taken {
    id: Uuid,
    message: &'static str,
}

/// A call that was understood.
struct Asked<'a> {
    call: &'a Invocation,
    text: Text,
    key: Option<&'a str>,
    network: String,
    sender: Sender,
}

/// What becomes of a submission, once the limits were asked and earlier ones looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    /// It is there already.
    Repeated(Uuid),
    /// Its key belongs to another one.
    KeyTaken,
    /// The visitor has sent too many; one more fits after this time.
    TooMany(Duration),
    /// It is stored, and the visitor is told if no limit speaks against it.
    Store {
        /// Whether the visitor is told.
        confirm: bool,
    },
}

impl SendSubmission {
    /// The function over this database; its mails go to that outbox.
    pub fn new(pool: Pool, outbox: Arc<Outbox>, settings: Settings) -> Self {
        Self { pool, outbox, settings, queue: Queue::default() }
    }

    async fn take(&self, call: &Invocation) -> Result<Answer, FunctionError> {
        if call.method != Method::POST {
            return Err(FunctionError::method_not_allowed("POST, OPTIONS"));
        }
        let asked = understand(call)?;
        let _turn = match call.caller {
            Caller::ServiceRole => None,
            _ => Some(self.queue.turn(call.peer.network()).await.ok_or_else(crowded)?),
        };
        let id = self.store(&asked).await?;
        let message = "Thank you for your submission. We have successfully received your details.";
        Answer::json(&Taken { id, message })
    }

    /// The id of the submission, stored now or before.
    async fn store(&self, asked: &Asked<'_>) -> Result<Uuid, FunctionError> {
        let call = asked.call;
        let failed = |doing| move |error| FunctionError::database(doing, error);
        let journal = || Arc::clone(&call.journal);
        let repeat = self.repeat(asked);
        let mut db = Connection::begin(&self.pool, journal()).await.map_err(failed("connecting to the database"))?;
        let charges = self.charges(asked);
        let entered = store::enter(&mut db, repeat, &charges, call.now).await.map_err(failed("taking the limits"))?;
        let decision = decide(&entered, call.now, &self.settings.limits);
        let Decision::Store { confirm } = decision else {
            db.rollback().await.map_err(failed("undoing the limits"))?;
            return self.refuse(decision, asked).await;
        };
        let id = call.entropy.uuid();
        let (notice, confirmation) = self.mails(asked, id, confirm);
        let row = |mail: Option<_>| mail.iter().map(|mail| self.outbox.row(mail)).collect();
        let new = New {
            id,
            now: call.now,
            user: account(&call.caller),
            repeat,
            notice: row(notice),
            notices_an_hour: self.settings.limits.notices,
            confirmation: row(confirmation),
        };
        match store::insert(&mut db, &new).await.map_err(failed("storing the submission"))? {
            Some(stored) if stored.id == id => {
                self.outbox.announce(&mut db);
                db.commit().await.map_err(failed("committing the submission"))?;
                call.journal.note(Step::Decision("stored"));
                Ok(id)
            }
            found => {
                db.rollback().await.map_err(failed("undoing the limits"))?;
                let found = match found {
                    Some(found) => Some(found),
                    None => self.find(asked).await?,
                };
                let found = found.map_or(Decision::KeyTaken, Earlier::decision);
                self.refuse(found, asked).await
            }
        }
    }

    /// Answers what is not stored: with the earlier submission, or with a refusal. Who has sent too many may still ask for one
    /// that was stored meanwhile.
    async fn refuse(&self, decision: Decision, asked: &Asked<'_>) -> Result<Uuid, FunctionError> {
        let decision = match decision {
            Decision::TooMany(_) => self.find(asked).await?.map_or(decision, Earlier::decision),
            other => other,
        };
        asked.call.journal.note(Step::Decision(match decision {
            Decision::Repeated(_) => "repeated",
            Decision::KeyTaken => "key taken",
            Decision::TooMany(_) | Decision::Store { .. } => "too many",
        }));
        match decision {
            Decision::Repeated(id) => Ok(id),
            Decision::KeyTaken => Err(FunctionError::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "idempotency_key_reused",
                "The Idempotency-Key belongs to another submission; give each submission a key of its own",
            )),
            Decision::TooMany(wait) => {
                let message = self.settings.limits.submissions.refusal(wait);
                Err(FunctionError::too_many("over_submission_rate_limit", message, wait))
            }
            Decision::Store { .. } => Err(crowded()),
        }
    }

    async fn find(&self, asked: &Asked<'_>) -> Result<Option<Earlier>, FunctionError> {
        let mut db = Connection::pooled(self.pool.clone(), Arc::clone(&asked.call.journal));
        let found = store::find(&mut db, self.repeat(asked)).await;
        found.map_err(|error| FunctionError::database("looking for the submission", error))
    }

    fn repeat<'a>(&self, asked: &'a Asked<'_>) -> Repeat<'a> {
        let within = TimeDelta::from_std(self.settings.repeat_within).unwrap_or(TimeDelta::zero());
        Repeat { text: asked.text.as_str(), peer: &asked.network, key: asked.key, since: asked.call.now - within }
    }

    /// The buckets this takes from. A server of the operator's speaks for many visitors and is not limited as one.
    fn charges(&self, asked: &Asked<'_>) -> Vec<Charge> {
        let limits = &self.settings.limits;
        let network = &asked.network;
        let mut charges = Vec::new();
        if asked.call.caller != Caller::ServiceRole {
            charges.push(Charge::new(format!("{SUBMISSION}{network}"), &limits.submissions));
        }
        if let Some(address) = asked.sender.address() {
            charges.push(Charge::new(format!("{CONFIRMATION}by/{network}"), &limits.confirmations_by_peer));
            let to = format!("{CONFIRMATION}to/{}", address.mailbox());
            charges.push(Charge::new(to, &limits.confirmations_to_address));
        }
        charges
    }

    /// What the owner and the visitor are told.
    fn mails(&self, asked: &Asked<'_>, id: Uuid, confirm: bool) -> (Option<Message>, Option<Message>) {
        let Settings { owner, shop, host, .. } = &self.settings;
        let told = Told { id, now: asked.call.now, shop, host };
        let notice = owner.as_ref().map(|owner| mails::notice(told, owner, &asked.text, &asked.sender));
        let to = asked.sender.address().filter(|_| confirm);
        let confirmation = to.map(|to| mails::confirmation(told, to, owner.as_deref()));
        (notice, confirmation)
    }
}

/// Keys of the buckets of submissions, before the visitor's network.
const SUBMISSION: &str = "submission/";
/// Keys of the buckets of confirmations, before `by/` and the network or `to/` and the address.
const CONFIRMATION: &str = "confirmation/";

impl Function for SendSubmission {
    fn name(&self) -> &'static str {
        "send-submission"
    }

    fn call<'a>(&'a self, invocation: &'a Invocation) -> BoxFuture<'a, Result<Answer, FunctionError>> {
        Box::pin(self.take(invocation))
    }
}

/// Reads the call; nothing of it is stored before all of it is understood.
fn understand(call: &Invocation) -> Result<Asked<'_>, FunctionError> {
    let invalid = |invalid: Invalid| FunctionError::bad_request(invalid.code(), invalid.message());
    let text = Text::read(&call.body).map_err(invalid)?;
    let key = call.header("idempotency-key")?;
    if key.is_some_and(|key| key.is_empty() || key.len() > 255) {
        return Err(FunctionError::bad_request("invalid_header", "An Idempotency-Key has 1 to 255 characters"));
    }
    let sender = sender(&call.caller, &text);
    Ok(Asked { call, text, key, network: call.peer.network().to_string(), sender })
}

/// Who is behind a submission: the account, else whoever the one address in the text belongs to.
fn sender(caller: &Caller, text: &Text) -> Sender {
    let account = match caller {
        Caller::User(user) => user.email.as_deref().and_then(Address::parse),
        Caller::Nobody | Caller::Anonymous | Caller::ServiceRole => None,
    };
    let named = || Address::only_one_in(text.as_str()).map_or(Sender::Unknown, Sender::Named);
    account.map_or_else(named, Sender::Account)
}

fn account(caller: &Caller) -> Option<Uuid> {
    match caller {
        Caller::User(user) => Some(user.id),
        Caller::Nobody | Caller::Anonymous | Caller::ServiceRole => None,
    }
}

/// A repetition is answered whatever the limits say; a limit on confirmations only keeps the confirmation back.
fn decide(entered: &Entered, now: gotrue_rules::domain::user::Time, limits: &SubmissionLimits) -> Decision {
    if let Some(earlier) = entered.earlier {
        return earlier.decision();
    }
    let refused =
        |of: &'static str| entered.charged.iter().find(move |it: &&Charged| it.refused && it.key.starts_with(of));
    match refused(SUBMISSION) {
        Some(bucket) => Decision::TooMany(limits.submissions.wait(bucket.full_at, now)),
        None => Decision::Store { confirm: refused(CONFIRMATION).is_none() },
    }
}

impl Earlier {
    fn decision(self) -> Decision {
        if self.is_same { Decision::Repeated(self.id) } else { Decision::KeyTaken }
    }
}

/// More calls of one visitor wait than may.
fn crowded() -> FunctionError {
    let message = "Too many submissions from your network at once. Try again in a moment";
    FunctionError::too_many("over_submission_rate_limit", message, Duration::from_secs(1))
}
