//! `POST /passkeys/registration/options` and `…/verify`: a new passkey of the signed-in account.

use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::passkey::{may_register, name_of, too_many};
use gotrue_rules::domain::user::Account;
use gotrue_rules::wire::passkey::{PasskeyChallengeJson, PasskeyJson};
use gotrue_rules::wire::requests::PasskeyVerification;
use gotrue_rules::wire::webauthn::{CreationOptions, Descriptor, Selection, SessionData};

use super::{body, refused, relying_party, store, use_up, user_verification};
use crate::cx::Cx;
use crate::http::reply::Reply;
use crate::services::webauthn::{NewKey, Registration};
use crate::services::{audit, webauthn};
use crate::store::OrRefuse;
use crate::store::passkeys::{self, NewPasskey};
use crate::store::webauthn_challenges::For;

/// What the browser is to ask its authenticator for.
pub async fn options(cx: Cx) -> Result<Reply> {
    let account = &permitted(&cx)?.clone();
    let known = passkeys::of_account(&mut cx.db(), account.id).await.or_refuse("Database error loading passkeys")?;
    if known.len() >= cx.app.policy.passkeys.max_per_user {
        return Err(too_many());
    }
    let party = relying_party(&cx)?;
    let unnamed = || Error::internal("Failed to generate WebAuthn registration options");
    let asked = Some(user_verification(&cx));
    let challenge = webauthn::challenge(&cx);
    let user = webauthn::user(account, webauthn::contact(account), webauthn::display_name(account));
    let mut options = CreationOptions::new(webauthn::party(party).ok_or_else(unnamed)?, user, &challenge);
    options.exclude_credentials = known.iter().map(|key| Descriptor::of(&key.credential_id, Vec::new())).collect();
    options.authenticator_selection = Selection { resident_key: Some("required"), user_verification: asked };
    options.attestation = Some("none");
    let session = SessionData::of_creation(&party.id, &challenge, &webauthn::handle(account.id), asked);
    let (challenge_id, expires_at) = store(&cx, For::Registration(account.id), &session).await?;
    Ok(Reply::json(&PasskeyChallengeJson { challenge_id, options, expires_at: expires_at.timestamp() }))
}

/// The passkey that the authenticator made.
pub async fn verify(cx: Cx) -> Result<Reply> {
    let account = permitted(&cx)?;
    let request = PasskeyVerification::decode(&body(&cx).await?)?;
    let session = use_up(&cx, request.challenge_id, For::Registration(account.id)).await?;
    let registration = Registration::read(&request.credential).map_err(refused)?;
    let key = registration.accept(relying_party(&cx)?, &session).map_err(refused)?;
    keep(&cx, account, &key).await
}

/// The caller, if one more may be registered for it.
fn permitted(cx: &Cx) -> Result<&Account> {
    let caller = cx.caller()?;
    may_register(&caller.account, caller.session.as_ref())?;
    Ok(&caller.account)
}

async fn keep(cx: &Cx, account: &Account, key: &NewKey) -> Result<Reply> {
    let (id, friendly_name) = (cx.entropy.uuid(), name_of(key.aaguid));
    let entry = Entry::of(Action::PasskeyCreated).with("passkey_id", id.to_string());
    let new = NewPasskey {
        id,
        user_id: account.id,
        credential_id: &key.id,
        public_key: &key.public_key,
        attestation_type: &key.format,
        aaguid: key.aaguid,
        sign_count: key.counter,
        transports: key.transports.as_deref().unwrap_or_default(),
        backup_eligible: key.backup_eligible,
        backed_up: key.backed_up,
        friendly_name,
        now: cx.now,
        audit: audit::rows(cx, account, [entry]),
    };
    let mut db = cx.begin().await?;
    let most = cx.app.policy.passkeys.max_per_user;
    if !passkeys::insert(&mut db, new, most).await.or_refuse("Database error creating passkey")? {
        return Err(too_many());
    }
    db.commit().await?;
    Ok(Reply::json(&PasskeyJson { id, friendly_name, created_at: cx.now, last_used_at: None }))
}
