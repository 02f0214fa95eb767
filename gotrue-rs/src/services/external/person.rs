//! Who has come back from a provider: the code for tokens, the tokens for what it knows of the person.

use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::external::oauth1::Token;
use gotrue_rules::domain::external::profile::Profile;
use gotrue_rules::domain::external::provider::{BadAnswer, Endpoints, Fetch, Known, Step, TokenAnswer};
use gotrue_rules::domain::external::state::verifier;
use gotrue_rules::domain::external::token_answer::authorization;
use gotrue_rules::wire::go_json::Document;
use reqwest::{Method, Request};
use url::Url;

use super::ask::{Trouble, ask, put, require_success};
use super::exchange::exchange;
use super::{Ready, is_oauth1, oauth1, ready};
use crate::cx::Cx;
use crate::store::OrRefuse;
use crate::store::flow_state::external::External;
use crate::store::oauth_client_states;

/// No provider takes more steps than three.
const MOST_STEPS: usize = 8;

/// Somebody who has come back.
#[derive(Debug)]
pub struct Person {
    /// What the provider says of them, settled.
    pub profile: Profile,
    /// Its access token.
    pub access_token: String,
    /// Its refresh token; empty: none.
    pub refresh_token: String,
}

/// Who has come back to the flow, with what the browser brings along.
pub async fn person(cx: &Cx, flow: &External) -> Result<Person> {
    let person = if is_oauth1(cx, &flow.provider) { by_oauth1(cx, flow).await? } else { by_code(cx, flow).await? };
    if person.profile.emails.is_empty() && !flow.email_optional {
        return Err(Error::internal(NO_EMAIL));
    }
    Ok(Person { profile: person.profile.settled(), ..person })
}

const NO_EMAIL: &str = "Error getting user email from external provider";

async fn by_code(cx: &Cx, flow: &External) -> Result<Person> {
    let brought = |name| cx.request.query(name).unwrap_or_default();
    if !brought("error").is_empty() {
        return Err(Error::oauth(brought("error").to_owned(), brought("error_description").to_owned()));
    }
    let code = brought("code");
    if code.is_empty() {
        let message = "OAuth callback with missing authorization code missing";
        return Err(Error::bad_request("bad_oauth_callback", message));
    }
    let ready = still_usable(cx, flow).await?;
    let verifier = kept_verifier(cx, flow, ready.place.pkce).await?;
    let token = exchange(cx, &ready, code, verifier.as_deref()).await.map_err(|trouble| {
        let begin: String = code.chars().take(4).collect();
        Error::internal(format!("Unable to exchange external code: {begin}")).because(trouble)
    })?;
    let profile = profile(cx, &ready, &token, None).await;
    let profile = profile
        .map_err(|trouble| Error::internal("Error getting user profile from external provider").because(trouble))?;
    let profile = with_user(&ready, profile, &token, brought("user"))?;
    Ok(Person { profile, access_token: token.access_token, refresh_token: token.refresh_token })
}

/// What the provider posts beside the code, once. As recorded, the reference breaks down where it has nobody to add it to.
fn with_user(ready: &Ready, profile: Profile, token: &TokenAnswer, posted: &str) -> Result<Profile> {
    if posted.is_empty() || !ready.usable.provider.reads_user() {
        return Ok(profile);
    }
    if !token.has_id_token() {
        return Err(Error::broken("what was posted names nobody whom the provider knows"));
    }
    let read = ready.usable.provider.with_user(posted, profile);
    read.map_err(|bad| Error::oauth("server_error", "The user that was posted cannot be read").because(bad))
}

async fn by_oauth1(cx: &Cx, flow: &External) -> Result<Person> {
    let ready = still_usable(cx, flow).await?;
    let Endpoints::OAuth1 { access_token, .. } = &ready.place.endpoints else {
        return Err(Error::other("the provider speaks another OAuth by now"));
    };
    let brought = |name| cx.request.query(name).unwrap_or_default();
    let back = (brought("oauth_token"), brought("oauth_verifier"));
    let token = oauth1::access_token(cx, &ready, access_token, back).await;
    let token = token.map_err(|trouble| Error::internal("Unable to retrieve access token").because(trouble))?;
    let answer = TokenAnswer { access_token: token.token.clone(), ..TokenAnswer::default() };
    let profile = profile(cx, &ready, &answer, Some(&token)).await;
    let profile = profile.map_err(|trouble| Error::internal(NO_EMAIL).because(trouble))?;
    Ok(Person { profile, access_token: token.token, refresh_token: String::new() })
}

/// A provider that was switched off meanwhile signs nobody in.
async fn still_usable(cx: &Cx, flow: &External) -> Result<Ready> {
    ready(cx, &flow.provider).await.map_err(|reason| {
        let message = format!("Unsupported provider: {reason}");
        Error::bad_request("oauth_provider_not_supported", message).because(reason)
    })
}

/// The verifier that was kept for the provider: taken once, whatever follows.
async fn kept_verifier(cx: &Cx, flow: &External, is_wanted: bool) -> Result<Option<String>> {
    let mut kept = None;
    if let Some(id) = flow.verifier {
        kept = Some(oauth_client_states::take(&mut cx.db(), id).await.or_refuse("Failed to find OAuth state")?);
    }
    verifier(kept, &flow.provider, is_wanted, cx.now)
}

/// Asks until the provider's answers make a profile.
async fn profile(cx: &Cx, ready: &Ready, token: &TokenAnswer, by: Option<&Token>) -> Result<Profile, Trouble> {
    let (mut answers, mut id_token) = (Vec::new(), None);
    for _ in 0..MOST_STEPS {
        let known = Known {
            settings: &ready.usable.settings,
            token,
            id_token: id_token.as_ref(),
            userinfo_url: ready.userinfo_url(),
            answers: &answers,
        };
        match ready.usable.provider.next(&known)? {
            Step::Done(profile) => return Ok(*profile),
            Step::Fetch(wanted) => answers.push(fetch(cx, ready, &wanted, (token, by)).await?),
            Step::CheckIdToken(check) => id_token = Some(super::id_token::check(cx, ready, token, &check).await?),
        }
    }
    Err(Trouble::Endless)
}

async fn fetch(
    cx: &Cx,
    ready: &Ready,
    wanted: &Fetch,
    (token, by): (&TokenAnswer, Option<&Token>),
) -> Result<Document, Trouble> {
    let mut request = Request::new(Method::GET, Url::parse(&wanted.url)?);
    for (name, value) in &wanted.headers {
        put(&mut request, name, value)?;
    }
    let answer = if let Some(by) = by {
        oauth1::get(cx, ready, request, by).await?
    } else {
        put(&mut request, "authorization", &authorization(token))?;
        ask(cx, ready.usable.trust, "provider.person", request).await?
    };
    require_success(&answer)?;
    let read = if wanted.is_whole { Document::parse } else { Document::parse_first };
    Ok(read(&answer.body).map_err(BadAnswer::from)?)
}
