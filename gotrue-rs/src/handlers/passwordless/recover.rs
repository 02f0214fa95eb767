//! `POST /recover`: sends a password recovery link.
//!
//! The response does not reveal whether a user has the address.

use foundation::email::Email;
use foundation::error::{Error, Result};
use gotrue_rules::domain::contact::Contact;
use gotrue_rules::domain::passwordless::email_logins_disabled;
use gotrue_rules::domain::pkce::validate_challenge_pair;
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::wire::message::MessageSentJson;
use gotrue_rules::wire::requests::RecoverRequest;
use platform::store::OrInternalError;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::services::messages::{TokenEmail, decoys};
use crate::services::{equal_work, limits, passwordless, pkce};

/// Sends a link and a code to the user of the address, if there is one.
pub async fn handle(cx: RequestContext) -> Result<Reply> {
    if !cx.app.policy.sign_up.email_enabled {
        return Err(email_logins_disabled());
    }
    let request = RecoverRequest::decode(&cx.read_body().await?)?;
    if request.email.is_empty() {
        return Err(Error::invalid("Password recovery requires an email"));
    }
    let email = Email::parse(&request.email)?;
    validate_challenge_pair(&request.pkce.challenge, &request.pkce.method)?;
    let challenge = pkce::parse_challenge(&cx, &request.pkce)?;
    let opens_flow = matches!(challenge, Ok(Some(_)));
    limits::count_public_message(&cx, &Contact::Email(email.clone())).await?;
    let found = equal_work::find_by_email(&cx, email.as_str()).await;
    let email_message =
        TokenEmail { purpose: Purpose::Recovery, to: email.as_str(), pkce: opens_flow, new_email: None };
    let Some(user) = found.or_internal_error("Unable to process request")? else {
        if opens_flow {
            decoys::imitate_flow(&cx).await?;
        }
        decoys::imitate_send(&cx, email_message, None).await?;
        return Ok(Reply::json(&MessageSentJson::default()));
    };
    passwordless::send_link(&cx, &user, Purpose::Recovery, &email, challenge?.as_ref()).await?;
    Ok(Reply::json(&MessageSentJson::default()))
}
