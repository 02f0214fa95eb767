//! Sign-up with an address or a number.
//!
//! A sign-up creates a user or finds an unconfirmed one, then confirms it or sends a confirmation.
//! `POST /signup` returns the result; `/otp` and `/magiclink` sign up unknown users. Of two concurrent sign-ups with
//! one address, the losing one repeats the look-up and finds the user of the other.

mod user;

use foundation::error::{Error, Result};
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::contact::Contact;
use gotrue_rules::domain::pkce::{Challenge, UnknownMethod};
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::domain::sign_up::{
    SignUpContact, SignUpDecision, already_registered, build_obfuscated_user, confirm_contact, decide,
    hide_registered_user, parse_contact, require_sign_up_enabled, response_view,
};
use gotrue_rules::domain::user::User;
use gotrue_rules::wire::requests::SignUpRequest;
use platform::journal::Step;
use platform::store::{self, Connection, OrInternalError};

use self::user::{as_new_user, contested_password, prepare_user, with_only_identity};
use super::attempt::Attempt;
use super::messages::{TokenEmail, decoys};
use super::passwords::AfterDisconnect;
use super::sessions::IssuedTokens;
use super::sessions::create::{Authentication, create_session};
use super::{audit, equal_work, hooks, messages, passwords, pkce};
use crate::request_context::RequestContext;
use crate::store::accounts::{self, UserConfirmation, UserInsertion};
use crate::store::audit::AuditRow;
use crate::store::{audit as audit_log, identities, users};

const INSERT_FAILED: &str = "Database error saving new user";
const UPDATE_FAILED: &str = "Database error updating user";
const IDENTITY_FAILED: &str = "Error creating identity";

/// What a sign-up answers.
#[derive(Debug)]
pub enum SignUpResult {
    /// The user is confirmed and has a session.
    SignedIn(Box<IssuedTokens>),
    /// The user is unconfirmed and a confirmation was sent.
    Unconfirmed(Box<User>),
    /// A confirmed user has the address; the response shows this fabricated user instead.
    Obfuscated(Box<User>),
}

/// The result of a registration attempt.
#[derive(Debug)]
pub enum RegistrationAttempt {
    /// The sign-up was accepted.
    Accepted(SignUpResult),
    /// A confirmed user has the address. Nothing is stored yet.
    Repeated(Box<RepeatedSignUp>),
}

/// A sign-up with the address or number of a confirmed user.
#[derive(Debug)]
pub struct RepeatedSignUp {
    request: SignUpRequest,
    sign_up_contact: SignUpContact,
    known: User,
    outcome: SignUpDecision,
}

/// Signs up a user without a password, who gets an unusable one.
pub async fn register_without_password(cx: &RequestContext, request: SignUpRequest) -> Result<RegistrationAttempt> {
    require_sign_up_enabled(&cx.app.policy)?;
    let sign_up_contact = parse_contact(&request, &cx.app.policy)?;
    attempt_registration(cx, SignUpRequest { password: String::new(), ..request }, sign_up_contact).await
}

/// Signs up a user whose request is validated. An empty password stands for an unusable one.
pub async fn register_user(
    cx: &RequestContext,
    request: SignUpRequest,
    sign_up_contact: SignUpContact,
) -> Result<SignUpResult> {
    match attempt_registration(cx, request, sign_up_contact).await? {
        RegistrationAttempt::Accepted(signed_up) => Ok(signed_up),
        RegistrationAttempt::Repeated(repeated) => repeated.respond(cx).await,
    }
}

