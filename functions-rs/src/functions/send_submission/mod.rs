//! `send-submission`: stores a visitor's submission and notifies owner and visitor by mail.
//! The submission and its mails are one transaction: an acknowledged submission is stored and its mails are enqueued.
//! Beyond an hourly limit, the owner's mails are replaced by a [`digest`].

pub mod address;
pub mod digest;
pub mod limits;
pub mod mails;
pub mod queue;
mod settings;
pub mod spam;
pub mod store;
pub mod text;

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use foundation::language::Language;
use futures::future::BoxFuture;
use http::{Method, StatusCode};
use platform::journal::Step;
use platform::mail::EmailMessage;
use platform::mail::outbox::Outbox;
use platform::store::{Connection, Pool};
use serde::Serialize;
use uuid::Uuid;

use self::address::{EmailAddress, FoundAddresses};
use self::limits::SubmissionLimits;
use self::mails::{MailContext, Submitter};
use self::queue::VisitorQueues;
pub use self::settings::{SubmissionSettings, TemplateTitles};
use self::spam::{FORM_SIGNS, QUARANTINE_SCORE, SpamSigns};
use self::store::{BucketCharge, BucketState, EarlierSubmission, LimitResult, NewSubmission, RepeatCriteria};
use self::text::{InvalidSubmission, SubmissionBody, SubmissionText};
use crate::caller::Caller;
use crate::function::{Answer, Function, FunctionError, Invocation};

/// The function `send-submission`.
#[derive(Debug)]
pub struct SendSubmission {
    pool: Pool,
    outbox: Arc<Outbox>,
    settings: SubmissionSettings,
    queue: VisitorQueues,
    titles: TemplateTitles,
}

/// The response body, which supabase-js returns as `data`.
#[derive(Debug, Serialize)]
struct SubmissionResponse {
    id: Uuid,
    message: &'static str,
}

/// A validated request.
struct SubmissionRequest<'a> {
    call: &'a Invocation,
    text: SubmissionText,
    template: Option<u16>,
    key: Option<&'a str>,
    network: String,
    sender: Submitter,
    /// The language of the visitor's browser.
    language: Language,
    /// How the form was sent.
    signs: SpamSigns,
}

/// The outcome for a submission, given the limits and earlier submissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SubmissionDecision {
    /// The submission is stored already.
    Repeated(Uuid),
    /// The idempotency key belongs to another submission.
    KeyReused,
    /// The visitor has sent too many; a retry can succeed after this time.
    TooMany(Duration),
    /// The submission is stored, and confirmed to the visitor unless a limit prevents it.
    Store {
        /// Whether a confirmation is sent to the visitor.
        confirm: bool,
    },
}

impl SendSubmission {
    /// Creates the function with this database; its mails go to `outbox`.
    pub fn new(pool: Pool, outbox: Arc<Outbox>, settings: SubmissionSettings) -> Self {
        Self { pool, outbox, settings, queue: VisitorQueues::default(), titles: TemplateTitles::default() }
    }

    /// Names the templates that submissions are about by these titles.
    #[must_use]
    pub fn with_template_titles(mut self, titles: TemplateTitles) -> Self {
        self.titles = titles;
        self
    }

    async fn handle_submission(&self, call: &Invocation) -> Result<Answer, FunctionError> {
        if call.method != Method::POST {
            return Err(FunctionError::method_not_allowed("POST, OPTIONS"));
        }
        let requested = parse_request(call)?;
        let _turn = match call.caller {
            Caller::ServiceRole => None,
            _ => Some(self.queue.wait_for_turn(call.client.network()).await.ok_or_else(queue_full_error)?),
        };
        let id = self.store_submission(&requested).await?;
        let message = "Thank you for your submission. We have successfully received your details.";
        Answer::json(&SubmissionResponse { id, message })
    }

