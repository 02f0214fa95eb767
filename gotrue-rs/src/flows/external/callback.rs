//! `GET|POST /callback`: back from a provider. Until the flow is known complaints go to the site, then to where it leads.

use gotrue_rules::domain::error::{Error, Kind, Result};
use gotrue_rules::domain::external::state;
use gotrue_rules::domain::linking::Arrival;
use gotrue_rules::domain::user::Account;
use gotrue_rules::wire::error::{ApiVersion, VERSION_HEADER};
use gotrue_rules::wire::redirect::{Tokens, site_with_callback_error, with_callback_error, with_code, with_session};
use http::Method;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::external::{Person, person};
use crate::services::linking::{self, Joined};
use crate::services::sessions::open::{Proof, open};
use crate::store::flow_state::external::{External, Linking, Settled, by_state, settle};
use crate::store::{Connection, OrRefuse, flow_state};

/// Signs in who has come back, and sends them on with a session or a code.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let flow = match flow(&cx).await {
        Ok(flow) => flow,
        Err(error) if matches!(error.kind, Kind::Broken) || cx.journal.has_lost_database() => return Err(error),
        Err(error) => return turned_away(&cx, &error),
    };
    let target = target(&cx, &flow);
    let location = match finish(&cx, &flow, target).await {
        Ok(location) => location,
        Err(error) if matches!(error.kind, Kind::Broken) || cx.journal.has_lost_database() => return Err(error),
        Err(error) => {
            tell(&cx, &error);
            with_callback_error(target, &error).map_err(Error::other)?
        }
    };
    Ok(if cx.request.method == Method::POST { Reply::found_after_post(&location) } else { Reply::found(&location) })
}

/// The flow of the state, if it still waits. As recorded, an account that it was to link to and that is gone breaks the
/// reference.
async fn flow(cx: &Cx) -> Result<External> {
    let id = state::read(cx.request.query("state").unwrap_or_default())?;
    let flow = by_state(&mut cx.db(), id).await.or_refuse("Error loading flow state")?.ok_or_else(state::unknown)?;
    state::check(flow.created_at, flow.is_pkce && flow.is_used, cx.app.policy.external.flow_state_expiry, cx.now)?;
    match flow.linking {
        // Whoever began it need not be who has proved the address since: who is, begins again.
        Linking::To(ref account)
            if cx.app.policy.security.strict_linking
                && account.email_confirmed_at.is_some_and(|confirmed_at| confirmed_at > flow.created_at) =>
        {
            Err(state::unknown())
        }
        Linking::Gone => Err(Error::broken("the account to link to is gone")),
        Linking::None | Linking::To(_) => Ok(flow),
    }
}

/// To the site; who posts is told besides.
fn turned_away(cx: &Cx, error: &Error) -> Result<Reply> {
    tell(cx, error);
    let location = site_with_callback_error(&cx.app.policy.site.site_url, error).map_err(Error::other)?;
    let reply = Reply::see_other(&location);
    if cx.request.method != Method::POST {
        return Ok(reply);
    }
    let version = ApiVersion::from_header(cx.request.header(VERSION_HEADER));
    Ok(reply.with_refusal(error, version, &cx.request.id))
}

fn target<'a>(cx: &'a Cx, flow: &'a External) -> &'a str {
    let places = [&cx.app.policy.external.redirect_url, &flow.target, &cx.app.policy.site.site_url];
    places.into_iter().find(|place| !place.is_empty()).map_or("", String::as_str)
}

async fn finish(cx: &Cx, flow: &External, target: &str) -> Result<String> {
    let person = person(cx, flow).await?;
    let arrival = Arrival { provider: &flow.provider, profile: &person.profile, email_optional: flow.email_optional };
    let is_sign_in = matches!(flow.linking, Linking::None) && flow.invite_token.is_empty();
    if is_sign_in {
        linking::announce(cx, &arrival).await?;
    }
    let mut db = linking::begin(cx, &arrival).await?;
    let joined = match &flow.linking {
        Linking::To(account) => linking::link(cx, &mut db, account, &arrival).await?,
        _ if !is_sign_in => linking::accept_invitation(cx, &mut db, &flow.invite_token, &arrival).await?,
        _ => linking::sign_in(cx, &mut db, &arrival).await?,
    };
    let account = match joined {
        Joined::In { account, .. } => account,
        Joined::Refused(error) => {
            db.commit().await?;
            return Err(error);
        }
    };
    let ended = if flow.is_pkce {
        with_its_code(cx, db, flow, (&account, &person), target).await
    } else {
        with_its_session(cx, db, flow, (&account, &person), target).await
    };
    let location = ended.map_err(within)?;
    match flow.linking {
        Linking::To(_) => linking::tell_of_link(cx, &account, &flow.provider).await,
        _ if is_sign_in => linking::tell(cx, &account).await?,
        _ => {}
    }
    Ok(location)
}

/// The flow gets its account and the provider's tokens; the session is had for the code.
async fn with_its_code(
    cx: &Cx,
    mut db: Connection,
    flow: &External,
    (account, person): (&Account, &Person),
    target: &str,
) -> Result<String> {
    let settled = Settled {
        id: flow.id,
        user_id: account.id,
        access_token: &person.access_token,
        refresh_token: &person.refresh_token,
        now: cx.now,
    };
    let code = settle(&mut db, settled).await?.ok_or_else(state::used)?;
    db.commit().await?;
    with_code(target, &code).map_err(Error::other)
}

/// The session, at once; the flow is over.
async fn with_its_session(
    cx: &Cx,
    mut db: Connection,
    flow: &External,
    (account, person): (&Account, &Person),
    target: &str,
) -> Result<String> {
    if flow_state::delete(&mut db, flow.id).await? == 0 {
        return Err(state::unknown());
    }
    let minted = open(cx, &mut db, Proof::new(account, "oauth", Vec::new())).await?;
    db.commit().await?;
    minted.mark_answer(cx);
    let tokens = Tokens {
        access_token: &minted.access_token,
        refresh_token: &minted.refresh_token.text,
        expires_in: minted.expires_in,
        expires_at: minted.expires_at,
        provider_token: Some(&person.access_token),
        provider_refresh_token: Some(&*person.refresh_token).filter(|token| !token.is_empty()),
    };
    Ok(with_session(target, &tokens, None))
}

/// What went wrong at the end of a flow, as its clients know it.
fn within(error: Error) -> Error {
    Error::oauth("server_error", error.to_string()).because(error)
}

/// Logs a refusal once: for the layers around it is none. What a client is told may hold the beginning of a code.
fn tell(cx: &Cx, error: &Error) {
    let cause = error.cause.as_ref().map(|cause| tracing::field::display(cause.to_string()));
    let (id, status, code) = (&cx.request.id, error.status(), error.code());
    if status >= 500 {
        tracing::warn!(request.id = id, status, code, cause, "a sign-in through a provider failed");
    } else {
        tracing::debug!(request.id = id, status, code, cause, "a sign-in through a provider was refused");
    }
}
