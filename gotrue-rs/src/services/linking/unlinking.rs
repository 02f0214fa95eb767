//! Unlinks an identity. The decision is made under a lock on the user.

use foundation::error::{Error, Result};
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::linking::manual::{find_unlinkable_identity, unlink_identity};
use gotrue_rules::domain::user::User;
use platform::store::{Connection, OrInternalError};
use uuid::Uuid;

use crate::request_context::RequestContext;
use crate::services::audit;
use crate::services::notices::{self, IdentityEvent};
use crate::store::identities::{self, IdentityQuery};

const LOOKUP_FAILED: &str = "Database error finding user";
const DELETE_FAILED: &str = "Database error deleting identity";

/// Unlinks one of the account's identities.
pub async fn unlink(cx: &RequestContext, user: &User, identity: Uuid) -> Result<()> {
    // A refusal here needs no transaction; the same check runs again under the lock.
    find_unlinkable_identity(user, identity)?;
    let mut db = cx.begin().await?;
    identities::lock_user(&mut db, user.id).await.or_internal_error(LOOKUP_FAILED)?;
    let found = load_candidates(&mut db, user, identity).await?;
    let taken = taken_emails(&found, user);
    let current =
        found.into_iter().find(|candidate| candidate.id == user.id).ok_or_else(|| Error::internal(LOOKUP_FAILED))?;
    let parting = unlink_identity(current, identity, &taken, cx.app.policy.mail.autoconfirm)?;
    let removed = &parting.identity;
    let entry = AuditEntry::new(AuditAction::IdentityUnlinked)
        .with_trait("identity_id", removed.id.to_string())
        .with_trait("provider", removed.provider.as_str())
        .with_trait("provider_id", removed.provider_id.as_str());
    let rows = audit::build_rows(cx, user, [entry]);
    if !identities::unlink(&mut db, &parting, cx.now, rows).await.or_internal_error(DELETE_FAILED)? {
        return Err(Error::internal(DELETE_FAILED).with_cause("the identity was already deleted"));
    }
    db.commit().await?;
    notices::send_identity_changed(cx, user, IdentityEvent::Unlinked, &removed.provider).await;
    Ok(())
}

/// Loads the current user, and the users of the addresses that it may get.
async fn load_candidates(db: &mut Connection, user: &User, identity: Uuid) -> Result<Vec<User>> {
    let others = user.identities.iter().filter(|other| other.id != identity);
    let emails: Vec<String> = others.filter_map(|other| other.email.clone()).collect();
    let lookup = IdentityQuery { provider: "", subject: "", emails: &emails, user_id: Some(user.id) };
    identities::find_candidates(db, lookup).await.or_internal_error(LOOKUP_FAILED)
}

/// The e-mail addresses of other users.
fn taken_emails(found: &[User], user: &User) -> Vec<String> {
    let others = found.iter().filter(|other| other.id != user.id && !other.is_sso_user && other.aud == user.aud);
    others.filter_map(|other| other.email.as_deref().map(str::to_lowercase)).collect()
}
