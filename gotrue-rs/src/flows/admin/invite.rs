//! `POST /invite`: an account for an address, and a mail to it. No gap: who is invited twice gets two mails, and only the
//! second link is good.

use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::contact::Email;
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::links::{Password, require_unconfirmed};
use gotrue_rules::domain::metadata;
use gotrue_rules::domain::user::Account;
use gotrue_rules::wire::requests::Invitation;
use gotrue_rules::wire::user::UserJson;

use super::told;
use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::attempt::Attempt;
use crate::services::links::{self, Guest, newcomer};
use crate::store::{OrRefuse, users};

/// The account that is invited, new or waiting.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let request = Invitation::decode(&cx.bytes().await?)?;
    metadata::check("data", request.data.as_ref(), cx.app.policy.api.metadata_limits)?;
    let account = match attempt(&cx, &request, None).await? {
        Attempt::Done(account) => account,
        Attempt::Conflict(error) => attempt(&cx, &request, Some(error)).await?.or_refuse()?,
    };
    Ok(Reply::json(&UserJson::from(&account)))
}

/// Invites once. `conflict` is the error of the attempt before: it is answered if the address is still free.
async fn attempt(cx: &Cx, request: &Invitation, conflict: Option<Error>) -> Result<Attempt<Account>> {
    let email = Email::parse(&request.email)?;
    let known = users::by_email(&mut cx.db(), email.as_str(), &cx.audience()).await;
    let guest = match (known.or_refuse("Database error finding user")?, conflict) {
        (Some(known), _) => {
            require_unconfirmed(&known)?;
            Guest::Known(Box::new(known))
        }
        (None, Some(error)) => return Err(error),
        (None, None) => Guest::New(Box::new(newcomer(cx, email, request.data.clone(), Password::Nothing).await?)),
    };
    let audit = told(cx, entry(&guest))?;
    links::invite(cx, guest, audit).await
}

/// What the log says of an invitation.
pub(super) fn entry(guest: &Guest) -> Entry {
    let (Guest::Known(account) | Guest::New(account)) = guest;
    let Account { id, email, .. } = account.as_ref();
    Entry::of(Action::UserInvited)
        .with("user_id", id.to_string())
        .with("user_email", email.as_deref().unwrap_or_default())
}
