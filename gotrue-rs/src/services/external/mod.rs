//! Sign-in with other services: which of them may be used now, how a browser gets there, and who has come back.

mod ask;
mod exchange;
mod id_token;
mod oauth1;
mod person;
mod start;

use std::ops::Deref;
use std::sync::Arc;

use gotrue_rules::domain::custom_provider::PREFIX;
use gotrue_rules::domain::external::custom::Custom;
use gotrue_rules::domain::external::provider::{Endpoints, Place, Provider};
use gotrue_rules::domain::external::stand_in::StandIn;
use gotrue_rules::domain::external::{providers, usable};
use gotrue_rules::domain::policy::ExternalProvider;

pub use person::{Person, person};
pub use start::start;

use crate::cx::Cx;
use crate::ports::http_client::Trust;
use crate::ports::oidc::{Discovery, OidcError, Source};
use crate::services::custom_providers::{self, Loaded, NotLoaded};

/// A provider that may be used now, with its settings.
#[derive(Debug)]
pub struct Usable {
    /// The provider.
    pub provider: Which,
    /// The operator's settings, or an administrator's.
    pub settings: ExternalProvider,
    /// Who wrote its addresses down.
    pub trust: Trust,
}

/// Where a provider is written down.
pub enum Which {
    /// In this program.
    BuiltIn(&'static dyn Provider),
    /// In the database.
    Stored(Box<Custom>),
    /// Nowhere: our own is asked in its place.
    StoodInFor(StandIn),
}

impl Deref for Which {
    type Target = dyn Provider;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::BuiltIn(provider) => *provider,
            Self::Stored(provider) => &**provider,
            Self::StoodInFor(provider) => provider,
        }
    }
}

impl std::fmt::Debug for Which {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a provider cannot be used, in the words that `Unsupported provider: …` quotes.
#[derive(Debug, thiserror::Error)]
pub enum NotUsable {
    /// It is not one of the built-in ones, or not set up.
    #[error(transparent)]
    BuiltIn(#[from] usable::NotUsable),
    /// It is not one of the stored ones.
    #[error(transparent)]
    Stored(#[from] NotLoaded),
    /// It does not say where it is.
    #[error(transparent)]
    Silent(OidcError),
    /// A stored one does not say where it is.
    #[error("error creating OIDC provider: failed to create OIDC provider: {0}")]
    StoredSilent(OidcError),
}

/// The provider of that name, in any letters, if it may be used now. A stored one is one statement.
pub async fn usable(cx: &Cx, name: &str) -> Result<Usable, NotUsable> {
    let name = name.to_lowercase();
    if name.starts_with(PREFIX) {
        let Loaded { provider, settings } = custom_providers::load(cx, &name).await?;
        return Ok(Usable { provider: Which::Stored(Box::new(provider)), settings, trust: Trust::Stranger });
    }
    let (Some(provider), Some(settings)) = (unstored(cx, &name), cx.app.policy.external.provider(&name)) else {
        return Err(usable::NotUsable::Unknown(name).into());
    };
    usable::check(&*provider, settings)?;
    Ok(Usable { provider, settings: settings.clone(), trust: Trust::Operator })
}

/// The built-in provider of that name, in lower case, or what stands in for it.
fn unstored(cx: &Cx, name: &str) -> Option<Which> {
    let provider = providers::find(name)?;
    let is_stood_in_for = cx.app.policy.external.stood_in_for.iter().any(|it| it == name);
    Some(if is_stood_in_for { Which::StoodInFor(StandIn(name.to_owned())) } else { Which::BuiltIn(provider) })
}

/// A provider that may be used, and where it is.
#[derive(Debug)]
struct Ready {
    usable: Usable,
    place: Place,
    /// What it says of itself, if that must be asked.
    document: Option<Arc<Discovery>>,
}

/// The same, asked where it is if it is not known beforehand.
async fn ready(cx: &Cx, name: &str) -> Result<Ready, NotUsable> {
    let usable = usable(cx, name).await?;
    let place = usable.provider.place(&usable.settings);
    let document = match source(&place, usable.trust) {
        Some(source) => Some(cx.app.oidc.discover(&source).await.map_err(|error| match usable.trust {
            Trust::Operator => NotUsable::Silent(error),
            Trust::Stranger => NotUsable::StoredSilent(error),
        })?),
        None => None,
    };
    Ok(Ready { usable, place, document })
}

/// Whom to ask where a provider is; none where that is known.
fn source(place: &Place, trust: Trust) -> Option<Source> {
    let Endpoints::Discovered { issuer, document, .. } = &place.endpoints else { return None };
    Some(Source { issuer: issuer.clone(), document: document.clone(), trust })
}

/// Whether a provider of that name speaks OAuth 1.0a, whatever its settings.
fn is_oauth1(cx: &Cx, name: &str) -> bool {
    let name = name.to_lowercase();
    let known = unstored(cx, &name).zip(cx.app.policy.external.provider(&name));
    known.is_some_and(|(provider, settings)| matches!(provider.place(settings).endpoints, Endpoints::OAuth1 { .. }))
}

impl Ready {
    /// Our id there with which sign-ins start.
    fn client_id(&self) -> &str {
        self.usable.settings.client_ids.first().map_or("", String::as_str)
    }

    /// Where a browser is sent.
    fn authorize_endpoint(&self) -> &str {
        match &self.place.endpoints {
            Endpoints::OAuth2 { authorize, .. }
            | Endpoints::OAuth1 { authorize, .. }
            | Endpoints::Discovered { instead: Some((authorize, _)), .. } => authorize,
            Endpoints::Discovered { instead: None, .. } => {
                self.document.as_ref().map_or("", |document| &document.authorization_endpoint)
            }
        }
    }

    /// Where a code is exchanged.
    fn token_endpoint(&self) -> &str {
        match &self.place.endpoints {
            Endpoints::OAuth2 { token, .. }
            | Endpoints::OAuth1 { access_token: token, .. }
            | Endpoints::Discovered { instead: Some((_, token)), .. } => token,
            Endpoints::Discovered { instead: None, .. } => {
                self.document.as_ref().map_or("", |document| &document.token_endpoint)
            }
        }
    }

    /// Where people are asked about, if the provider says so itself; else empty.
    fn userinfo_url(&self) -> &str {
        self.document.as_ref().map_or("", |document| &document.userinfo_endpoint)
    }
}