    /// Stores the submission and returns its id, or that of the identical earlier one.
    async fn store_submission(&self, requested: &SubmissionRequest<'_>) -> Result<Uuid, FunctionError> {
        let call = requested.call;
        let failed = |doing| move |error| FunctionError::from_store_error(doing, error);
        let journal = || Arc::clone(&call.journal);
        let repeat = self.repeat_criteria(requested);
        let mut db = Connection::begin(&self.pool, journal()).await.map_err(failed("connecting to the database"))?;
        let charges = self.bucket_charges(requested);
        let entered =
            store::take_limits(&mut db, repeat, &charges, call.now).await.map_err(failed("taking the limits"))?;
        let decision = decide(&entered, call.now, &self.settings.limits);
        let SubmissionDecision::Store { confirm } = decision else {
            db.rollback().await.map_err(failed("undoing the limits"))?;
            return self.resolve_unstored(decision, requested).await;
        };
        let id = call.entropy.uuid();
        let spam_score = requested.score_spam(entered.repeats);
        let is_spam = spam_score >= QUARANTINE_SCORE;
        // The mails of spam are built, too, so that it takes as long, and dropped.
        let (notice, confirmation) = self.build_mails(requested, id, confirm);
        let row = |mail: Option<EmailMessage>| {
            mail.iter().map(|mail| self.outbox.to_row(mail)).filter(|_| !is_spam).collect()
        };
        let new = NewSubmission {
            id,
            now: call.now,
            user: user_id(&call.caller),
            account_email: account_email(&call.caller),
            senders: EmailAddress::list(requested.text.as_str())
                .iter()
                .map(|address| address.as_str().to_owned())
                .collect(),
            template: requested.template,
            repeat,
            notice: row(notice),
            spam_score,
            is_spam,
            event: (self.settings.has_webhook && !is_spam).then(|| call.entropy.uuid()),
            notices_per_hour: self.settings.limits.notices,
            confirmation: row(confirmation),
        };
        match store::insert(&mut db, &new).await.map_err(failed("storing the submission"))? {
            Some(stored) if stored.id == id => {
                self.outbox.notify_after_commit(&mut db);
                db.commit().await.map_err(failed("committing the submission"))?;
                call.journal.record(Step::Decision(if is_spam { "quarantined" } else { "stored" }));
                Ok(id)
            }
            found => {
                db.rollback().await.map_err(failed("undoing the limits"))?;
                let found = match found {
                    Some(found) => Some(found),
                    None => self.find_earlier(requested).await?,
                };
                let found = found.map_or(SubmissionDecision::KeyReused, EarlierSubmission::to_decision);
                self.resolve_unstored(found, requested).await
            }
        }
    }

    /// Answers a submission that is not stored: with the earlier submission, or with an error.
    /// Above the limit, a submission that was stored in the meantime is still returned.
    async fn resolve_unstored(
        &self,
        decision: SubmissionDecision,
        requested: &SubmissionRequest<'_>,
    ) -> Result<Uuid, FunctionError> {
        let decision = match decision {
            SubmissionDecision::TooMany(_) => {
                self.find_earlier(requested).await?.map_or(decision, EarlierSubmission::to_decision)
            }
            other => other,
        };
        requested.call.journal.record(Step::Decision(match decision {
            SubmissionDecision::Repeated(_) => "repeated",
            SubmissionDecision::KeyReused => "key taken",
            SubmissionDecision::TooMany(_) | SubmissionDecision::Store { .. } => "too many",
        }));
        match decision {
            SubmissionDecision::Repeated(id) => Ok(id),
            SubmissionDecision::KeyReused => Err(FunctionError::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "idempotency_key_reused",
                "The Idempotency-Key belongs to another submission; give each submission a key of its own",
            )),
            SubmissionDecision::TooMany(wait) => {
                let message = self.settings.limits.submissions.error_message(wait);
                Err(FunctionError::too_many_requests("over_submission_rate_limit", message, wait))
            }
            SubmissionDecision::Store { .. } => Err(queue_full_error()),
        }
    }

    async fn find_earlier(
        &self,
        requested: &SubmissionRequest<'_>,
    ) -> Result<Option<EarlierSubmission>, FunctionError> {
        let mut db = Connection::pooled(self.pool.clone(), Arc::clone(&requested.call.journal));
        let found = store::find(&mut db, self.repeat_criteria(requested)).await;
        found.map_err(|error| FunctionError::from_store_error("looking for the submission", error))
    }

    fn repeat_criteria<'a>(&self, requested: &'a SubmissionRequest<'_>) -> RepeatCriteria<'a> {
        let within = TimeDelta::from_std(self.settings.duplicate_window).unwrap_or(TimeDelta::zero());
        RepeatCriteria {
            text: requested.text.as_str(),
            peer: &requested.network,
            key: requested.key,
            since: requested.call.now - within,
        }
    }

    /// Returns the buckets that a submission takes from.
    /// A server of the operator submits for many visitors, so the visitor limit does not apply to it.
    fn bucket_charges(&self, requested: &SubmissionRequest<'_>) -> Vec<BucketCharge> {
        let limits = &self.settings.limits;
        let network = &requested.network;
        let mut charges = Vec::new();
        if requested.call.caller != Caller::ServiceRole {
            charges.push(BucketCharge::new(format!("{SUBMISSION_BUCKET}{network}"), &limits.submissions));
        }
        if let Some(address) = requested.sender.address() {
            charges
                .push(BucketCharge::new(format!("{CONFIRMATION_BUCKET}by/{network}"), &limits.confirmations_by_peer));
            let to = format!("{CONFIRMATION_BUCKET}to/{}", address.mailbox());
            charges.push(BucketCharge::new(to, &limits.confirmations_to_address));
        }
        charges
    }

    /// Builds the mails to the owner and to the visitor.
    fn build_mails(
        &self,
        requested: &SubmissionRequest<'_>,
        id: Uuid,
        confirm: bool,
    ) -> (Option<EmailMessage>, Option<EmailMessage>) {
        let SubmissionSettings { owner, shop, brand, host, .. } = &self.settings;
        let reported = MailContext { id, now: requested.call.now, shop, brand, host };
        let about = requested.template.map(|id| self.describe_template(id));
        let about = about.as_deref();
        let notice =
            owner.as_ref().map(|owner| mails::build_notice(reported, owner, &requested.text, &requested.sender, about));
        let to = requested.sender.address().filter(|_| confirm);
        let confirmation = to.map(|to| mails::build_confirmation(reported, to, owner.as_deref(), requested.language));
        (notice, confirmation)
    }

    fn describe_template(&self, id: u16) -> String {
        let title = self.titles.find(id).map_or_else(String::new, |title| format!(", {title}"));
        format!("It is about template {id}{title}.")
    }
}

