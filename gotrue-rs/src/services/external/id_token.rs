//! The ID token that came with a provider's tokens.

use gotrue_rules::domain::external::id_token::IdToken;
use gotrue_rules::domain::external::provider::{IdTokenCheck, TokenAnswer};

use super::ask::Trouble;
use super::{Ready, source};
use crate::cx::Cx;
use crate::ports::http_client::Trust;
use crate::ports::oidc::{Checks, Source};

/// The token's claims, once it is known to be the provider's, for us, in its time, and of the same answer.
pub(super) async fn check(
    cx: &Cx,
    ready: &Ready,
    token: &TokenAnswer,
    wanted: &IdTokenCheck,
) -> Result<IdToken, Trouble> {
    let own = source(&ready.place, ready.usable.trust).filter(|source| source.issuer == wanted.issuer);
    let trust = if wanted.told_by_token { Trust::Stranger } else { ready.usable.trust };
    let source = own.unwrap_or_else(|| Source { issuer: wanted.issuer.clone(), document: None, trust });
    let clients = &ready.usable.settings.client_ids;
    let checks = Checks {
        clients: (!wanted.any_audience).then_some(&clients[..clients.len().min(1)]),
        access_token: Some(&token.access_token),
    };
    Ok(cx.app.oidc.verify(&source, &token.id_token, &checks).await?)
}
