//! Signing in without a password: a mailed link and code, or a texted code. Whom nobody knows yet, or who has not
//! confirmed, is signed up instead: the message that confirms the account signs in as well.

use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::contact::{Channel, Contact, Email, Phone};
use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::passwordless::{magic_link_recipient, text_recipient};
use gotrue_rules::domain::pkce::Challenge;
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::domain::user::Account;
use gotrue_rules::wire::requests::{MagicLink, SignUp};
use serde_json::{Map, Value};

use super::messages::{Letter, Text, ask, ask_by_text, decoys};
use super::sign_up::{Registration, SignedUp, look_up, without_password};
use super::{audit, limits, pkce};
use crate::cx::Cx;
use crate::store::{self, OrRefuse, users};

const FINDING: &str = "Database error finding user";

/// The account of an address or number in the request's audience, if there is one.
pub async fn find(cx: &Cx, contact: &Contact) -> store::Result<Option<Account>> {
    let audience = cx.audience();
    match contact {
        Contact::Email(email) => users::by_email(&mut cx.db(), email.as_str(), &audience).await,
        Contact::Phone(phone) => users::by_phone(&mut cx.db(), phone.as_str(), &audience).await,
    }
}

/// The account of a newcomer who is confirmed at once, as it is stored: messages tell of it. None if the message that
/// confirms it is on its way. The session that comes with a confirmed account is handed to nobody. An account that a
/// concurrent request made and confirmed is answered like any that is known.
async fn signed_up(cx: &Cx, newcomer: SignUp, contact: &Contact) -> Result<Option<Account>> {
    let repeated = match Box::pin(without_password(cx, newcomer)).await? {
        Registration::Accepted(SignedUp::In(_)) => return find(cx, contact).await.or_refuse(FINDING),
        Registration::Accepted(SignedUp::Waiting(_) | SignedUp::StandIn(_)) => return Ok(None),
        Registration::Repeated(repeated) => repeated,
    };
    let is_confirmed = |account: &Account| match contact {
        Contact::Email(_) => account.is_email_confirmed(),
        Contact::Phone(_) => account.is_phone_confirmed(),
    };
    match find(cx, contact).await.or_refuse(FINDING)?.filter(is_confirmed) {
        Some(account) => Ok(Some(account)),
        None => repeated.answer(cx).await.map(|_| None),
    }
}

/// Mails a link and a code. `known` is the account, if it has been looked up already.
pub async fn mail_link(cx: &Cx, request: MagicLink, known: Option<Account>) -> Result<()> {
    let email = magic_link_recipient(&request)?;
    let contact = Contact::Email(email.clone());
    limits::anyone_asks(cx, &contact)?;
    let known = match known {
        Some(known) => Some(known),
        None => find(cx, &contact).await.or_refuse(FINDING)?,
    };
    let challenge = Challenge::new(&request.pkce.challenge, &request.pkce.method)?;
    let newcomer = SignUp { email: request.email, data: request.data, pkce: request.pkce, ..SignUp::default() };
    let account = match known.filter(Account::is_email_confirmed) {
        Some(account) if decoys::is_wanted(cx) => {
            return link_like_newcomer(cx, &account, &contact, challenge.as_ref()).await;
        }
        Some(account) => Some(account),
        None => signed_up(cx, newcomer, &contact).await?,
    };
    let Some(account) = account else { return Ok(()) };
    link(cx, &account, &email, challenge.as_ref()).await
}

/// Mails a link to an account that exists, with the work of signing it up: the duration does not tell which it was.
async fn link_like_newcomer(
    cx: &Cx,
    account: &Account,
    contact: &Contact,
    challenge: Option<&Challenge>,
) -> Result<()> {
    look_up(cx, &mut cx.db(), contact).await?;
    let rows = audit::rows(cx, account, [Entry::of(Action::UserRecoveryRequested)]);
    let letter =
        Letter { purpose: Purpose::MagicLink, to: contact.as_str(), pkce: challenge.is_some(), new_email: None };
    decoys::ask_like_newcomer(cx, account, letter, challenge, rows).await
}

async fn link(cx: &Cx, account: &Account, email: &Email, challenge: Option<&Challenge>) -> Result<()> {
    let purpose = Purpose::MagicLink;
    if let Some(challenge) = challenge {
        // Stays, also if the mail is refused: as recorded.
        pkce::open(cx, &mut cx.db(), account.id, challenge, purpose).await?;
    }
    let rows = audit::rows(cx, account, [Entry::of(Action::UserRecoveryRequested)]);
    let letter = Letter { purpose, to: email.as_str(), pkce: challenge.is_some(), new_email: None };
    ask(cx, account, letter, rows).await
}

/// Who wants to be texted a code.
#[derive(Debug, Default)]
pub struct Caller {
    /// The number as it was given.
    pub phone: String,
    /// The way as it was given; `""` means `sms`.
    pub channel: String,
    /// What becomes part of a new account's metadata.
    pub data: Option<Map<String, Value>>,
}

/// Texts a code; the message's id, where the client is told one. `known` is the account, if it has been looked up
/// already.
pub async fn text_code(cx: &Cx, caller: Caller, known: Option<Account>) -> Result<Option<String>> {
    let (phone, channel) = text_recipient(&caller.phone, &caller.channel, &cx.app.policy)?;
    let contact = Contact::Phone(phone.clone());
    limits::anyone_asks(cx, &contact)?;
    let known = match known {
        Some(known) => Some(known),
        None => find(cx, &contact).await.or_refuse(FINDING)?,
    };
    let newcomer = SignUp { phone: caller.phone, channel: caller.channel, data: caller.data, ..SignUp::default() };
    let account = match known.filter(Account::is_phone_confirmed) {
        Some(account) => Some(account),
        None => signed_up(cx, newcomer, &contact).await?,
    };
    let Some(account) = account else { return Ok(None) };
    code(cx, &account, &phone, &channel).await
}

async fn code(cx: &Cx, account: &Account, phone: &Phone, channel: &Channel) -> Result<Option<String>> {
    let entry = Entry::of(Action::UserRecoveryRequested).with("channel", channel.as_str());
    let text = Text { purpose: Purpose::Sms, to: phone.as_str(), channel };
    ask_by_text(cx, account, text, audit::rows(cx, account, [entry])).await
}
