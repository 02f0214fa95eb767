//! `grant_type=id_token`: a token that another service gave to the app, for a session, or for one identity more of the
//! account that is signed in.

use gotrue_rules::domain::error::{Error, Kind, Result};
use gotrue_rules::domain::external::profile::Profile;
use gotrue_rules::domain::linking::by_hand::may_manage;
use gotrue_rules::domain::user::Account;
use gotrue_rules::wire::requests::IdTokenGrant;

use crate::cx::Cx;
use crate::guards::CALLER;
use crate::http::reply::Reply;
use crate::services::id_tokens;
use crate::services::linking::{self, Arrival, Joined};
use crate::services::sessions::open::{Proof, open};
use crate::services::sessions::{Extras, Minted};

/// Who a service vouches for gets a session.
pub async fn answer(cx: &mut Cx) -> Result<Reply> {
    let request = IdTokenGrant::decode(&cx.bytes().await?)?;
    if request.link_identity {
        require_caller(cx).await?;
    }
    let accepted = id_tokens::accepted(cx, &request.presented()).await?;
    let (token, profile): (_, Profile) =
        id_tokens::read(cx, &accepted, &request.id_token, &request.access_token).await?;
    token.admit(&accepted, &request.nonce)?;
    let arrival = Arrival { provider: &accepted.provider, profile: &profile, email_optional: accepted.email_optional };
    if !request.link_identity {
        linking::announce(cx, &arrival).await?;
    }
    let (minted, is_new) = let_in(cx, &arrival, request.link_identity).await.map_err(within)?;
    if request.link_identity {
        linking::tell_of_link(cx, &minted.account, &accepted.provider).await;
    } else if is_new {
        linking::tell(cx, &minted.account).await?;
    }
    Ok(minted.reply(Extras::default()))
}

/// Only a signed-in account can be linked to, and where tokens are held strictly only if the operator allows linking.
async fn require_caller(cx: &mut Cx) -> Result<()> {
    if cx.request.header("authorization").unwrap_or_default().is_empty() {
        let description = "Linking requires a valid user access token in Authorization";
        return Err(Error::oauth("invalid request", description));
    }
    (CALLER.run)(cx).await?;
    let policy = &cx.app.policy;
    if policy.external.strict_id_tokens && !policy.security.manual_linking_enabled {
        return Err(Error::not_found("manual_linking_disabled", "Manual linking is disabled"));
    }
    if policy.mfa.linking_needs_aal2 {
        let caller = cx.caller()?;
        may_manage(&caller.account, caller.session.as_ref())?;
    }
    Ok(())
}

/// Account, identity and session in one transaction, and whether the account is new. Who is refused although something
/// was written is refused after the commit.
async fn let_in(cx: &Cx, arrival: &Arrival<'_>, links: bool) -> Result<(Minted, bool)> {
    let mut db = linking::begin(cx, arrival).await?;
    let joined = if links {
        linking::link(cx, &mut db, &cx.caller()?.account, arrival).await?
    } else {
        linking::sign_in(cx, &mut db, arrival).await?
    };
    let (account, is_new) = match joined {
        Joined::In { account, is_new } => (account, is_new),
        Joined::Refused(error) => {
            db.commit().await?;
            return Err(error);
        }
    };
    let mut minted = open(cx, &mut db, Proof::new(&account, "oauth", Vec::new())).await?;
    db.commit().await?;
    // The answer shows what the reference holds in memory: identities as they were read, its new one if it made one.
    minted.account = Account { last_sign_in_at: minted.account.last_sign_in_at, ..*account };
    Ok((minted, is_new))
}

/// Whatever else fails while somebody is let in is told in the words of OAuth.
fn within(error: Error) -> Error {
    match error.kind {
        Kind::Http { .. } => error,
        _ => Error { kind: Error::oauth("server_error", "Internal Server Error").kind, ..error },
    }
}
