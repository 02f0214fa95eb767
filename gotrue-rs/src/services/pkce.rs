//! PKCE flows that begin with a mail: the challenge is kept until the link comes back and its code is exchanged.

use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::pkce::{Challenge, UnknownMethod};
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::wire::requests::CodeChallenge;
use uuid::Uuid;

use crate::cx::Cx;
use crate::store::Connection;
use crate::store::flow_state::{self, NewFlow};

/// The challenge of a request that is answered alike whoever has the address. An unknown method is refused where
/// something is sent; where the answer must not tell that, at once.
pub fn asked_for(cx: &Cx, asked: &CodeChallenge) -> Result<std::result::Result<Option<Challenge>, UnknownMethod>> {
    match Challenge::new(&asked.challenge, &asked.method) {
        Err(unknown) if cx.app.policy.security.equal_work => Err(unknown.into()),
        challenge => Ok(challenge),
    }
}

/// Keeps the challenge of a flow for this account.
pub async fn open(cx: &Cx, db: &mut Connection, account: Uuid, challenge: &Challenge, purpose: Purpose) -> Result<()> {
    keep(cx, db, account, challenge, (purpose.flow_method(), purpose)).await
}

/// Keeps the challenge of a sign-up; only there is the provider named.
pub async fn open_sign_up(cx: &Cx, db: &mut Connection, account: Uuid, challenge: &Challenge) -> Result<()> {
    keep(cx, db, account, challenge, ("email", Purpose::SignUp)).await
}

async fn keep(
    cx: &Cx,
    db: &mut Connection,
    account: Uuid,
    challenge: &Challenge,
    (provider_type, purpose): (&str, Purpose),
) -> Result<()> {
    let flow = NewFlow {
        id: cx.entropy.uuid(),
        user_id: Some(account),
        auth_code: cx.entropy.uuid(),
        challenge: &challenge.text,
        challenge_method: challenge.method.as_str(),
        provider_type,
        method: purpose.flow_method(),
        now: cx.now,
    };
    Ok(flow_state::insert(db, flow).await?)
}