/// Key prefix of the submission buckets, before the visitor's network.
const SUBMISSION_BUCKET: &str = "submission/";
/// Key prefix of the confirmation buckets, before `by/` and the network or `to/` and the address.
const CONFIRMATION_BUCKET: &str = "confirmation/";

impl Function for SendSubmission {
    fn name(&self) -> &'static str {
        "send-submission"
    }

    fn call<'a>(&'a self, invocation: &'a Invocation) -> BoxFuture<'a, Result<Answer, FunctionError>> {
        Box::pin(self.handle_submission(invocation))
    }
}

/// Validates the whole request before anything is stored.
fn parse_request(call: &Invocation) -> Result<SubmissionRequest<'_>, FunctionError> {
    let invalid = |invalid: InvalidSubmission| FunctionError::bad_request(invalid.code(), invalid.message());
    let SubmissionBody { text, template } = SubmissionBody::parse(&call.body).map_err(invalid)?;
    let key = call.header("idempotency-key")?;
    if key.is_some_and(|key| key.is_empty() || key.len() > 255) {
        return Err(FunctionError::bad_request("invalid_header", "An Idempotency-Key has 1 to 255 characters"));
    }
    let sender = find_submitter(&call.caller, &text);
    let language = call.header("accept-language").ok().flatten().and_then(Language::negotiate).unwrap_or_default();
    let signs = SpamSigns::parse(call.header(FORM_SIGNS).ok().flatten());
    let network = call.client.network().to_string();
    Ok(SubmissionRequest { call, text, template, key, network, sender, language, signs })
}

impl SubmissionRequest<'_> {
    /// Returns the spam score; a server of the operator sends none.
    fn score_spam(&self, repeats: i64) -> u8 {
        match self.call.caller {
            Caller::ServiceRole => 0,
            _ => SpamSigns { repeats, ..self.signs }.score(self.text.as_str()),
        }
    }
}

/// Returns the address of the signed-in user.
fn account_email(caller: &Caller) -> Option<&str> {
    match caller {
        Caller::User(user) => user.email.as_deref(),
        Caller::Unauthenticated | Caller::Anonymous | Caller::ServiceRole => None,
    }
}

/// Returns the submitter: the user, else the only address in the text.
fn find_submitter(caller: &Caller, text: &SubmissionText) -> Submitter {
    let account = account_email(caller).and_then(EmailAddress::parse);
    let named = || match EmailAddress::find(text.as_str()) {
        FoundAddresses::None => Submitter::Unknown,
        FoundAddresses::One(address) => Submitter::AddressInText(address),
        FoundAddresses::Several => Submitter::SeveralAddressesInText,
    };
    account.map_or_else(named, Submitter::SignedIn)
}

fn user_id(caller: &Caller) -> Option<Uuid> {
    match caller {
        Caller::User(user) => Some(user.id),
        Caller::Unauthenticated | Caller::Anonymous | Caller::ServiceRole => None,
    }
}

/// Decides about a submission.
/// A repetition succeeds regardless of the limits; a limit on confirmations only omits the confirmation.
fn decide(entered: &LimitResult, now: foundation::time::Time, limits: &SubmissionLimits) -> SubmissionDecision {
    if let Some(earlier) = entered.earlier {
        return earlier.to_decision();
    }
    let refused = |of: &'static str| {
        entered.charged.iter().find(move |bucket: &&BucketState| bucket.refused && bucket.key.starts_with(of))
    };
    match refused(SUBMISSION_BUCKET) {
        Some(bucket) => SubmissionDecision::TooMany(limits.submissions.time_until_available(bucket.full_at, now)),
        None => SubmissionDecision::Store { confirm: refused(CONFIRMATION_BUCKET).is_none() },
    }
}

impl EarlierSubmission {
    fn to_decision(self) -> SubmissionDecision {
        if self.is_same { SubmissionDecision::Repeated(self.id) } else { SubmissionDecision::KeyReused }
    }
}

/// Returns the error for too many waiting calls of one visitor.
fn queue_full_error() -> FunctionError {
    let message = "Too many submissions from your network at once. Try again in a moment";
    FunctionError::too_many_requests("over_submission_rate_limit", message, Duration::from_secs(1))
}
