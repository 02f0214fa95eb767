//! PKCE flows that begin with a mail: the challenge is kept until the link comes back and its code is exchanged.

use gotrue_rules::domain::error::Result;
use gotrue_rules::domain::pkce::Challenge;
use gotrue_rules::domain::purpose::Purpose;
use uuid::Uuid;

use crate::cx::Cx;
use crate::store::Connection;
use crate::store::flow_state::{self, NewFlow};

/// Keeps the challenge of a flow for this account.
pub async fn open(cx: &Cx, db: &mut Connection, account: Uuid, challenge: &Challenge, purpose: Purpose) -> Result<()> {
    let method = purpose.flow_method();
    let flow = NewFlow {
        id: cx.entropy.uuid(),
        user_id: Some(account),
        auth_code: cx.entropy.uuid(),
        challenge: &challenge.text,
        challenge_method: challenge.method.as_str(),
        // The reference names the provider only where an account is new.
        provider_type: if purpose == Purpose::SignUp { "email" } else { method },
        method,
        now: cx.now,
    };
    Ok(flow_state::insert(db, flow).await?)
}
