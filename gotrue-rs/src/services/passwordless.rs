//! Sign-in without a password: a magic link with a code, or an SMS code.
//!
//! Unknown and unconfirmed users are signed up; the message that confirms them signs them in as well.

use foundation::email::Email;
use foundation::error::Result;
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::contact::{Contact, Phone, SmsChannel};
use gotrue_rules::domain::passwordless::{parse_magic_link_recipient, parse_sms_recipient};
use gotrue_rules::domain::pkce::Challenge;
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::domain::user::User;
use gotrue_rules::wire::requests::{MagicLinkRequest, SignUpRequest};
use platform::store;
use platform::store::OrInternalError;
use serde_json::{Map, Value};

use super::messages::{TokenEmail, TokenSms, decoys, send_sms_to_user, send_to_user};
use super::sign_up::{RegistrationAttempt, SignUpResult, find_by_contact, register_without_password};
use super::{audit, equal_work, limits, pkce};
use crate::request_context::RequestContext;
use crate::store::users;

const LOOKUP_FAILED: &str = "Database error finding user";

/// Finds the user of an address or number in the request's audience.
pub async fn find_user(cx: &RequestContext, contact: &Contact) -> store::Result<Option<User>> {
    match contact {
        Contact::Email(email) => equal_work::find_by_email(cx, email.as_str()).await,
        Contact::Phone(phone) => users::find_by_phone(&mut cx.db(), phone.as_str(), &cx.audience()).await,
    }
}

/// Signs up an unknown or unconfirmed user.
///
/// Returns the user if it is confirmed at once, as it is stored, and `None` if a confirmation was sent. The session of
/// a user that is confirmed at once is returned to no client. A user that a concurrent request created and confirmed is
/// treated as an existing one.
async fn sign_up_if_needed(
    cx: &RequestContext,
    sign_up_request: SignUpRequest,
    contact: &Contact,
) -> Result<Option<User>> {
    let repeated = match Box::pin(register_without_password(cx, sign_up_request)).await? {
        RegistrationAttempt::Accepted(SignUpResult::SignedIn(_)) => {
            return find_user(cx, contact).await.or_internal_error(LOOKUP_FAILED);
        }
        RegistrationAttempt::Accepted(SignUpResult::Unconfirmed(_) | SignUpResult::Obfuscated(_)) => return Ok(None),
        RegistrationAttempt::Repeated(repeated) => repeated,
    };
    let is_confirmed = |user: &User| match contact {
        Contact::Email(_) => user.is_email_confirmed(),
        Contact::Phone(_) => user.is_phone_confirmed(),
    };
    match find_user(cx, contact).await.or_internal_error(LOOKUP_FAILED)?.filter(is_confirmed) {
        Some(user) => Ok(Some(user)),
        None => repeated.respond(cx).await.map(|_| None),
    }
}

/// Sends a magic link and a code. `known` is the user, if it is already loaded.
pub async fn send_magic_link(cx: &RequestContext, request: MagicLinkRequest, known: Option<User>) -> Result<()> {
    let email = parse_magic_link_recipient(&request)?;
    let contact = Contact::Email(email.clone());
    limits::count_public_message(cx, &contact).await?;
    let known = match known {
        Some(known) => Some(known),
        None => find_user(cx, &contact).await.or_internal_error(LOOKUP_FAILED)?,
    };
    let challenge = Challenge::new(&request.pkce.challenge, &request.pkce.method)?;
    let sign_up_request =
        SignUpRequest { email: request.email, data: request.data, pkce: request.pkce, ..SignUpRequest::default() };
    let user = match known.filter(User::is_email_confirmed) {
        Some(user) if decoys::is_enabled(cx) => {
            return send_link_as_if_new(cx, &user, &contact, challenge.as_ref()).await;
        }
        Some(user) => Some(user),
        None => sign_up_if_needed(cx, sign_up_request, &contact).await?,
    };
    let Some(user) = user else { return Ok(()) };
    send_link(cx, &user, Purpose::MagicLink, &email, challenge.as_ref()).await
}

/// Sends a magic link to an existing user with the work of a sign-up.
///
/// The duration then does not tell whether the user existed.
async fn send_link_as_if_new(
    cx: &RequestContext,
    user: &User,
    contact: &Contact,
    challenge: Option<&Challenge>,
) -> Result<()> {
    find_by_contact(cx, &mut cx.db(), contact).await?;
    let rows = audit::build_rows(cx, user, [AuditEntry::new(AuditAction::UserRecoveryRequested)]);
    let email_message =
        TokenEmail { purpose: Purpose::MagicLink, to: contact.as_str(), pkce: challenge.is_some(), new_email: None };
    decoys::send_as_if_new(cx, user, email_message, challenge, rows).await
}

/// Sends a magic link or a recovery link, with a code, to an existing user.
pub async fn send_link(
    cx: &RequestContext,
    user: &User,
    purpose: Purpose,
    email: &Email,
    challenge: Option<&Challenge>,
) -> Result<()> {
    if let Some(challenge) = challenge {
        // Stays stored if the e-mail is refused, as in GoTrue.
        pkce::store_challenge(cx, &mut cx.db(), user.id, challenge, purpose).await?;
    }
    let rows = audit::build_rows(cx, user, [AuditEntry::new(AuditAction::UserRecoveryRequested)]);
    let email_message = TokenEmail { purpose, to: email.as_str(), pkce: challenge.is_some(), new_email: None };
    send_to_user(cx, user, email_message, rows).await
}

/// A request for an SMS code.
#[derive(Debug, Default)]
pub struct SmsCodeRequest {
    /// The phone number as received.
    pub phone: String,
    /// The channel as received; `""` means `sms`.
    pub channel: String,
    /// The metadata of a new user.
    pub data: Option<Map<String, Value>>,
}

/// Sends an SMS code; returns the message id if the response contains one.
///
/// `known` is the user, if it is already loaded.
pub async fn send_sms_code(cx: &RequestContext, caller: SmsCodeRequest, known: Option<User>) -> Result<Option<String>> {
    let (phone, channel) = parse_sms_recipient(&caller.phone, &caller.channel, &cx.app.policy)?;
    let contact = Contact::Phone(phone.clone());
    limits::count_public_message(cx, &contact).await?;
    let known = match known {
        Some(known) => Some(known),
        None => find_user(cx, &contact).await.or_internal_error(LOOKUP_FAILED)?,
    };
    let sign_up_request =
        SignUpRequest { phone: caller.phone, channel: caller.channel, data: caller.data, ..SignUpRequest::default() };
    let user = match known.filter(User::is_phone_confirmed) {
        Some(user) => Some(user),
        None => sign_up_if_needed(cx, sign_up_request, &contact).await?,
    };
    let Some(user) = user else { return Ok(None) };
    send_code(cx, &user, &phone, &channel).await
}

async fn send_code(cx: &RequestContext, user: &User, phone: &Phone, channel: &SmsChannel) -> Result<Option<String>> {
    let entry = AuditEntry::new(AuditAction::UserRecoveryRequested).with_trait("channel", channel.as_str());
    let text = TokenSms { purpose: Purpose::Sms, to: phone.as_str(), channel };
    send_sms_to_user(cx, user, text, audit::build_rows(cx, user, [entry])).await
}
