//! Security keys.

use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::mfa::FactorType;
use gotrue_rules::wire::factor::EnrolledJson;
use gotrue_rules::wire::requests::EnrollFactor;

use super::enroll;
use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::store::factors::NewFactor;

/// The factor; the key itself comes with the first challenge.
pub(super) async fn enroll(cx: &Cx, request: &EnrollFactor) -> Result<Reply> {
    enroll::make_way(cx, &request.friendly_name, None).await?;
    let id = cx.entropy.uuid();
    let new = NewFactor {
        id,
        user_id: cx.caller()?.account.id,
        friendly_name: &request.friendly_name,
        factor_type: FactorType::WebAuthn,
        phone: None,
        secret: "",
        now: cx.now,
    };
    enroll::store(cx, new).await?;
    Ok(Reply::json(&EnrolledJson {
        id,
        factor_type: FactorType::WebAuthn.as_str(),
        friendly_name: &request.friendly_name,
        totp: None,
        phone: None,
    }))
}
