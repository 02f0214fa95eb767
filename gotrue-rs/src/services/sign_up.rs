//! Accounts of newcomers with an address or a number: made, or found unconfirmed, then confirmed at once or asked to
//! confirm. `POST /signup` answers with what comes of it; `/otp` and `/magiclink` sign up whom they do not know. Of two
//! concurrent sign-ups with one address, the loser looks again and finds the account of the winner.

use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::contact::Contact;
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::identity::{of_contact, sign_up_data, with_providers};
use gotrue_rules::domain::pkce::{Challenge, UnknownMethod};
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::domain::sign_up::{
    Ids, Newcomer, Outcome, account, already_registered, as_answered, confirmed, decide, newcomer, require_open,
    stand_in,
};
use gotrue_rules::domain::user::{Account, Identity};
use gotrue_rules::wire::requests::SignUp;
use serde_json::{Map, Value};

use super::attempt::Attempt;
use super::messages::{Letter, decoys};
use super::sessions::Minted;
use super::sessions::open::{Proof, open};
use super::{audit, hooks, messages, passwords, pkce};
use crate::cx::Cx;
use crate::journal::Step;
use crate::store::accounts::{self, Confirmation};
use crate::store::audit::AuditRow;
use crate::store::{Connection, OrRefuse, audit as audit_log, identities, stored_passwords, users};

const SAVING: &str = "Database error saving new user";
const UPDATING: &str = "Database error updating user";
const IDENTITY: &str = "Error creating identity";

/// What came of a sign-up.
#[derive(Debug)]
pub enum SignedUp {
    /// The account is confirmed and has a session.
    In(Box<Minted>),
    /// The account waits for a confirmation that has been sent.
    Waiting(Box<Account>),
    /// Somebody has the address, confirmed: what is shown instead of that account.
    StandIn(Box<Account>),
}

/// What came of a registration.
#[derive(Debug)]
pub enum Registration {
    /// The sign-up was accepted.
    Accepted(SignedUp),
    /// An account has the address, confirmed. Nothing is stored yet.
    Repeated(Box<Repeated>),
}

/// A sign-up with an address or number that an account has, confirmed.
#[derive(Debug)]
pub struct Repeated {
    request: SignUp,
    newcomer: Newcomer,
    known: Account,
    outcome: Outcome,
}

/// Signs up somebody who chose no password. An account made this way has one that nobody knows.
pub async fn without_password(cx: &Cx, request: SignUp) -> Result<Registration> {
    require_open(&cx.app.policy)?;
    let newcomer = newcomer(&request, &cx.app.policy)?;
    registration(cx, SignUp { password: String::new(), ..request }, newcomer).await
}

/// Signs up a newcomer whose request has been checked. An empty password stands for one that nobody knows.
pub async fn register(cx: &Cx, request: SignUp, newcomer: Newcomer) -> Result<SignedUp> {
    match registration(cx, request, newcomer).await? {
        Registration::Accepted(signed_up) => Ok(signed_up),
        Registration::Repeated(repeated) => repeated.answer(cx).await,
    }
}

async fn registration(cx: &Cx, request: SignUp, newcomer: Newcomer) -> Result<Registration> {
    let mut conflict = None;
    loop {
        let known = look_up(cx, &mut cx.db(), &newcomer.contact).await?;
        if let (None, Some(error)) = (&known, conflict.take()) {
            return Err(error);
        }
        let outcome = decide(known.as_ref(), &newcomer.contact, &cx.app.policy);
        cx.journal.note(Step::Decision(outcome.name()));
        let attempt = match (outcome, known) {
            (Outcome::Taken | Outcome::StandIn, Some(known)) => {
                return Ok(Registration::Repeated(Box::new(Repeated { request, newcomer, known, outcome })));
            }
            (Outcome::NewConfirmed | Outcome::KnownConfirmed, known) => at_once(cx, &request, &newcomer, known).await?,
            (_, known) => to_confirm(cx, &request, &newcomer, known).await?,
        };
        match attempt {
            Attempt::Done(signed_up) => return Ok(Registration::Accepted(signed_up)),
            Attempt::Conflict(error) => conflict = Some(error),
        }
    }
}

