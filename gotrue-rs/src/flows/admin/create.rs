//! `POST /admin/users`: two statements, who has address and number, and the write. Nothing is held while the password
//! is hashed, and no message is sent. A request that loses an address to a concurrent one repeats the look-up.

use gotrue_rules::domain::admin_user::{
    self as rules, Contacts, New, NewPassword, account, ban, has_null_metadata, new_email, new_id, new_password,
};
use gotrue_rules::domain::audit::Action;
use gotrue_rules::domain::contact::{Email, Phone};
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::metadata;
use gotrue_rules::wire::requests::AdminUser;
use gotrue_rules::wire::user::UserJson;
use uuid::Uuid;

use super::{entry, told};
use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::attempt::Attempt;
use crate::services::passwords;
use crate::store::OrRefuse;
use crate::store::admin::{self, Wanted};

/// A new account.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let request = AdminUser::decode(&cx.bytes().await?)?;
    rules::require_fitting(&request)?;
    let limits = cx.app.policy.api.metadata_limits;
    metadata::check("user_metadata", request.user_metadata.as_ref(), limits)?;
    metadata::check("app_metadata", request.app_metadata.as_ref(), limits)?;
    let contacts = free_contacts(&cx, &request).await?;
    let password = new_password(&request)?;
    require_form(password)?;
    let id = new_id(&request)?.unwrap_or_else(|| cx.entropy.uuid());
    let ban = ban(&request, cx.now)?;
    let new = New {
        contacts,
        id,
        identity_ids: [cx.entropy.uuid(), cx.entropy.uuid()],
        audience: cx.audience(),
        role: cx.app.policy.jwt.default_group.clone(),
        encrypted_password: hash(&cx, id, password).await?,
        ban,
    };
    let has_null_metadata = has_null_metadata(&request);
    let account = account(request.clone(), new, cx.now);
    let provider = account.identities.first().map(|identity| identity.provider.as_str()).unwrap_or_default();
    let rows = told(&cx, entry(Action::UserSignedUp, &account).with("provider", provider))?;
    let inserted = admin::insert(&mut cx.db(), &account, has_null_metadata, rows).await;
    if let Attempt::Conflict(error) = Attempt::of(inserted, "Database error creating new user")? {
        free_contacts(&cx, &request).await?;
        return Err(error);
    }
    let shown = UserJson::from(&account);
    Ok(Reply::json(&if has_null_metadata { shown.without_user_metadata() } else { shown }))
}

/// Address and number, well-formed and nobody's in the audience of the new account.
async fn free_contacts(cx: &Cx, request: &AdminUser) -> Result<Contacts> {
    let email = new_email(request)?;
    let phone = rules::phone(request);
    let audience = if request.aud.is_empty() { cx.audience() } else { request.aud.clone() };
    let apart: Vec<String> = cx.app.policy.experimental.provider_linking_domains.keys().cloned().collect();
    let wanted = Wanted {
        email: email.as_ref().map(Email::as_str),
        phone: phone.as_ref().ok().and_then(Option::as_ref).map(Phone::as_str),
        audience: &audience,
        apart: &apart,
    };
    let taken = admin::taken(&mut cx.db(), wanted).await.or_refuse("Database error checking email")?;
    rules::free(email, phone, taken)
}

/// A hash that cannot be verified is stored too: every password is refused for it.
fn require_form(password: NewPassword<'_>) -> Result<()> {
    match password {
        NewPassword::Hashed(hash) => match passwords::malformed(hash) {
            Some(why) => Err(Error::internal("Error creating user").because(why)),
            None => Ok(()),
        },
        NewPassword::Given(_) | NewPassword::Random => Ok(()),
    }
}

async fn hash(cx: &Cx, id: Uuid, password: NewPassword<'_>) -> Result<String> {
    match password {
        NewPassword::Given(password) => passwords::hash(cx, id, password).await,
        NewPassword::Hashed(hash) => Ok(passwords::adopted(cx, id, hash)),
        NewPassword::Random => Ok(passwords::hash_of_none(cx, id)),
    }
}
