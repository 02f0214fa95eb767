//! Invitations and generated links of administrators.
//!
//! An invitation is sent by e-mail, a generated link is returned to the administrator; both issue the same kind of
//! token.

use foundation::email::Email;
use foundation::error::{Error, Result};
use gotrue_rules::domain::links::{LinkPassword, LinkType, with_issued_link};
use gotrue_rules::domain::one_time_token::{LinkToken, OneTimeTokenKind, TokenHash};
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::domain::sign_up::NewUserIds;
use gotrue_rules::domain::user::User;
use platform::store::{Connection, OrInternalError};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::attempt::Attempt;
use super::messages::{self, OneTimeToken, SentToken, TokenEmail};
use super::passwords::AfterDisconnect;
use super::{explanations, hooks, passwords};
use crate::request_context::RequestContext;
use crate::store::accounts;
use crate::store::audit::AuditRow;
use crate::store::contact_changes::{self, EmailChangeHalf};

const INSERT_FAILED: &str = "Database error saving new user";
const UPDATE_FAILED: &str = "Database error updating user";

/// The user that an administrator invites or generates a link for.
#[derive(Debug)]
pub enum LinkRecipient {
    /// An existing user.
    Existing(Box<User>),
    /// A user that is inserted by the same write.
    New(Box<User>),
}

/// Builds a user on behalf of an administrator, with a hashed password if one is given.
///
/// Calls the before-user-created hook. Nothing is stored and no connection is held.
pub async fn build_user(
    cx: &RequestContext,
    email: Email,
    data: Option<Map<String, Value>>,
    password: LinkPassword<'_>,
) -> Result<User> {
    let ids = NewUserIds { user: cx.entropy.uuid(), identity: cx.entropy.uuid() };
    let hash = hash_password(cx, ids.user, password).await?;
    let made = gotrue_rules::domain::links::build_invited_user(ids, email, cx.audience(), data, cx.now);
    let made = User { role: cx.app.policy.jwt.default_group.clone(), encrypted_password: hash, ..made };
    hooks::call_before_user_created(cx, &made, &made.user_metadata).await?;
    Ok(made)
}

async fn hash_password(cx: &RequestContext, owner: Uuid, password: LinkPassword<'_>) -> Result<Option<String>> {
    match password {
        LinkPassword::Plain(given) => {
            passwords::require_strong(cx, given).await?;
            passwords::hash(cx, owner, given, AfterDisconnect::Complete).await.map(Some)
        }
        LinkPassword::Random => Ok(Some(passwords::unusable_hash(cx, owner))),
        LinkPassword::None => Ok(None),
    }
}

/// Sends an invitation and returns the changed user.
///
/// An existing user can be invited again; the after-user-created hook is called each time.
pub async fn invite(cx: &RequestContext, recipient: LinkRecipient, audit: Vec<AuditRow>) -> Result<Attempt<User>> {
    let user = match recipient {
        LinkRecipient::Existing(known) => {
            send_invitation(cx, &known, audit).await?;
            known
        }
        LinkRecipient::New(new) => {
            let mut db = messages::begin_for_email(cx).await?;
            let stored = match insert_user(&mut db, &new).await? {
                Attempt::Done(stored) => Box::new(stored),
                Attempt::Conflict(error) => {
                    db.rollback().await?;
                    return Ok(Attempt::Conflict(error));
                }
            };
            messages::send_to_new_user(cx, &mut db, &stored, invitation_message(&stored), audit).await?;
            db.commit().await?;
            stored
        }
    };
    let invited = with_issued_link(*user, LinkType::Invite, None, cx.now);
    hooks::call_after_user_created(cx, &invited).await?;
    Ok(Attempt::Done(invited))
}

/// Sends an invitation to an existing user.
pub async fn send_invitation(cx: &RequestContext, user: &User, audit: Vec<AuditRow>) -> Result<()> {
    messages::send_to_user(cx, user, invitation_message(user), audit).await
}

async fn insert_user(db: &mut Connection, new: &User) -> Result<Attempt<User>> {
    Attempt::from_insertion(accounts::insert_within(db, new, Vec::new()).await, INSERT_FAILED)
}

fn invitation_message(user: &User) -> TokenEmail<'_> {
    let to = user.email.as_deref().unwrap_or_default();
    TokenEmail { purpose: Purpose::Invite, to, pkce: false, new_email: None }
}

/// A requested link.
#[derive(Debug)]
pub struct LinkRequest<'a> {
    pub kind: LinkType,
    /// The new address, for an e-mail change.
    pub new_email: Option<&'a Email>,
    /// The redirect target; ignored unless it is allowed.
    pub redirect_to: &'a str,
    /// Metadata to set on an unconfirmed user; `null` removes a member.
    pub data: Option<&'a Map<String, Value>>,
    /// The audit rows.
    pub audit: Vec<AuditRow>,
}

