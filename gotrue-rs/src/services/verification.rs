//! Redeeming a one-time secret: the effect of a code or link that is good, in the caller's transaction. A secret is
//! used up by compare-and-clear: of two at once, one wins.

use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::identity::with_providers;
use gotrue_rules::domain::one_time_token::{Slot, TokenHash};
use gotrue_rules::domain::purpose::Kind;
use gotrue_rules::domain::user::Account;
use gotrue_rules::domain::verification::{Effect, bad_link, effect};
use serde_json::Value;

use super::contact_change::{self, Change};
use super::{audit, passwords};
use crate::cx::Cx;
use crate::store::accounts::{self, Confirmation};
use crate::store::sessions::{self, Ending};
use crate::store::{Connection, OrRefuse, users};

/// A good code or link, and whose it is.
#[derive(Debug)]
pub struct Good {
    /// What kind it is, with `email` resolved.
    pub kind: Kind,
    /// The hash as it was presented.
    pub hash: TokenHash,
    /// The account.
    pub account: Account,
    /// What it does.
    effect: Effect,
    /// A new password's hash, where the effect sets one.
    password: Option<String>,
}

/// What has become of the account.
#[derive(Debug)]
pub enum Redeemed {
    /// The secret is used up; the account as it is then.
    Done(Box<Account>),
    /// One of two confirmations is written down; the other is still awaited.
    Half,
}

/// Decides what a good secret does. A password that it needs is hashed here, before any connection is held.
pub async fn prepare(cx: &Cx, kind: Kind, hash: TokenHash, account: Account) -> Result<Good> {
    let effect = effect(kind, &hash, &account, &cx.app.policy);
    let password = match effect {
        Effect::ConfirmEmail { with_password: true } => Some(passwords::hash_of_none(cx, account.id)),
        _ => None,
    };
    Ok(Good { kind, hash, account, effect, password })
}

/// Does it.
pub async fn redeem(cx: &Cx, db: &mut Connection, good: &Good) -> Result<Redeemed> {
    match good.effect {
        Effect::ConfirmEmail { with_password } => {
            let entry = Entry::of(Action::UserSignedUp).with("provider", "email");
            let confirmation = Confirmation { marks_identity: true, ..confirmation(cx, good, entry) };
            let confirmed = accounts::confirm_email(db, confirmation).await.or_refuse("Error confirming user")?;
            if with_password {
                // After the account: rows are locked in this order.
                let ended = sessions::delete(db, good.account.id, Ending::All, Vec::new()).await;
                ended.or_refuse("Error storing password")?;
            }
            done(confirmed)
        }
        Effect::ConfirmPhone => {
            let entry = Entry::of(Action::UserSignedUp).with("provider", "phone");
            let confirmed = accounts::confirm_phone(db, confirmation(cx, good, entry)).await;
            done(confirmed.or_refuse("Error confirming user")?)
        }
        Effect::Recover => {
            let recovered = accounts::recover(db, confirmation(cx, good, Entry::of(Action::Login))).await;
            done(recovered.or_refuse("Database error updating user")?)
        }
        Effect::RecoverAndConfirm => {
            let entry = Entry::of(Action::UserSignedUp).with("provider", "email");
            let recovered = accounts::recover_and_confirm(db, confirmation(cx, good, entry)).await;
            done(recovered.or_refuse("Database error updating user")?)
        }
        Effect::HalfEmailChange(slot) => {
            if contact_change::confirm_half(cx, db, &good.account, slot).await? {
                return Ok(Redeemed::Half);
            }
            second_half(cx, db, good, slot).await
        }
        Effect::ChangeEmail => done(contact_change::redeem(cx, db, &good.account, Change::Email).await?),
        Effect::ChangePhone => done(contact_change::redeem(cx, db, &good.account, Change::Phone).await?),
    }
}

/// The other half was confirmed since the account was read: this one completes the change, if its secret is still good.
async fn second_half(cx: &Cx, db: &mut Connection, good: &Good, slot: Slot) -> Result<Redeemed> {
    let current = users::with_session(db, good.account.id, None).await.or_refuse("Database error updating user")?;
    let current = current.map(|it| it.account).filter(|it| good.hash.is_stored_as(slot.stored(it)));
    let current = current.ok_or_else(bad_link)?;
    if effect(good.kind, &good.hash, &current, &cx.app.policy) != Effect::ChangeEmail {
        return Err(bad_link());
    }
    done(contact_change::redeem(cx, db, &current, Change::Email).await?)
}

fn confirmation<'a>(cx: &Cx, good: &'a Good, entry: Entry) -> Confirmation<'a> {
    Confirmation {
        user_id: good.account.id,
        token: good.kind.slots()[0].stored(&good.account),
        now: cx.now,
        password: good.password.as_deref(),
        app_metadata: Some(Value::Object(with_providers(&good.account))),
        marks_identity: false,
        audit: audit::rows(cx, &good.account, [entry]),
    }
}

/// Nothing was found to clear: somebody else has used the secret up meanwhile.
fn done(account: Option<Account>) -> Result<Redeemed, Error> {
    account.map(|account| Redeemed::Done(Box::new(account))).ok_or_else(bad_link)
}
