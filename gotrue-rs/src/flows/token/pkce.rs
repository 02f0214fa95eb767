//! `grant_type=pkce`: the code of a flow and the verifier of its challenge for a session. The code works once.

use std::time::Duration;

use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::pkce::{Challenge, Flow, unknown_code};
use gotrue_rules::wire::requests::PkceGrant;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::sessions::open::{Proof, open};
use crate::services::sessions::{self, Extras};
use crate::store::flow_state::{self, Flow as StoredFlow};

/// No code lives for less.
const SHORTEST_LIFE: Duration = Duration::from_mins(5);

/// A session by the method that the flow was asked for.
pub async fn answer(cx: &Cx) -> Result<Reply> {
    let request = PkceGrant::decode(&cx.bytes().await?)?;
    if request.auth_code.is_empty() || request.code_verifier.is_empty() {
        return Err(Error::invalid("invalid request: both auth code and code verifier should be non-empty"));
    }
    let stored = flow_state::by_code(&mut cx.db(), &request.auth_code).await?.ok_or_else(unknown_code)?;
    let life = cx.app.policy.external.flow_state_expiry.max(SHORTEST_LIFE);
    flow(&stored)?.redeem(&request.code_verifier, life, cx.now)?;
    let entry = Entry::of(Action::Login).with("provider_type", stored.provider_type.as_str());
    let mut db = sessions::begin(cx).await?;
    if flow_state::delete(&mut db, stored.id).await? == 0 {
        return Err(unknown_code());
    }
    let proof = Proof::new(&stored.account, &stored.method, vec![entry]);
    let minted = open(cx, &mut db, proof).await?;
    db.commit().await?;
    Ok(minted.reply(Extras {
        provider_token: stored.provider_access_token.as_deref(),
        provider_refresh_token: stored.provider_refresh_token.as_deref(),
        ..Extras::default()
    }))
}

fn flow(stored: &StoredFlow) -> Result<Flow> {
    let text = stored.challenge.as_deref().unwrap_or_default();
    let challenge = Challenge::new(text, stored.challenge_method.as_deref().unwrap_or_default())?;
    Ok(Flow {
        challenge,
        method: stored.method.clone(),
        created_at: stored.created_at,
        auth_code_issued_at: stored.auth_code_issued_at,
    })
}
