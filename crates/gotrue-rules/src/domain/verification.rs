//! Verification of one-time codes and links: parsing, validity and effects.
//!
//! User lookups happen elsewhere, between these steps.

use foundation::email::Email;
use foundation::error::{Error, ErrorCode, Result};
use foundation::time::Time;

use super::ban::{BannedAttempt, require_not_banned};
use super::contact::{Contact, Phone};
use super::one_time_token::{LinkToken, OneTimeTokenKind, TokenHash, is_expired};
use super::policy::{Policy, SmsProvider};
use super::purpose::VerificationType;
use super::user::User;
use crate::wire::requests::VerifyRequest;

/// The token of a verification request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PresentedToken {
    Link(LinkToken),
    /// A code with its recipient.
    Code(OneTimeCode),
}

/// A one-time code and its recipient.
#[derive(Clone, PartialEq, Eq)]
pub struct OneTimeCode {
    /// The address or number of the request.
    pub contact: Contact,
    pub digits: String,
    /// The hash of recipient and code.
    pub hash: TokenHash,
}

/// The code is not printed.
impl std::fmt::Debug for OneTimeCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Code").finish_non_exhaustive()
    }
}

impl OneTimeCode {
    /// Whether an email change found by this code may be verified by a request of this audience.
    ///
    /// As in GoTrue, the audience counts only where the code was sent to the address of the request.
    pub fn allows_email_change(&self, user: &User, audience: &str) -> bool {
        let is_current = self.hash.matches_stored(&user.email_change_token_current);
        let current = user.email.as_deref().unwrap_or_default();
        let recipient = if is_current { current } else { &user.email_change };
        user.aud == audience || !recipient.eq_ignore_ascii_case(self.contact.as_str())
    }
}

/// What `GET` or `POST /verify` presents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerificationRequest {
    /// The `type`; `None` for an unknown one.
    pub verification_type: Option<VerificationType>,
    pub token: PresentedToken,
}

impl VerificationRequest {
    /// Parses `GET /verify`, whose `token` is that of a link; 400 `validation_failed` if a parameter is missing.
    pub fn from_link(kind: &str, token: &str) -> Result<Self> {
        require_type(kind)?;
        if token.is_empty() {
            return Err(Error::invalid("Verify requires a token or a token hash"));
        }
        Ok(Self {
            verification_type: VerificationType::parse(kind),
            token: PresentedToken::Link(LinkToken::parse(token)),
        })
    }

    /// Parses `POST /verify`: the token of a link alone, or a code with an address or a number.
    pub fn from_body(body: &VerifyRequest) -> Result<Self> {
        require_type(&body.kind)?;
        let presented = match (body.token.is_empty(), body.token_hash.is_empty()) {
            (true, false) => {
                if !(body.email.is_empty() && body.phone.is_empty() && body.redirect_to.is_empty()) {
                    return Err(Error::invalid("Only the token_hash and type should be provided"));
                }
                PresentedToken::Link(LinkToken::parse(&body.token_hash))
            }
            (false, true) => PresentedToken::Code(parse_code(body)?),
            _ => return Err(Error::invalid("Verify requires either a token or a token hash")),
        };
        Ok(Self { verification_type: VerificationType::parse(&body.kind), token: presented })
    }
}

fn require_type(kind: &str) -> Result<()> {
    if kind.is_empty() { Err(Error::invalid("Verify requires a verification type")) } else { Ok(()) }
}

fn parse_code(body: &VerifyRequest) -> Result<OneTimeCode> {
    let contact = match (body.email.is_empty(), body.phone.is_empty()) {
        (true, false) => Contact::Phone(Phone::parse(&body.phone)?),
        (false, true) => Contact::Email(Email::parse(&body.email).map_err(|cause| {
            Error::http(422, ErrorCode::ValidationFailed, "Invalid email format").with_cause(cause)
        })?),
        _ => return Err(Error::invalid("Only an email address or phone number should be provided on verify")),
    };
    let hash = TokenHash::new(contact.as_str(), &body.token);
    Ok(OneTimeCode { contact, digits: body.token.clone(), hash })
}

