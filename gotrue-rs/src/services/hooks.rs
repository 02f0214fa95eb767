//! Calls of the operator's hooks, one function per hook.
//!
//! A disabled hook changes nothing. `docs/architecture.md`, "When things happen", lists when each is called.

use std::time::Instant;

use foundation::error::{Error, ErrorCode, Result};
use foundation::error_chain::ErrorChain;
use gotrue_rules::domain::hook::{
    AttemptDecision, before_user_created_view, claims, mfa_rejected, parse_hook_error, password_rejected,
    validate_empty,
};
use gotrue_rules::domain::policy::HookKind;
use gotrue_rules::domain::user::User;
use gotrue_rules::wire::go_json;
use gotrue_rules::wire::hook::{
    AccessToken, EmailData, HookMetadata, HookPayload, MfaAttempt, PasswordAttempt, SendEmail, SendSms, Sms,
    UserCreated,
};
use gotrue_rules::wire::user::UserJson;
use platform::http_client::faults::{OutboundEffect, OutboundFault};
use platform::journal::Step;
use platform::store;
use platform::store::Connection;
use serde::Serialize;
use serde_json::{Map, Value, json};
use telemetry::catalog::{HOOK_CALLS, HOOK_DURATION};
use uuid::Uuid;

use crate::ports::hooks::{ReadyHook, Webhook};
use crate::request_context::RequestContext;
use crate::services::explanations;
use crate::store::hooks::{FUNCTION_TIMEOUT, HookFunction, HookTransaction, call};
use crate::store::sessions::{self, SessionSelection};

/// Calls the hook before a new user is stored; `data` is the user's own metadata.
///
/// A refusal stores nothing.
pub async fn call_before_user_created(cx: &RequestContext, user: &User, data: &Map<String, Value>) -> Result<()> {
    let kind = HookKind::BeforeUserCreated;
    if !cx.app.hooks.is_enabled(kind) {
        return Ok(());
    }
    let shown = before_user_created_view(user, data);
    let about = UserCreated { user: UserJson::from(&shown) };
    require_empty_output(
        invoke(cx, kind, HookTransaction::None(&mut cx.db().with_long_statements()), about).await?.as_deref(),
    )
}

/// Calls the hook after a new user is stored. A failure does not undo the insert.
pub async fn call_after_user_created(cx: &RequestContext, user: &User) -> Result<()> {
    let kind = HookKind::AfterUserCreated;
    if !cx.app.hooks.is_enabled(kind) {
        return Ok(());
    }
    let about = UserCreated { user: UserJson::from(user) };
    require_empty_output(
        invoke(cx, kind, HookTransaction::None(&mut cx.db().with_long_statements()), about).await?.as_deref(),
    )
}

/// Calls the access token hook and returns its claims; returns the given claims if the hook is off.
///
/// A database function runs in the transaction of `db`.
pub async fn customize_claims(
    cx: &RequestContext,
    db: &mut Connection,
    user_id: Uuid,
    method: &str,
    mut claims: Map<String, Value>,
) -> Result<Map<String, Value>> {
    let kind = HookKind::CustomAccessToken;
    if !cx.app.hooks.is_enabled(kind) {
        return Ok(claims);
    }
    if let Some(audience) = claims.get_mut("aud").filter(|_| cx.app.hooks.should_show_audience_as_list()) {
        *audience = Value::Array(vec![audience.take()]);
    }
    let about = AccessToken { user_id, claims: &claims, authentication_method: method };
    let output = invoke(cx, kind, HookTransaction::Current(db), about).await?;
    claims::parse_claims(output.as_deref())
}

/// Reports a password attempt to the hook.
///
/// # Errors
///
/// 400 if the hook rejects the attempt; all sessions of the user are deleted if the hook requests it. No connection may
/// be held.
pub async fn report_password_attempt(cx: &RequestContext, user_id: Uuid, is_right: bool) -> Result<()> {
    let kind = HookKind::PasswordVerificationAttempt;
    match invoke_for_verdict(cx, kind, PasswordAttempt { user_id, valid: is_right }).await? {
        AttemptDecision::Continue => Ok(()),
        AttemptDecision::Reject { message, should_end_sessions: ends_sessions } => {
            if ends_sessions {
                delete_sessions(cx, user_id).await?;
            }
            Err(recorded(cx, HookKind::PasswordVerificationAttempt, password_rejected(message)))
        }
    }
}

