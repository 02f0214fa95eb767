//! Look-ups that take as long for a missing user as for an existing one.

use foundation::error::Result;
use gotrue_rules::domain::user::User;
use platform::store::{self, Connection, OrInternalError};

use crate::request_context::RequestContext;
use crate::store::users;

/// Finds the user with that address (lower case) in the request's audience; SSO users are excluded.
///
/// Under the policy `equal_work` another user is read if there is none.
pub async fn find_by_email(cx: &RequestContext, email: &str) -> store::Result<Option<User>> {
    let (mut db, audience) = (cx.db(), cx.audience());
    if cx.app.policy.security.is_equal_work_enabled {
        return users::find_by_email_in_equal_time(&mut db, email, &audience).await;
    }
    users::find_by_email(&mut db, email, &audience).await
}

/// Finds the user with that address by the rules of a sign-up, see [`users::find_by_identity_email`].
///
/// Under the policy `equal_work` another user is read if there is none.
pub async fn find_by_identity_email(
    cx: &RequestContext,
    db: &mut Connection,
    email: &str,
) -> store::Result<Option<User>> {
    let audience = cx.audience();
    let own_domain_providers: Vec<String> =
        cx.app.policy.experimental.provider_linking_domains.keys().cloned().collect();
    if cx.app.policy.security.is_equal_work_enabled {
        return users::find_by_identity_email_in_equal_time(db, email, &audience, &own_domain_providers).await;
    }
    users::find_by_identity_email(db, email, &audience, &own_domain_providers).await
}

/// Performs the look-up that a refused verification of a code did not perform.
///
/// It looks for an existing user if the request found none, and for a missing one otherwise.
///
/// Finding and reading a user takes longer than finding none. Does nothing if the policy `equal_work` is off.
pub async fn run_opposite_lookup(cx: &RequestContext, was_found: bool) -> Result<()> {
    if !cx.app.policy.security.is_equal_work_enabled {
        return Ok(());
    }
    let looked_up = if was_found {
        let unknown = cx.entropy.uuid().to_string();
        users::find_by_email(&mut cx.db(), &unknown, &cx.audience()).await
    } else {
        users::find_any(&mut cx.db()).await
    };
    looked_up.map(drop).or_internal_error("Database error finding user")
}
