//! Work in place of a message that is not sent, so that the duration of a request does not tell whether an address has an
//! account: the same limits, the same mail composed, the same number of statements and commits, and nothing kept.
//!
//! The messages of a phone are no part of this: a text is handed to its provider within the request. Neither is a mail that
//! an operator's hook sends.

use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::pkce::Challenge;
use gotrue_rules::domain::user::Account;
use uuid::Uuid;

use super::letters::{Letter, Written, keep};
use super::{Secret, mail, mails_are_rows, store};
use crate::app::Delivery;
use crate::cx::Cx;
use crate::services::pkce;
use crate::store::audit::AuditRow;
use crate::store::{Connection, OrRefuse, audit as audit_log, decoys, outbox};

/// What of a request is refused when a decoy cannot be written, in the words of the statement that it stands for.
const FAILED: &str = "Database error updating user";

/// Does for an address without an account what [`super::ask_in_flow`] does for one with. With `flow` the challenge of the
/// client would be stored, too.
pub async fn ask_nobody(cx: &Cx, letter: Letter<'_>, flow: Option<&Challenge>) -> Result<()> {
    if !is_wanted(cx) {
        return Ok(());
    }
    let nobody = Account { id: cx.entropy.uuid(), email: Some(letter.to.to_owned()), ..Account::default() };
    let written = mail(cx, &nobody, letter).await?;
    let mut db = cx.begin().await?;
    if flow.is_some() {
        decoys::write(&mut db, decoys::OF_FLOW, None, cx.now).await.or_refuse(FAILED)?;
    }
    keep_nothing(cx, &mut db, &written).await?;
    Ok(db.commit().await?)
}

/// Stands for the flow of a client that is stored by itself.
pub async fn open_no_flow(cx: &Cx) -> Result<()> {
    if !is_wanted(cx) {
        return Ok(());
    }
    decoys::write(&mut cx.db(), decoys::OF_FLOW, None, cx.now).await.or_refuse(FAILED)
}

/// Does for a sign-up with an address that an account has what a new account takes. The audit rows are meant.
pub async fn ask_repeated(
    cx: &Cx,
    account: &Account,
    letter: Letter<'_>,
    flow: Option<&Challenge>,
    audit: Vec<AuditRow>,
) -> Result<()> {
    let mut db = cx.begin().await?;
    decoys::write_with_audit(&mut db, decoys::OF_ACCOUNT, audit, cx.now).await.or_refuse(FAILED)?;
    if flow.is_some() {
        decoys::write(&mut db, decoys::OF_FLOW, None, cx.now).await.or_refuse(FAILED)?;
    }
    let shown = Account { id: cx.entropy.uuid(), email: account.email.clone(), ..Account::default() };
    let written = mail(cx, &shown, letter).await?;
    keep_nothing(cx, &mut db, &written).await?;
    Ok(db.commit().await?)
}

/// Writes the audit rows of an account that waits already and is asked to confirm again; with the work of an account that
/// is made, where that is wanted.
pub async fn insert_audit(cx: &Cx, db: &mut Connection, rows: Vec<AuditRow>) -> Result<()> {
    if !is_wanted(cx) {
        return Ok(audit_log::insert(db, rows).await?);
    }
    decoys::write_with_audit(db, decoys::OF_ACCOUNT, rows, cx.now).await.or_refuse(FAILED)
}

/// Mails an account that exists, with the work of an account that is made.
pub async fn ask_like_newcomer(
    cx: &Cx,
    account: &Account,
    letter: Letter<'_>,
    flow: Option<&Challenge>,
    audit: Vec<AuditRow>,
) -> Result<()> {
    let written = mail(cx, account, letter).await?;
    let mut db = cx.begin().await?;
    decoys::write(&mut db, decoys::OF_NEW_ACCOUNT, None, cx.now).await.or_refuse(FAILED)?;
    if let Some(challenge) = flow {
        pkce::open(cx, &mut db, account.id, challenge, letter.purpose).await?;
    }
    keep(cx, &mut db, account, letter.purpose, &[&written]).await?;
    store(cx, &mut db, account, Secret::of(letter, &written.hash), audit).await?;
    Ok(db.commit().await?)
}

/// Whether requests for mail do equal work: where mails are rows. Elsewhere a mail server is waited for.
pub fn is_wanted(cx: &Cx) -> bool {
    cx.app.policy.security.equal_work && mails_are_rows(cx)
}

/// Writes the mail and deletes it before anybody sees it, with as much beside it as a secret takes.
async fn keep_nothing(cx: &Cx, db: &mut Connection, written: &Written) -> Result<()> {
    let mut mail: Option<Uuid> = None;
    if let (Delivery::Outbox(outbox), Some(message)) = (&cx.app.delivery, &written.message) {
        let row = outbox.row(message);
        mail = Some(row.id);
        outbox::insert(db, &[row]).await.or_refuse("Error sending email")?;
    }
    decoys::write(db, decoys::OF_ACCOUNT, mail, cx.now).await.or_refuse(FAILED)
}
