//! Changes the e-mail address or phone number of a user.
//!
//! `PUT /user` requests the change by sending one or two messages, and `/verify` confirms it. Where no confirmation is
//! needed, `PUT /user` applies the change at once.

use foundation::email::Email;
use foundation::error::{Error, Result};
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::contact::{Contact, Phone, SmsChannel};
use gotrue_rules::domain::contact_change::{ConfirmationContext, apply_effect};
use gotrue_rules::domain::identity::app_metadata_with_providers;
use gotrue_rules::domain::one_time_token::OneTimeTokenKind;
use gotrue_rules::domain::pkce::Challenge;
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::domain::user::{Identity, User};
use gotrue_rules::domain::user_update::{
    ContactChangeMode, ContactChanges, current_email_to_confirm, email_change_mode, phone_change_mode,
};
use gotrue_rules::domain::verification::VerificationEffect;
use gotrue_rules::wire::requests::PkceParameters;
use platform::store::{Connection, OrInternalError};
use serde_json::Value;

use super::messages::{self, ComposedEmail, SentSms, SentToken, TokenEmail, TokenSms};
use super::{audit, limits, pkce};
use crate::request_context::RequestContext;
use crate::store::audit::AuditRow;
use crate::store::contact_changes::{self, AppliedContactChange, EmailChange};

const UPDATE_FAILED: &str = "Database error updating user";

/// A change that is applied at once or that waits for a confirmation.
#[derive(Debug)]
pub enum ContactChangeRequest<'a> {
    /// The address is applied without confirmation.
    EmailImmediate(&'a Email),
    /// A confirmation was sent to the address, with the PKCE challenge of the client if it sent one.
    EmailToConfirm(Box<EmailChangeToConfirm<'a>>, Option<Challenge>),
    /// The number is applied without confirmation.
    PhoneImmediate(&'a Phone),
    /// A confirmation was sent to the number.
    PhoneToConfirm(PhoneChangeToConfirm<'a>),
}

/// Sends the confirmations that the changes need.
///
/// The second message sees the user as the first change leaves it. Nothing is stored yet.
pub async fn request_changes<'a>(
    cx: &RequestContext,
    user: &User,
    changes: &'a ContactChanges,
    pkce: &PkceParameters,
) -> Result<Vec<ContactChangeRequest<'a>>> {
    let mut started = Vec::new();
    let mut image = user.clone();
    if let Some(new) = &changes.email {
        started.push(match email_change_mode(user, &cx.app.policy) {
            ContactChangeMode::Immediate => {
                image.email_change = new.as_str().to_owned();
                image = self::user_after_change(cx, image, ContactKind::Email);
                ContactChangeRequest::EmailImmediate(new)
            }
            ContactChangeMode::AfterConfirmation => {
                let challenge = Challenge::new(&pkce.challenge, &pkce.method)?;
                let pending = request_email_change(cx, user, new, challenge.is_some()).await?;
                image = pending.user_after_storing(cx, image);
                ContactChangeRequest::EmailToConfirm(Box::new(pending), challenge)
            }
        });
    }
    if let Some((new, channel)) = &changes.phone {
        started.push(match phone_change_mode(&cx.app.policy) {
            ContactChangeMode::Immediate => ContactChangeRequest::PhoneImmediate(new),
            ContactChangeMode::AfterConfirmation => {
                ContactChangeRequest::PhoneToConfirm(request_phone_change(cx, &image, new, channel).await?)
            }
        });
    }
    Ok(started)
}

/// Sends the confirmations of a pending change again and stores them.
///
/// Both confirmations are needed again.
///
/// Returns the message id if the response contains one.
pub async fn resend_confirmation(
    cx: &RequestContext,
    user: User,
    change: ContactKind,
    challenge: Option<Challenge>,
) -> Result<Option<String>> {
    let (email, phone);
    let mut message_id = None;
    let started = match change {
        ContactKind::Email => {
            email = Email::parse(&user.email_change)?;
            ContactChangeRequest::EmailToConfirm(
                Box::new(request_email_change(cx, &user, &email, challenge.is_some()).await?),
                challenge,
            )
        }
        ContactKind::Phone => {
            phone = Phone::parse(&user.phone_change)?;
            let mut pending = request_phone_change(cx, &user, &phone, &SmsChannel::default()).await?;
            message_id = pending.sms.message_id.take();
            ContactChangeRequest::PhoneToConfirm(pending)
        }
    };
    let mut db = cx.begin().await?;
    started.store(cx, &mut db, user).await?;
    db.commit().await?;
    Ok(message_id)
}

impl ContactChangeRequest<'_> {
    /// Stores the change in the caller's transaction and returns the changed user.
    pub async fn store(self, cx: &RequestContext, db: &mut Connection, user: User) -> Result<User> {
        let log = |actor| audit::build_rows(cx, actor, [AuditEntry::new(AuditAction::UserModified)]);
        match self {
            Self::EmailImmediate(new) => {
                let pending = User { email_change: new.as_str().to_owned(), ..user };
                apply_immediate(cx, db, &pending, ContactKind::Email, log(&pending)).await
            }
            Self::PhoneImmediate(new) => {
                let pending = User { phone_change: new.as_str().to_owned(), ..user };
                apply_immediate(cx, db, &pending, ContactKind::Phone, log(&pending)).await
            }
            Self::EmailToConfirm(pending, challenge) => {
                if let Some(challenge) = &challenge {
                    pkce::store_challenge(cx, db, user.id, challenge, Purpose::EmailChange).await?;
                }
                pending.store(cx, db, user).await
            }
            Self::PhoneToConfirm(pending) => pending.store(cx, db, user).await,
        }
    }
}

