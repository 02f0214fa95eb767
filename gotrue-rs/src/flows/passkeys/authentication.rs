//! `POST /passkeys/authentication/options` and `…/verify`: a session for whoever holds a passkey, which knows itself
//! whose it is.

use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::passkey::may_sign_in;
use gotrue_rules::wire::passkey::PasskeyChallengeJson;
use gotrue_rules::wire::requests::PasskeyVerification;
use gotrue_rules::wire::webauthn::{RequestOptions, SessionData};

use super::{body, refused, relying_party, store, use_up, user_verification};
use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::sessions::open::{Proof, open};
use crate::services::sessions::{self, Extras};
use crate::services::webauthn::{self, Assertion, StoredKey};
use crate::store::OrRefuse;
use crate::store::passkeys::{self, OwnedPasskey, Used};
use crate::store::webauthn_challenges::For;

/// The method, as `amr` names it.
const METHOD: &str = "passkey";

/// What the browser is to ask its authenticators for.
pub async fn options(cx: Cx) -> Result<Reply> {
    let party = relying_party(&cx)?;
    let asked = Some(user_verification(&cx));
    let challenge = webauthn::challenge(&cx);
    let mut options = RequestOptions::new(&party.id, &challenge);
    options.user_verification = asked;
    let session = SessionData::of_request(&party.id, &challenge, asked);
    let (challenge_id, expires_at) = store(&cx, For::Authentication, &session).await?;
    Ok(Reply::json(&PasskeyChallengeJson { challenge_id, options, expires_at: expires_at.timestamp() }))
}

/// A session for the account whose passkey answers the challenge.
pub async fn verify(cx: Cx) -> Result<Reply> {
    let request = PasskeyVerification::decode(&body(&cx).await?)?;
    let session = use_up(&cx, request.challenge_id, For::Authentication).await?;
    let assertion = Assertion::read(&request.credential).map_err(refused)?;
    let (passkey, sign_count) = proved(&cx, &session, &assertion).await?;
    may_sign_in(&passkey.account, cx.now)?;
    let used = Used {
        id: passkey.id,
        relied_on: passkey.sign_count,
        sign_count,
        alone: cx.app.policy.webauthn.counter_must_grow,
        now: cx.now,
    };
    let entry = Entry::of(Action::Login).with("passkey_id", passkey.id.to_string());
    let mut db = sessions::begin(&cx).await?;
    if !passkeys::used(&mut db, used).await? {
        return Err(failed("the passkey was used or deleted meanwhile"));
    }
    let minted = open(&cx, &mut db, Proof::new(&passkey.account, METHOD, vec![entry])).await?;
    db.commit().await?;
    Ok(minted.reply(Extras::default()))
}

/// The passkey that answered rightly, and its signature counter.
async fn proved(cx: &Cx, session: &SessionData, assertion: &Assertion) -> Result<(OwnedPasskey, u32)> {
    let party = relying_party(cx)?;
    let owner = assertion.account().ok_or_else(|| failed("the user handle names no account"))?;
    let found = passkeys::by_credential(&mut cx.db(), assertion.key_id(), owner).await;
    let passkey = found.or_refuse("Database error loading passkey")?;
    let passkey = passkey.ok_or_else(|| failed("the account has no such passkey"))?;
    let key = StoredKey {
        public_key: &passkey.public_key,
        counter: passkey.sign_count,
        backup_eligible: passkey.backup_eligible,
        backed_up: passkey.backed_up,
    };
    let counter = assertion.accept(party, session, key, &cx.app.policy.webauthn).map_err(refused)?;
    Ok((passkey, counter))
}

fn failed(cause: &'static str) -> Error {
    Error::bad_request("webauthn_verification_failed", "Credential verification failed").because(cause)
}
