//! Remembers the browser from which an owner has signed in.

use foundation::error_chain::ErrorChain;
use http::header::SET_COOKIE;
use http::{HeaderName, HeaderValue};
use uuid::Uuid;

use crate::cookies::{DEVICE, SECURE_DEVICE};
use crate::device::KNOWN_DEVICE;
use crate::store::devices;
use crate::token::Token;
use crate::visit::Visit;

/// Returns the cookie of the browser from which an owner has signed in now.
///
/// A failure is only logged: the owner is signed in. A token that a client made up is never stored.
pub(super) async fn remember(visit: &Visit, user_id: Uuid, is_https: bool) -> Option<(HeaderName, HeaderValue)> {
    match store(visit, user_id).await {
        Ok(token) => build_cookie(&token, is_https),
        Err(error) => {
            tracing::warn!(error = %ErrorChain(&error), "a device of an owner is not remembered");
            None
        }
    }
}

async fn store(visit: &Visit, user_id: Uuid) -> platform::store::Result<String> {
    let mut db = visit.db();
    if let Some(device) = &visit.device
        && devices::refresh(&mut db, &device.token_hash, user_id, visit.now - KNOWN_DEVICE, visit.now).await?
    {
        return Ok(device.token.clone());
    }
    let token = Token::generate(&visit.app.entropy.fork());
    devices::insert(&mut db, &token.hash, user_id, visit.now).await?;
    Ok(token.text)
}

fn build_cookie(token: &str, is_https: bool) -> Option<(HeaderName, HeaderValue)> {
    let age = KNOWN_DEVICE.num_seconds();
    let cookie = if is_https {
        format!("{SECURE_DEVICE}={token}; Path=/; HttpOnly; Secure; SameSite=Strict; Max-Age={age}")
    } else {
        format!("{DEVICE}={token}; Path=/_desk; HttpOnly; SameSite=Strict; Max-Age={age}")
    };
    HeaderValue::try_from(cookie).ok().map(|cookie| (SET_COOKIE, cookie))
}
