//! `grant_type=web3`: exchanges a message signed by a wallet for a session (EIP-4361, SIWS).

use foundation::error::{Error, ErrorKind, OAuthErrorCode, Result};
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::web3::{self, MessageContext, SignInMessage, WEB3_PROVIDER};
use gotrue_rules::wire::requests::Web3Grant;
use platform::store::Connection;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::services::linking::{self, ExternalUser, LinkOutcome};
use crate::services::sessions::SessionExtras;
use crate::services::sessions::create::{Authentication, create_session};
use crate::store::used_messages;

/// Verifies the message and returns a session of the address's user.
pub(super) async fn grant_web3(cx: &RequestContext) -> Result<Reply> {
    let policy = &cx.app.policy.web3;
    web3::require_enabled(policy)?;
    let request = Web3Grant::decode(&cx.read_body().await?)?;
    let message = web3::verify_request(&request, policy)?;
    let allows = |target: &str| cx.app.redirect_allow_list.allows(target);
    message.validate(&MessageContext { now: cx.now, policy, is_redirect_allowed: &allows })?;
    let profile = message.profile();
    let external_user = ExternalUser { provider: WEB3_PROVIDER, profile: &profile, email_optional: true };
    linking::call_before_user_created(cx, &external_user).await?;
    sign_in(cx, &message, &external_user).await
}

async fn sign_in(cx: &RequestContext, message: &SignInMessage, external_user: &ExternalUser<'_>) -> Result<Reply> {
    let mut db = linking::begin_sign_in(cx, external_user).await.map_err(into_oauth_error)?;
    consume_message(cx, &mut db, message).await?;
    let (user, is_new) = match linking::sign_in(cx, &mut db, external_user).await.map_err(into_oauth_error)? {
        LinkOutcome::SignedIn { user, is_new } => (user, is_new),
        LinkOutcome::Refused(error) => {
            db.commit().await?;
            return Err(error);
        }
    };
    let entry = AuditEntry::new(AuditAction::Login)
        .with_trait("provider", WEB3_PROVIDER)
        .with_trait("chain", message.chain.as_str())
        .with_trait("network", message.chain_id.as_str())
        .with_trait("address", message.address.as_str())
        .with_trait("domain", message.domain.as_str())
        .with_trait("uri", message.uri.to_json());
    let mut issued = create_session(cx, &mut db, Authentication::new(&user, WEB3_PROVIDER, vec![entry]))
        .await
        .map_err(into_oauth_error)?;
    db.commit().await?;
    // As in GoTrue, network and statement of this message are in the metadata, but not yet in the identity shown.
    issued.user.identities.clone_from(&user.identities);
    if is_new {
        linking::call_after_user_created(cx, &user).await?;
    }
    Ok(issued.reply(SessionExtras::default()))
}

/// Consumes a message where each counts once; 400 if it was used before.
async fn consume_message(cx: &RequestContext, db: &mut Connection, message: &SignInMessage) -> Result<()> {
    let policy = &cx.app.policy.web3;
    if !policy.are_messages_single_use {
        return Ok(());
    }
    let is_first = used_messages::insert(db, &message.fingerprint(), message.validity_end(policy), cx.now).await?;
    if is_first { Ok(()) } else { Err(web3::message_already_used(message.chain)) }
}

/// Converts an internal error into an OAuth error.
fn into_oauth_error(error: Error) -> Error {
    match error.kind {
        ErrorKind::Other | ErrorKind::Postgres(_) => {
            Error::oauth(OAuthErrorCode::ServerError, "Internal Server Error").with_cause(error)
        }
        _ => error,
    }
}
