//! PKCE flows that start with an e-mail.
//!
//! The challenge is stored until the code of the link is exchanged.

use foundation::error::Result;
use gotrue_rules::domain::pkce::{Challenge, UnknownMethod};
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::wire::requests::PkceParameters;
use platform::store::Connection;
use uuid::Uuid;

use crate::request_context::RequestContext;
use crate::store::flow_state::{self, NewFlow};

/// Parses the challenge of a request whose response must not reveal whether the address has a user.
///
/// Where it must not, an unknown method is refused at once, else when a message is sent.
pub fn parse_challenge(
    cx: &RequestContext,
    request: &PkceParameters,
) -> Result<std::result::Result<Option<Challenge>, UnknownMethod>> {
    match Challenge::new(&request.challenge, &request.method) {
        Err(unknown) if cx.app.policy.security.is_equal_work_enabled => Err(unknown.into()),
        challenge => Ok(challenge),
    }
}

/// Stores the challenge of a flow of this user.
pub async fn store_challenge(
    cx: &RequestContext,
    db: &mut Connection,
    user: Uuid,
    challenge: &Challenge,
    purpose: Purpose,
) -> Result<()> {
    insert_flow(cx, db, user, challenge, FlowMethod { provider_type: purpose.flow_authentication_method(), purpose })
        .await
}

/// Stores the challenge of a sign-up, whose provider is `email`.
pub async fn store_sign_up_challenge(
    cx: &RequestContext,
    db: &mut Connection,
    user: Uuid,
    challenge: &Challenge,
) -> Result<()> {
    insert_flow(cx, db, user, challenge, FlowMethod { provider_type: "email", purpose: Purpose::SignUp }).await
}

/// How a flow authenticates its user.
struct FlowMethod<'a> {
    provider_type: &'a str,
    purpose: Purpose,
}

async fn insert_flow(
    cx: &RequestContext,
    db: &mut Connection,
    user: Uuid,
    challenge: &Challenge,
    FlowMethod { provider_type, purpose }: FlowMethod<'_>,
) -> Result<()> {
    let flow = NewFlow {
        id: cx.entropy.uuid(),
        user_id: Some(user),
        auth_code: cx.entropy.uuid(),
        challenge: &challenge.value,
        challenge_method: challenge.method.as_str(),
        provider_type,
        method: purpose.flow_authentication_method(),
        now: cx.now,
    };
    Ok(flow_state::insert(db, flow).await?)
}