/// The account of an address or number, as a sign-up looks for it.
pub(super) async fn look_up(cx: &Cx, db: &mut Connection, contact: &Contact) -> Result<Option<Account>> {
    let audience = cx.audience();
    let found = match contact {
        Contact::Email(email) => {
            let apart: Vec<String> = cx.app.policy.experimental.provider_linking_domains.keys().cloned().collect();
            users::by_identity_email(db, email.as_str(), &audience, &apart).await
        }
        Contact::Phone(phone) => users::by_phone(db, phone.as_str(), &audience).await,
    };
    found.or_refuse("Database error finding user")
}

impl Repeated {
    /// The refusal or the stand-in: that the address is taken is told only where the operator lets it be.
    pub async fn answer(self, cx: &Cx) -> Result<SignedUp> {
        let Self { request, newcomer, known, outcome } = self;
        repeated(cx, request, &newcomer, known, outcome).await
    }
}

async fn repeated(cx: &Cx, request: SignUp, newcomer: &Newcomer, known: Account, outcome: Outcome) -> Result<SignedUp> {
    let entry = Entry::of(Action::UserRepeatedSignUp).with("provider", newcomer.contact.provider());
    let rows = audit::rows(cx, &known, [entry]);
    if outcome == Outcome::StandIn && decoys::is_wanted(cx) {
        work_like_newcomer(cx, &request, newcomer, (&known, rows)).await?;
    } else {
        audit_log::insert(&mut cx.db(), rows).await?;
        if outcome == Outcome::Taken {
            return Err(already_registered());
        }
        if !request.password.is_empty() {
            // A new account's password is hashed: the time must not tell that this is none.
            passwords::work_for_nothing(cx, &request.password).await?;
        }
    }
    let mut shown = stand_in(known, cx.entropy.uuid(), &newcomer.contact, &request.data.unwrap_or_default(), cx.now);
    shown.aud = cx.audience();
    Ok(SignedUp::StandIn(Box::new(shown)))
}

/// What a new account takes, in the same order, for an address or number that an account has.
async fn work_like_newcomer(
    cx: &Cx,
    request: &SignUp,
    newcomer: &Newcomer,
    (known, audit): (&Account, Vec<AuditRow>),
) -> Result<()> {
    let challenge = Challenge::new(&request.pkce.challenge, &request.pkce.method)?;
    if !request.password.is_empty() {
        passwords::work_for_nothing(cx, &request.password).await?;
    }
    let Contact::Email(email) = &newcomer.contact else {
        return Ok(audit_log::insert(&mut cx.db(), audit).await?);
    };
    let letter = Letter { purpose: Purpose::SignUp, to: email.as_str(), pkce: challenge.is_some(), new_email: None };
    decoys::ask_repeated(cx, known, letter, challenge.as_ref(), audit).await
}

/// The account first, then its session: the account stays when the session cannot be opened.
async fn at_once(cx: &Cx, request: &SignUp, newcomer: &Newcomer, known: Option<Account>) -> Result<Attempt<SignedUp>> {
    let account = match known {
        Some(known) => confirmed_now(cx, request, newcomer, &known).await?,
        None => made_confirmed(cx, request, newcomer).await?,
    };
    let account = match account {
        Attempt::Done(account) => account,
        Attempt::Conflict(error) => return Ok(Attempt::Conflict(error)),
    };
    let entry = Entry::of(Action::Login).with("provider", newcomer.contact.provider());
    let mut minted = open(cx, &mut cx.db(), Proof::new(&account, "password", vec![entry])).await?;
    // The answer shows what the reference holds in memory: the database's own `confirmed_at` is not read again there.
    minted.account = Account { last_sign_in_at: minted.account.last_sign_in_at, updated_at: cx.now, ..account };
    Ok(Attempt::Done(SignedUp::In(Box::new(minted))))
}

/// A new account that needs no confirmation.
async fn made_confirmed(cx: &Cx, request: &SignUp, newcomer: &Newcomer) -> Result<Attempt<Account>> {
    let new = new_account(cx, &request.password, &newcomer.contact, request.data.as_ref()).await?;
    let new = confirmed(new, &newcomer.contact, cx.now);
    let rows = audit::rows(cx, &new, [signed_up_entry(newcomer)]);
    Ok(match Attempt::of(accounts::insert(&mut cx.db(), &new, rows).await, SAVING)? {
        Attempt::Done(()) => Attempt::Done(as_answered(new)),
        Attempt::Conflict(error) => Attempt::Conflict(error),
    })
}

fn signed_up_entry(newcomer: &Newcomer) -> Entry {
    let entry = Entry::of(Action::UserSignedUp).with("provider", newcomer.contact.provider());
    match newcomer.contact {
        Contact::Phone(_) => entry.with("channel", newcomer.channel.as_str()),
        Contact::Email(_) => entry,
    }
}

