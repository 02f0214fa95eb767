//! The cookie of a browser from which an owner has signed in.
//!
//! It grants nothing. Wrong passwords and codes that others send for the owner do not count there, and those of that browser
//! have limits of their own. It is looked up before any address is, so that its presence tells nothing about users.

use chrono::TimeDelta;
use gotrue_rules::domain::error::chain::ErrorChain;
use gotrue_rules::wire::hex::encode_hex;
use http::header::SET_COOKIE;
use http::{HeaderMap, HeaderName, HeaderValue};
use uuid::Uuid;

use crate::http::error::DeskError;
use crate::session::find_cookie_named;
use crate::store::devices;
use crate::token::{Token, hash_presented};
use crate::visit::Visit;

/// The cookie; see the names of the session's.
pub(crate) const COOKIE_NAME: &str = "basalt_desk_device";
pub(crate) const SECURE_COOKIE_NAME: &str = "__Host-basalt_desk_device";
/// A device is known for this time after a sign-in.
pub(crate) const KNOWN_DEVICE: TimeDelta = TimeDelta::days(180);

/// A known device.
#[derive(Debug, Clone)]
pub(crate) struct Device {
    /// The owner who has signed in from it last.
    pub user_id: Uuid,
    /// The digest of its token.
    pub token_hash: Vec<u8>,
    /// Its token.
    token: String,
}

impl Device {
    /// Finds the known device of a request's cookie.
    pub(crate) async fn find(visit: &Visit, headers: &HeaderMap, is_https: bool) -> Result<Option<Self>, DeskError> {
        let token = find_cookie_named(headers, [SECURE_COOKIE_NAME, COOKIE_NAME], is_https);
        let Some((token, token_hash)) = token.and_then(|token| Some((token.to_owned(), hash_presented(token)?))) else {
            return Ok(None);
        };
        let user = devices::find_user(&mut visit.db(), &token_hash, visit.now - KNOWN_DEVICE).await?;
        Ok(user.map(|user_id| Self { user_id, token_hash, token }))
    }

    /// Returns the name by which limits count it.
    pub(crate) fn key(&self) -> String {
        encode_hex(&self.token_hash[..16.min(self.token_hash.len())])
    }
}

/// Returns the cookie of the browser from which an owner has signed in now.
///
/// A failure is only logged: the owner is signed in. A token that a client made up is never stored.
pub(crate) async fn remember(visit: &Visit, user_id: Uuid, is_https: bool) -> Option<(HeaderName, HeaderValue)> {
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
        format!("{SECURE_COOKIE_NAME}={token}; Path=/; HttpOnly; Secure; SameSite=Strict; Max-Age={age}")
    } else {
        format!("{COOKIE_NAME}={token}; Path=/_desk; HttpOnly; SameSite=Strict; Max-Age={age}")
    };
    HeaderValue::try_from(cookie).ok().map(|cookie| (SET_COOKIE, cookie))
}