async fn attempt_registration(
    cx: &RequestContext,
    request: SignUpRequest,
    sign_up_contact: SignUpContact,
) -> Result<RegistrationAttempt> {
    let mut conflict = None;
    loop {
        let known = find_by_contact(cx, &mut cx.db(), &sign_up_contact.contact).await?;
        if let (None, Some(error)) = (&known, conflict.take()) {
            return Err(error);
        }
        let outcome = decide(known.as_ref(), &sign_up_contact.contact, &cx.app.policy);
        cx.journal.record(Step::Decision(outcome.name()));
        let attempt = match (outcome, known) {
            (SignUpDecision::AlreadyRegistered | SignUpDecision::ObfuscatedUser, Some(known)) => {
                return Ok(RegistrationAttempt::Repeated(Box::new(RepeatedSignUp {
                    request,
                    sign_up_contact,
                    known,
                    outcome,
                })));
            }
            (SignUpDecision::NewConfirmed | SignUpDecision::ExistingConfirmed, known) => {
                sign_up_confirmed(cx, &request, &sign_up_contact, known).await?
            }
            (_, known) => sign_up_unconfirmed(cx, &request, &sign_up_contact, known).await?,
        };
        match attempt {
            Attempt::Done(signed_up) => return Ok(RegistrationAttempt::Accepted(signed_up)),
            Attempt::Conflict(error) => conflict = Some(error),
        }
    }
}

/// Sends the confirmation of a sign-up again.
pub async fn repeat_confirmation(cx: &RequestContext, user: &User, to: &str, flow: Option<&Challenge>) -> Result<()> {
    let rows = audit::build_rows(cx, user, [AuditEntry::new(AuditAction::UserConfirmationRequested)]);
    let email_message = TokenEmail { purpose: Purpose::SignUp, to, pkce: flow.is_some(), new_email: None };
    messages::send_to_user_in_flow(cx, user, email_message, flow, rows).await
}

/// Finds the user of an address or number by the rules of a sign-up.
pub(super) async fn find_by_contact(
    cx: &RequestContext,
    db: &mut Connection,
    contact: &Contact,
) -> Result<Option<User>> {
    let found = match contact {
        Contact::Email(email) => equal_work::find_by_identity_email(cx, db, email.as_str()).await,
        Contact::Phone(phone) => users::find_by_phone(db, phone.as_str(), &cx.audience()).await,
    };
    found.or_internal_error("Database error finding user")
}

impl RepeatedSignUp {
    /// Returns an error or a fabricated user.
    ///
    /// Only where the policy allows it, the error reveals that the address is taken.
    pub async fn respond(self, cx: &RequestContext) -> Result<SignUpResult> {
        let Self { request, sign_up_contact, known, outcome } = self;
        respond_to_repeated(cx, request, &sign_up_contact, known, outcome).await
    }
}

async fn respond_to_repeated(
    cx: &RequestContext,
    request: SignUpRequest,
    sign_up_contact: &SignUpContact,
    known: User,
    outcome: SignUpDecision,
) -> Result<SignUpResult> {
    let entry =
        AuditEntry::new(AuditAction::UserRepeatedSignUp).with_trait("provider", sign_up_contact.contact.provider());
    let rows = audit::build_rows(cx, &known, [entry]);
    if outcome == SignUpDecision::ObfuscatedUser && decoys::is_enabled(cx) {
        imitate_new_user(cx, &request, sign_up_contact, &known, rows).await?;
    } else {
        if outcome != SignUpDecision::AlreadyRegistered && !request.password.is_empty() {
            // Takes the time of hashing a new user's password.
            passwords::dummy_verify(cx, &request.password, AfterDisconnect::Skip).await?;
        }
        audit_log::insert(&mut cx.db(), rows).await?;
        if outcome == SignUpDecision::AlreadyRegistered {
            return Err(already_registered());
        }
    }
    let is_hidden = cx.app.policy.sign_up.should_hide_registered_user;
    let mut shown = build_obfuscated_user(
        if is_hidden { hide_registered_user(&sign_up_contact.contact) } else { known },
        cx.entropy.uuid(),
        &sign_up_contact.contact,
        &request.data.unwrap_or_default(),
        cx.now,
    );
    shown.aud = cx.audience();
    Ok(SignUpResult::Obfuscated(Box::new(shown)))
}

