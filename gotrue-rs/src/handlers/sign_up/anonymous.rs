//! Sign-up without address and number: user and session in one transaction.

use foundation::error::{Error, ErrorCode, Result};
use gotrue_rules::domain::sign_up::{build_anonymous_user, require_sign_up_enabled};
use gotrue_rules::domain::user::User;
use gotrue_rules::wire::requests::SignUpRequest;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::services::hooks;
use crate::services::limits::{self, LimitedRoute};
use crate::services::sessions::create::{Authentication, create_session};
use crate::services::sessions::{self, IssuedTokens, SessionExtras};
use crate::store::accounts;

/// Creates an anonymous user and returns its session.
pub(super) async fn sign_up_anonymous(cx: &RequestContext, request: SignUpRequest) -> Result<Reply> {
    let policy = &cx.app.policy;
    if !policy.sign_up.anonymous_enabled {
        return Err(Error::new(ErrorCode::AnonymousProviderDisabled, "Anonymous sign-ins are disabled"));
    }
    limits::count_request(cx, LimitedRoute::AnonymousUsers).await?;
    require_sign_up_enabled(policy)?;
    let data = request.data.unwrap_or_default();
    let mut user = build_anonymous_user(cx.entropy.uuid(), cx.audience(), &data, cx.now);
    user.role.clone_from(&policy.jwt.default_group);
    hooks::call_before_user_created(cx, &user, &data).await?;
    let issued = create_user(cx, &user)
        .await
        .map_err(|error| Error::internal("Database error creating anonymous user").with_cause(error))?;
    hooks::call_after_user_created(cx, &issued.user).await?;
    Ok(issued.reply(SessionExtras::default()))
}

async fn create_user(cx: &RequestContext, user: &User) -> Result<IssuedTokens> {
    let mut db = sessions::begin_token_transaction(cx).await?;
    let stored = accounts::insert_within(&mut db, user, Vec::new()).await?.into_result()?;
    let issued = create_session(cx, &mut db, Authentication::new(&stored, "anonymous", Vec::new())).await?;
    db.commit().await?;
    Ok(issued)
}