/// A change of address whose messages are sent, or will be inserted into the outbox.
#[derive(Debug)]
pub struct EmailChangeToConfirm<'a> {
    new: &'a Email,
    to_new: ComposedEmail,
    /// The old address and its message, if both addresses must confirm.
    to_current: Option<(String, ComposedEmail)>,
}

/// Sends a confirmation to the new address, and to the old one if both must confirm.
///
/// Both e-mails count as one message for the minimum interval and the quota.
pub async fn request_email_change<'a>(
    cx: &RequestContext,
    user: &User,
    new: &'a Email,
    pkce: bool,
) -> Result<EmailChangeToConfirm<'a>> {
    limits::count_user_message(cx, &Contact::Email(new.clone())).await?;
    let current = current_email_to_confirm(user, &cx.app.policy);
    messages::require_email_allowed(
        cx,
        user,
        Purpose::EmailChange,
        [Some(new.as_str()), current].into_iter().flatten(),
    )
    .await?;
    let email_message =
        TokenEmail { purpose: Purpose::EmailChange, to: new.as_str(), pkce, new_email: Some(new.as_str()) };
    let to_new = messages::compose_email(cx, user, email_message).await?;
    let to_current = match current {
        Some(current) => {
            let composed = messages::compose_email(cx, user, TokenEmail { to: current, ..email_message }).await?;
            Some((current.to_owned(), composed))
        }
        None => None,
    };
    let pending = EmailChangeToConfirm { new, to_new, to_current };
    messages::send_before_write(cx, &pending.user_with_pending_email(user), Purpose::EmailChange, &pending.messages())
        .await?;
    Ok(pending)
}

impl EmailChangeToConfirm<'_> {
    fn messages(&self) -> Vec<&ComposedEmail> {
        [Some(&self.to_new), self.to_current.as_ref().map(|(_, composed)| composed)].into_iter().flatten().collect()
    }

    /// The user with the pending address, as the hook sees it.
    fn user_with_pending_email(&self, user: &User) -> User {
        User { email_change: self.new.as_str().to_owned(), ..user.clone() }
    }

    /// Stores the pending address and its token hashes, replacing those of an earlier change.
    ///
    /// Returns the changed user.
    pub async fn store(&self, cx: &RequestContext, db: &mut Connection, user: User) -> Result<User> {
        messages::send_within_write(
            cx,
            db,
            &self.user_with_pending_email(&user),
            Purpose::EmailChange,
            &self.messages(),
        )
        .await?;
        let to_current = self.to_current.as_ref();
        let change = EmailChange {
            user_id: user.id,
            new: self.new.as_str(),
            new_hash: (self.to_new.hash.as_str(), self.to_new.row_id),
            current: to_current.map(|(address, mail)| (address.as_str(), mail.hash.as_str(), mail.row_id)),
            now: cx.now,
        };
        contact_changes::store_email_change(db, change).await.or_internal_error(UPDATE_FAILED)?;
        Ok(self.user_after_storing(cx, user))
    }

    /// The user after the change is stored.
    fn user_after_storing(&self, cx: &RequestContext, user: User) -> User {
        let to_current = self.to_current.as_ref();
        User {
            email_change: self.new.as_str().to_owned(),
            email_change_token_new: self.to_new.hash.as_str().to_owned(),
            email_change_token_current: to_current.map(|(_, token)| token.hash.as_str().to_owned()).unwrap_or_default(),
            email_change_sent_at: Some(cx.now),
            email_change_confirm_status: 0,
            updated_at: cx.now,
            ..user
        }
    }
}

/// A change of number whose message is sent.
#[derive(Debug)]
pub struct PhoneChangeToConfirm<'a> {
    new: &'a Phone,
    sms: SentSms,
}

