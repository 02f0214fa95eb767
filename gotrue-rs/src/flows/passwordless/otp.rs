//! `POST /otp`: a code to sign in, by mail or by text.

use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::metadata;
use gotrue_rules::domain::passwordless::{check_otp, no_new_account, nobody_named, otp_contact, require_magic_links};
use gotrue_rules::domain::user::Account;
use gotrue_rules::wire::message::SentJson;
use gotrue_rules::wire::requests::{MagicLink, Otp};

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::passwordless::{Caller, find, mail_link, text_code};
use crate::store::OrRefuse;

/// Sends a code to that address or number; whoever is new is signed up, unless the client wants no new accounts.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let request = Otp::decode(&cx.bytes().await?)?;
    check_otp(&request)?;
    metadata::check("data", request.data.as_ref(), cx.app.policy.api.metadata_limits)?;
    let known = if request.create_user { None } else { require_known(&cx, &request).await? };
    let Otp { email, phone, data, channel, pkce, .. } = request;
    let message_id = match (email.is_empty(), phone.is_empty()) {
        (false, _) => {
            require_magic_links(&cx.app.policy)?;
            mail_link(&cx, MagicLink { email, data, pkce }, known).await?;
            None
        }
        (true, false) => text_code(&cx, Caller { phone, channel, data }, known).await?,
        (true, true) => return Err(nobody_named()),
    };
    Ok(Reply::json(&SentJson { message_id }))
}

/// The account of a client that wants no new ones; none if the request names nobody. A malformed address or number is
/// answered as an unknown one.
async fn require_known(cx: &Cx, request: &Otp) -> Result<Option<Account>> {
    let Some(contact) = otp_contact(request).map_err(|cause| no_new_account().because(cause))? else {
        return Ok(None);
    };
    find(cx, &contact).await.or_refuse("Database error finding user")?.map(Some).ok_or_else(no_new_account)
}
