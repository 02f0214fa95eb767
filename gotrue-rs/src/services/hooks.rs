//! What the operator's hooks are asked and told: a function for each of them. One that is off changes nothing. When
//! each is called is the flows' affair; `docs/architecture.md`, "When things happen".

use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::hook::{
    Verdict, before_stored, check_empty, claims, mfa_rejected, password_rejected, refusal,
};
use gotrue_rules::domain::policy::HookKind;
use gotrue_rules::domain::user::Account;
use gotrue_rules::wire::hook::{
    AccessToken, EmailData, Event, Metadata, MfaAttempt, PasswordAttempt, SendEmail, SendSms, Sms, UserCreated,
};
use gotrue_rules::wire::user::UserJson;
use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::cx::Cx;
use crate::journal::Step;
use crate::ports::hooks::{Ready, Webhook};
use crate::store::hooks::{Function, Within, call};
use crate::store::sessions::{self, Ending};
use crate::store::{self, Connection};

/// Asks whether a new account may be stored; `data` is what its owner says of themselves. Before the write, so that
/// nothing is stored when it is refused.
pub async fn before_user_created(cx: &Cx, account: &Account, data: &Map<String, Value>) -> Result<()> {
    let kind = HookKind::BeforeUserCreated;
    if !cx.app.hooks.is_on(kind) {
        return Ok(());
    }
    let shown = before_stored(account, data);
    let about = UserCreated { user: UserJson::from(&shown) };
    read_nothing(invoke(cx, kind, Within::None(&mut cx.db().with_long_statements()), about).await?.as_deref())
}

/// Tells of a new account, once it is stored. It stays stored when the hook fails.
pub async fn after_user_created(cx: &Cx, account: &Account) -> Result<()> {
    let kind = HookKind::AfterUserCreated;
    if !cx.app.hooks.is_on(kind) {
        return Ok(());
    }
    let about = UserCreated { user: UserJson::from(account) };
    read_nothing(invoke(cx, kind, Within::None(&mut cx.db().with_long_statements()), about).await?.as_deref())
}

/// The claims that a token is to have in the place of these; these, if the hook is off. A function of the database runs
/// in the transaction that `db` is.
pub async fn custom_access_token(
    cx: &Cx,
    db: &mut Connection,
    user_id: Uuid,
    method: &str,
    mut claims: Map<String, Value>,
) -> Result<Map<String, Value>> {
    let kind = HookKind::CustomAccessToken;
    if !cx.app.hooks.is_on(kind) {
        return Ok(claims);
    }
    if let Some(audience) = claims.get_mut("aud").filter(|_| cx.app.hooks.shows_audience_as_list()) {
        *audience = Value::Array(vec![audience.take()]);
    }
    let about = AccessToken { user_id, claims: &claims, authentication_method: method };
    let output = invoke(cx, kind, Within::This(db), about).await?;
    claims::read(output.as_deref())
}

/// Tells of an attempt with a password, right or wrong, and refuses it if the hook says so: 400, and all sessions of
/// the account are ended if it says that too. No connection may be held.
pub async fn password_verification(cx: &Cx, user_id: Uuid, is_right: bool) -> Result<()> {
    let kind = HookKind::PasswordVerificationAttempt;
    match judge(cx, kind, PasswordAttempt { user_id, valid: is_right }).await? {
        Verdict::Continue => Ok(()),
        Verdict::Reject { message, ends_sessions } => {
            if ends_sessions {
                sign_out(cx, user_id).await?;
            }
            Err(password_rejected(message))
        }
    }
}

/// Tells of an attempt with a second factor, right or wrong. If the hook rejects it, all sessions of the account are
/// ended and the error is what the attempt is answered with (403). No connection may be held. Security keys are not
/// put to this hook.
pub async fn mfa_verification(cx: &Cx, attempt: MfaAttempt<'_>) -> Result<()> {
    let user_id = attempt.user_id;
    match judge(cx, HookKind::MfaVerificationAttempt, attempt).await? {
        Verdict::Continue => Ok(()),
        Verdict::Reject { message, .. } => {
            sign_out(cx, user_id).await?;
            Err(mfa_rejected(message))
        }
    }
}

