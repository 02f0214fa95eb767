//! Records decisions for their explanation, and looks up what became of secrets and sessions.
//!
//! The look-ups read memory, and only in development: the work is the same for known and unknown accounts.

use foundation::error::Error;
use foundation::explanation::DecisionRecord;
use foundation::time::Time;
use gotrue_rules::domain::explanation::redirect::explain_target;
use gotrue_rules::domain::explanation::refresh::{ReusedToken, explain_reuse, explain_validity};
use gotrue_rules::domain::explanation::tokens::explain_token;
use gotrue_rules::domain::explanation::verification::{RefusedSecret, SecretFate, explain_secret};
use gotrue_rules::domain::one_time_token::{PKCE_PREFIX, TokenHash};
use gotrue_rules::domain::policy::{HookKind, PROVIDERS};
use gotrue_rules::domain::session::Session;
use gotrue_rules::domain::session_rules::SessionValidity;
use gotrue_rules::domain::sign_in::SignInDecision;
use gotrue_rules::domain::user::User;
use platform::explanation::history::{RequestRef, SecretRecord, digest_secret};
use platform::journal::SecretDigest;
use uuid::Uuid;

use crate::request_context::RequestContext;

/// Returns the digest of a one-time token, which is the same for its link and its code.
pub fn digest_token(hash: &TokenHash) -> SecretDigest {
    digest_secret(hash.as_str().strip_prefix(PKCE_PREFIX).unwrap_or(hash.as_str()))
}

/// Records that this redirect target is not used, if it is not listed.
pub fn record_target(cx: &RequestContext, requested: &str) {
    if let Some(decision) = explain_target(&cx.app.redirect_allow_list, requested) {
        cx.journal.record_decision(decision);
    }
}

/// Records why a captcha was refused.
pub fn record_captcha(cx: &RequestContext, reason: &str) {
    let provider = cx.app.policy.security.captcha.as_ref().map(|captcha| format!("{:?}", captcha.provider));
    let decision = DecisionRecord::refused("captcha.refused", format!("The captcha was refused: {reason}."))
        .with_setting("GOTRUE_SECURITY_CAPTCHA_ENABLED")
        .with_value("true")
        .with_input("provider", provider)
        .with_input("reason", reason)
        .with_remedy(
            "Send a new token of the widget as `gotrue_meta_security.captcha_token`; its site key must belong to the \
             configured secret. For tests, switch {setting} off.",
        );
    cx.journal.record_decision(decision);
}

/// Records that a session has ended, and which request ended it.
///
/// `client_id` is the claim of that name, which tokens of OAuth clients have.
pub fn record_ended_session(cx: &RequestContext, user_id: Uuid, session_id: Uuid, client_id: Option<&str>) {
    let client_id = client_id.and_then(|id| Uuid::parse_str(id).ok());
    let ended_by = cx.history().and_then(|history| history.find_session_end(user_id, session_id, client_id));
    let by = ended_by.as_ref().map_or_else(String::new, |by| format!(", by the request {}", by.route));
    let decision = DecisionRecord::refused("session.ended", format!("The session of the token has ended{by}."))
        .with_input("session_id", session_id.to_string())
        .with_input("ended_by", ended_by.as_deref().map(RequestRef::to_json))
        .with_remedy(
            "Sign in again. A sign-out, a password change, a second factor presented in another session, the \
             revocation of a consent and the deletion of the user end sessions.",
        );
    cx.journal.record_decision(decision);
}

/// Records why a session is not valid any more.
pub fn record_invalid_session(
    cx: &RequestContext,
    validity: SessionValidity,
    session: &Session,
    token_time: Option<Time>,
) {
    if let Some(decision) = explain_validity(validity, session, token_time, &cx.app.policy.sessions) {
        cx.journal.record_decision(decision);
    }
}