/// Reports an attempt with a second factor to the hook.
///
/// Security keys are not reported. No connection may be held.
///
/// # Errors
///
/// 403 if the hook rejects the attempt; all sessions of the user are deleted.
pub async fn report_mfa_attempt(cx: &RequestContext, attempt: MfaAttempt<'_>) -> Result<()> {
    let user_id = attempt.user_id;
    match invoke_for_verdict(cx, HookKind::MfaVerificationAttempt, attempt).await? {
        AttemptDecision::Continue => Ok(()),
        AttemptDecision::Reject { message, .. } => {
            delete_sessions(cx, user_id).await?;
            Err(recorded(cx, HookKind::MfaVerificationAttempt, mfa_rejected(message)))
        }
    }
}

/// Sends an e-mail through the hook, which must be enabled.
pub async fn send_email(
    cx: &RequestContext,
    within: HookTransaction<'_>,
    user: &User,
    mail: EmailData<'_>,
) -> Result<()> {
    let about = SendEmail { user: UserJson::from(user), email_data: mail };
    require_empty_output(invoke(cx, HookKind::SendEmail, within, about).await?.as_deref())
}

/// Sends a notification e-mail through the hook, which must be enabled, after the change is stored.
///
/// A database function runs in its own transaction.
pub async fn send_notice(cx: &RequestContext, user: &User, mail: EmailData<'_>) -> Result<()> {
    let about = SendEmail { user: UserJson::from(user), email_data: mail };
    require_empty_output(invoke_in_own_transaction(cx, HookKind::SendEmail, about).await?.as_deref())
}

/// Sends an SMS through the hook, which must be enabled.
pub async fn send_sms(cx: &RequestContext, within: HookTransaction<'_>, user: &User, text: Sms<'_>) -> Result<()> {
    let about = SendSms { user: UserJson::from(user), sms: text };
    require_empty_output(invoke(cx, HookKind::SendSms, within, about).await?.as_deref())
}

/// Records the refusal of a hook, and returns its error.
fn recorded(cx: &RequestContext, kind: HookKind, error: Error) -> Error {
    explanations::record_hook(cx, kind, &error);
    error
}

async fn delete_sessions(cx: &RequestContext, user_id: Uuid) -> Result<()> {
    Ok(sessions::delete(&mut cx.db(), user_id, SessionSelection::All, Vec::new()).await?)
}

async fn invoke_for_verdict<T: Serialize>(cx: &RequestContext, kind: HookKind, about: T) -> Result<AttemptDecision> {
    if !cx.app.hooks.is_enabled(kind) {
        return Ok(AttemptDecision::Continue);
    }
    let output = invoke_in_own_transaction(cx, kind, about).await?;
    output.as_deref().map_or(Ok(AttemptDecision::Continue), |output| AttemptDecision::parse(output, kind))
}

/// Invokes a hook outside a transaction; a database function gets its own.
async fn invoke_in_own_transaction<T: Serialize>(
    cx: &RequestContext,
    kind: HookKind,
    about: T,
) -> Result<Option<Vec<u8>>> {
    if cx.app.hooks.is_in_database(kind) {
        let own = cx.begin().await?;
        return invoke(cx, kind, HookTransaction::Separate(own), about).await;
    }
    invoke(cx, kind, HookTransaction::None(&mut cx.db().with_long_statements()), about).await
}

/// Invokes a hook and returns its output; an output that is an error becomes the error.
async fn invoke<T: Serialize>(
    cx: &RequestContext,
    kind: HookKind,
    within: HookTransaction<'_>,
    about: T,
) -> Result<Option<Vec<u8>>> {
    let started = Instant::now();
    let output = Box::pin(call_hook(cx, kind, within, about)).await;
    let outcome = match &output {
        Ok(_) => "ok",
        Err(error) if is_failure(error) => {
            tracing::warn!(hook = kind.as_str(), error = %ErrorChain(error), "hook failed");
            "failed"
        }
        Err(_) => "refused",
    };
    HOOK_CALLS.increment(&[kind.as_str(), outcome]);
    HOOK_DURATION.record(&[kind.as_str()], started.elapsed());
    output.inspect_err(|error| explanations::record_hook(cx, kind, error))
}

