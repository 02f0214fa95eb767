//! `grant_type=password`: two statements, the look-up and the session. Nothing is held while the password is compared.

use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::password::Reason;
use gotrue_rules::domain::sign_in::{By, admit, hash_to_compare, invalid_credentials};
use gotrue_rules::domain::user::Account;
use gotrue_rules::wire::requests::PasswordGrant;
use gotrue_rules::wire::session::WeakPasswordJson;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::limits::Guess;
use crate::services::sessions::Extras;
use crate::services::sessions::open::{Proof, open_if_unchanged};
use crate::services::{hooks, limits, passwords};
use crate::store::{OrRefuse, stored_passwords, users};

/// Who has the password gets a session. A hash that changes while it is compared is compared anew, once: either the
/// password was changed, or a sign-in beside this one renewed the hash.
pub async fn answer(cx: &Cx) -> Result<Reply> {
    let request = PasswordGrant::decode(&cx.bytes().await?)?;
    let by = By::of(&request.email, &request.phone, &cx.app.policy.sign_up)?;
    for _ in 0..2 {
        if let Some(reply) = attempt(cx, &request, &by).await? {
            return Ok(reply);
        }
    }
    Err(invalid_credentials())
}

/// One attempt; none if the stored hash has changed meanwhile.
async fn attempt(cx: &Cx, request: &PasswordGrant, by: &By) -> Result<Option<Reply>> {
    let account = look_up(cx, by).await?;
    let guess = limits::at_password(cx, by.as_str(), account.as_ref().map(|account| account.id)).await?;
    let Some(account) = account.filter(Account::has_password) else {
        let worked = passwords::work_for_nothing(cx, &request.password).await;
        return Err(settled(guess, worked.map(|()| false)).err().unwrap_or_else(invalid_credentials));
    };
    let stored = hash_to_compare(Some(&account), cx.now)?;
    let is_right = settled(guess, passwords::is_right(cx, &request.password, &account).await)?;
    let weak = if is_right { passwords::remark(cx, &request.password).await } else { None };
    hooks::password_verification(cx, account.id, is_right).await?;
    if !is_right {
        return Err(invalid_credentials());
    }
    admit(&account, by)?;
    let entry = Entry::of(Action::Login).with("provider", by.provider());
    let proof = Proof { relied_on: Some(stored), ..Proof::new(&account, "password", vec![entry]) };
    let Some(minted) = open_if_unchanged(cx, &mut cx.db(), proof).await? else { return Ok(None) };
    renew(cx, &account, &request.password).await;
    let reasons: Vec<&str> = weak.iter().flat_map(|weak| &weak.reasons).map(|reason| Reason::as_str(*reason)).collect();
    let weak = weak.as_ref().map(|weak| WeakPasswordJson { message: &weak.message, reasons: &reasons });
    Ok(Some(minted.reply(Extras { weak_password: Some(weak), ..Extras::default() })))
}

/// Settles a guess by what comparing has shown. Where nothing could be compared, because too many wait say, it was none.
fn settled(guess: Guess, compared: Result<bool>) -> Result<bool> {
    match compared {
        Ok(true) => guess.was_right(),
        Ok(false) => drop(guess),
        Err(_) => guess.was_not_compared(),
    }
    compared
}

async fn look_up(cx: &Cx, by: &By) -> Result<Option<Account>> {
    let audience = cx.audience();
    let found = match by {
        By::Email(email) => users::by_email(&mut cx.db(), email, &audience).await,
        By::Phone(phone) => users::by_phone(&mut cx.db(), phone, &audience).await,
    };
    found.or_refuse("Database error querying schema")
}

/// A password that is not stored as today's policy says is stored anew, once. A failure is only logged: the sign-in has
/// succeeded.
async fn renew(cx: &Cx, account: &Account, password: &str) {
    let stored = account.encrypted_password.as_deref().unwrap_or_default();
    let replaced = match passwords::renewed(cx, account, password).await {
        Ok(None) => Ok(0),
        Ok(Some(new)) => stored_passwords::rehash(&mut cx.db(), account.id, stored, &new).await.map_err(Into::into),
        Err(error) => Err(error),
    };
    if let Err(error) = replaced {
        tracing::warn!(user.id = %account.id, cause = ?error.cause, "the password was not stored anew");
    }
}
