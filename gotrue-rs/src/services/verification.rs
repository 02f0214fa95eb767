//! Applies a verified one-time token, in the caller's transaction.
//!
//! A token is consumed by compare-and-clear: of two concurrent requests, one succeeds.

use foundation::error::{Error, Result};
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::identity::app_metadata_with_providers;
use gotrue_rules::domain::one_time_token::{OneTimeTokenKind, TokenHash};
use gotrue_rules::domain::purpose::VerificationType;
use gotrue_rules::domain::user::User;
use gotrue_rules::domain::verification::{VerificationEffect, decide_effect, invalid_link};
use platform::store::{Connection, OrInternalError};
use serde_json::Value;

use super::contact_change::{self, ContactKind};
use super::{audit, passwords};
use crate::request_context::RequestContext;
use crate::store::accounts::{self, UserConfirmation};
use crate::store::sessions::{self, SessionSelection};
use crate::store::users;

/// A verified token with its user and its effect.
#[derive(Debug)]
pub struct VerifiedToken {
    /// The verification type, with `email` resolved.
    pub kind: VerificationType,
    /// The token hash as presented.
    pub hash: TokenHash,
    pub user: User,
    /// The effect of the token.
    effect: VerificationEffect,
    /// The hash of a new password, if the effect sets one.
    password: Option<String>,
}

/// The outcome of applying a token.
#[derive(Debug)]
pub enum TokenOutcome {
    /// The token is consumed; holds the changed user.
    Applied(Box<User>),
    /// One of two confirmations is stored; the other is still needed.
    FirstConfirmation,
}

/// Decides the effect of a verified token. A new password is hashed here, before a connection is held.
pub async fn prepare_token(
    cx: &RequestContext,
    kind: VerificationType,
    hash: TokenHash,
    user: User,
) -> Result<VerifiedToken> {
    let effect = decide_effect(kind, &hash, &user, &cx.app.policy);
    let password = match effect {
        VerificationEffect::ConfirmEmail { should_set_password: true }
        | VerificationEffect::RecoverAndConfirm { should_set_password: true } => {
            Some(passwords::unusable_hash(cx, user.id))
        }
        _ => None,
    };
    Ok(VerifiedToken { kind, hash, user, effect, password })
}

/// Applies the effect of the token.
pub async fn apply_token(cx: &RequestContext, db: &mut Connection, good: &VerifiedToken) -> Result<TokenOutcome> {
    match good.effect {
        VerificationEffect::ConfirmEmail { .. } => {
            let entry = AuditEntry::new(AuditAction::UserSignedUp).with_trait("provider", "email");
            let confirmation = UserConfirmation { should_verify_identity: true, ..build_confirmation(cx, good, entry) };
            let confirmed =
                accounts::confirm_email(db, confirmation).await.or_internal_error("Error confirming user")?;
            end_sessions_of_new_password(db, good).await?;
            require_applied(confirmed)
        }
        VerificationEffect::ConfirmPhone => {
            let entry = AuditEntry::new(AuditAction::UserSignedUp).with_trait("provider", "phone");
            let confirmed = accounts::confirm_phone(db, build_confirmation(cx, good, entry)).await;
            require_applied(confirmed.or_internal_error("Error confirming user")?)
        }
        VerificationEffect::Recover => {
            let recovered =
                accounts::consume_recovery(db, build_confirmation(cx, good, AuditEntry::new(AuditAction::Login))).await;
            require_applied(recovered.or_internal_error("Database error updating user")?)
        }
        VerificationEffect::RecoverAndConfirm { .. } => {
            let entry = AuditEntry::new(AuditAction::UserSignedUp).with_trait("provider", "email");
            let recovered = accounts::consume_recovery_and_confirm(db, build_confirmation(cx, good, entry)).await;
            let recovered = recovered.or_internal_error("Database error updating user")?;
            end_sessions_of_new_password(db, good).await?;
            require_applied(recovered)
        }
        VerificationEffect::FirstEmailConfirmation(slot) => {
            if contact_change::store_first_confirmation(cx, db, &good.user, slot).await? {
                return Ok(TokenOutcome::FirstConfirmation);
            }
            apply_second_confirmation(cx, db, good, slot).await
        }
        VerificationEffect::ChangeEmail => {
            require_applied(contact_change::apply_confirmed(cx, db, &good.user, ContactKind::Email).await?)
        }
        VerificationEffect::ChangePhone => {
            require_applied(contact_change::apply_confirmed(cx, db, &good.user, ContactKind::Phone).await?)
        }
    }
}

/// Deletes the sessions of the user if the effect sets a password. Rows are locked in this order: the user, then sessions.
async fn end_sessions_of_new_password(db: &mut Connection, good: &VerifiedToken) -> Result<()> {
    if good.password.is_some() {
        let ended = sessions::delete(db, good.user.id, SessionSelection::All, Vec::new()).await;
        ended.or_internal_error("Error storing password")?;
    }
    Ok(())
}

/// Completes the change, because the other confirmation was stored since the user was loaded.
///
/// The token must still be valid.
async fn apply_second_confirmation(
    cx: &RequestContext,
    db: &mut Connection,
    good: &VerifiedToken,
    slot: OneTimeTokenKind,
) -> Result<TokenOutcome> {
    let current =
        users::find_with_session(db, good.user.id, None).await.or_internal_error("Database error updating user")?;
    let current = current.map(|current| current.user).filter(|user| good.hash.matches_stored(slot.stored_hash(user)));
    let current = current.ok_or_else(invalid_link)?;
    if decide_effect(good.kind, &good.hash, &current, &cx.app.policy) != VerificationEffect::ChangeEmail {
        return Err(invalid_link());
    }
    require_applied(contact_change::apply_confirmed(cx, db, &current, ContactKind::Email).await?)
}

fn build_confirmation<'a>(cx: &RequestContext, good: &'a VerifiedToken, entry: AuditEntry) -> UserConfirmation<'a> {
    UserConfirmation {
        user_id: good.user.id,
        token: good.kind.token_kinds()[0].stored_hash(&good.user),
        now: cx.now,
        password: good.password.as_deref(),
        app_metadata: Some(Value::Object(app_metadata_with_providers(&good.user))),
        was_anonymous: good.user.is_anonymous,
        should_verify_identity: false,
        audit: audit::build_rows(cx, &good.user, [entry]),
    }
}

/// The token was no longer stored: a concurrent request consumed it.
fn require_applied(user: Option<User>) -> Result<TokenOutcome, Error> {
    user.map(|user| TokenOutcome::Applied(Box::new(user))).ok_or_else(invalid_link)
}