/// Whether a hook did not do its work, in contrast to a refusal by it.
fn is_failure(error: &Error) -> bool {
    use ErrorCode::{HookPayloadInvalidContentType, HookPayloadOverSizeLimit, HookTimeout, HookTimeoutAfterRetry};
    let is_of_hook = matches!(
        error.code(),
        HookTimeout | HookTimeoutAfterRetry | HookPayloadOverSizeLimit | HookPayloadInvalidContentType
    );
    is_of_hook || error.status() >= 500
}

async fn call_hook<T: Serialize>(
    cx: &RequestContext,
    kind: HookKind,
    within: HookTransaction<'_>,
    about: T,
) -> Result<Option<Vec<u8>>> {
    let metadata =
        HookMetadata { uuid: cx.entropy.uuid(), time: cx.app.clock.now(), name: kind, ip_address: cx.client_ip() };
    let payload = go_json::to_string(&HookPayload { metadata, data: about })
        .map_err(|cause| Error::internal("Error marshaling JSON input.").with_cause(cause))?;
    let output = match cx.app.hooks.get(kind) {
        Some(ReadyHook::Http(webhook)) => invoke_http(cx, webhook, &payload).await?,
        Some(ReadyHook::PgFunction { schema, name, uri }) => {
            let injected = inject_fault(cx, kind, &within, uri).await?;
            if injected.is_some() {
                injected
            } else {
                let called = call(within, HookFunction { schema, name }, &payload).await;
                called.map_err(|error| database_function_error(error, uri))?.map(String::into_bytes)
            }
        }
        Some(ReadyHook::Missing) | None => {
            return Err(Error::other(format!("the hook {} has no address", kind.as_str())));
        }
    };
    match output.as_deref().and_then(parse_hook_error) {
        Some(refused) => Err(refused),
        None => Ok(output),
    }
}

/// Applies the fault of a test environment to a database function.
///
/// Returns the output that replaces the call.
///
/// A status of 300 and more is the error object of a function with that status.
async fn inject_fault(
    cx: &RequestContext,
    kind: HookKind,
    within: &HookTransaction<'_>,
    uri: &str,
) -> Result<Option<Vec<u8>>> {
    let Some(OutboundFault { delay, effect }) = cx.app.http.find_fault(kind.as_str()) else { return Ok(None) };
    let limit = within.time_limit();
    let has_timed_out = effect == OutboundEffect::TimeOut || limit.is_some_and(|limit| delay >= limit);
    let wait = if has_timed_out { limit.unwrap_or(FUNCTION_TIMEOUT) } else { delay };
    cx.app.clock.timeout(wait).await;
    let failed = |cause: &'static str| Error::internal(format!("Error running hook URI: {uri}")).with_cause(cause);
    match effect {
        _ if has_timed_out => Err(failed("injected fault: the function took too long")),
        OutboundEffect::Refuse | OutboundEffect::TimeOut => Err(failed("injected fault: the function failed")),
        OutboundEffect::Continue => Ok(None),
        OutboundEffect::Respond { status: 200..300, body, .. } => Ok(Some(body)),
        OutboundEffect::Respond { status, .. } => {
            let error = json!({"error": {"http_code": status, "message": "injected fault"}});
            Ok(Some(error.to_string().into_bytes()))
        }
    }
}

async fn invoke_http(cx: &RequestContext, webhook: &Webhook, payload: &str) -> Result<Option<Vec<u8>>> {
    cx.journal.record_fallible(Step::Call("hooks.http")).await.map_err(Error::other)?;
    webhook.call(&cx.entropy, payload).await
}

fn require_empty_output(output: Option<&[u8]>) -> Result<()> {
    output.map_or(Ok(()), validate_empty)
}

/// The error of a database function.
///
/// `PTnnn` names the status of the response; a status below 200 is an internal error.
fn database_function_error(error: store::Error, uri: &str) -> Error {
    let status = error.sqlstate().and_then(|state| state.strip_prefix("PT")?.parse::<u16>().ok());
    match status {
        Some(1..=199) => Error::internal_server_error(error),
        _ => error.into_internal_error(format!("Error running hook URI: {uri}")),
    }
}
