//! `PUT /admin/users/{id}`: two statements, the guard's and the write. Nothing is held while the password is hashed, and
//! nobody is told.

use gotrue_rules::domain::admin_user::{Change, change, require_fitting};
use gotrue_rules::domain::audit::Action;
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::identity::of_first_password;
use gotrue_rules::domain::metadata;
use gotrue_rules::domain::user::{Account, Identity};
use gotrue_rules::wire::requests::AdminUser;
use gotrue_rules::wire::user::UserJson;

use super::{entry, told};
use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::passwords;
use crate::store::OrRefuse;
use crate::store::admin::{self, Update};

/// The identity that the first password brings with it, where the operator wants it.
fn own_identity(cx: &Cx, change: &Change, before: &Account, identities: &[Identity]) -> Option<Identity> {
    let wanted = cx.app.policy.experimental.create_email_identity_on_password_set;
    change.encrypted_password.as_ref().filter(|_| wanted)?;
    let after = change.applied(before.clone(), identities.to_vec(), cx.now);
    of_first_password(before, &after, cx.entropy.uuid(), cx.now)
}

/// The account, changed.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let account = cx.account()?.clone();
    let request = AdminUser::decode(&cx.bytes().await?)?;
    require_fitting(&request)?;
    let limits = cx.app.policy.api.metadata_limits;
    metadata::check_update("user_metadata", &account.user_metadata, request.user_metadata.as_ref(), limits)?;
    metadata::check_update("app_metadata", &account.app_metadata, request.app_metadata.as_ref(), limits)?;
    let mut change = change(&request, cx.now)?;
    if let Some(password) = &request.password {
        passwords::require_strong(&cx, password).await?;
        change.encrypted_password = Some(passwords::hash(&cx, account.id, password).await?);
    }
    let mut identities = change.identities(account.id, [cx.entropy.uuid(), cx.entropy.uuid()], cx.now);
    if let Some(identity) = own_identity(&cx, &change, &account, &identities) {
        let mut after = change.applied(account.clone(), identities.clone(), cx.now);
        after.identities.push(identity.clone());
        identities.push(identity);
        change.keep_providers(&after);
    }
    let after = change.applied(account, identities.clone(), cx.now);
    let audit = told(&cx, entry(Action::UserModified, &after))?;
    let update = Update { change: &change, after: &after, identities: &identities, now: cx.now, audit };
    let is_there = admin::update(&mut cx.db(), update).await.or_refuse("Error updating user")?;
    if !is_there {
        return Err(Error::not_found("user_not_found", "User not found"));
    }
    Ok(Reply::json(&UserJson::from(&after)))
}