/// Does the work of creating a user, in the same order, for an address or number that a user has.
async fn imitate_new_user(
    cx: &RequestContext,
    request: &SignUpRequest,
    sign_up_contact: &SignUpContact,
    known: &User,
    audit: Vec<AuditRow>,
) -> Result<()> {
    let challenge = Challenge::new(&request.pkce.challenge, &request.pkce.method)?;
    if !request.password.is_empty() {
        passwords::dummy_verify(cx, &request.password, AfterDisconnect::Skip).await?;
    }
    let Contact::Email(email) = &sign_up_contact.contact else {
        return Ok(audit_log::insert(&mut cx.db(), audit).await?);
    };
    let email_message =
        TokenEmail { purpose: Purpose::SignUp, to: email.as_str(), pkce: challenge.is_some(), new_email: None };
    decoys::imitate_sign_up(cx, known, email_message, challenge.as_ref(), audit).await
}

/// Creates or confirms the user, then its session. The user stays if the session cannot be created.
async fn sign_up_confirmed(
    cx: &RequestContext,
    request: &SignUpRequest,
    sign_up_contact: &SignUpContact,
    known: Option<User>,
) -> Result<Attempt<SignUpResult>> {
    let user = match known {
        Some(known) => confirm_existing_user(cx, request, sign_up_contact, &known).await?,
        None => create_confirmed_user(cx, request, sign_up_contact).await?,
    };
    let user = match user {
        Attempt::Done(user) => user,
        Attempt::Conflict(error) => return Ok(Attempt::Conflict(error)),
    };
    sign_in_new_user(cx, sign_up_contact, user).await.map(Attempt::Done)
}

/// Creates the session of a user that the sign-up, or a trigger of the project, has confirmed.
async fn sign_in_new_user(cx: &RequestContext, sign_up_contact: &SignUpContact, user: User) -> Result<SignUpResult> {
    let entry = AuditEntry::new(AuditAction::Login).with_trait("provider", sign_up_contact.contact.provider());
    let mut issued = create_session(cx, &mut cx.db(), Authentication::new(&user, "password", vec![entry])).await?;
    // As in GoTrue, the response shows `confirmed_at` as it was before the database computed it.
    issued.user = User { last_sign_in_at: issued.user.last_sign_in_at, updated_at: cx.now, ..user };
    Ok(SignUpResult::SignedIn(Box::new(issued)))
}

/// Whether a user has the address or number of a sign-up confirmed, which a trigger can do.
fn is_confirmed(user: &User, contact: &Contact) -> bool {
    match contact {
        Contact::Email(_) => user.email_confirmed_at.is_some(),
        Contact::Phone(_) => user.phone_confirmed_at.is_some(),
    }
}

/// Creates a user that needs no confirmation.
async fn create_confirmed_user(
    cx: &RequestContext,
    request: &SignUpRequest,
    sign_up_contact: &SignUpContact,
) -> Result<Attempt<User>> {
    let new = prepare_user(cx, &request.password, &sign_up_contact.contact, request.data.as_ref()).await?;
    let new = confirm_contact(new, &sign_up_contact.contact, cx.now);
    let rows = audit::build_rows(cx, &new, [sign_up_entry(sign_up_contact)]);
    let inserted = match accounts::insert(&mut cx.db(), &new, rows.clone()).await {
        Ok(UserInsertion::NeedsSteps) => insert_in_steps(cx, &new, rows).await,
        inserted => inserted,
    };
    Ok(match Attempt::from_insertion(inserted, INSERT_FAILED)? {
        Attempt::Done(stored) => Attempt::Done(response_view(stored)),
        Attempt::Conflict(error) => Attempt::Conflict(error),
    })
}

/// Inserts a user in steps, in a transaction of its own.
async fn insert_in_steps(cx: &RequestContext, new: &User, rows: Vec<AuditRow>) -> store::Result<UserInsertion> {
    let mut db = cx.begin().await?;
    let inserted = accounts::insert_in_steps(&mut db, new, rows).await?;
    match inserted {
        UserInsertion::Written(_) => db.commit().await?,
        _ => db.rollback().await?,
    }
    Ok(inserted)
}

fn sign_up_entry(sign_up_contact: &SignUpContact) -> AuditEntry {
    let entry = AuditEntry::new(AuditAction::UserSignedUp).with_trait("provider", sign_up_contact.contact.provider());
    match sign_up_contact.contact {
        Contact::Phone(_) => entry.with_trait("channel", sign_up_contact.channel.as_str()),
        Contact::Email(_) => entry,
    }
}