/// The lookup that finds the user of a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserLookup<'a> {
    /// By address.
    Email(&'a Email),
    /// By number.
    Phone(&'a Phone),
    /// By pending number.
    PendingPhone(&'a Phone),
    /// By the hash of an email change, with and without the PKCE prefix, in this order of columns.
    EmailChange(&'static [OneTimeTokenKind]),
    /// None: this type of code is not sent to such a contact.
    Impossible,
}

/// Selects the lookup. In an email change the current address requires secure email change.
pub fn select_lookup<'a>(kind: Option<VerificationType>, code: &'a OneTimeCode, policy: &Policy) -> UserLookup<'a> {
    match (kind, &code.contact) {
        (Some(VerificationType::PhoneChange), Contact::Phone(phone)) => UserLookup::PendingPhone(phone),
        (Some(VerificationType::Sms), Contact::Phone(phone)) => UserLookup::Phone(phone),
        (Some(VerificationType::EmailChange), _) if policy.mail.secure_email_change => {
            UserLookup::EmailChange(&[OneTimeTokenKind::EmailChangeCurrent, OneTimeTokenKind::EmailChangeNew])
        }
        (Some(VerificationType::EmailChange), _) => UserLookup::EmailChange(&[OneTimeTokenKind::EmailChangeNew]),
        (Some(VerificationType::PhoneChange | VerificationType::Sms), Contact::Email(_)) | (_, Contact::Phone(_)) => {
            UserLookup::Impossible
        }
        (_, Contact::Email(email)) => UserLookup::Email(email),
    }
}

/// Verifies a link for the user with its hash; returns the type, with `email` resolved.
pub fn verify_link(
    kind: Option<VerificationType>,
    hash: &TokenHash,
    user: Option<&User>,
    policy: &Policy,
    now: Time,
) -> Result<VerificationType> {
    let kind = require_link_type(kind)?;
    let user = user.ok_or_else(invalid_link)?;
    require_not_banned(user, BannedAttempt::Access, now)?;
    let kind = kind.resolve_for_link(hash, user);
    if is_expired(kind.token_kinds()[0].sent_at(user), policy.mail.otp_exp, now) {
        return Err(invalid_link());
    }
    Ok(kind)
}

/// Requires a type with links; 400 `validation_failed` for unknown types and SMS types.
pub fn require_link_type(kind: Option<VerificationType>) -> Result<VerificationType> {
    kind.filter(|kind| kind.link_token_kinds().is_some())
        .ok_or_else(|| Error::invalid("Invalid email verification type"))
}

/// Result of a local code check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeCheckResult {
    /// The code is valid: the type, with `email` resolved.
    Valid(VerificationType),
    /// Twilio Verify sent the code and must verify it; if it rejects, [`invalid_code`].
    RequiresTwilioCheck(VerificationType),
}

/// Verifies a code for the user found by its recipient.
pub fn verify_code(
    kind: Option<VerificationType>,
    code: &OneTimeCode,
    user: Option<&User>,
    policy: &Policy,
    now: Time,
) -> Result<CodeCheckResult> {
    let user = user.ok_or_else(invalid_code)?;
    require_not_banned(user, BannedAttempt::Access, now)?;
    let kind = kind.ok_or_else(invalid_code)?;
    if kind.is_by_phone() {
        return verify_sms_code(kind, code, user, policy, now);
    }
    let recent = |slot: OneTimeTokenKind| !is_expired(slot.sent_at(user), policy.mail.otp_exp, now);
    let holds = |slot: &&OneTimeTokenKind| recent(**slot) && code.hash.matches_stored(slot.stored_hash(user));
    match (kind, kind.token_kinds().iter().find(holds)) {
        (_, None) => Err(invalid_code()),
        (VerificationType::Email, Some(OneTimeTokenKind::Recovery)) => {
            Ok(CodeCheckResult::Valid(VerificationType::MagicLink))
        }
        (VerificationType::Email, Some(_)) => Ok(CodeCheckResult::Valid(VerificationType::SignUp)),
        (kind, Some(_)) => Ok(CodeCheckResult::Valid(kind)),
    }
}

/// Verifies an SMS code: a fixed code never expires, Twilio Verify checks its own codes.
fn verify_sms_code(
    kind: VerificationType,
    code: &OneTimeCode,
    user: &User,
    policy: &Policy,
    now: Time,
) -> Result<CodeCheckResult> {
    if policy.sms.test_code(code.contact.as_str(), now) == Some(code.digits.as_str()) {
        return Ok(CodeCheckResult::Valid(kind));
    }
    let is_requested = matches!(policy.sms.provider, Some(SmsProvider::TwilioVerify { .. }));
    if is_requested && policy.hooks.send_sms.is_none() {
        return Ok(CodeCheckResult::RequiresTwilioCheck(kind));
    }
    let slot = kind.token_kinds()[0];
    let is_good =
        !is_expired(slot.sent_at(user), policy.sms.otp_exp, now) && code.hash.matches_stored(slot.stored_hash(user));
    if is_good { Ok(CodeCheckResult::Valid(kind)) } else { Err(invalid_code()) }
}

