//! `grant_type=password`: two statements, the look-up and the session.
//!
//! No connection is held during verification.

use foundation::error::{Result, WeakPasswordReason};
use foundation::error_chain::ErrorChain;
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::sign_in::{SignInDecision, SignInIdentifier, decide, invalid_credentials};
use gotrue_rules::domain::user::User;
use gotrue_rules::wire::requests::PasswordGrant;
use gotrue_rules::wire::session::{PasswordStrength, WeakPasswordJson};
use platform::store::OrInternalError;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::services::limits::Guess;
use crate::services::passwords::AfterDisconnect;
use crate::services::sessions::SessionExtras;
use crate::services::sessions::create::{Authentication, create_session_if_unchanged};
use crate::services::{equal_work, explanations, hooks, limits, passwords};
use crate::store::{stored_passwords, users};

/// Verifies the password and returns a session.
///
/// If the stored hash changes meanwhile, by a password change or a concurrent rehash, verification is repeated once.
pub(super) async fn grant_password(cx: &RequestContext) -> Result<Reply> {
    let request = PasswordGrant::decode(&cx.read_body().await?)?;
    let identifier = SignInIdentifier::parse(&request.email, &request.phone, &cx.app.policy.sign_up)?;
    for _ in 0..2 {
        if let Some(reply) = try_sign_in(cx, &request, &identifier).await? {
            return Ok(reply);
        }
    }
    Err(invalid_credentials())
}

/// One attempt; `None` if the stored hash has changed meanwhile.
async fn try_sign_in(
    cx: &RequestContext,
    request: &PasswordGrant,
    identifier: &SignInIdentifier,
) -> Result<Option<Reply>> {
    let found = find_user(cx, identifier).await?;
    let guess = limits::count_password_guess(cx, identifier.as_str(), found.as_ref().map(|user| user.id)).await?;
    let is_ban_confidential = cx.app.policy.security.is_ban_confidential;
    let decision = decide(found.as_ref(), identifier, None, is_ban_confidential, cx.now);
    if decision == SignInDecision::NoPassword {
        explanations::record_wrong_credentials(cx, found.as_ref());
        let worked = passwords::dummy_verify(cx, &request.password, AfterDisconnect::Skip).await;
        settle_guess(guess, worked.map(|()| false))?;
        return Err(decision.error());
    }
    let SignInDecision::Compare { user, hash } = decision else { return Err(decision.error()) };
    let is_correct =
        settle_guess(guess, passwords::is_correct(cx, &request.password, user, AfterDisconnect::Skip).await)?;
    let weak = if is_correct { passwords::weak_password_warning(cx, &request.password).await } else { None };
    hooks::report_password_attempt(cx, user.id, is_correct).await?;
    let decision = decide(found.as_ref(), identifier, Some(is_correct), is_ban_confidential, cx.now);
    if decision != SignInDecision::SignIn {
        explanations::record_sign_in(cx, &decision, user);
        return Err(decision.error());
    }
    let entry = AuditEntry::new(AuditAction::Login).with_trait("provider", identifier.provider());
    let authentication =
        Authentication { verified_hash: Some(hash), ..Authentication::new(user, "password", vec![entry]) };
    let Some(issued) = create_session_if_unchanged(cx, &mut cx.db(), authentication).await? else { return Ok(None) };
    rehash_password(cx, user, &request.password).await;
    let reasons: Vec<&str> =
        weak.iter().flat_map(|weak| &weak.reasons).map(|reason| WeakPasswordReason::as_str(*reason)).collect();
    let weak_password = match &weak {
        Some(weak) => PasswordStrength::Weak(WeakPasswordJson { message: &weak.message, reasons: &reasons }),
        None => PasswordStrength::Sufficient,
    };
    Ok(Some(issued.reply(SessionExtras { weak_password, ..SessionExtras::default() })))
}

/// Settles a guess by the result of the verification.
///
/// A failed verification, for example of an overloaded pool, is no guess.
fn settle_guess(guess: Guess, compared: Result<bool>) -> Result<bool> {
    match compared {
        Ok(true) => guess.release_correct(),
        Ok(false) => drop(guess),
        Err(_) => guess.release_unchecked(),
    }
    compared
}

async fn find_user(cx: &RequestContext, identifier: &SignInIdentifier) -> Result<Option<User>> {
    let found = match identifier {
        SignInIdentifier::Email(email) => equal_work::find_by_email(cx, email).await,
        SignInIdentifier::Phone(phone) => users::find_by_phone(&mut cx.db(), phone, &cx.audience()).await,
    };
    found.or_internal_error("Database error querying schema")
}

/// Stores the password anew if its stored form is outdated.
///
/// A failure is only logged: the sign-in has succeeded.
async fn rehash_password(cx: &RequestContext, user: &User, password: &str) {
    let stored = user.encrypted_password.as_deref().unwrap_or_default();
    let replaced = match passwords::rehash_if_outdated(cx, user, password).await {
        Ok(None) => Ok(0),
        Ok(Some(new)) => stored_passwords::rehash(&mut cx.db(), user.id, stored, &new).await.map_err(Into::into),
        Err(error) => Err(error),
    };
    if let Err(error) = replaced {
        tracing::warn!(user.id = %user.id, error = %ErrorChain(&error), "password rehash failed");
    }
}
