//! `GET /verify`: all but two complaints end in a redirect to the site.

use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::one_time_token::TokenHash;
use gotrue_rules::domain::purpose::flow_method_of;
use gotrue_rules::domain::verification::{HALF_ACCEPTED, Presented, Request, no_flow};
use gotrue_rules::wire::redirect::{Tokens, with_code, with_error, with_message, with_session};
use http::StatusCode;
use http::header::CACHE_CONTROL;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::messages::redirect_target;
use crate::services::sessions::open::{Proof, open};
use crate::services::verification::{Redeemed, redeem};
use crate::services::{notices, sessions};
use crate::store::flow_state;

/// What a browser or scanner says of a request that nobody has asked for yet.
const LOOKING_AHEAD: [&str; 4] = ["sec-purpose", "purpose", "x-purpose", "x-moz"];

/// Follows a mailed link. Who only looks ahead must not use it up, and is told to come back.
pub async fn handle(cx: Cx) -> Result<Reply> {
    if LOOKING_AHEAD.iter().any(|name| cx.request.header(name).is_some_and(|said| said.contains("prefetch"))) {
        return Ok(Reply::empty(StatusCode::SERVICE_UNAVAILABLE).with_header(CACHE_CONTROL, "no-store"));
    }
    let word = cx.request.query("type").unwrap_or_default();
    let request = Request::of_link(word, cx.request.query("token").unwrap_or_default())?;
    let Presented::Link(hash) = &request.presented else { return Err(Error::other("a link holds no code")) };
    let method = if hash.is_pkce() {
        Some(flow_method_of(word).ok_or_else(|| Error::other(format!("unsupported authentication method {word:?}")))?)
    } else {
        None
    };
    let target = redirect_target(&cx);
    let location = match follow(&cx, &request, hash, method, &target).await {
        Ok(location) => location,
        // The link is still good: the browser may be told to load it again.
        Err(error) if cx.journal.has_lost_database() => return Err(error),
        Err(error) => {
            tracing::debug!(request.id = cx.request.id, code = error.code(), "link refused: {}", error.message());
            with_error(&target, &error, method.is_some()).map_err(Error::other)?
        }
    };
    Ok(Reply::see_other(&location))
}

async fn follow(cx: &Cx, request: &Request, hash: &TokenHash, method: Option<&str>, target: &str) -> Result<String> {
    let good = super::by_link(cx, request.kind, hash).await?;
    let mut db = sessions::begin(cx).await?;
    let Redeemed::Done(account) = redeem(cx, &mut db, &good).await? else {
        db.commit().await?;
        return with_message(target, HALF_ACCEPTED, method.is_some()).map_err(Error::other);
    };
    if let Some(method) = method {
        let code = flow_state::stamp_code(&mut db, account.id, method, cx.now).await?.ok_or_else(no_flow)?;
        db.commit().await?;
        notices::of_contacts(cx, &good.account, &account).await;
        return with_code(target, &code).map_err(Error::other);
    }
    let minted = open(cx, &mut db, Proof::new(&account, "otp", Vec::new())).await?;
    db.commit().await?;
    notices::of_contacts(cx, &good.account, &account).await;
    minted.mark_answer(cx);
    let tokens = Tokens {
        access_token: &minted.access_token,
        refresh_token: &minted.refresh_token.text,
        expires_in: minted.expires_in,
        expires_at: minted.expires_at,
        provider_token: None,
        provider_refresh_token: None,
    };
    Ok(with_session(target, &tokens, Some(good.kind.as_str())))
}
