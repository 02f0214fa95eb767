//! `POST /admin/users`: creates a user.
//!
//! It takes two statements, a look-up of address and number and the insert.
//!
//! No connection is held while the password is hashed, and no message is sent. If the insert loses against a concurrent
//! request, the look-up is repeated.

use std::sync::Arc;

use foundation::email::Email;
use foundation::error::{Error, Result};
use gotrue_rules::domain::admin_user::{
    self as rules, Contacts, NewPassword, NewUser, build_user, has_null_metadata, parse_ban, parse_new_email,
    parse_new_password, parse_requested_id,
};
use gotrue_rules::domain::audit::AuditAction;
use gotrue_rules::domain::contact::Phone;
use gotrue_rules::domain::metadata;
use gotrue_rules::domain::user::User;
use gotrue_rules::wire::requests::AdminUserRequest;
use gotrue_rules::wire::user::UserJson;
use platform::store;
use platform::store::OrInternalError;
use uuid::Uuid;

use super::{build_admin_rows, user_entry};
use crate::http::reply::Reply;
use crate::request_context::{Admin, RequestContext};
use crate::services::attempt::Attempt;
use crate::services::passwords::{self, AfterDisconnect};
use crate::store::admin::{self, ContactQuery};
use crate::store::audit::AuditRow;
use crate::store::insertion::UserInsertion;

/// Creates a user.
pub async fn handle(cx: RequestContext, admin: Arc<Admin>) -> Result<Reply> {
    let request = AdminUserRequest::decode(&cx.read_body().await?)?;
    rules::validate_lengths(&request)?;
    let limits = cx.app.policy.api.metadata_limits;
    metadata::validate("user_metadata", request.user_metadata.as_ref(), limits)?;
    metadata::validate("app_metadata", request.app_metadata.as_ref(), limits)?;
    let contacts = require_free_contacts(&cx, &request).await?;
    let password = parse_new_password(&request, cx.app.policy.password.is_overlong_input_error)?;
    require_known_hash_format(password)?;
    let id = parse_requested_id(&request)?.unwrap_or_else(|| cx.entropy.uuid());
    let ban = parse_ban(&request, cx.now)?;
    let new = NewUser {
        contacts,
        id,
        identity_ids: [cx.entropy.uuid(), cx.entropy.uuid()],
        audience: cx.audience(),
        role: cx.app.policy.jwt.default_group.clone(),
        encrypted_password: stored_password(&cx, id, password).await?,
        ban,
    };
    let has_null_metadata = has_null_metadata(&request);
    let user = build_user(request.clone(), new, cx.now);
    let provider = user.identities.first().map(|identity| identity.provider.as_str()).unwrap_or_default();
    let entry = user_entry(AuditAction::UserSignedUp, &user).with_trait("provider", provider);
    let rows = build_admin_rows(&cx, &admin, entry);
    let inserted = match admin::insert(&mut cx.db(), &user, has_null_metadata, rows.clone()).await {
        Ok(UserInsertion::NeedsSteps) => insert_in_steps(&cx, &user, has_null_metadata, rows).await,
        inserted => inserted,
    };
    let stored = match Attempt::from_insertion(inserted, "Database error creating new user")? {
        Attempt::Done(stored) => stored,
        Attempt::Conflict(error) => {
            require_free_contacts(&cx, &request).await?;
            return Err(error);
        }
    };
    let shown = UserJson::from(&stored);
    Ok(Reply::json(&if has_null_metadata { shown.without_user_metadata() } else { shown }))
}

/// Inserts a user in steps, in a transaction of its own.
async fn insert_in_steps(
    cx: &RequestContext,
    user: &User,
    has_null_metadata: bool,
    rows: Vec<AuditRow>,
) -> store::Result<UserInsertion> {
    let mut db = cx.begin().await?;
    let inserted = admin::insert_in_steps(&mut db, user, has_null_metadata, rows).await?;
    match inserted {
        UserInsertion::Written(_) => db.commit().await?,
        _ => db.rollback().await?,
    }
    Ok(inserted)
}

/// Validates address and number and requires that no user of the audience has them.
async fn require_free_contacts(cx: &RequestContext, request: &AdminUserRequest) -> Result<Contacts> {
    let email = parse_new_email(request)?;
    let phone = rules::parse_phone(request);
    let audience = if request.aud.is_empty() { cx.audience() } else { request.aud.clone() };
    let own_domain_providers: Vec<String> =
        cx.app.policy.experimental.provider_linking_domains.keys().cloned().collect();
    let lookup = ContactQuery {
        email: email.as_ref().map(Email::as_str),
        phone: phone.as_ref().ok().and_then(Option::as_ref).map(Phone::as_str),
        audience: &audience,
        own_domain_providers: &own_domain_providers,
    };
    let taken =
        admin::find_taken_contacts(&mut cx.db(), lookup).await.or_internal_error("Database error checking email")?;
    rules::require_available_contacts(email, phone, taken)
}

/// Requires a supported hash format. A hash that no password can match is stored too.
fn require_known_hash_format(password: NewPassword<'_>) -> Result<()> {
    match password {
        NewPassword::Hashed(hash) => match passwords::hash_format_error(hash) {
            Some(why) => Err(Error::internal("Error creating user").with_cause(why)),
            None => Ok(()),
        },
        NewPassword::Plain(_) | NewPassword::Random => Ok(()),
    }
}

async fn stored_password(cx: &RequestContext, id: Uuid, password: NewPassword<'_>) -> Result<String> {
    match password {
        NewPassword::Plain(password) => passwords::hash(cx, id, password, AfterDisconnect::Complete).await,
        NewPassword::Hashed(hash) => Ok(passwords::seal_imported_hash(cx, id, hash)),
        NewPassword::Random => Ok(passwords::unusable_hash(cx, id)),
    }
}