/// Confirms an existing user that no longer needs a confirmation.
///
/// It is loaded again under its lock: of two concurrent requests, one confirms the user and the other finds it
/// confirmed.
async fn confirm_existing_user(
    cx: &RequestContext,
    request: &SignUpRequest,
    sign_up_contact: &SignUpContact,
    found: &User,
) -> Result<Attempt<User>> {
    let mut db = cx.begin().await?;
    identities::lock_user(&mut db, found.id).await.or_internal_error(UPDATE_FAILED)?;
    let current = find_by_contact(cx, &mut db, &sign_up_contact.contact).await?;
    let is_waiting = |candidate: &User| {
        candidate.id == found.id
            && decide(Some(candidate), &sign_up_contact.contact, &cx.app.policy) == SignUpDecision::ExistingConfirmed
    };
    let Some(known) = current.filter(is_waiting) else {
        db.rollback().await?;
        return Ok(Attempt::Conflict(
            Error::internal(UPDATE_FAILED).with_cause("a concurrent request changed the user"),
        ));
    };
    let (known, missing_identity) = with_only_identity(cx, known, &sign_up_contact.contact, request.data.as_ref());
    if let Some(identity) = &missing_identity {
        accounts::replace_identity(&mut db, identity, &known.app_metadata).await.or_internal_error(IDENTITY_FAILED)?;
    }
    let confirmation = UserConfirmation {
        user_id: known.id,
        token: &known.confirmation_token,
        now: cx.now,
        password: None,
        app_metadata: None,
        was_anonymous: known.is_anonymous,
        should_verify_identity: false,
        audit: audit::build_rows(cx, &known, [sign_up_entry(sign_up_contact)]),
    };
    let confirmed = match sign_up_contact.contact {
        Contact::Email(_) => accounts::confirm_email(&mut db, confirmation).await,
        Contact::Phone(_) => accounts::confirm_phone(&mut db, confirmation).await,
    };
    let confirmed = confirmed.or_internal_error(UPDATE_FAILED)?.ok_or_else(|| Error::internal(UPDATE_FAILED))?;
    db.commit().await?;
    let answered = User { confirmed_at: known.confirmed_at, identities: known.identities.clone(), ..confirmed };
    Ok(Attempt::Done(if missing_identity.is_some() { response_view(answered) } else { answered }))
}

/// Creates or finds the unconfirmed user and sends a confirmation, in one transaction.
///
/// The after-user-created hook is called also for an existing user. The metadata that an inviter wrote is not shown, and where
/// the policy hides registered users, nothing that is stored.
async fn sign_up_unconfirmed(
    cx: &RequestContext,
    request: &SignUpRequest,
    sign_up_contact: &SignUpContact,
    known: Option<User>,
) -> Result<Attempt<SignUpResult>> {
    let (is_new, can_hide) = (known.is_none(), cx.app.policy.sign_up.should_hide_registered_user);
    let is_hidden = !is_new && can_hide;
    let mut user = match send_confirmation(cx, request, sign_up_contact, known).await? {
        Attempt::Done(user) => user,
        Attempt::Conflict(error) => return Ok(Attempt::Conflict(error)),
    };
    if is_new && is_confirmed(&user, &sign_up_contact.contact) {
        return sign_in_new_user(cx, sign_up_contact, user).await.map(Attempt::Done);
    }
    if user.invited_at.is_some() {
        user.user_metadata.clear();
        user.identities.clear();
    }
    let called = hooks::call_after_user_created(cx, &user).await;
    called.map_err(|error| Error::internal("Error invoking hook").with_cause(error))?;
    let shown =
        if is_hidden { as_new_user(cx, user.id, &sign_up_contact.contact, request.data.as_ref()) } else { user };
    Ok(Attempt::Done(SignUpResult::Unconfirmed(Box::new(shown))))
}

