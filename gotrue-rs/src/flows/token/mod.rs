//! `POST /token`: the grant is in the query or a form, never in JSON; each grant reads a body of its own.

mod id_token;
mod password;
mod pkce;
mod refresh_token;
mod web3;

use gotrue_rules::domain::error::{Error, Result};

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::limits::{self, Limited};

/// The grants of this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grant {
    IdToken,
    Password,
    Pkce,
    RefreshToken,
    Web3,
}

impl Grant {
    fn from_word(word: &str) -> Option<Self> {
        match word {
            "id_token" => Some(Self::IdToken),
            "password" => Some(Self::Password),
            "pkce" => Some(Self::Pkce),
            "refresh_token" => Some(Self::RefreshToken),
            "web3" => Some(Self::Web3),
            _ => None,
        }
    }
}

/// Finds the grant and lets it answer.
pub async fn handle(mut cx: Cx) -> Result<Reply> {
    let word = cx.request.query("grant_type").unwrap_or_default();
    let grant =
        Grant::from_word(word).ok_or_else(|| Error::bad_request("invalid_credentials", "unsupported_grant_type"))?;
    limits::take(&cx, if grant == Grant::Web3 { Limited::Web3 } else { Limited::Token })?;
    match grant {
        Grant::IdToken => id_token::answer(&mut cx).await,
        Grant::Password => password::answer(&cx).await,
        Grant::Pkce => pkce::answer(&cx).await,
        Grant::RefreshToken => refresh_token::answer(&cx).await,
        Grant::Web3 => web3::answer(&cx).await,
    }
}
