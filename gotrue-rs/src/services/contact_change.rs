//! A new address or number for an account: asked for by messages, confirmed by one or two of them, put in place of the
//! old one. `PUT /user` asks, `/verify` redeems; where nothing has to be confirmed, `PUT /user` does both.

use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::contact::{Channel, Contact, Email, Phone};
use gotrue_rules::domain::contact_change::{Confirmation, applied};
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::identity::with_providers;
use gotrue_rules::domain::one_time_token::Slot;
use gotrue_rules::domain::pkce::Challenge;
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::domain::user::{Account, Identity};
use gotrue_rules::domain::user_update::{Changes, ContactChange, also_confirms, email_change, phone_change};
use gotrue_rules::domain::verification::Effect;
use gotrue_rules::wire::requests::CodeChallenge;
use serde_json::Value;

use super::messages::{self, Letter, Secret, Text, Texted, Written};
use super::{audit, limits, pkce};
use crate::cx::Cx;
use crate::store::audit::AuditRow;
use crate::store::contact_changes::{self, Applied, EmailChange};
use crate::store::{Connection, OrRefuse};

const UPDATING: &str = "Database error updating user";

/// A change on its way: confirmed at once, or asked for.
#[derive(Debug)]
pub enum Started<'a> {
    /// Nobody is asked: the address counts.
    EmailAtOnce(&'a Email),
    /// The address has been asked, in a flow if the client wants one.
    EmailAsked(Box<AskedEmail<'a>>, Option<Challenge>),
    /// Nobody is asked: the number counts.
    PhoneAtOnce(&'a Phone),
    /// The number has been asked.
    PhoneAsked(AskedPhone<'a>),
}

/// Asks the new address and the new number, where they must be asked; who sends the second message sees the first change.
/// Nothing is stored yet.
pub async fn start<'a>(
    cx: &Cx,
    account: &Account,
    changes: &'a Changes,
    pkce: &CodeChallenge,
) -> Result<Vec<Started<'a>>> {
    let mut started = Vec::new();
    let mut image = account.clone();
    if let Some(new) = &changes.email {
        started.push(match email_change(account, &cx.app.policy) {
            ContactChange::AtOnce => {
                image.email_change = new.as_str().to_owned();
                image = self::image(cx, image, Change::Email);
                Started::EmailAtOnce(new)
            }
            ContactChange::WhenConfirmed => {
                let challenge = Challenge::new(&pkce.challenge, &pkce.method)?;
                let asked = ask_email(cx, account, new, challenge.is_some()).await?;
                image = asked.stored(cx, image);
                Started::EmailAsked(Box::new(asked), challenge)
            }
        });
    }
    if let Some((new, channel)) = &changes.phone {
        started.push(match phone_change(&cx.app.policy) {
            ContactChange::AtOnce => Started::PhoneAtOnce(new),
            ContactChange::WhenConfirmed => Started::PhoneAsked(ask_phone(cx, &image, new, channel).await?),
        });
    }
    Ok(started)
}

/// Asks once more for the change that the account waits for, and stores it: both confirmations are needed again. The
/// id of a text, where the client is told one.
pub async fn ask_again(
    cx: &Cx,
    account: Account,
    change: Change,
    challenge: Option<Challenge>,
) -> Result<Option<String>> {
    let (email, phone);
    let mut message_id = None;
    let started = match change {
        Change::Email => {
            email = Email::parse(&account.email_change)?;
            Started::EmailAsked(Box::new(ask_email(cx, &account, &email, challenge.is_some()).await?), challenge)
        }
        Change::Phone => {
            phone = Phone::parse(&account.phone_change)?;
            let mut asked = ask_phone(cx, &account, &phone, &Channel::default()).await?;
            message_id = asked.texted.message_id.take();
            Started::PhoneAsked(asked)
        }
    };
    let mut db = cx.begin().await?;
    started.store(cx, &mut db, account).await?;
    db.commit().await?;
    Ok(message_id)
}

impl Started<'_> {
    /// Stores the change in the caller's transaction: the account as it is then.
    pub async fn store(self, cx: &Cx, db: &mut Connection, account: Account) -> Result<Account> {
        let log = |actor| audit::rows(cx, actor, [Entry::of(Action::UserModified)]);
        match self {
            Self::EmailAtOnce(new) => {
                let pending = Account { email_change: new.as_str().to_owned(), ..account };
                apply(cx, db, &pending, Change::Email, log(&pending)).await
            }
            Self::PhoneAtOnce(new) => {
                let pending = Account { phone_change: new.as_str().to_owned(), ..account };
                apply(cx, db, &pending, Change::Phone, log(&pending)).await
            }
            Self::EmailAsked(asked, challenge) => {
                if let Some(challenge) = &challenge {
                    pkce::open(cx, db, account.id, challenge, Purpose::EmailChange).await?;
                }
                asked.store(cx, db, account).await
            }
            Self::PhoneAsked(asked) => asked.store(cx, db, account).await,
        }
    }
}

