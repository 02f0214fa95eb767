//! Ways into an account that an administrator gives somebody: an invitation is mailed, a link is handed over. The secret
//! is issued the same way; only who carries it differs.

use gotrue_rules::domain::contact::Email;
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::links::{LinkType, Password, issued};
use gotrue_rules::domain::one_time_token::{Slot, TokenHash};
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::domain::sign_up::Ids;
use gotrue_rules::domain::user::Account;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::attempt::Attempt;
use super::messages::{self, Fresh, Letter, Secret};
use super::{hooks, passwords};
use crate::cx::Cx;
use crate::store::audit::AuditRow;
use crate::store::contact_changes::{self, Half};
use crate::store::{Connection, OrRefuse, accounts};

const SAVING: &str = "Database error saving new user";
const UPDATING: &str = "Database error updating user";

/// Who is let in.
#[derive(Debug)]
pub enum Guest {
    /// An account that exists.
    Known(Box<Account>),
    /// One that is made by the same write.
    New(Box<Account>),
}

/// An account for somebody who did not ask for it, with its password hashed if it has one: no connection is held
/// meanwhile. Not stored yet; the operator's hook has let it pass.
pub async fn newcomer(
    cx: &Cx,
    email: Email,
    data: Option<Map<String, Value>>,
    password: Password<'_>,
) -> Result<Account> {
    let ids = Ids { account: cx.entropy.uuid(), identity: cx.entropy.uuid() };
    let hash = hash(cx, ids.account, password).await?;
    let made = gotrue_rules::domain::links::newcomer(ids, email, cx.audience(), data, cx.now);
    let made = Account { role: cx.app.policy.jwt.default_group.clone(), encrypted_password: hash, ..made };
    hooks::before_user_created(cx, &made, &made.user_metadata).await?;
    Ok(made)
}

async fn hash(cx: &Cx, owner: Uuid, password: Password<'_>) -> Result<Option<String>> {
    match password {
        Password::Given(given) => {
            passwords::require_strong(cx, given).await?;
            passwords::hash(cx, owner, given).await.map(Some)
        }
        Password::Random => Ok(Some(passwords::hash_of_none(cx, owner))),
        Password::Nothing => Ok(None),
    }
}

/// Mails an invitation; the account as it is then. Whoever was there already may be invited again at any time, and the
/// operator's hook hears of it each time.
pub async fn invite(cx: &Cx, guest: Guest, audit: Vec<AuditRow>) -> Result<Attempt<Account>> {
    let account = match guest {
        Guest::Known(known) => {
            messages::ask(cx, &known, invitation(&known), audit).await?;
            known
        }
        Guest::New(new) => {
            let mut db = messages::begin_to_mail(cx).await?;
            if let Attempt::Conflict(error) = insert(&mut db, &new).await? {
                db.rollback().await?;
                return Ok(Attempt::Conflict(error));
            }
            messages::mail_newcomer(cx, &mut db, &new, invitation(&new), audit).await?;
            db.commit().await?;
            new
        }
    };
    let invited = issued(*account, LinkType::Invite, None, cx.now);
    hooks::after_user_created(cx, &invited).await?;
    Ok(Attempt::Done(invited))
}

async fn insert(db: &mut Connection, new: &Account) -> Result<Attempt<()>> {
    Attempt::of(accounts::insert(db, new, Vec::new()).await, SAVING)
}

fn invitation(account: &Account) -> Letter<'_> {
    let to = account.email.as_deref().unwrap_or_default();
    Letter { purpose: Purpose::Invite, to, pkce: false, new_email: None }
}

/// A link that is wanted.
#[derive(Debug)]
pub struct Wanted<'a> {
    /// What it is for.
    pub kind: LinkType,
    /// The address that the account changes to, for a change.
    pub new_email: Option<&'a Email>,
    /// Where it leads in the end; what is not allowed is not looked at.
    pub redirect_to: &'a str,
    /// Members of the metadata of a waiting account to set, and to take away where null.
    pub data: Option<&'a Map<String, Value>>,
    /// What the audit log is told.
    pub audit: Vec<AuditRow>,
}

