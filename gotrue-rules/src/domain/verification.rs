//! Redeeming a code or a link: how a request names it, whether it is good, and what it does
//! (`endpoints.md` §7.6–7.9). Looking accounts up is elsewhere, between the steps.

use super::contact::{Contact, Email, Phone};
use super::error::{Error, Result};
use super::one_time_token::{Slot, TokenHash, is_expired};
use super::policy::{Policy, SmsProvider};
use super::purpose::Kind;
use super::user::{Account, Time};
use crate::wire::requests::Verify;

/// What is presented.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presented {
    /// What a link carries: the stored hash as it is.
    Link(TokenHash),
    /// A code, with whom it was sent to.
    Code(Code),
}

/// A code and whom it was sent to.
#[derive(Clone, PartialEq, Eq)]
pub struct Code {
    /// The address or number that the request gives.
    pub contact: Contact,
    /// The digits.
    pub digits: String,
    /// The hash of both.
    pub hash: TokenHash,
}

/// A code is not printed.
impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Code").finish_non_exhaustive()
    }
}

/// A request to verify something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The `type`; `None` for a word that is none.
    pub kind: Option<Kind>,
    /// What is presented.
    pub presented: Presented,
}

impl Request {
    /// What `GET /verify` asks: `token` is the hash. 400 `validation_failed` if either is missing.
    pub fn of_link(kind: &str, token: &str) -> Result<Self> {
        require_kind(kind)?;
        if token.is_empty() {
            return Err(Error::invalid("Verify requires a token or a token hash"));
        }
        Ok(Self { kind: Kind::from_word(kind), presented: Presented::Link(TokenHash::from_link(token)) })
    }

    /// What `POST /verify` asks: a hash alone, or a code with an address or a number.
    pub fn of_body(body: &Verify) -> Result<Self> {
        require_kind(&body.kind)?;
        let presented = match (body.token.is_empty(), body.token_hash.is_empty()) {
            (true, false) => {
                if !(body.email.is_empty() && body.phone.is_empty() && body.redirect_to.is_empty()) {
                    return Err(Error::invalid("Only the token_hash and type should be provided"));
                }
                Presented::Link(TokenHash::from_link(&body.token_hash))
            }
            (false, true) => Presented::Code(code(body)?),
            _ => return Err(Error::invalid("Verify requires either a token or a token hash")),
        };
        Ok(Self { kind: Kind::from_word(&body.kind), presented })
    }
}

fn require_kind(kind: &str) -> Result<()> {
    if kind.is_empty() { Err(Error::invalid("Verify requires a verification type")) } else { Ok(()) }
}

fn code(body: &Verify) -> Result<Code> {
    let contact = match (body.email.is_empty(), body.phone.is_empty()) {
        (true, false) => Contact::Phone(Phone::parse(&body.phone)?),
        (false, true) => Contact::Email(
            Email::parse(&body.email)
                .map_err(|cause| Error::unprocessable("validation_failed", "Invalid email format").because(cause))?,
        ),
        _ => return Err(Error::invalid("Only an email address or phone number should be provided on verify")),
    };
    let hash = TokenHash::of(contact.as_str(), &body.token);
    Ok(Code { contact, digits: body.token.clone(), hash })
}

/// Where the account of a code is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookUp<'a> {
    /// By its address.
    Email(&'a Email),
    /// By its number.
    Phone(&'a Phone),
    /// By its pending number.
    PendingPhone(&'a Phone),
    /// By the hash of a change of address, with and without the PKCE prefix: in the first slot, then in the second.
    EmailChange(&'static [Slot]),
    /// Nowhere: the kind of code is not sent to such a contact.
    Nowhere,
}

/// Where the account of a code is looked up. With a change of address the old address counts only where both confirm.
pub fn look_up<'a>(kind: Option<Kind>, code: &'a Code, policy: &Policy) -> LookUp<'a> {
    match (kind, &code.contact) {
        (Some(Kind::PhoneChange), Contact::Phone(phone)) => LookUp::PendingPhone(phone),
        (Some(Kind::Sms), Contact::Phone(phone)) => LookUp::Phone(phone),
        (Some(Kind::EmailChange), _) if policy.mail.secure_email_change => {
            LookUp::EmailChange(&[Slot::EmailChangeCurrent, Slot::EmailChangeNew])
        }
        (Some(Kind::EmailChange), _) => LookUp::EmailChange(&[Slot::EmailChangeNew]),
        (Some(Kind::PhoneChange | Kind::Sms), Contact::Email(_)) | (_, Contact::Phone(_)) => LookUp::Nowhere,
        (_, Contact::Email(email)) => LookUp::Email(email),
    }
}

/// Whether a link is good, knowing whose hash it is: its kind then, with `email` resolved.
pub fn check_link(
    kind: Option<Kind>,
    hash: &TokenHash,
    account: Option<&Account>,
    policy: &Policy,
    now: Time,
) -> Result<Kind> {
    let kind = link_kind(kind)?;
    let account = account.ok_or_else(bad_link)?;
    check_ban(account, now)?;
    let kind = kind.found_by_link(hash, account);
    if is_expired(kind.slots()[0].sent_at(account), policy.mail.otp_exp, now) {
        return Err(bad_link());
    }
    Ok(kind)
}

/// The kind of a link; 400 `validation_failed` for a word that is none, and for kinds that are only sent as codes.
pub fn link_kind(kind: Option<Kind>) -> Result<Kind> {
    kind.filter(|kind| kind.link_slots().is_some()).ok_or_else(|| Error::invalid("Invalid email verification type"))
}

/// What is known of a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeCheck {
    /// It is good: the kind of verification, with `email` resolved.
    Good(Kind),
    /// Twilio Verify made it and must be asked; if it says no, [`bad_code`].
    AskTwilio(Kind),
}