/// Records that the code of a PKCE flow is unknown, or which request exchanged it.
pub fn record_unknown_code(cx: &RequestContext, code: &str) {
    let used_by = cx.history().and_then(|history| history.find_secret(digest_secret(code))?.used_by);
    let (name, reason) = match &used_by {
        Some(by) => ("pkce.code_used", format!("The code was exchanged before, by the request {}.", by.id)),
        None => ("pkce.code_unknown", "The code is not that of a pending flow.".to_owned()),
    };
    let decision = DecisionRecord::refused(name, reason)
        .with_input("exchanged_by", used_by.as_deref().map(RequestRef::to_json))
        .with_remedy("Exchange a code once: a page that renders twice must not exchange it twice.");
    cx.journal.record_decision(decision);
}

/// Records the reuse of a refresh token with both uses.
pub fn record_reuse(cx: &RequestContext, token: &str, first_use: Option<Time>, ends_session: bool) {
    let first = cx.history().and_then(|history| history.find_secret(digest_secret(token))?.used_by);
    let first_use = first.as_ref().map(|by| by.at).or(first_use);
    let reused = ReusedToken { first_use, second_use: cx.now, policy: &cx.app.policy.refresh, ends_session };
    let second = cx.client_ip().filter(|_| cx.journal.is_traced()).map(|address| address.to_string());
    let decision = explain_reuse(&reused)
        .with_input("first_used_by", first.as_deref().map(RequestRef::to_json))
        .with_input("second_client", second)
        .with_input("second_user_agent", cx.request.user_agent());
    cx.journal.record_decision(decision);
}

/// The form of a one-time secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretKind {
    /// A link of an e-mail.
    Link,
    /// A code of an e-mail.
    EmailCode,
    SmsCode,
}

/// Records what became of a refused code or link; in development only.
pub fn record_refused_secret(cx: &RequestContext, hash: &TokenHash, kind: SecretKind) {
    let Some(history) = cx.history() else { return };
    let policy = &cx.app.policy;
    let lifetime = if kind == SecretKind::SmsCode { policy.sms.otp_exp } else { policy.mail.otp_exp };
    let record = history.find_secret(digest_token(hash)).unwrap_or_default();
    let SecretRecord { issued_by, used_by, superseded_by } = &record;
    let fate = match (used_by, superseded_by, issued_by) {
        (Some(by), _, _) => SecretFate::Used(by.at),
        (None, Some(by), _) => SecretFate::Superseded(by.at),
        (None, None, Some(by)) if cx.now > by.at + lifetime => SecretFate::Expired(by.at),
        (None, None, Some(_)) => SecretFate::Mismatched,
        (None, None, None) => SecretFate::Unknown,
    };
    let refused = RefusedSecret { is_code: kind != SecretKind::Link, fate, lifetime, now: cx.now };
    let mut decision = explain_secret(refused);
    if kind == SecretKind::SmsCode {
        decision = decision.with_setting("GOTRUE_SMS_OTP_EXP");
    }
    let requests = [("issued_by", issued_by), ("used_by", used_by), ("superseded_by", superseded_by)];
    for (name, by) in requests {
        decision = decision.with_input(name, by.as_deref().map(RequestRef::to_json));
    }
    cx.journal.record_decision(decision);
}

/// Records which hook refused or failed, and how.
pub fn record_hook(cx: &RequestContext, kind: HookKind, error: &Error) {
    let uri =
        cx.app.policy.hooks.get(kind).map(|hook| hook.uri.split(['?', '#']).next().unwrap_or_default().to_owned());
    let decision = DecisionRecord::refused("hook.refused", format!("The hook {} refused the request.", kind.as_str()))
        .with_setting(kind.uri_setting())
        .with_value(kind.as_str())
        .with_input("hook", kind.as_str())
        .with_input("uri", uri.filter(|uri| !uri.contains('@')))
        .with_input("status", error.status())
        .with_input("message", error.message())
        .with_remedy("Change the answer of the hook, or remove {setting}. A failed call has its cause in the log.");
    cx.journal.record_decision(decision);
}

