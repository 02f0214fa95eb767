//! Builds the user of a sign-up: password, identity and metadata.

use foundation::error::Result;
use gotrue_rules::domain::contact::Contact;
use gotrue_rules::domain::identity::{app_metadata_with_providers, identity_for_contact, sign_up_identity_data};
use gotrue_rules::domain::sign_up::{NewUserIds, build_user, response_view};
use gotrue_rules::domain::user::{Identity, User};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::request_context::RequestContext;
use crate::services::messages::decoys;
use crate::services::passwords::AfterDisconnect;
use crate::services::{hooks, passwords};

/// The password hash to drop, where the policy drops contested passwords.
///
/// A password is contested if an unconfirmed user is signed up again with another one or without one. Neither of the
/// two sign-ups has proved that it owns the address.
pub(super) async fn contested_password(cx: &RequestContext, password: &str, known: &User) -> Result<Option<String>> {
    if !known.has_password() || !cx.app.policy.sign_up.should_drop_contested_password {
        if decoys::is_enabled(cx) && !password.is_empty() {
            passwords::dummy_verify(cx, password, AfterDisconnect::Skip).await?;
        }
        return Ok(None);
    }
    let is_same = !password.is_empty() && passwords::is_correct(cx, password, known, AfterDisconnect::Skip).await?;
    Ok(if is_same { None } else { known.encrypted_password.clone() })
}

/// Builds a new user with a hashed password, after the before-user-created hook. No connection is held.
pub(super) async fn prepare_user(
    cx: &RequestContext,
    password: &str,
    contact: &Contact,
    data: Option<&Map<String, Value>>,
) -> Result<User> {
    let none = Map::new();
    let data = data.unwrap_or(&none);
    let mut new = new_user(cx, cx.entropy.uuid(), contact, data);
    let hash = match password {
        "" => passwords::unusable_hash(cx, new.id),
        password => passwords::hash(cx, new.id, password, AfterDisconnect::Skip).await?,
    };
    new.encrypted_password = Some(hash);
    hooks::call_before_user_created(cx, &new, data).await?;
    Ok(new)
}

/// Builds what the response to a sign-up shows of a new user, with the id of this one.
pub(super) fn as_new_user(cx: &RequestContext, id: Uuid, contact: &Contact, data: Option<&Map<String, Value>>) -> User {
    let new = new_user(cx, id, contact, data.unwrap_or(&Map::new()));
    response_view(User { confirmation_sent_at: Some(cx.now), ..new })
}

fn new_user(cx: &RequestContext, id: Uuid, contact: &Contact, data: &Map<String, Value>) -> User {
    let ids = NewUserIds { user: id, identity: cx.entropy.uuid() };
    let mut new = build_user(ids, contact, cx.audience(), data, cx.now);
    new.role.clone_from(&cx.app.policy.jwt.default_group);
    new
}

/// Reduces the user to the one identity of this kind.
///
/// If it has none, a new identity replaces all others.
pub(super) fn with_only_identity(
    cx: &RequestContext,
    mut user: User,
    contact: &Contact,
    data: Option<&Map<String, Value>>,
) -> (User, Option<Identity>) {
    let of_kind = |identity: &Identity| identity.provider == contact.provider();
    if let Some(at) = user.identities.iter().position(of_kind) {
        user.identities = vec![user.identities.swap_remove(at)];
        return (user, None);
    }
    let data = sign_up_identity_data(user.id, contact, data.unwrap_or(&Map::new()));
    let identity = identity_for_contact(cx.entropy.uuid(), user.id, contact, data, cx.now);
    user.user_metadata = gotrue_rules::domain::identity::without_nulls(&identity.identity_data);
    user.identities = vec![identity.clone()];
    user.app_metadata = app_metadata_with_providers(&user);
    (user, Some(identity))
}
