//! `POST /sso/saml/acs`: the browser comes back from an identity provider with its response. Complaints are redirects to
//! the site, so is success, with a session or a code.

use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::external::profile::Profile;
use gotrue_rules::domain::external::state::used;
use gotrue_rules::domain::saml::assertion::Assertion;
use gotrue_rules::domain::saml::delivery::{self, Start};
use gotrue_rules::domain::saml::person::profile;
use gotrue_rules::domain::sso::SsoProvider;
use gotrue_rules::wire::redirect::{Tokens, site_with_callback_error, with_code, with_session};
use http::StatusCode;
use http::header::LOCATION;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::linking::{self, Arrival, Joined};
use crate::services::saml::{metadata, response};
use crate::services::sessions::Minted;
use crate::services::sessions::open::{Proof, open};
use crate::store::saml_relay_states::{self, WaitingFlow};
use crate::store::sso_providers;

const METHOD: &str = "sso/saml";

/// A response that came.
struct Delivered {
    provider: SsoProvider,
    xml: String,
    /// The request that it must answer.
    request: Option<String>,
    /// Where the person wants to go.
    redirect_to: String,
    /// The flow that waits for a code.
    flow: Option<WaitingFlow>,
}

/// Takes a response, and signs in whom it is about.
pub async fn handle(cx: Cx) -> Result<Reply> {
    match sign_in(&cx).await {
        Ok(location) => Ok(Reply::found_after_post(&location)),
        Err(error) if cx.journal.has_lost_database() => Err(error),
        Err(error) => {
            tell(&cx, &error);
            let location = site_with_callback_error(&cx.app.policy.site.site_url, &error).map_err(Error::other)?;
            Ok(Reply::empty(StatusCode::SEE_OTHER).with_header(LOCATION, &location))
        }
    }
}

/// Logs a refusal once: for the layers around it is none, and whoever is refused learns less of why than an operator needs.
fn tell(cx: &Cx, error: &Error) {
    let cause = error.cause.as_ref().map(|cause| tracing::field::display(cause.to_string()));
    let (id, status, code) = (&cx.request.id, error.status(), error.code());
    if status >= 500 {
        tracing::warn!(request.id = id, status, code, cause, "a sign-in by SAML failed");
    } else {
        tracing::info!(request.id = id, status, code, cause, "a sign-in by SAML was refused");
    }
}

async fn sign_in(cx: &Cx) -> Result<String> {
    let form = |name| cx.request.query(name).unwrap_or_default();
    let delivered = match Start::of(form("RelayState"))? {
        Start::Ours(id) => asked(cx, id, form("SAMLResponse")).await?,
        Start::Theirs(target) => unasked(cx, target, form("SAMLResponse"), form("SAMLart")).await?,
    };
    if !delivered.provider.is_enabled() {
        return Err(delivery::disabled());
    }
    let provider = &delivered.provider;
    let described = metadata::fresh(cx, provider).await?;
    let assertion = response::verify(cx, &described, &delivered.xml, delivered.request.as_deref())?;
    let person = profile(&assertion, &provider.saml.attribute_mapping, &provider.saml.entity_id)?.settled();
    let minted = join(cx, &delivered, &assertion, &person).await?;
    minted.mark_answer(cx);
    let target = Some(&delivered.redirect_to).filter(|target| cx.app.redirects.allows(target));
    let target = target.unwrap_or(&cx.app.policy.site.site_url);
    match &delivered.flow {
        Some(flow) => with_code(target, &flow.auth_code).map_err(Error::other),
        None => Ok(with_session(target, &tokens(&minted), None)),
    }
}

/// The answer to a request of ours, which is used up by it.
async fn asked(cx: &Cx, id: uuid::Uuid, response: &str) -> Result<Delivered> {
    let mut db = cx.db();
    let asked = saml_relay_states::by_id(&mut db, id).await?.ok_or_else(delivery::unknown_relay_state)?;
    let age = (cx.now - asked.created_at).to_std().unwrap_or_default();
    let is_late = age >= cx.app.policy.saml.relay_state_validity;
    if !is_late && !asked.provider.is_enabled() {
        return Err(delivery::disabled());
    }
    let is_first = saml_relay_states::delete(&mut db, id).await?;
    if is_late {
        return Err(delivery::expired_relay_state());
    }
    if !is_first {
        return Err(delivery::unknown_relay_state());
    }
    Ok(Delivered {
        provider: asked.provider,
        xml: delivery::decoded(response).unwrap_or_default(),
        request: Some(asked.request_id),
        redirect_to: asked.redirect_to,
        flow: asked.flow,
    })
}

/// The answer to a request of nobody's.
async fn unasked(cx: &Cx, target: &str, response: &str, artifact: &str) -> Result<Delivered> {
    let (xml, issuer) = delivery::unasked(response, artifact)?;
    let provider = sso_providers::by_entity_id(&mut cx.db(), &issuer).await?;
    let provider = provider.ok_or_else(delivery::unknown_provider)?;
    Ok(Delivered { provider, xml, request: None, redirect_to: target.to_owned(), flow: None })
}

/// Signs the person in: account, flow and session in one transaction.
async fn join(cx: &Cx, delivered: &Delivered, assertion: &Assertion, person: &Profile) -> Result<Minted> {
    let provider = delivered.provider.identity_provider();
    let arrival = Arrival { provider: &provider, profile: person, email_optional: false };
    linking::announce(cx, &arrival).await?;
    let mut db = linking::begin(cx, &arrival).await?;
    response::use_up(cx, &mut db, assertion).await?;
    let (account, is_new) = match linking::sign_in(cx, &mut db, &arrival).await? {
        Joined::In { account, is_new } => (account, is_new),
        Joined::Refused(error) => {
            db.commit().await?;
            return Err(error);
        }
    };
    if let Some(flow) = &delivered.flow
        && !saml_relay_states::claim(&mut db, flow.id, account.id, cx.now).await?
    {
        return Err(used());
    }
    let proof = Proof { not_after: assertion.session_ends, ..Proof::new(&account, METHOD, Vec::new()) };
    let minted = open(cx, &mut db, proof).await?;
    db.commit().await?;
    if is_new {
        linking::tell(cx, &minted.account).await?;
    }
    Ok(minted)
}

fn tokens(minted: &Minted) -> Tokens<'_> {
    Tokens {
        access_token: &minted.access_token,
        refresh_token: &minted.refresh_token.text,
        expires_in: minted.expires_in,
        expires_at: minted.expires_at,
        provider_token: None,
        provider_refresh_token: None,
    }
}