/// A link, ready to be handed over.
#[derive(Debug)]
pub struct Link {
    /// The account as it is now.
    pub account: Account,
    /// The code, the link and where it leads.
    pub fresh: Fresh,
    /// The hash of the code with the account's own address, whichever address the link is for.
    pub own_hash: TokenHash,
}

/// Issues a secret that nobody is told of but the administrator who asked.
pub async fn hand_over(cx: &Cx, guest: Guest, wanted: Wanted<'_>) -> Result<Attempt<Link>> {
    let (account, is_new) = match guest {
        Guest::Known(known) => (*known, false),
        Guest::New(new) => (*new, true),
    };
    let own = account.email.clone().unwrap_or_default();
    let to = match wanted.kind {
        LinkType::EmailChangeNew => wanted.new_email.map(Email::as_str).unwrap_or_default(),
        _ => &own,
    };
    let letter =
        Letter { purpose: wanted.kind.purpose(), to, pkce: false, new_email: wanted.new_email.map(Email::as_str) };
    let fresh = messages::fresh(cx, letter, target(cx, wanted.redirect_to));
    let own_hash = TokenHash::of(&own, &fresh.code);
    let (kind, new_email) = (wanted.kind, wanted.new_email);
    let account = if is_new || wanted.data.is_some() {
        let mut db = cx.begin().await?;
        let account = match prepare(cx, &mut db, account, is_new, wanted.data).await? {
            Attempt::Done(account) => account,
            Attempt::Conflict(error) => {
                db.rollback().await?;
                return Ok(Attempt::Conflict(error));
            }
        };
        store(cx, &mut db, &account, wanted, (to, &fresh.hash)).await?;
        db.commit().await?;
        account
    } else {
        store(cx, &mut cx.db(), &account, wanted, (to, &fresh.hash)).await?;
        account
    };
    let account = issued(account, kind, new_email, cx.now);
    if is_new {
        hooks::after_user_created(cx, &account).await?;
    }
    Ok(Attempt::Done(Link { account, fresh, own_hash }))
}

/// Where a link leads in the end: where the body says if that is allowed, else as for any mail.
fn target(cx: &Cx, wanted: &str) -> String {
    if cx.app.redirects.allows(wanted) { wanted.to_owned() } else { messages::redirect_target(cx) }
}

/// Writes a new account, or the metadata of one that waits.
async fn prepare(
    cx: &Cx,
    db: &mut Connection,
    account: Account,
    is_new: bool,
    data: Option<&Map<String, Value>>,
) -> Result<Attempt<Account>> {
    if is_new {
        return Ok(match insert(db, &account).await? {
            Attempt::Done(()) => Attempt::Done(account),
            Attempt::Conflict(error) => Attempt::Conflict(error),
        });
    }
    let changes = accounts::Changes { user_metadata: data, ..accounts::Changes::default() };
    let updated = accounts::update(db, account.id, cx.now, changes, Vec::new()).await.or_refuse(UPDATING)?;
    updated.map(Attempt::Done).ok_or_else(|| Error::internal(UPDATING))
}

/// Stores the hash for whom it is for; what stood in its place is void.
async fn store(
    cx: &Cx,
    db: &mut Connection,
    account: &Account,
    wanted: Wanted<'_>,
    (to, hash): (&str, &TokenHash),
) -> Result<()> {
    let slot = match wanted.kind {
        LinkType::EmailChangeCurrent => Slot::EmailChangeCurrent,
        LinkType::EmailChangeNew => Slot::EmailChangeNew,
        kind => {
            let secret = Secret { purpose: kind.purpose(), to, hash };
            return messages::store(cx, db, account, secret, wanted.audit).await;
        }
    };
    let half = Half {
        user_id: account.id,
        new: wanted.new_email.map(Email::as_str).unwrap_or_default(),
        slot,
        hash: (hash.as_str(), cx.entropy.uuid()),
        relates_to: to,
        now: cx.now,
    };
    contact_changes::ask_half(db, half).await.or_refuse(UPDATING)
}
