//! `POST /token`: the grant type is in the query or a form; each grant reads its own body.

mod id_token;
mod password;
mod pkce;
mod refresh_token;
mod web3;

use foundation::error::{Error, ErrorCode, OAuthErrorCode, Result};
use foundation::limits_policy::LimitsPolicy;

use crate::http::reply::Reply;
use crate::request_context::RequestContext;
use crate::services::limits::{self, LimitedRoute};

/// The supported grant types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GrantType {
    IdToken,
    Password,
    Pkce,
    RefreshToken,
    Web3,
}

impl GrantType {
    fn from_query(word: &str) -> Option<Self> {
        match word {
            "id_token" => Some(Self::IdToken),
            "password" => Some(Self::Password),
            "pkce" => Some(Self::Pkce),
            "refresh_token" => Some(Self::RefreshToken),
            "web3" => Some(Self::Web3),
            _ => None,
        }
    }

    /// Returns the limit that applies to requests of this grant.
    fn limit(self, policy: &LimitsPolicy) -> LimitedRoute {
        match self {
            Self::Web3 => LimitedRoute::Web3,
            Self::Password | Self::IdToken if policy.are_sign_ins_counted_as_sign_ups => LimitedRoute::SignUp,
            _ => LimitedRoute::Token,
        }
    }
}

/// Dispatches on the grant type.
pub async fn handle(mut cx: RequestContext) -> Result<Reply> {
    let word = cx.request.query("grant_type").unwrap_or_default();
    let grant = GrantType::from_query(word)
        .ok_or_else(|| Error::new(ErrorCode::InvalidCredentials, OAuthErrorCode::UnsupportedGrantType.as_str()))?;
    limits::count_request(&cx, grant.limit(&cx.app.policy.limits)).await?;
    match grant {
        GrantType::IdToken => id_token::grant_id_token(&mut cx).await,
        GrantType::Password => password::grant_password(&cx).await,
        GrantType::Pkce => pkce::grant_pkce(&cx).await,
        GrantType::RefreshToken => refresh_token::grant_refresh_token(&cx).await,
        GrantType::Web3 => web3::grant_web3(&cx).await,
    }
}
