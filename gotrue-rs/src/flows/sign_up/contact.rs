//! Signing up with an address or a number. Nothing is held while the password is hashed.

use gotrue_rules::domain::contact::Contact;
use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::sign_up::{newcomer, require_open, require_password};
use gotrue_rules::wire::requests::SignUp;
use gotrue_rules::wire::user::UserJson;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::limits::{self, Limited};
use crate::services::passwords;
use crate::services::sessions::Extras;
use crate::services::sign_up::{SignedUp, register};

/// A session where the account is confirmed at once, else the account.
pub async fn answer(cx: &Cx, request: SignUp) -> Result<Reply> {
    limits::take(cx, Limited::SignUp)?;
    require_open(&cx.app.policy)?;
    require_password(&request)?;
    passwords::require_strong(cx, &request.password).await?;
    let newcomer = newcomer(&request, &cx.app.policy)?;
    if must_confirm(cx, &newcomer.contact) {
        limits::anyone_asks(cx, &newcomer.contact)?;
    }
    Ok(match register(cx, request, newcomer).await? {
        SignedUp::In(minted) => minted.reply(Extras::default()),
        SignedUp::Waiting(account) | SignedUp::StandIn(account) => Reply::json(&UserJson::from(&*account)),
    })
}

fn must_confirm(cx: &Cx, contact: &Contact) -> bool {
    match contact {
        Contact::Email(_) => !cx.app.policy.mail.autoconfirm,
        Contact::Phone(_) => !cx.app.policy.sms.autoconfirm,
    }
}
