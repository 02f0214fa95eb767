//! `DELETE /factors/{id}`: takes a factor away. Sessions that it lifted fall back.

use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::mfa::{FactorType, check_removal, factor_not_found};
use gotrue_rules::wire::factor::UnenrolledJson;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::{audit, notices};
use crate::store::{elevation, factors};

/// Its id. Only the lock stands before the write: a session that is lifted at this moment falls back too.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let (caller, factor) = (cx.caller()?, cx.factor()?);
    let missing = || Error::internal("A valid session and factor are required to unenroll a factor");
    let session = caller.session.as_ref().ok_or_else(missing)?;
    check_removal(factor, session)?;
    let kind = FactorType::parse(&factor.factor_type)?;
    let entry = Entry::of(Action::FactorUnenrolled)
        .with("factor_id", factor.id.to_string())
        .with("factor_status", factor.status.as_str())
        .with("session_id", session.id.to_string());
    let audit = audit::rows(&cx, &caller.account, [entry]);
    let mut db = cx.begin().await?;
    elevation::lock(&mut db, caller.account.id, session.id).await?;
    let is_gone = factors::delete(&mut db, caller.account.id, (factor.id, kind), audit).await?;
    db.commit().await?;
    if !is_gone {
        return Err(factor_not_found());
    }
    notices::of_factor(&cx, &caller.account, notices::FactorNews::Unenrolled, kind).await;
    Ok(Reply::json(&UnenrolledJson { id: factor.id }))
}