/// A change of address whose messages are on the way, or wait to be written into an outbox.
#[derive(Debug)]
pub struct AskedEmail<'a> {
    new: &'a Email,
    to_new: Written,
    /// The old address and its message, where it must confirm too.
    to_current: Option<(String, Written)>,
}

/// Asks the new address, and the old one where both must confirm. One message in two mails: one gap, one quota.
pub async fn ask_email<'a>(cx: &Cx, account: &Account, new: &'a Email, pkce: bool) -> Result<AskedEmail<'a>> {
    limits::member_asks(cx, &Contact::Email(new.clone()))?;
    let current = also_confirms(account, &cx.app.policy);
    messages::may_mail(cx, account, Purpose::EmailChange, [Some(new.as_str()), current].into_iter().flatten())?;
    let letter = Letter { purpose: Purpose::EmailChange, to: new.as_str(), pkce, new_email: Some(new.as_str()) };
    let to_new = messages::compose(cx, account, letter).await?;
    let to_current = match current {
        Some(current) => {
            let written = messages::compose(cx, account, Letter { to: current, ..letter }).await?;
            Some((current.to_owned(), written))
        }
        None => None,
    };
    let asked = AskedEmail { new, to_new, to_current };
    messages::send(cx, &asked.pending(account), Purpose::EmailChange, &asked.mails()).await?;
    Ok(asked)
}

impl AskedEmail<'_> {
    fn mails(&self) -> Vec<&Written> {
        [Some(&self.to_new), self.to_current.as_ref().map(|(_, written)| written)].into_iter().flatten().collect()
    }

    /// The account as a hook is shown it.
    fn pending(&self, account: &Account) -> Account {
        Account { email_change: self.new.as_str().to_owned(), ..account.clone() }
    }

    /// Stores the pending address and its secrets; what was pending before is void. The account as it is then.
    pub async fn store(&self, cx: &Cx, db: &mut Connection, account: Account) -> Result<Account> {
        messages::keep(cx, db, &self.pending(&account), Purpose::EmailChange, &self.mails()).await?;
        let to_current = self.to_current.as_ref();
        let change = EmailChange {
            user_id: account.id,
            new: self.new.as_str(),
            new_hash: (self.to_new.hash.as_str(), cx.entropy.uuid()),
            current: to_current.map(|(address, mail)| (address.as_str(), mail.hash.as_str(), cx.entropy.uuid())),
            now: cx.now,
        };
        contact_changes::ask_email(db, change).await.or_refuse(UPDATING)?;
        Ok(self.stored(cx, account))
    }

    /// The account once the change is stored.
    fn stored(&self, cx: &Cx, account: Account) -> Account {
        let to_current = self.to_current.as_ref();
        Account {
            email_change: self.new.as_str().to_owned(),
            email_change_token_new: self.to_new.hash.as_str().to_owned(),
            email_change_token_current: to_current.map(|(_, it)| it.hash.as_str().to_owned()).unwrap_or_default(),
            email_change_sent_at: Some(cx.now),
            email_change_confirm_status: 0,
            updated_at: cx.now,
            ..account
        }
    }
}

/// A change of number whose message is on the way.
#[derive(Debug)]
pub struct AskedPhone<'a> {
    new: &'a Phone,
    texted: Texted,
}