/// Sends a confirmation to the new number.
pub async fn request_phone_change<'a>(
    cx: &RequestContext,
    user: &User,
    new: &'a Phone,
    channel: &SmsChannel,
) -> Result<PhoneChangeToConfirm<'a>> {
    limits::count_user_message(cx, &Contact::Phone(new.clone())).await?;
    let text = TokenSms { purpose: Purpose::PhoneChange, to: new.as_str(), channel };
    let pending = User { phone_change: new.as_str().to_owned(), ..user.clone() };
    Ok(PhoneChangeToConfirm { new, sms: messages::send_sms(cx, &pending, text).await? })
}

impl PhoneChangeToConfirm<'_> {
    /// Stores the pending number and its token hash. Returns the changed user.
    pub async fn store(&self, cx: &RequestContext, db: &mut Connection, user: User) -> Result<User> {
        let user = User { phone_change: self.new.as_str().to_owned(), ..user };
        self.sms.send_within_write(cx, db, &user).await?;
        let secret = SentToken {
            purpose: Purpose::PhoneChange,
            to: self.new.as_str(),
            hash: &self.sms.hash,
            row_id: messages::new_row_id(cx),
        };
        messages::store(cx, db, &user, secret, Vec::new()).await?;
        Ok(User {
            phone_change_token: self.sms.hash.as_str().to_owned(),
            phone_change_sent_at: Some(cx.now),
            updated_at: cx.now,
            ..user
        })
    }
}

/// Stores the first of two confirmations, that of this slot.
///
/// Returns `false` if a concurrent request stored one.
pub async fn store_first_confirmation(
    cx: &RequestContext,
    db: &mut Connection,
    user: &User,
    slot: OneTimeTokenKind,
) -> Result<bool> {
    contact_changes::confirm_email_change_half(db, user.id, slot, slot.stored_hash(user), cx.now)
        .await
        .or_internal_error(UPDATE_FAILED)
}

/// The contact that a change replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContactKind {
    /// `email_change` becomes the address.
    Email,
    /// `phone_change` becomes the number.
    Phone,
}

/// Applies a confirmed change and updates the providers in `app_metadata`.
///
/// Returns the changed user, or `None` if the token hashes changed since they were read.
pub async fn apply_confirmed(
    cx: &RequestContext,
    db: &mut Connection,
    user: &User,
    change: ContactKind,
) -> Result<Option<User>> {
    let after = user_after_change(cx, user.clone(), change);
    let after = User { app_metadata: app_metadata_with_providers(&after), ..after };
    let applied = AppliedContactChange {
        before: user,
        after: &after,
        identity: contact_identity(&after, change)?,
        app_metadata: Some(Value::Object(after.app_metadata.clone())),
        now: cx.now,
        audit: audit::build_rows(cx, user, [AuditEntry::new(AuditAction::UserModified)]),
    };
    Ok(write_change(db, change, applied).await?.then_some(after))
}

/// Applies a change that needs no confirmation.
///
/// As in GoTrue, `app_metadata` does not list its provider.
async fn apply_immediate(
    cx: &RequestContext,
    db: &mut Connection,
    user: &User,
    change: ContactKind,
    audit: Vec<AuditRow>,
) -> Result<User> {
    let after = user_after_change(cx, user.clone(), change);
    let identity = contact_identity(&after, change)?;
    let applied =
        AppliedContactChange { before: user, after: &after, identity, app_metadata: None, now: cx.now, audit };
    if write_change(db, change, applied).await? {
        return Ok(after);
    }
    Err(Error::internal(UPDATE_FAILED).with_cause("a concurrent request replaced the pending change"))
}

fn user_after_change(cx: &RequestContext, user: User, change: ContactKind) -> User {
    let effect = match change {
        ContactKind::Email => VerificationEffect::ChangeEmail,
        ContactKind::Phone => VerificationEffect::ChangePhone,
    };
    let after = apply_effect(effect, user, ConfirmationContext { identity: cx.entropy.uuid(), now: cx.now });
    User { updated_at: cx.now, ..after }
}

/// The user's own identity of the new address or number.
fn contact_identity(after: &User, change: ContactKind) -> Result<&Identity> {
    let provider = if change == ContactKind::Email { "email" } else { "phone" };
    let own = after.id.to_string();
    let found = after.identities.iter().find(|identity| identity.provider == provider && identity.provider_id == own);
    found.ok_or_else(|| Error::other(format!("the changed account lacks an identity of {provider}")))
}

async fn write_change(db: &mut Connection, change: ContactKind, applied: AppliedContactChange<'_>) -> Result<bool> {
    match change {
        ContactKind::Email => contact_changes::apply_email(db, applied).await.or_internal_error("Error confirm email"),
        ContactKind::Phone => {
            contact_changes::apply_phone(db, applied).await.or_internal_error("Error confirming user")
        }
    }
}