/// Has a mail sent; only where the hook is on.
pub async fn send_email(cx: &Cx, within: Within<'_>, account: &Account, mail: EmailData<'_>) -> Result<()> {
    let about = SendEmail { user: UserJson::from(account), email_data: mail };
    read_nothing(invoke(cx, HookKind::SendEmail, within, about).await?.as_deref())
}

/// Has a mail sent that tells of something done, once that is stored; only where the hook is on. A function of the
/// database runs in a transaction of its own.
pub async fn send_notice(cx: &Cx, account: &Account, mail: EmailData<'_>) -> Result<()> {
    let about = SendEmail { user: UserJson::from(account), email_data: mail };
    read_nothing(invoke_alone(cx, HookKind::SendEmail, about).await?.as_deref())
}

/// Has a text sent; only where the hook is on.
pub async fn send_sms(cx: &Cx, within: Within<'_>, account: &Account, text: Sms<'_>) -> Result<()> {
    let about = SendSms { user: UserJson::from(account), sms: text };
    read_nothing(invoke(cx, HookKind::SendSms, within, about).await?.as_deref())
}

async fn sign_out(cx: &Cx, user_id: Uuid) -> Result<()> {
    Ok(sessions::delete(&mut cx.db(), user_id, Ending::All, Vec::new()).await?)
}

async fn judge<T: Serialize>(cx: &Cx, kind: HookKind, about: T) -> Result<Verdict> {
    if !cx.app.hooks.is_on(kind) {
        return Ok(Verdict::Continue);
    }
    let output = invoke_alone(cx, kind, about).await?;
    output.as_deref().map_or(Ok(Verdict::Continue), |output| Verdict::read(output, kind))
}

/// Where there is no transaction, a function of the database gets one of its own.
async fn invoke_alone<T: Serialize>(cx: &Cx, kind: HookKind, about: T) -> Result<Option<Vec<u8>>> {
    if cx.app.hooks.is_in_database(kind) {
        let own = cx.begin().await?;
        return invoke(cx, kind, Within::Own(own), about).await;
    }
    invoke(cx, kind, Within::None(&mut cx.db().with_long_statements()), about).await
}

/// The output, unless it refuses; `None` if there is none.
async fn invoke<T: Serialize>(cx: &Cx, kind: HookKind, within: Within<'_>, about: T) -> Result<Option<Vec<u8>>> {
    let metadata =
        Metadata { uuid: cx.entropy.uuid(), time: cx.app.clock.now(), name: kind, ip_address: cx.client_ip() };
    let payload = serde_json::to_string(&Event { metadata, about })
        .map_err(|cause| Error::internal("Error marshaling JSON input.").because(cause))?;
    let output = match cx.app.hooks.get(kind) {
        Some(Ready::Http(webhook)) => over_http(cx, webhook, &payload).await?,
        Some(Ready::PgFunction { schema, name, uri }) => {
            let called = call(within, Function { schema, name }, &payload).await;
            called.map_err(|error| raised(error, uri))?.map(String::into_bytes)
        }
        Some(Ready::Missing) | None => return Err(Error::other(format!("the hook {} has no address", kind.as_str()))),
    };
    match output.as_deref().and_then(refusal) {
        Some(refused) => Err(refused),
        None => Ok(output),
    }
}

async fn over_http(cx: &Cx, webhook: &Webhook, payload: &str) -> Result<Option<Vec<u8>>> {
    cx.journal.reach(Step::Call("hooks.http")).await.map_err(Error::other)?;
    webhook.call(&cx.entropy, payload).await
}

fn read_nothing(output: Option<&[u8]>) -> Result<()> {
    output.map_or(Ok(()), check_empty)
}

/// What a function has raised. `PTnnn` names the status to answer with; below 200 there is none that could be.
fn raised(error: store::Error, uri: &str) -> Error {
    let status = error.sqlstate().and_then(|state| state.strip_prefix("PT")?.parse::<u16>().ok());
    match status {
        Some(1..=199) => Error::broken(error),
        _ => error.wrapped(format!("Error running hook URI: {uri}")),
    }
}
