//! `DELETE /admin/users/{id}/factors/{factor_id}`: the way back in for somebody who has lost a phone.

use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::mfa::{FactorType, factor_not_found};
use gotrue_rules::wire::factor::FactorJson;
use uuid::Uuid;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::audit;
use crate::store::{OrRefuse, elevation, factors};

/// The factor that was. Sessions that it lifted fall back; nobody is told.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let (account, factor) = (cx.account()?, cx.factor()?);
    let kind = FactorType::parse(&factor.factor_type)?;
    let entry = Entry::of(Action::FactorDeleted)
        .with("user_id", account.id.to_string())
        .with("factor_id", factor.id.to_string());
    let audit = audit::rows(&cx, account, [entry]);
    let mut db = cx.begin().await?;
    elevation::lock(&mut db, account.id, Uuid::nil()).await?;
    let deleted = factors::delete(&mut db, account.id, (factor.id, kind), audit).await;
    let is_gone = deleted.or_refuse("Database error deleting factor")?;
    db.commit().await?;
    if !is_gone {
        return Err(factor_not_found());
    }
    Ok(Reply::json(&FactorJson::from(factor)))
}
