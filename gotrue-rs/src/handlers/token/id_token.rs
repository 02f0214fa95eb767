//! `grant_type=id_token`: exchanges an external ID token for a session, or links its identity.

use std::sync::Arc;

use foundation::error::{Error, ErrorKind, OAuthErrorCode, Result};
use gotrue_rules::domain::external::profile::ProviderProfile;
use gotrue_rules::domain::linking::manual::{require_aal2_for_linking, require_manual_linking};
use gotrue_rules::domain::user::User;
use gotrue_rules::wire::requests::IdTokenGrant;

use crate::guards::authenticate_caller;
use crate::http::reply::Reply;
use crate::request_context::{Caller, RequestContext};
use crate::services::id_tokens;
use crate::services::linking::{self, ExternalUser, LinkOutcome};
use crate::services::sessions::create::{Authentication, create_session};
use crate::services::sessions::{IssuedTokens, SessionExtras};

/// Verifies the ID token and returns a session of its user.
pub(super) async fn grant_id_token(cx: &mut RequestContext) -> Result<Reply> {
    let request = IdTokenGrant::decode(&cx.read_body().await?)?;
    let caller = if request.link_identity { Some(require_caller(cx).await?) } else { None };
    let accepted = id_tokens::find_provider(cx, &request.presented()).await?;
    let (token, profile): (_, ProviderProfile) =
        id_tokens::verify(cx, &accepted, &request.id_token, &request.access_token).await?;
    token.validate_audience_and_nonce(&accepted, &request.nonce)?;
    let external_user =
        ExternalUser { provider: &accepted.provider, profile: &profile, email_optional: accepted.email_optional };
    if !request.link_identity {
        linking::call_before_user_created(cx, &external_user).await?;
    }
    let (issued, is_new) = sign_in_or_link(cx, &external_user, caller.as_deref()).await.map_err(into_server_error)?;
    if request.link_identity {
        linking::notify_identity_linked(cx, &issued.user, &accepted.provider).await;
    } else if is_new {
        linking::call_after_user_created(cx, &issued.user).await?;
    }
    Ok(issued.reply(SessionExtras::default()))
}

/// Requires a signed-in user to link to.
///
/// With strict ID tokens, manual linking must be enabled too.
async fn require_caller(cx: &mut RequestContext) -> Result<Arc<Caller>> {
    if cx.request.header("authorization").unwrap_or_default().is_empty() {
        let description = "Linking requires a valid user access token in Authorization";
        return Err(Error::oauth(OAuthErrorCode::InvalidIdTokenRequest, description));
    }
    let caller = authenticate_caller(cx).await?;
    let policy = &cx.app.policy;
    if policy.external.is_id_token_validation_strict {
        require_manual_linking(&policy.security)?;
    }
    require_aal2_for_linking(&caller.user, caller.session.as_ref(), &policy.mfa)?;
    Ok(caller)
}

/// Resolves the user and creates the session in one transaction.
///
/// The flag tells whether the user is new.
///
/// A refusal after a write is returned after the commit.
async fn sign_in_or_link(
    cx: &RequestContext,
    external_user: &ExternalUser<'_>,
    links_to: Option<&Caller>,
) -> Result<(IssuedTokens, bool)> {
    let mut db = linking::begin_sign_in(cx, external_user).await?;
    let joined = match links_to {
        Some(caller) => linking::link_to_user(cx, &mut db, &caller.user, external_user).await?,
        None => linking::sign_in(cx, &mut db, external_user).await?,
    };
    let (user, is_new) = match joined {
        LinkOutcome::SignedIn { user, is_new } => (user, is_new),
        LinkOutcome::Refused(error) => {
            db.commit().await?;
            return Err(error);
        }
    };
    let mut issued = create_session(cx, &mut db, Authentication::new(&user, "oauth", Vec::new())).await?;
    db.commit().await?;
    // As in GoTrue, the response shows the identities as they were loaded, with the one that this request added.
    issued.user = User { last_sign_in_at: issued.user.last_sign_in_at, ..*user };
    Ok((issued, is_new))
}

/// Converts any other failure of the sign-in into an OAuth error.
fn into_server_error(error: Error) -> Error {
    match error.kind {
        ErrorKind::Http { .. } => error,
        _ => Error { kind: Error::oauth(OAuthErrorCode::ServerError, "Internal Server Error").kind, ..error },
    }
}
