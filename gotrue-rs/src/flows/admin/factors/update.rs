//! `PUT /admin/users/{id}/factors/{factor_id}`: another name, another number.

use gotrue_rules::domain::admin_user::actor;
use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::contact::Phone;
use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::mfa::{FactorType, enrolment, factor_not_found};
use gotrue_rules::wire::factor::FactorJson;
use gotrue_rules::wire::requests::AdminFactor;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::audit;
use crate::store::factors::{self, FactorChange};

/// The factor, changed. A number for a factor that has none is not looked at; a name in use is a failure of the
/// database's, as recorded.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let (account, mut factor) = (cx.account()?, cx.factor()?.clone());
    let request = AdminFactor::decode(&cx.bytes().await?)?;
    let is_phone = factor.factor_type == FactorType::Phone.as_str();
    let phone = Some(request.phone.as_str()).filter(|phone| is_phone && !phone.is_empty());
    let phone = phone.map(enrolment::phone).transpose()?;
    let friendly_name = Some(request.friendly_name.as_str()).filter(|name| !name.is_empty());
    let entry = Entry::of(Action::FactorUpdated)
        .with("user_id", account.id.to_string())
        .with("factor_id", factor.id.to_string())
        .with("factor_type", factor.factor_type.as_str());
    let audit = audit::rows(&cx, &actor(&cx.admin()?.role), [entry]);
    let phone = phone.as_ref().map(Phone::as_str);
    let change = FactorChange { id: factor.id, user_id: account.id, friendly_name, phone, now: cx.now };
    let updated = factors::update(&mut cx.db(), change, audit).await?;
    factor.updated_at = updated.ok_or_else(factor_not_found)?;
    if let Some(name) = friendly_name {
        name.clone_into(&mut factor.friendly_name);
    }
    if let Some(phone) = phone {
        phone.clone_into(&mut factor.phone);
    }
    Ok(Reply::json(&FactorJson::from(&factor)))
}
