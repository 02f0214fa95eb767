//! An account without address and number: account and session in one transaction.

use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::sign_up::{anonymous, require_open};
use gotrue_rules::domain::user::Account;
use gotrue_rules::wire::requests::SignUp;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::hooks;
use crate::services::limits::{self, Limited};
use crate::services::sessions::open::{Proof, open};
use crate::services::sessions::{self, Extras, Minted};
use crate::store::accounts;

/// A session for an account that nobody can name.
pub async fn answer(cx: &Cx, request: SignUp) -> Result<Reply> {
    let policy = &cx.app.policy;
    if !policy.sign_up.anonymous_enabled {
        return Err(Error::unprocessable("anonymous_provider_disabled", "Anonymous sign-ins are disabled"));
    }
    limits::take(cx, Limited::AnonymousUsers)?;
    require_open(policy)?;
    let data = request.data.unwrap_or_default();
    let mut account = anonymous(cx.entropy.uuid(), cx.audience(), &data, cx.now);
    account.role.clone_from(&policy.jwt.default_group);
    hooks::before_user_created(cx, &account, &data).await?;
    let minted = create(cx, &account)
        .await
        .map_err(|error| Error::internal("Database error creating anonymous user").because(error))?;
    hooks::after_user_created(cx, &minted.account).await?;
    Ok(minted.reply(Extras::default()))
}

async fn create(cx: &Cx, account: &Account) -> Result<Minted> {
    let mut db = sessions::begin(cx).await?;
    accounts::insert(&mut db, account, Vec::new()).await?.or_fail()?;
    let minted = open(cx, &mut db, Proof::new(account, "anonymous", Vec::new())).await?;
    db.commit().await?;
    Ok(minted)
}
