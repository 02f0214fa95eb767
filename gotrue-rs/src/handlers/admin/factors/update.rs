//! `PUT /admin/users/{id}/factors/{factor_id}`: changes the name or the number of a factor.

use std::sync::Arc;

use foundation::error::Result;
use gotrue_rules::domain::admin_user::admin_actor;
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::contact::Phone;
use gotrue_rules::domain::mfa::{FactorType, enrollment, factor_not_found};
use gotrue_rules::domain::user::User;
use gotrue_rules::wire::factor::FactorJson;
use gotrue_rules::wire::requests::AdminFactor;

use crate::http::reply::Reply;
use crate::request_context::{Admin, RequestContext, UserFactor};
use crate::services::audit;
use crate::store::factors::{self, FactorChange};

/// Updates the factor and returns it.
///
/// A number is ignored for a factor that is not a phone factor. As in GoTrue, a name that is in use is a database
/// error.
pub async fn handle(cx: RequestContext, admin: Arc<Admin>, user: Arc<User>, factor: Arc<UserFactor>) -> Result<Reply> {
    let mut factor = factor.0.clone();
    let request = AdminFactor::decode(&cx.read_body().await?)?;
    let is_phone = factor.factor_type == FactorType::Phone.as_str();
    let phone = Some(request.phone.as_str()).filter(|phone| is_phone && !phone.is_empty());
    let phone = phone.map(enrollment::parse_phone).transpose()?;
    let friendly_name = Some(request.friendly_name.as_str()).filter(|name| !name.is_empty());
    let entry = AuditEntry::new(AuditAction::FactorUpdated)
        .with_trait("user_id", user.id.to_string())
        .with_trait("factor_id", factor.id.to_string())
        .with_trait("factor_type", factor.factor_type.as_str());
    let audit = audit::build_rows(&cx, &admin_actor(&admin.role), [entry]);
    let phone = phone.as_ref().map(Phone::as_str);
    let change = FactorChange { id: factor.id, user_id: user.id, friendly_name, phone, now: cx.now };
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
