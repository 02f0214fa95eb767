//! Work in place of a message that is not sent.
//!
//! The duration of a request then does not tell whether an address has a user. A decoy has the same limits, the same
//! e-mail rendering, and the same number of statements and commits; nothing is kept.
//!
//! SMS messages are not covered, because the request waits for their provider. Neither are e-mails that a hook sends.

use foundation::email::Email;
use foundation::error::Result;
use gotrue_rules::domain::contact::Contact;
use gotrue_rules::domain::pkce::Challenge;
use gotrue_rules::domain::sign_up::{NewUserIds, build_user, response_view};
use gotrue_rules::domain::user::User;
use platform::store::{Connection, OrInternalError, outbox};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::emails::{ComposedEmail, TokenEmail, send_within_write};
use super::{SentToken, is_email_transactional, send_email, store};
use crate::app::EmailDelivery;
use crate::request_context::RequestContext;
use crate::services::{passwords, pkce};
use crate::store::audit::AuditRow;
use crate::store::decoys::{DroppedPassword, Imitation};
use crate::store::{audit as audit_log, decoys, stored_passwords};

/// The public error text of a failed decoy write, which is that of the statement it stands for.
const DECOY_FAILED: &str = "Database error updating user";

/// Does the work of [`super::send_to_user_in_flow`] for an address without a user.
///
/// With `flow`, the work of storing a PKCE challenge is included.
pub async fn imitate_send(cx: &RequestContext, email_message: TokenEmail<'_>, flow: Option<&Challenge>) -> Result<()> {
    if !is_enabled(cx) {
        return Ok(());
    }
    let unknown = User { id: cx.entropy.uuid(), email: Some(email_message.to.to_owned()), ..User::default() };
    let composed = send_email(cx, &unknown, email_message).await?;
    let mut db = cx.begin().await?;
    if flow.is_some() {
        decoys::write(&mut db, Imitation::Flow, None, cx.now).await.or_internal_error(DECOY_FAILED)?;
    }
    insert_and_delete(cx, &mut db, &composed).await?;
    Ok(db.commit().await?)
}

/// Does the work of storing a client's PKCE flow.
pub async fn imitate_flow(cx: &RequestContext) -> Result<()> {
    if !is_enabled(cx) {
        return Ok(());
    }
    decoys::write(&mut cx.db(), Imitation::Flow, None, cx.now).await.or_internal_error(DECOY_FAILED)
}

/// Does the work of creating a user, for a sign-up with the address of an existing user.
///
/// The audit rows are stored.
pub async fn imitate_sign_up(
    cx: &RequestContext,
    user: &User,
    email_message: TokenEmail<'_>,
    flow: Option<&Challenge>,
    audit: Vec<AuditRow>,
) -> Result<()> {
    let new_user = build_new_user(cx, email_message.to);
    let mut db = cx.begin().await?;
    decoys::write_with_audit(&mut db, new_user, audit, cx.now).await.or_internal_error(DECOY_FAILED)?;
    if flow.is_some() {
        decoys::write(&mut db, Imitation::Flow, None, cx.now).await.or_internal_error(DECOY_FAILED)?;
    }
    let shown = User { id: cx.entropy.uuid(), email: user.email.clone(), ..User::default() };
    let composed = send_email(cx, &shown, email_message).await?;
    insert_and_delete(cx, &mut db, &composed).await?;
    Ok(db.commit().await?)
}

/// Inserts the audit rows of a repeated sign-up of an unconfirmed user.
///
/// Where equal work is enabled, it does the work of creating a user.
pub async fn insert_audit_rows(
    cx: &RequestContext,
    db: &mut Connection,
    user: &User,
    rows: Vec<AuditRow>,
) -> Result<()> {
    if !is_enabled(cx) {
        return Ok(audit_log::insert(db, rows).await?);
    }
    let new_user = build_new_user(cx, user.email.as_deref().unwrap_or_default());
    decoys::write_with_audit(db, new_user, rows, cx.now).await.or_internal_error(DECOY_FAILED)
}

/// Removes the contested password of an unconfirmed user, and inserts the audit rows.
///
/// The user is signed up again.
///
/// Where equal work is enabled, it does the work of creating a user.
pub async fn drop_password(
    cx: &RequestContext,
    db: &mut Connection,
    user: &User,
    hash: &str,
    rows: Vec<AuditRow>,
) -> Result<()> {
    if !is_enabled(cx) {
        return stored_passwords::drop_password(db, user.id, hash, rows).await.or_internal_error(DECOY_FAILED);
    }
    let new_user = build_new_user(cx, user.email.as_deref().unwrap_or_default());
    let dropped = DroppedPassword { user_id: user.id, hash };
    decoys::write_with_dropped_password(db, new_user, dropped, rows, cx.now).await.or_internal_error(DECOY_FAILED)
}

/// Sends an e-mail to an existing user with the work of creating a user.
pub async fn send_as_if_new(
    cx: &RequestContext,
    user: &User,
    email_message: TokenEmail<'_>,
    flow: Option<&Challenge>,
    audit: Vec<AuditRow>,
) -> Result<()> {
    let new_user = build_new_user(cx, email_message.to);
    let composed = send_email(cx, user, email_message).await?;
    let mut db = cx.begin().await?;
    decoys::write(&mut db, Imitation::NewUser(new_user), None, cx.now).await.or_internal_error(DECOY_FAILED)?;
    if let Some(challenge) = flow {
        pkce::store_challenge(cx, &mut db, user.id, challenge, email_message.purpose).await?;
    }
    send_within_write(cx, &mut db, user, email_message.purpose, &[&composed]).await?;
    store(cx, &mut db, user, SentToken::from_email(email_message, &composed), audit).await?;
    Ok(db.commit().await?)
}

/// Builds the values of a new user with this address, as a sign-up does.
fn build_new_user(cx: &RequestContext, email: &str) -> Value {
    let Ok(email) = Email::parse(email) else { return Value::Null };
    let ids = NewUserIds { user: cx.entropy.uuid(), identity: cx.entropy.uuid() };
    let new = build_user(ids, &Contact::Email(email), cx.audience(), &Map::new(), cx.now);
    let new = User { encrypted_password: Some(passwords::unusable_hash(cx, new.id)), ..response_view(new) };
    let identities: Vec<Value> =
        new.identities.iter().map(|identity| Value::Object(identity.identity_data.clone())).collect();
    json!({
        "id": new.id,
        "email": new.email,
        "encrypted_password": new.encrypted_password,
        "app_metadata": new.app_metadata,
        "user_metadata": new.user_metadata,
        "identities": identities,
    })
}

/// Whether requests for e-mails do equal work.
///
/// It needs an outbox, because the time of a mail server cannot be imitated.
pub fn is_enabled(cx: &RequestContext) -> bool {
    cx.app.policy.security.is_equal_work_enabled && is_email_transactional(cx)
}

/// Inserts the e-mail and deletes it in the same transaction, with the statements of storing a token.
async fn insert_and_delete(cx: &RequestContext, db: &mut Connection, composed: &ComposedEmail) -> Result<()> {
    let mut mail: Option<Uuid> = None;
    if let (EmailDelivery::Outbox(outbox), Some(message)) = (&cx.app.delivery, &composed.message) {
        let row = outbox.to_row(message);
        mail = Some(row.id);
        outbox::insert(db, &[row]).await.or_internal_error("Error sending email")?;
    }
    decoys::write(db, Imitation::Token, mail, cx.now).await.or_internal_error(DECOY_FAILED)
}