/// Asks the new number.
pub async fn ask_phone<'a>(cx: &Cx, account: &Account, new: &'a Phone, channel: &Channel) -> Result<AskedPhone<'a>> {
    limits::member_asks(cx, &Contact::Phone(new.clone()))?;
    let text = Text { purpose: Purpose::PhoneChange, to: new.as_str(), channel };
    let pending = Account { phone_change: new.as_str().to_owned(), ..account.clone() };
    Ok(AskedPhone { new, texted: messages::text(cx, &pending, text).await? })
}

impl AskedPhone<'_> {
    /// Stores the pending number and its secret. The account as it is then.
    pub async fn store(&self, cx: &Cx, db: &mut Connection, account: Account) -> Result<Account> {
        let account = Account { phone_change: self.new.as_str().to_owned(), ..account };
        self.texted.keep(cx, db, &account).await?;
        let secret = Secret { purpose: Purpose::PhoneChange, to: self.new.as_str(), hash: &self.texted.hash };
        messages::store(cx, db, &account, secret, Vec::new()).await?;
        Ok(Account {
            phone_change_token: self.texted.hash.as_str().to_owned(),
            phone_change_sent_at: Some(cx.now),
            updated_at: cx.now,
            ..account
        })
    }
}

/// Writes the first of two confirmations down, that of this slot; false if somebody else was faster.
pub async fn confirm_half(cx: &Cx, db: &mut Connection, account: &Account, slot: Slot) -> Result<bool> {
    contact_changes::confirm_half(db, account.id, slot, slot.stored(account), cx.now).await.or_refuse(UPDATING)
}

/// Which contact is put in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// `email_change` becomes the address.
    Email,
    /// `phone_change` becomes the number.
    Phone,
}

/// Puts the pending address or number of a confirmed change in place: the account then, or none if its secrets are no
/// longer those that were read. The metadata names the providers anew.
pub async fn redeem(cx: &Cx, db: &mut Connection, account: &Account, change: Change) -> Result<Option<Account>> {
    let after = image(cx, account.clone(), change);
    let after = Account { app_metadata: with_providers(&after), ..after };
    let applied = Applied {
        before: account,
        after: &after,
        identity: identity(&after, change)?,
        app_metadata: Some(Value::Object(after.app_metadata.clone())),
        now: cx.now,
        audit: audit::rows(cx, account, [Entry::of(Action::UserModified)]),
    };
    Ok(write(db, change, applied).await?.then_some(after))
}

/// Puts a pending address or number in place that counts as confirmed. The metadata does not name its provider, as
/// recorded.
async fn apply(
    cx: &Cx,
    db: &mut Connection,
    account: &Account,
    change: Change,
    audit: Vec<AuditRow>,
) -> Result<Account> {
    let after = image(cx, account.clone(), change);
    let identity = identity(&after, change)?;
    let applied = Applied { before: account, after: &after, identity, app_metadata: None, now: cx.now, audit };
    if write(db, change, applied).await? {
        return Ok(after);
    }
    Err(Error::internal(UPDATING).because("the account's pending change was replaced meanwhile"))
}

fn image(cx: &Cx, account: Account, change: Change) -> Account {
    let effect = match change {
        Change::Email => Effect::ChangeEmail,
        Change::Phone => Effect::ChangePhone,
    };
    let after = applied(effect, account, Confirmation { identity: cx.entropy.uuid(), now: cx.now });
    Account { updated_at: cx.now, ..after }
}

/// The account's own identity of the new address or number.
fn identity(after: &Account, change: Change) -> Result<&Identity> {
    let provider = if change == Change::Email { "email" } else { "phone" };
    let own = after.id.to_string();
    let found = after.identities.iter().find(|it| it.provider == provider && it.provider_id == own);
    found.ok_or_else(|| Error::other(format!("the changed account lacks an identity of {provider}")))
}

async fn write(db: &mut Connection, change: Change, applied: Applied<'_>) -> Result<bool> {
    match change {
        Change::Email => contact_changes::apply_email(db, applied).await.or_refuse("Error confirm email"),
        Change::Phone => contact_changes::apply_phone(db, applied).await.or_refuse("Error confirming user"),
    }
}
