//! Sign-up with an address or a number. No connection is held while the password is hashed.

use foundation::error::Result;
use gotrue_rules::domain::contact::Contact;
use gotrue_rules::domain::sign_up::{parse_contact, require_request_password, require_sign_up_enabled};
use gotrue_rules::wire::requests::SignUpRequest;
use gotrue_rules::wire::user::UserJson;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::services::limits::{self, LimitedRoute};
use crate::services::passwords;
use crate::services::sessions::SessionExtras;
use crate::services::sign_up::{SignUpResult, register_user};

/// Signs up a user. Returns a session if the user is confirmed at once, else the user.
pub(super) async fn sign_up_with_contact(cx: &RequestContext, request: SignUpRequest) -> Result<Reply> {
    limits::count_request(cx, LimitedRoute::SignUp).await?;
    require_sign_up_enabled(&cx.app.policy)?;
    require_request_password(&request)?;
    passwords::require_strong(cx, &request.password).await?;
    let sign_up_contact = parse_contact(&request, &cx.app.policy)?;
    if needs_confirmation(cx, &sign_up_contact.contact) {
        limits::count_public_message(cx, &sign_up_contact.contact).await?;
    }
    Ok(match register_user(cx, request, sign_up_contact).await? {
        SignUpResult::SignedIn(issued) => issued.reply(SessionExtras::default()),
        SignUpResult::Unconfirmed(user) | SignUpResult::Obfuscated(user) => Reply::json(&UserJson::from(&*user)),
    })
}

fn needs_confirmation(cx: &RequestContext, contact: &Contact) -> bool {
    match contact {
        Contact::Email(_) => !cx.app.policy.mail.autoconfirm,
        Contact::Phone(_) => !cx.app.policy.sms.autoconfirm,
    }
}
