//! The cookie of a browser from which an owner has signed in.
//!
//! It grants nothing. Wrong passwords and codes that others send for the owner do not count there, and those of that browser
//! have limits of their own. It is looked up before any address is, so that its presence tells nothing about users.

use chrono::TimeDelta;
use foundation::time::Time;
use http::HeaderMap;
use platform::store::Connection;
use uuid::Uuid;

use crate::cookies::{DEVICE, SECURE_DEVICE, find_cookies};
use crate::http::error::DeskError;
use crate::store::devices;
use crate::token::hash_presented;

/// A device is known for this time after a sign-in.
pub(crate) const KNOWN_DEVICE: TimeDelta = TimeDelta::days(180);

/// A known device.
#[derive(Debug, Clone)]
pub(crate) struct Device {
    /// The owner who has signed in from it last.
    pub user_id: Uuid,
    /// The digest of its token.
    pub token_hash: Vec<u8>,
    pub token: String,
}

impl Device {
    /// Finds the known device of a request's cookie.
    pub(crate) async fn find(
        db: &mut Connection,
        now: Time,
        headers: &HeaderMap,
        is_https: bool,
    ) -> Result<Option<Self>, DeskError> {
        for token in find_cookies(headers, [SECURE_DEVICE, DEVICE], is_https) {
            let Some(token_hash) = hash_presented(token) else { continue };
            if let Some(user_id) = devices::find_user(db, &token_hash, now - KNOWN_DEVICE).await? {
                return Ok(Some(Self { user_id, token_hash, token: token.to_owned() }));
            }
        }
        Ok(None)
    }

    /// Returns the name by which limits count it.
    pub(crate) fn key(&self) -> String {
        hex::encode(&self.token_hash[..16.min(self.token_hash.len())])
    }
}
