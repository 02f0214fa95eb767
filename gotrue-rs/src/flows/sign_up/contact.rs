//! Signing up with an address or a number. Nothing is held while the password is hashed.

use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::contact::Contact;
use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::sign_up::{
    Newcomer, Outcome, already_registered, decide, newcomer, require_open, require_password, stand_in,
};
use gotrue_rules::domain::user::Account;
use gotrue_rules::wire::requests::SignUp;
use gotrue_rules::wire::user::UserJson;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::journal::Step;
use crate::services::limits::{self, Limited};
use crate::services::sessions::Extras;
use crate::services::sessions::open::{Proof, open};
use crate::services::{audit, passwords, sign_up};
use crate::store::{OrRefuse, audit as audit_log, users};

/// A session where the account is confirmed at once, else the account.
pub async fn answer(cx: &Cx, request: SignUp) -> Result<Reply> {
    limits::take(cx, Limited::SignUp)?;
    require_open(&cx.app.policy)?;
    require_password(&request)?;
    passwords::require_strong(cx, &request.password)?;
    let newcomer = newcomer(&request, &cx.app.policy)?;
    let known = look_up(cx, &newcomer.contact).await?;
    let outcome = decide(known.as_ref(), &newcomer.contact, &cx.app.policy);
    cx.journal.note(Step::Decision(outcome.name()));
    match (outcome, known) {
        (Outcome::Taken | Outcome::StandIn, Some(known)) => repeated(cx, request, &newcomer, known, outcome).await,
        (Outcome::NewConfirmed | Outcome::KnownConfirmed, known) => at_once(cx, request, &newcomer, known).await,
        (_, known) => to_confirm(cx, request, &newcomer, known).await,
    }
}

async fn look_up(cx: &Cx, contact: &Contact) -> Result<Option<Account>> {
    let audience = cx.audience();
    let found = match contact {
        Contact::Email(email) => {
            let apart: Vec<String> = cx.app.policy.experimental.provider_linking_domains.keys().cloned().collect();
            users::by_identity_email(&mut cx.db(), email.as_str(), &audience, &apart).await
        }
        Contact::Phone(phone) => users::by_phone(&mut cx.db(), phone.as_str(), &audience).await,
    };
    found.or_refuse("Database error finding user")
}

/// Somebody has the address, confirmed: told only where the operator lets it be.
async fn repeated(cx: &Cx, request: SignUp, newcomer: &Newcomer, known: Account, outcome: Outcome) -> Result<Reply> {
    let entry = Entry::of(Action::UserRepeatedSignUp).with("provider", newcomer.contact.provider());
    audit_log::insert(&mut cx.db(), audit::rows(cx, &known, [entry])).await?;
    if outcome == Outcome::Taken {
        return Err(already_registered());
    }
    let mut shown = stand_in(known, cx.entropy.uuid(), &newcomer.contact, &request.data.unwrap_or_default(), cx.now);
    shown.aud = cx.audience();
    Ok(Reply::json(&UserJson::from(&shown)))
}

/// The account first, then its session: the account stays when the session cannot be opened.
async fn at_once(cx: &Cx, request: SignUp, newcomer: &Newcomer, known: Option<Account>) -> Result<Reply> {
    let account = sign_up::confirmed_at_once(cx, request, newcomer, known).await?;
    let entry = Entry::of(Action::Login).with("provider", newcomer.contact.provider());
    let mut minted = open(cx, &mut cx.db(), Proof::new(&account, "password", vec![entry])).await?;
    // The answer shows what the reference holds in memory: the database's own `confirmed_at` is not read again there.
    minted.account = Account { last_sign_in_at: minted.account.last_sign_in_at, updated_at: cx.now, ..account };
    Ok(minted.reply(Extras::default()))
}

async fn to_confirm(cx: &Cx, request: SignUp, newcomer: &Newcomer, known: Option<Account>) -> Result<Reply> {
    let mut account = sign_up::to_confirm(cx, request, newcomer, known).await?;
    if account.invited_at.is_some() {
        account.user_metadata.clear();
        account.identities.clear();
    }
    Ok(Reply::json(&UserJson::from(&account)))
}
