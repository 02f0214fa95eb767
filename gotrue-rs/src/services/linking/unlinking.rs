//! Unlinking an identity: what remains is decided while nobody else changes the account.

use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::linking::by_hand::{part, unlinkable};
use gotrue_rules::domain::user::Account;
use uuid::Uuid;

use crate::cx::Cx;
use crate::services::audit;
use crate::services::notices::{self, IdentityNews};
use crate::store::identities::{self, Sought};
use crate::store::{Connection, OrRefuse};

const FINDING: &str = "Database error finding user";
const DELETING: &str = "Database error deleting identity";

/// Unlinks one of the account's identities.
pub async fn unlink(cx: &Cx, account: &Account, identity: Uuid) -> Result<()> {
    // What is refused at once needs no transaction; what is not is looked at again within it.
    unlinkable(account, identity)?;
    let mut db = cx.begin().await?;
    identities::lock_owner(&mut db, account.id).await.or_refuse(FINDING)?;
    let found = read(&mut db, account, identity).await?;
    let taken = taken(&found, account);
    let current = found.into_iter().find(|it| it.id == account.id).ok_or_else(|| Error::internal(FINDING))?;
    let parting = part(current, identity, &taken, cx.app.policy.mail.autoconfirm)?;
    let gone = &parting.identity;
    let entry = Entry::of(Action::IdentityUnlinked)
        .with("identity_id", gone.id.to_string())
        .with("provider", gone.provider.as_str())
        .with("provider_id", gone.provider_id.as_str());
    let rows = audit::rows(cx, account, [entry]);
    if !identities::part(&mut db, &parting, cx.now, rows).await.or_refuse(DELETING)? {
        return Err(Error::internal(DELETING).because("it is gone already"));
    }
    db.commit().await?;
    notices::of_identity(cx, account, IdentityNews::Unlinked, &gone.provider).await;
    Ok(())
}

/// The account as it is by now, and whoever has an address that it may get.
async fn read(db: &mut Connection, account: &Account, identity: Uuid) -> Result<Vec<Account>> {
    let others = account.identities.iter().filter(|it| it.id != identity);
    let emails: Vec<String> = others.filter_map(|it| it.email.clone()).collect();
    let sought = Sought { provider: "", subject: "", emails: &emails, account: Some(account.id) };
    identities::known(db, sought).await.or_refuse(FINDING)
}

/// The addresses that other accounts have themselves.
fn taken(found: &[Account], account: &Account) -> Vec<String> {
    let others = found.iter().filter(|it| it.id != account.id && !it.is_sso_user && it.aud == account.aud);
    others.filter_map(|it| it.email.as_deref().map(str::to_lowercase)).collect()
}