/// A generated link.
#[derive(Debug)]
pub struct IssuedLink {
    /// The changed user.
    pub user: User,
    /// The code, the link and its redirect target.
    pub token: OneTimeToken,
    /// The link's token as if it were for the user's own address, whichever address it is for.
    pub own_link_token: String,
}

/// Issues a token that only the administrator receives.
pub async fn generate_link(
    cx: &RequestContext,
    recipient: LinkRecipient,
    link_request: LinkRequest<'_>,
) -> Result<Attempt<IssuedLink>> {
    let (user, is_new) = match recipient {
        LinkRecipient::Existing(known) => (*known, false),
        LinkRecipient::New(new) => (*new, true),
    };
    let own = user.email.clone().unwrap_or_default();
    let to = match link_request.kind {
        LinkType::EmailChangeNew => link_request.new_email.map(Email::as_str).unwrap_or_default(),
        _ => &own,
    };
    let email_message = TokenEmail {
        purpose: link_request.kind.purpose(),
        to,
        pkce: false,
        new_email: link_request.new_email.map(Email::as_str),
    };
    let token = messages::issue_token(cx, email_message, link_redirect_target(cx, link_request.redirect_to));
    let own_hash = TokenHash::new(&own, &token.code);
    let own_link_token = LinkToken::new(own_hash, token.row_id).format();
    let (kind, new_email) = (link_request.kind, link_request.new_email);
    let user = if is_new || link_request.data.is_some() {
        let mut db = cx.begin().await?;
        let user = match write_user(cx, &mut db, user, is_new, link_request.data).await? {
            Attempt::Done(user) => user,
            Attempt::Conflict(error) => {
                db.rollback().await?;
                return Ok(Attempt::Conflict(error));
            }
        };
        store_token_hash(cx, &mut db, &user, link_request, RecipientHash::new(to, &token)).await?;
        db.commit().await?;
        user
    } else {
        store_token_hash(cx, &mut cx.db(), &user, link_request, RecipientHash::new(to, &token)).await?;
        user
    };
    let user = with_issued_link(user, kind, new_email, cx.now);
    if is_new {
        hooks::call_after_user_created(cx, &user).await?;
    }
    Ok(Attempt::Done(IssuedLink { user, token, own_link_token }))
}

/// The redirect target of a link: the requested one if it is allowed, else the default of e-mails.
fn link_redirect_target(cx: &RequestContext, requested: &str) -> String {
    explanations::record_target(cx, requested);
    if cx.app.redirect_allow_list.allows(requested) { requested.to_owned() } else { messages::redirect_target(cx) }
}

/// Inserts a new user, or updates the metadata of an unconfirmed one.
async fn write_user(
    cx: &RequestContext,
    db: &mut Connection,
    user: User,
    is_new: bool,
    data: Option<&Map<String, Value>>,
) -> Result<Attempt<User>> {
    if is_new {
        return insert_user(db, &user).await;
    }
    let changes = accounts::UserChanges { user_metadata: data, ..accounts::UserChanges::default() };
    let updated = accounts::update(db, user.id, cx.now, changes, Vec::new()).await.or_internal_error(UPDATE_FAILED)?;
    updated.map(Attempt::Done).ok_or_else(|| Error::internal(UPDATE_FAILED))
}

/// The hash of a token and the address that it is bound to.
struct RecipientHash<'a> {
    to: &'a str,
    hash: &'a TokenHash,
    row_id: Uuid,
}

impl<'a> RecipientHash<'a> {
    fn new(to: &'a str, token: &'a OneTimeToken) -> Self {
        Self { to, hash: &token.hash, row_id: token.row_id }
    }
}

/// Stores the token hash, replacing an earlier one of its slot.
async fn store_token_hash(
    cx: &RequestContext,
    db: &mut Connection,
    user: &User,
    link_request: LinkRequest<'_>,
    RecipientHash { to, hash, row_id }: RecipientHash<'_>,
) -> Result<()> {
    let slot = match link_request.kind {
        LinkType::EmailChangeCurrent => OneTimeTokenKind::EmailChangeCurrent,
        LinkType::EmailChangeNew => OneTimeTokenKind::EmailChangeNew,
        kind => {
            let secret = SentToken { purpose: kind.purpose(), to, hash, row_id };
            return messages::store(cx, db, user, secret, link_request.audit).await;
        }
    };
    let half = EmailChangeHalf {
        user_id: user.id,
        new: link_request.new_email.map(Email::as_str).unwrap_or_default(),
        slot,
        hash: (hash.as_str(), row_id),
        relates_to: to,
        now: cx.now,
    };
    contact_changes::store_email_change_half(db, half).await.or_internal_error(UPDATE_FAILED)
}