/// An account that was waiting and needs no confirmation any more. It is read again under its lock: of two at once, one
/// confirms it and the other finds it confirmed.
async fn confirmed_now(cx: &Cx, request: &SignUp, newcomer: &Newcomer, found: &Account) -> Result<Attempt<Account>> {
    let mut db = cx.begin().await?;
    identities::lock_owner(&mut db, found.id).await.or_refuse(UPDATING)?;
    let current = look_up(cx, &mut db, &newcomer.contact).await?;
    let is_waiting = |it: &Account| {
        it.id == found.id && decide(Some(it), &newcomer.contact, &cx.app.policy) == Outcome::KnownConfirmed
    };
    let Some(known) = current.filter(is_waiting) else {
        db.rollback().await?;
        return Ok(Attempt::Conflict(Error::internal(UPDATING).because("the account changed meanwhile")));
    };
    let (known, lacking) = with_identity(cx, known, &newcomer.contact, request.data.as_ref());
    if let Some(identity) = &lacking {
        accounts::replace_identity(&mut db, identity, &known.app_metadata).await.or_refuse(IDENTITY)?;
    }
    let confirmation = Confirmation {
        user_id: known.id,
        token: &known.confirmation_token,
        now: cx.now,
        password: None,
        app_metadata: None,
        marks_identity: false,
        audit: audit::rows(cx, &known, [signed_up_entry(newcomer)]),
    };
    let confirmed = match newcomer.contact {
        Contact::Email(_) => accounts::confirm_email(&mut db, confirmation).await,
        Contact::Phone(_) => accounts::confirm_phone(&mut db, confirmation).await,
    };
    let confirmed = confirmed.or_refuse(UPDATING)?.ok_or_else(|| Error::internal(UPDATING))?;
    db.commit().await?;
    let answered = Account { confirmed_at: known.confirmed_at, identities: known.identities.clone(), ..confirmed };
    Ok(Attempt::Done(if lacking.is_some() { as_answered(answered) } else { answered }))
}

/// The account, waiting for a confirmation that has been sent, all of it or nothing. The operator's hook hears of it, also
/// when the account was known. Of an invited one, what the inviter wrote is not shown.
async fn to_confirm(
    cx: &Cx,
    request: &SignUp,
    newcomer: &Newcomer,
    known: Option<Account>,
) -> Result<Attempt<SignedUp>> {
    let mut account = match wait_for_confirmation(cx, request, newcomer, known).await? {
        Attempt::Done(account) => account,
        Attempt::Conflict(error) => return Ok(Attempt::Conflict(error)),
    };
    if account.invited_at.is_some() {
        account.user_metadata.clear();
        account.identities.clear();
    }
    let heard = hooks::after_user_created(cx, &account).await;
    heard.map_err(|error| Error::internal("Error invoking hook").because(error))?;
    Ok(Attempt::Done(SignedUp::Waiting(Box::new(account))))
}

async fn wait_for_confirmation(
    cx: &Cx,
    request: &SignUp,
    newcomer: &Newcomer,
    known: Option<Account>,
) -> Result<Attempt<Account>> {
    let challenge = Challenge::new(&request.pkce.challenge, &request.pkce.method);
    let account = match known {
        Some(known) => ask_again(cx, request, newcomer, known, challenge?).await?,
        None => match ask_anew(cx, request, newcomer, challenge).await? {
            Attempt::Done(account) => account,
            Attempt::Conflict(error) => return Ok(Attempt::Conflict(error)),
        },
    };
    Ok(Attempt::Done(Account { confirmation_sent_at: Some(cx.now), updated_at: cx.now, ..account }))
}

fn asked_to_confirm(contact: &Contact) -> Entry {
    Entry::of(Action::UserConfirmationRequested).with("provider", contact.provider())
}

