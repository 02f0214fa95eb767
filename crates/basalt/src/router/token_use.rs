//! Which tokens of this project open a service beside the auth API.

use axum::response::Response;
use functions_rs::User;
use functions_rs::gateway::CheckStanding;
use gotrue_rules::domain::oauth_server::token_use::{TokenUse, classify_token};
use http::{HeaderMap, Uri};

use super::{EdgeRouter, error_responses};

impl EdgeRouter {
    /// Refuses a request with a token of this project that does not open the service with this scope.
    ///
    /// Those are ID tokens, which tell an OAuth client who the user is, and access tokens of OAuth clients without the scope.
    /// The key of the request may be valid all the same: the token decides what the service does.
    pub(super) fn refuse_token_use(&self, scope: &str, uri: &Uri, headers: &HeaderMap) -> Option<Response> {
        let Ok(claims) = self.gateway.verified_claims(uri, headers) else {
            return Some(error_responses::ambiguous_authorization());
        };
        let is_of_client = claims.into_iter().find_map(|claims| {
            let token = classify_token(&claims);
            (!token.opens_service(scope)).then_some(matches!(token, TokenUse::Client(_)))
        })?;
        Some(if is_of_client { error_responses::insufficient_scope(scope) } else { error_responses::no_access_token() })
    }

    /// Refuses a call of a forwarded function with a token whose session has ended, or whose user is deleted or banned.
    pub(super) async fn refuse_ended_session(
        &self,
        check: &CheckStanding,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Option<Response> {
        let Ok(claims) = self.gateway.verified_claims(uri, headers) else {
            return Some(error_responses::ambiguous_authorization());
        };
        for claims in claims {
            let Some(user) = User::from_claims(&claims) else {
                match classify_token(&claims) {
                    TokenUse::ApiKey(_) | TokenUse::Visitor => continue,
                    _ => return Some(error_responses::no_access_token()),
                }
            };
            match check(user, std::sync::Arc::default()).await {
                Some(true) => {}
                Some(false) => return Some(error_responses::ended_session()),
                None => return Some(error_responses::database_unavailable()),
            }
        }
        None
    }
}
