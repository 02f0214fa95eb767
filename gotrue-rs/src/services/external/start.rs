//! A browser's way to a provider: what was asked for is checked, the flow is kept, the address is told.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::external::address::{Start, address};
use gotrue_rules::domain::external::provider::Endpoints;
use gotrue_rules::domain::one_time_token::Slot;
use gotrue_rules::domain::pkce::{Challenge, check_pair, s256};
use url::form_urlencoded::byte_serialize;
use uuid::Uuid;

use super::{Ready, oauth1, ready};
use crate::cx::Cx;
use crate::services::messages::redirect_target;
use crate::store::flow_state::external::{NewExternal, insert};
use crate::store::{OrRefuse, one_time_tokens};

/// Where a browser goes to sign in with the provider that the query names. `linking_target` is whose account the
/// identity is for; none: that is found out. None if the provider would not have it (OAuth 1.0a).
pub async fn start(cx: &Cx, linking_target: Option<Uuid>) -> Result<Option<String>> {
    let asked = |name| cx.request.query(name).unwrap_or_default();
    // Names in other letters are recorded as other providers: with other identities, and of another linking domain.
    let strict = cx.app.policy.security.strict_linking.then(|| asked("provider").to_lowercase());
    let name = strict.as_deref().unwrap_or_else(|| asked("provider"));
    let ready = ready(cx, name).await;
    let ready = ready.map_err(|reason| Error::invalid(format!("Unsupported provider: {reason}")).because(reason))?;
    let invite_token = Some(asked("invite_token")).filter(|token| !token.is_empty());
    if let Some(token) = invite_token {
        require_invited(cx, token).await?;
    }
    let challenge = challenge(asked("code_challenge"), asked("code_challenge_method"))?;
    let verifier = ready.place.pkce.then(|| (cx.entropy.uuid(), URL_SAFE_NO_PAD.encode(cx.entropy.bytes::<32>())));
    let verifier = verifier.as_ref().map(|(id, text)| (*id, text.as_str()));
    let id = cx.entropy.uuid();
    let flow = NewExternal {
        id,
        provider: name,
        pkce: challenge.as_ref().map(|challenge| (challenge, cx.entropy.uuid())),
        invite_token,
        target: &redirect_target(cx),
        verifier,
        linking_target,
        email_optional: ready.usable.settings.email_optional,
        now: cx.now,
    };
    insert(&mut cx.db(), flow).await.or_refuse("Error creating flow state")?;
    Ok(send(cx, &ready, &id.to_string(), verifier.map(|(_, text)| s256(text)).as_deref()).await)
}

async fn send(cx: &Cx, ready: &Ready, state: &str, challenge: Option<&str>) -> Option<String> {
    if let Endpoints::OAuth1 { request_token, authorize, .. } = &ready.place.endpoints {
        let callback = format!("{}?state={state}", ready.usable.settings.redirect_uri);
        return match oauth1::request_token(cx, ready, request_token, &callback).await {
            Ok(given) => {
                let token: String = byte_serialize(given.token.as_bytes()).collect();
                Some(format!("{authorize}?oauth_token={token}"))
            }
            Err(trouble) => {
                tracing::warn!(
                    request.id = cx.request.id,
                    "no sign-in with {}: {trouble}",
                    ready.usable.provider.name()
                );
                None
            }
        };
    }
    Some(address(
        &ready.place,
        &Start {
            endpoint: ready.authorize_endpoint(),
            client_id: ready.client_id(),
            redirect_uri: &ready.usable.settings.redirect_uri,
            state,
            challenge,
            asked: &cx.request.query,
        },
    ))
}

async fn require_invited(cx: &Cx, token: &str) -> Result<()> {
    let found = one_time_tokens::account_of(&mut cx.db(), token, &[Slot::Confirmation]).await;
    match found.or_refuse("Database error finding user")? {
        Some(_) => Ok(()),
        None => Err(Error::not_found("user_not_found", "User identified by token not found")),
    }
}

fn challenge(text: &str, method: &str) -> Result<Option<Challenge>> {
    check_pair(text, method)?;
    Challenge::new(text, method).map_err(|unknown| Error::invalid("Invalid code_challenge_method").because(unknown))
}