/// An account that waits already: nothing is held while the message is sent, and nothing is stored if it is not.
async fn ask_again(
    cx: &Cx,
    request: &SignUp,
    newcomer: &Newcomer,
    known: Account,
    challenge: Option<Challenge>,
) -> Result<Account> {
    let contact = &newcomer.contact;
    let contested = contested_password(cx, &request.password, &known).await?;
    let (account, lacking) = with_identity(cx, known, contact, request.data.as_ref());
    let asked = messages::confirm_contact(cx, &account, newcomer, challenge.is_some()).await?;
    let mut db = cx.begin().await?;
    if let Some(identity) = &lacking {
        accounts::replace_identity(&mut db, identity, &account.app_metadata).await.or_refuse(IDENTITY)?;
    }
    let rows = audit::rows(cx, &account, [asked_to_confirm(contact)]);
    match &contested {
        Some(stored) => stored_passwords::drop_password(&mut db, account.id, stored, rows).await.or_refuse(UPDATING)?,
        None => decoys::insert_audit(cx, &mut db, rows).await?,
    }
    if let Some(challenge) = &challenge {
        pkce::open_sign_up(cx, &mut db, account.id, challenge).await?;
    }
    asked.store(cx, &mut db, &account).await?;
    db.commit().await?;
    Ok(if lacking.is_some() { as_answered(account) } else { account })
}

/// A new account: its message is sent within the transaction that makes it, for an insert that fails must reach nobody.
async fn ask_anew(
    cx: &Cx,
    request: &SignUp,
    newcomer: &Newcomer,
    challenge: std::result::Result<Option<Challenge>, UnknownMethod>,
) -> Result<Attempt<Account>> {
    let contact = &newcomer.contact;
    let new = new_account(cx, &request.password, contact, request.data.as_ref()).await?;
    let mut db = messages::begin_with(cx, contact).await?;
    let rows = audit::rows(cx, &new, [asked_to_confirm(contact)]);
    if let Attempt::Conflict(error) = Attempt::of(accounts::insert(&mut db, &new, rows).await, SAVING)? {
        db.rollback().await?;
        return Ok(Attempt::Conflict(error));
    }
    let challenge = challenge?;
    if let Some(challenge) = &challenge {
        pkce::open_sign_up(cx, &mut db, new.id, challenge).await?;
    }
    let asked = messages::confirm_contact(cx, &new, newcomer, challenge.is_some()).await?;
    asked.store(cx, &mut db, &new).await?;
    db.commit().await?;
    Ok(Attempt::Done(as_answered(new)))
}

/// The hash of a waiting account that somebody signs up again with another password, where the policy drops it: the
/// first may have been anybody, and the second too. Who comes without a password contests any.
async fn contested_password(cx: &Cx, password: &str, known: &Account) -> Result<Option<String>> {
    if !known.has_password() || !cx.app.policy.sign_up.contested_password_dropped {
        if decoys::is_wanted(cx) && !password.is_empty() {
            passwords::work_for_nothing(cx, password).await?;
        }
        return Ok(None);
    }
    let is_same = !password.is_empty() && passwords::is_right(cx, password, known).await?;
    Ok(if is_same { None } else { known.encrypted_password.clone() })
}

/// A new account, hashed and ready to be written, unless the operator's hook turns it away. No connection is held
/// meanwhile.
async fn new_account(cx: &Cx, password: &str, contact: &Contact, data: Option<&Map<String, Value>>) -> Result<Account> {
    let none = Map::new();
    let data = data.unwrap_or(&none);
    let ids = Ids { account: cx.entropy.uuid(), identity: cx.entropy.uuid() };
    let mut new = account(ids, contact, cx.audience(), data, cx.now);
    new.role.clone_from(&cx.app.policy.jwt.default_group);
    let hash = match password {
        "" => passwords::hash_of_none(cx, new.id),
        password => passwords::hash(cx, new.id, password).await?,
    };
    new.encrypted_password = Some(hash);
    hooks::before_user_created(cx, &new, data).await?;
    Ok(new)
}

/// The account with the one identity of that kind; where it lacks one, a new one that must take the place of all others.
fn with_identity(
    cx: &Cx,
    mut account: Account,
    contact: &Contact,
    data: Option<&Map<String, Value>>,
) -> (Account, Option<Identity>) {
    let of_kind = |identity: &Identity| identity.provider == contact.provider();
    if let Some(at) = account.identities.iter().position(of_kind) {
        account.identities = vec![account.identities.swap_remove(at)];
        return (account, None);
    }
    let data = sign_up_data(account.id, contact, data.unwrap_or(&Map::new()));
    let identity = of_contact(cx.entropy.uuid(), account.id, contact, data, cx.now);
    account.user_metadata = gotrue_rules::domain::identity::without_nulls(&identity.identity_data);
    account.identities = vec![identity.clone()];
    account.app_metadata = with_providers(&account);
    (account, Some(identity))
}
