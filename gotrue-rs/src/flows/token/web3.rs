//! `grant_type=web3`: a message that a wallet signed for a session. Who signs owns the account of the address.

use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::error::{Error, Kind, Result};
use gotrue_rules::domain::web3::{self, Message, PROVIDER, Surroundings};
use gotrue_rules::wire::requests::Web3Grant;

use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::linking::{self, Arrival, Joined};
use crate::services::sessions::Extras;
use crate::services::sessions::open::{Proof, open};
use crate::store::{Connection, used_messages};

/// A session for the account of the address.
pub async fn answer(cx: &Cx) -> Result<Reply> {
    let policy = &cx.app.policy.web3;
    web3::check_enabled(policy)?;
    let request = Web3Grant::decode(&cx.bytes().await?)?;
    let message = web3::proven(&request, policy)?;
    let allows = |target: &str| cx.app.redirects.allows(target);
    message.judge(&Surroundings { now: cx.now, policy, allows: &allows })?;
    let profile = message.profile();
    let arrival = Arrival { provider: PROVIDER, profile: &profile, email_optional: true };
    linking::announce(cx, &arrival).await?;
    sign_in(cx, &message, &arrival).await
}

async fn sign_in(cx: &Cx, message: &Message, arrival: &Arrival<'_>) -> Result<Reply> {
    let mut db = linking::begin(cx, arrival).await.map_err(failed)?;
    use_up(cx, &mut db, message).await?;
    let (account, is_new) = match linking::sign_in(cx, &mut db, arrival).await.map_err(failed)? {
        Joined::In { account, is_new } => (account, is_new),
        Joined::Refused(error) => {
            db.commit().await?;
            return Err(error);
        }
    };
    let entry = Entry::of(Action::Login)
        .with("provider", PROVIDER)
        .with("chain", message.chain.word())
        .with("network", message.network.as_str())
        .with("address", message.address.as_str())
        .with("domain", message.domain.as_str())
        .with("uri", message.uri.members());
    let mut minted = open(cx, &mut db, Proof::new(&account, PROVIDER, vec![entry])).await.map_err(failed)?;
    db.commit().await?;
    // As recorded: what this message says of network and statement is in the metadata, not yet in the identity shown.
    minted.account.identities.clone_from(&account.identities);
    if is_new {
        linking::tell(cx, &account).await?;
    }
    Ok(minted.reply(Extras::default()))
}

/// Where a message opens one session, it is now used: 400 for whoever comes with it again.
async fn use_up(cx: &Cx, db: &mut Connection, message: &Message) -> Result<()> {
    let policy = &cx.app.policy.web3;
    if !policy.once_only {
        return Ok(());
    }
    let is_first = used_messages::insert(db, &message.fingerprint(), message.is_over_at(policy), cx.now).await?;
    if is_first { Ok(()) } else { Err(web3::used(message.chain)) }
}

/// What went wrong on our side is an OAuth error here.
fn failed(error: Error) -> Error {
    match error.kind {
        Kind::Other | Kind::Postgres(_) => Error::oauth("server_error", "Internal Server Error").because(error),
        _ => error,
    }
}