async fn send_confirmation(
    cx: &RequestContext,
    request: &SignUpRequest,
    sign_up_contact: &SignUpContact,
    known: Option<User>,
) -> Result<Attempt<User>> {
    let challenge = Challenge::new(&request.pkce.challenge, &request.pkce.method);
    let user = match known {
        Some(known) => resend_confirmation(cx, request, sign_up_contact, known, challenge?).await?,
        None => match create_unconfirmed_user(cx, request, sign_up_contact, challenge).await? {
            Attempt::Done(user) => user,
            Attempt::Conflict(error) => return Ok(Attempt::Conflict(error)),
        },
    };
    let is_sent = !is_confirmed(&user, &sign_up_contact.contact);
    let confirmation_sent_at = if is_sent { Some(cx.now) } else { user.confirmation_sent_at };
    Ok(Attempt::Done(User { confirmation_sent_at, updated_at: cx.now, ..user }))
}

fn confirmation_requested_entry(contact: &Contact) -> AuditEntry {
    AuditEntry::new(AuditAction::UserConfirmationRequested).with_trait("provider", contact.provider())
}

/// Sends another confirmation to an unconfirmed user.
///
/// No connection is held meanwhile, and nothing is stored if it fails.
async fn resend_confirmation(
    cx: &RequestContext,
    request: &SignUpRequest,
    sign_up_contact: &SignUpContact,
    known: User,
    challenge: Option<Challenge>,
) -> Result<User> {
    let contact = &sign_up_contact.contact;
    let contested = contested_password(cx, &request.password, &known).await?;
    let (user, missing_identity) = with_only_identity(cx, known, contact, request.data.as_ref());
    let user = if missing_identity.is_some() { response_view(user) } else { user };
    let confirmation = messages::send_confirmation(cx, &user, sign_up_contact, challenge.is_some()).await?;
    let mut db = cx.begin().await?;
    if let Some(identity) = &missing_identity {
        accounts::replace_identity(&mut db, identity, &user.app_metadata).await.or_internal_error(IDENTITY_FAILED)?;
    }
    let rows = audit::build_rows(cx, &user, [confirmation_requested_entry(contact)]);
    match &contested {
        Some(stored) => decoys::drop_password(cx, &mut db, &user, stored, rows).await?,
        None => decoys::insert_audit_rows(cx, &mut db, &user, rows).await?,
    }
    if let Some(challenge) = &challenge {
        pkce::store_sign_up_challenge(cx, &mut db, user.id, challenge).await?;
    }
    confirmation.store(cx, &mut db, &user).await?;
    db.commit().await?;
    Ok(user)
}

/// Creates an unconfirmed user.
///
/// The message is sent within the transaction: if the insert fails, nothing may be sent.
async fn create_unconfirmed_user(
    cx: &RequestContext,
    request: &SignUpRequest,
    sign_up_contact: &SignUpContact,
    challenge: std::result::Result<Option<Challenge>, UnknownMethod>,
) -> Result<Attempt<User>> {
    let contact = &sign_up_contact.contact;
    let new = prepare_user(cx, &request.password, contact, request.data.as_ref()).await?;
    let mut db = messages::begin_for_contact(cx, contact).await?;
    let rows = audit::build_rows(cx, &new, [confirmation_requested_entry(contact)]);
    let stored = match Attempt::from_insertion(accounts::insert_within(&mut db, &new, rows).await, INSERT_FAILED)? {
        Attempt::Done(stored) => stored,
        Attempt::Conflict(error) => {
            db.rollback().await?;
            return Ok(Attempt::Conflict(error));
        }
    };
    let shown = response_view(stored);
    if is_confirmed(&shown, contact) {
        db.commit().await?;
        return Ok(Attempt::Done(shown));
    }
    let challenge = challenge?;
    if let Some(challenge) = &challenge {
        pkce::store_sign_up_challenge(cx, &mut db, shown.id, challenge).await?;
    }
    let confirmation = messages::send_confirmation(cx, &shown, sign_up_contact, challenge.is_some()).await?;
    confirmation.store(cx, &mut db, &shown).await?;
    db.commit().await?;
    Ok(Attempt::Done(shown))
}