/// Records why an external provider cannot be used.
pub fn record_provider(cx: &RequestContext, name: &str, reason: &str) {
    let name = name.to_lowercase();
    let Some(known) = PROVIDERS.into_iter().find(|known| *known == name) else {
        let decision = DecisionRecord::refused("provider.unknown", "No built-in provider has this name.")
            .with_input("reason", reason)
            .with_input("known", PROVIDERS.to_vec())
            .with_remedy("Use a listed name, or add a custom provider at `/admin/custom-providers`.");
        return cx.journal.record_decision(decision);
    };
    let settings = cx.app.policy.external.provider(known);
    let variable = |part: &str| format!("GOTRUE_EXTERNAL_{}_{part}", known.to_uppercase());
    let decision = match settings.filter(|settings| settings.enabled) {
        None => DecisionRecord::refused("provider.disabled", format!("The provider {known} is disabled."))
            .with_setting(variable("ENABLED"))
            .with_value("false")
            .with_remedy("Set {setting} to true, with client id and secret of the provider."),
        Some(_) => DecisionRecord::refused("provider.incomplete", format!("The provider {known} cannot be used."))
            .with_setting(variable("CLIENT_ID"))
            .with_remedy("Complete the settings of the provider; the reason names what is missing."),
    };
    cx.journal.record_decision(decision.with_input("provider", known).with_input("reason", reason));
}

/// Records why an ID token of a provider is refused.
pub fn record_id_token(cx: &RequestContext, token: &str, reason: &str) {
    let mut decision = explain_token(token, reason, cx.app.clock.now());
    if decision.name == "token.invalid" {
        decision.reason = "The ID token is not one of this provider for this server.".into();
        decision =
            decision.with_remedy("Compare issuer, client id and signing keys of the provider with its settings.");
    }
    cx.journal.record_decision(decision);
}

/// Records whether the account or its password is missing; in development only.
pub fn record_wrong_credentials(cx: &RequestContext, found: Option<&User>) {
    if !cx.journal.is_traced() {
        return;
    }
    let decision = match found {
        None => DecisionRecord::refused("sign_in.unknown_account", "No account has this address or number.")
            .with_input("audience", cx.audience())
            .with_remedy("Sign up first. The response does not tell clients whether an account exists."),
        Some(user) => DecisionRecord::refused("sign_in.no_password", "The account has no password.")
            .with_input("user_id", user.id.to_string())
            .with_remedy("Sign in by a link, a code or a provider, or set a password by a recovery."),
    };
    cx.journal.record_decision(decision);
}

/// Records why a user with a password is not signed in.
///
/// That a password is wrong is recorded in development only.
pub fn record_sign_in(cx: &RequestContext, decision: &SignInDecision<'_>, user: &User) {
    let unconfirmed = |what, setting: &'static str, sent_at: Option<Time>| {
        DecisionRecord::refused("sign_in.unconfirmed", format!("The {what} of the account is not confirmed."))
            .with_setting(setting)
            .with_value("false")
            .with_input("user_id", user.id.to_string())
            .with_input("confirmation_sent_at", sent_at.map(|at| at.to_rfc3339()))
            .with_remedy(
                "Confirm it by the message, which is in the inbox at /_dev/inbox in development; `/resend` sends \
                 another one. {setting} decides whether confirmation is required.",
            )
    };
    let record = match decision {
        SignInDecision::EmailNotConfirmed => {
            unconfirmed("address", "GOTRUE_MAILER_AUTOCONFIRM", user.confirmation_sent_at)
        }
        SignInDecision::PhoneNotConfirmed => unconfirmed("number", "GOTRUE_SMS_AUTOCONFIRM", user.confirmation_sent_at),
        SignInDecision::WrongPassword if cx.journal.is_traced() => {
            DecisionRecord::refused("sign_in.wrong_password", "The account exists, and the password is another one.")
                .with_input("user_id", user.id.to_string())
                .with_remedy("Send the password of the account, or set a new one by a recovery.")
        }
        _ => return,
    };
    cx.journal.record_decision(record);
}
