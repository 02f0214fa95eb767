//! ID tokens of other services, held against those who signed them: whose they are, and what they say of a person.
//! Nothing is written, and no connection is held while an issuer is asked.

use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::external::id_token::{
    Accepted, IdToken, Presented, choose, choose_stored, profile, stored_name,
};
use gotrue_rules::domain::external::profile::Profile;

use crate::cx::Cx;
use crate::ports::http_client::Trust;
use crate::ports::oidc::{Checks, Source};
use crate::store::{OrRefuse, custom_providers};

/// Whose token it is said to be, if that may sign people in here; one statement for a stored provider, else none.
pub async fn accepted(cx: &Cx, presented: &Presented<'_>) -> Result<Accepted> {
    let Some(name) = stored_name(presented) else { return choose(presented, &cx.app.policy.external) };
    if !cx.app.policy.custom_oauth.enabled {
        return Err(Error::invalid("Custom OAuth providers are disabled"));
    }
    let stored = custom_providers::by_identifier(&mut cx.db(), name).await;
    choose_stored(name, stored.or_refuse("Error finding custom provider")?)
}

/// The token, once its issuer vouches for it, and the person it tells of. With the access token that came with it, the
/// two must belong together.
pub async fn read(cx: &Cx, accepted: &Accepted, id_token: &str, access_token: &str) -> Result<(IdToken, Profile)> {
    let source = Source {
        issuer: accepted.issuer.clone(),
        document: accepted.document.clone(),
        trust: if accepted.is_strangers { Trust::Stranger } else { Trust::Operator },
    };
    let checks = Checks { access_token: Some(access_token).filter(|token| !token.is_empty()), ..Checks::default() };
    // An issuer that cannot be asked is nobody's mistake who asks, unlike a token that is not its own.
    cx.app.oidc.discover(&source).await.map_err(Error::other)?;
    let token = cx.app.oidc.verify(&source, id_token, &checks).await.map_err(|cause| bad().because(cause))?;
    let profile = profile(&token).map_err(|cause| bad().because(cause))?;
    Ok((token, profile.settled()))
}

fn bad() -> Error {
    Error::oauth("invalid request", "Bad ID token")
}
