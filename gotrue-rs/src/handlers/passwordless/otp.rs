//! `POST /otp`: sends a one-time password by e-mail or SMS.

use foundation::error::Result;
use gotrue_rules::domain::metadata;
use gotrue_rules::domain::passwordless::{
    missing_contact, parse_otp_contact, require_magic_links, signup_not_allowed, validate_otp,
};
use gotrue_rules::domain::user::User;
use gotrue_rules::wire::message::MessageSentJson;
use gotrue_rules::wire::requests::{MagicLinkRequest, OtpRequest};
use platform::store::OrInternalError;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::services::passwordless::{SmsCodeRequest, find_user, send_magic_link, send_sms_code};

/// Sends a code to the address or number. An unknown user is signed up, unless `create_user` is false.
pub async fn handle(cx: RequestContext) -> Result<Reply> {
    let request = OtpRequest::decode(&cx.read_body().await?)?;
    validate_otp(&request)?;
    metadata::validate("data", request.data.as_ref(), cx.app.policy.api.metadata_limits)?;
    let known = if request.create_user { None } else { require_existing_user(&cx, &request).await? };
    let OtpRequest { email, phone, data, channel, pkce, .. } = request;
    let message_id = match (email.is_empty(), phone.is_empty()) {
        (false, _) => {
            require_magic_links(&cx.app.policy)?;
            send_magic_link(&cx, MagicLinkRequest { email, data, pkce }, known).await?;
            None
        }
        (true, false) => send_sms_code(&cx, SmsCodeRequest { phone, channel, data }, known).await?,
        (true, true) => return Err(missing_contact()),
    };
    Ok(Reply::json(&MessageSentJson { message_id }))
}

/// Finds the user of a request with `create_user` false.
///
/// Returns `None` if the request has neither address nor number.
///
/// A malformed address or number is treated as an unknown one.
async fn require_existing_user(cx: &RequestContext, request: &OtpRequest) -> Result<Option<User>> {
    let Some(contact) = parse_otp_contact(request).map_err(|cause| signup_not_allowed().with_cause(cause))? else {
        return Ok(None);
    };
    find_user(cx, &contact)
        .await
        .or_internal_error("Database error finding user")?
        .map(Some)
        .ok_or_else(signup_not_allowed)
}
