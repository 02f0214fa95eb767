//! `/verify`: a link (`GET`, redirects) or a code (`POST`, responds with JSON).

pub mod get;
pub mod post;

use foundation::error::Result;
use gotrue_rules::domain::one_time_token::LinkToken;
use gotrue_rules::domain::purpose::VerificationType;
use gotrue_rules::domain::user::User;
use gotrue_rules::domain::verification::{require_link_type, verify_link};
use platform::journal::{Fact, FactCondition};
use platform::store::OrInternalError;

use crate::request_context::RequestContext;
use crate::services::explanations::{self, SecretKind};
use crate::services::verification::{VerifiedToken, prepare_token};
use crate::store::one_time_tokens;

/// Finds the user of a link's token and verifies the link.
async fn load_verified_link(
    cx: &RequestContext,
    kind: Option<VerificationType>,
    link: &LinkToken,
) -> Result<VerifiedToken> {
    let hash = link.hash();
    let slots = require_link_type(kind)?.token_kinds();
    let found: Option<User> = one_time_tokens::find_user_by_link(&mut cx.db(), link, slots)
        .await
        .or_internal_error("Database error finding user from email link")?;
    let verified = verify_link(kind, hash, found.as_ref(), &cx.app.policy, cx.now);
    let kind = verified.inspect_err(|_| explanations::record_refused_secret(cx, hash, SecretKind::Link))?;
    cx.note(FactCondition::Success, || Fact::SecretUsed { digest: explanations::digest_token(hash) });
    let user = found.ok_or_else(gotrue_rules::domain::verification::invalid_link)?;
    prepare_token(cx, kind, hash.clone(), user).await
}