/// Whether a code is good, knowing whose it would be.
pub fn check_code(
    kind: Option<Kind>,
    code: &Code,
    account: Option<&Account>,
    policy: &Policy,
    now: Time,
) -> Result<CodeCheck> {
    let account = account.ok_or_else(bad_code)?;
    check_ban(account, now)?;
    let kind = kind.ok_or_else(bad_code)?;
    if kind.is_by_phone() {
        return check_text(kind, code, account, policy, now);
    }
    let fresh = |slot: Slot| !is_expired(slot.sent_at(account), policy.mail.otp_exp, now);
    let holds = |slot: &&Slot| fresh(**slot) && code.hash.is_stored_as(slot.stored(account));
    match (kind, kind.slots().iter().find(holds)) {
        (_, None) => Err(bad_code()),
        (Kind::Email, Some(Slot::Recovery)) => Ok(CodeCheck::Good(Kind::MagicLink)),
        (Kind::Email, Some(_)) => Ok(CodeCheck::Good(Kind::SignUp)),
        (kind, Some(_)) => Ok(CodeCheck::Good(kind)),
    }
}

/// A code that was sent as a text: a fixed one is good at any age, Twilio Verify knows its own.
fn check_text(kind: Kind, code: &Code, account: &Account, policy: &Policy, now: Time) -> Result<CodeCheck> {
    if policy.sms.test_code(code.contact.as_str(), now) == Some(code.digits.as_str()) {
        return Ok(CodeCheck::Good(kind));
    }
    let is_asked = matches!(policy.sms.provider, Some(SmsProvider::TwilioVerify { .. }));
    if is_asked && policy.hooks.send_sms.is_none() {
        return Ok(CodeCheck::AskTwilio(kind));
    }
    let slot = kind.slots()[0];
    let is_good =
        !is_expired(slot.sent_at(account), policy.sms.otp_exp, now) && code.hash.is_stored_as(slot.stored(account));
    if is_good { Ok(CodeCheck::Good(kind)) } else { Err(bad_code()) }
}

/// The one answer to a code that is wrong, too old, of another kind, or of nobody.
pub fn bad_code() -> Error {
    Error::forbidden("otp_expired", "Token has expired or is invalid")
}

/// The one answer to a link that is wrong, too old or used.
pub fn bad_link() -> Error {
    Error::forbidden("otp_expired", "Email link is invalid or has expired")
}

fn check_ban(account: &Account, now: Time) -> Result<()> {
    if account.is_banned(now) { Err(Error::forbidden("user_banned", "User is banned")) } else { Ok(()) }
}

/// What a good code or link does. All but the half of a change end in a session and empty the account's row of
/// one-time tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The address is confirmed, also in the identities that have it. Audit: `user_signedup`, provider `email`.
    ConfirmEmail {
        /// An invited account without a password gets a random one, which ends all its sessions.
        with_password: bool,
    },
    /// The recovery secret is used up by an account whose address is confirmed. Audit: `login`.
    Recover,
    /// The same, and the address is confirmed. Audit: `user_signedup`, provider `email`.
    RecoverAndConfirm,
    /// The number is confirmed; an anonymous account becomes a permanent one. Audit: `user_signedup`, provider
    /// `phone`.
    ConfirmPhone,
    /// One of two confirmations of an address change, which is only written down: this slot is emptied.
    HalfEmailChange(Slot),
    /// The pending address takes the place of the old one. Audit: `user_modified`.
    ChangeEmail,
    /// The pending number takes the place of the old one. Audit: `user_modified`.
    ChangePhone,
}

/// What a good code or link does. `hash` tells which half of an address change is confirmed.
pub fn effect(kind: Kind, hash: &TokenHash, account: &Account, policy: &Policy) -> Effect {
    match kind {
        Kind::SignUp | Kind::Invite | Kind::Email => {
            Effect::ConfirmEmail { with_password: account.invited_at.is_some() && !account.has_password() }
        }
        Kind::MagicLink | Kind::Recovery if account.is_email_confirmed() => Effect::Recover,
        Kind::MagicLink | Kind::Recovery => Effect::RecoverAndConfirm,
        Kind::Sms => Effect::ConfirmPhone,
        Kind::PhoneChange => Effect::ChangePhone,
        Kind::EmailChange => {
            let both_confirm = policy.mail.secure_email_change && !policy.mail.autoconfirm && account.email.is_some();
            if !both_confirm || account.email_change_confirm_status != 0 {
                Effect::ChangeEmail
            } else if hash.is_stored_as(&account.email_change_token_current) {
                Effect::HalfEmailChange(Slot::EmailChangeCurrent)
            } else {
                Effect::HalfEmailChange(Slot::EmailChangeNew)
            }
        }
    }
}

/// What the first of two confirmations of an address change is answered with.
pub const HALF_ACCEPTED: &str = "Confirmation link accepted. Please proceed to confirm link sent to the other email";

/// The error of a link whose flow is gone: told by redirect, and the link stays unused.
pub fn no_flow() -> Error {
    let cause = Error::unprocessable("flow_state_not_found", "No valid flow state found for user.");
    Error::bad_request("flow_state_not_found", format!("No associated flow state found. {cause}"))
}

#[cfg(test)]
mod tests;