/// Error of a code that is wrong, expired, of another type, or of an unknown user.
pub fn invalid_code() -> Error {
    Error::new(ErrorCode::OtpExpired, "Token has expired or is invalid")
}

/// Error of a link that is wrong, expired or used.
pub fn invalid_link() -> Error {
    Error::new(ErrorCode::OtpExpired, "Email link is invalid or has expired")
}

/// Effect of a valid code or link.
///
/// All effects but [`Self::FirstEmailConfirmation`] create a session and delete the user's one-time tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerificationEffect {
    /// The address is confirmed, also in its identities. Audit: `user_signedup`, provider `email`.
    ConfirmEmail {
        /// An invited user without a password gets a random one, which ends all sessions. So does one whose password
        /// was chosen before the invitation, where the policy drops contested passwords.
        should_set_password: bool,
    },
    /// The recovery token of a user with a confirmed address is consumed. Audit: `login`.
    Recover,
    /// As [`Self::Recover`], and the address is confirmed. Audit: `user_signedup`, provider `email`.
    RecoverAndConfirm {
        /// Where the policy drops contested passwords, a password from before the confirmation is replaced by a random
        /// one, which ends all sessions: the address was not verified when it was chosen.
        should_set_password: bool,
    },
    /// The number is confirmed; an anonymous user becomes permanent.
    /// Audit: `user_signedup`, provider `phone`.
    ConfirmPhone,
    /// The first of two confirmations of an email change: it is recorded, and its token is cleared.
    FirstEmailConfirmation(OneTimeTokenKind),
    /// The pending address replaces the current one. Audit: `user_modified`.
    ChangeEmail,
    /// The pending number replaces the current one. Audit: `user_modified`.
    ChangePhone,
}

/// Decides about the effect. `hash` determines which side of an email change is confirmed.
pub fn decide_effect(kind: VerificationType, hash: &TokenHash, user: &User, policy: &Policy) -> VerificationEffect {
    let is_contested = user.has_password() && policy.sign_up.should_drop_contested_password;
    match kind {
        VerificationType::SignUp | VerificationType::Invite | VerificationType::Email => {
            let should_set_password = user.invited_at.is_some() && (!user.has_password() || is_contested);
            VerificationEffect::ConfirmEmail { should_set_password }
        }
        VerificationType::MagicLink | VerificationType::Recovery if user.is_email_confirmed() => {
            VerificationEffect::Recover
        }
        VerificationType::MagicLink | VerificationType::Recovery => {
            VerificationEffect::RecoverAndConfirm { should_set_password: is_contested }
        }
        VerificationType::Sms => VerificationEffect::ConfirmPhone,
        VerificationType::PhoneChange => VerificationEffect::ChangePhone,
        VerificationType::EmailChange => {
            let both_confirm = policy.mail.secure_email_change && !policy.mail.autoconfirm && user.email.is_some();
            if !both_confirm || user.email_change_confirm_status != 0 {
                VerificationEffect::ChangeEmail
            } else if hash.matches_stored(&user.email_change_token_current) {
                VerificationEffect::FirstEmailConfirmation(OneTimeTokenKind::EmailChangeCurrent)
            } else {
                VerificationEffect::FirstEmailConfirmation(OneTimeTokenKind::EmailChangeNew)
            }
        }
    }
}

/// Response message of the first of two email change confirmations.
pub const FIRST_CONFIRMATION_ACCEPTED: &str =
    "Confirmation link accepted. Please proceed to confirm link sent to the other email";

/// Error of a link whose flow state is gone; sent by redirect, and the link stays unused.
pub fn flow_state_missing() -> Error {
    let cause = Error::http(422, ErrorCode::FlowStateNotFound, "No valid flow state found for user.");
    Error::http(400, ErrorCode::FlowStateNotFound, format!("No associated flow state found. {cause}"))
}

#[cfg(test)]
mod tests;
