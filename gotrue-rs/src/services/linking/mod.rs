//! Resolves an external identity to a user: sign in, link, accept an invitation, or create.
//!
//! The decision is a pure rule; this module reads, writes and sends e-mails. The caller owns the transaction and
//! commits it also when the sign-in is refused.

mod unlinking;

use foundation::error::{Error, ErrorCode, Result};
pub use gotrue_rules::domain::linking::ExternalUser;
use gotrue_rules::domain::linking::manual::require_unlinked_identity;
use gotrue_rules::domain::linking::outcome::{self, LinkingOutcome, NewAccount, NewIdentity};
use gotrue_rules::domain::linking::{LinkingDecision, decide};
use gotrue_rules::domain::one_time_token::{LinkToken, OneTimeTokenKind};
use gotrue_rules::domain::policy::HookKind;
use gotrue_rules::domain::purpose::Purpose;
use gotrue_rules::domain::sign_up::require_sign_up_enabled;
use gotrue_rules::domain::user::User;
use platform::journal::Step;
use platform::store::{Connection, OrInternalError};
use serde_json::json;
use uuid::Uuid;

pub use self::unlinking::unlink;
use super::messages::{self, TokenEmail};
use super::notices::{self, IdentityEvent};
use super::{audit, hooks, sessions};
use crate::request_context::RequestContext;
use crate::store::identities::{self, IdentityQuery};
use crate::store::one_time_tokens;

const LOOKUP_FAILED: &str = "Database error finding user";
const INSERT_FAILED: &str = "Database error saving new user";
const UPDATE_FAILED: &str = "Database error updating user";
/// Attempts to write, each repeated after a unique-constraint conflict with a concurrent sign-in.
const MAX_ATTEMPTS: usize = 4;

/// The outcome of resolving an external identity.
#[derive(Debug)]
pub enum LinkOutcome {
    /// The user is signed in.
    SignedIn {
        /// The user as the response shows it.
        user: Box<User>,
        /// Whether the user was just created.
        is_new: bool,
    },
    /// The sign-in is refused, but its writes stay: the handler commits and returns the error.
    Refused(Error),
}

/// Begins the transaction of a sign-in that issues tokens.
///
/// If it waits for a mail server or an HTTP hook, it counts as one of the limited waiting transactions.
pub async fn begin_sign_in(cx: &RequestContext, external_user: &ExternalUser<'_>) -> Result<Connection> {
    let is_verified =
        external_user.is_candidate_verified(&cx.app.policy) && external_user.profile.claims.email_verified;
    if is_verified || external_user.provider == "web3" {
        return Ok(sessions::begin_token_transaction(cx).await?);
    }
    messages::begin_for_email(cx).await
}

/// Calls the before-user-created hook if the sign-in will create a user.
///
/// Runs before the transaction, so that no connection is held during the call.
pub async fn call_before_user_created(cx: &RequestContext, external_user: &ExternalUser<'_>) -> Result<()> {
    if !cx.app.hooks.is_enabled(HookKind::BeforeUserCreated) {
        return Ok(());
    }
    let policy = &cx.app.policy;
    let known = find_candidates(cx, &mut cx.db(), external_user, None).await?;
    let email = match decide(external_user, known, &cx.audience(), policy) {
        LinkingDecision::CreateAccount { email } => email,
        LinkingDecision::CreateAccountWithoutEmail => None,
        LinkingDecision::AccountExists(_)
        | LinkingDecision::AccountExistsWithoutEmail(_)
        | LinkingDecision::LinkAccount(_)
        | LinkingDecision::MoveIdentity { .. }
        | LinkingDecision::MultipleAccounts => {
            return Ok(());
        }
    };
    require_sign_up_enabled(policy)?;
    let shown = outcome::build_account(external_user, email, new_account(cx), policy);
    hooks::call_before_user_created(cx, &shown, &external_user.profile.claims.identity_data()).await
}

fn new_account(cx: &RequestContext) -> NewAccount {
    NewAccount { id: cx.entropy.uuid(), audience: cx.audience(), now: cx.now }
}

fn new_identity(cx: &RequestContext) -> NewIdentity {
    NewIdentity { id: cx.entropy.uuid(), now: cx.now }
}

/// Calls the after-user-created hook, once the user is stored.
pub async fn call_after_user_created(cx: &RequestContext, user: &User) -> Result<()> {
    hooks::call_after_user_created(cx, user).await
}

/// Sends the notification of a linked identity, once it is stored. A failure is only logged.
pub async fn notify_identity_linked(cx: &RequestContext, user: &User, provider: &str) {
    notices::send_identity_changed(cx, user, IdentityEvent::Linked, provider).await;
}

/// Finds, links or creates the user of an external identity, in the transaction of the sign-in.
pub async fn sign_in(
    cx: &RequestContext,
    db: &mut Connection,
    external_user: &ExternalUser<'_>,
) -> Result<LinkOutcome> {
    outcome::require_subject(external_user)?;
    let policy = &cx.app.policy;
    for _ in 0..MAX_ATTEMPTS {
        let known = find_candidates(cx, db, external_user, None).await?;
        let decision = decide(external_user, known, &cx.audience(), policy);
        cx.journal.record(Step::Decision(decision.name()));
        let (new, identity_id) = (new_account(cx), cx.entropy.uuid());
        let mut outcome = outcome::apply_decision(external_user, decision, new, identity_id, policy)?;
        if write_link(cx, db, &mut outcome, None).await? {
            return finish_link(cx, db, outcome).await;
        }
    }
    Err(Error::internal(INSERT_FAILED).with_cause("identity link conflict in every attempt"))
}

/// Links the identity to the signed-in user, in the transaction of the sign-in.
pub async fn link_to_user(
    cx: &RequestContext,
    db: &mut Connection,
    user: &User,
    external_user: &ExternalUser<'_>,
) -> Result<LinkOutcome> {
    outcome::require_subject(external_user)?;
    for _ in 0..MAX_ATTEMPTS {
        let known = find_candidates(cx, db, external_user, Some(user.id)).await?;
        require_unlinked_identity(identity_owner(&known, external_user), user.id)?;
        let is_taken = is_email_taken(&known, external_user, user.id);
        let current = known
            .into_iter()
            .find(|candidate| candidate.id == user.id)
            .ok_or_else(|| Error::internal(LOOKUP_FAILED))?;
        let actor = current.clone();
        let mut outcome = outcome::link_identity(external_user, current, is_taken, new_identity(cx), &cx.app.policy)?;
        if write_link(cx, db, &mut outcome, Some(&actor)).await? {
            return finish_link(cx, db, outcome).await;
        }
    }
    Err(Error::internal(UPDATE_FAILED).with_cause("identity link conflict in every attempt"))
}

/// Accepts the invitation of this token, in the transaction of the sign-in.
pub async fn accept_invitation(
    cx: &RequestContext,
    db: &mut Connection,
    token: &str,
    external_user: &ExternalUser<'_>,
) -> Result<LinkOutcome> {
    let link = LinkToken::parse(token);
    let invited = one_time_tokens::find_user_by_link(db, &link, &[OneTimeTokenKind::Confirmation])
        .await
        .or_internal_error(LOOKUP_FAILED)?;
    let invited = invited.ok_or_else(|| Error::new(ErrorCode::InviteNotFound, "Invite not found"))?;
    let mut outcome = outcome::accept_invitation(external_user, invited, new_identity(cx), &cx.app.policy)?;
    if write_link(cx, db, &mut outcome, None).await? {
        return finish_link(cx, db, outcome).await;
    }
    Err(Error::internal("Error creating identity").with_cause("the identity belongs to another user"))
}

async fn find_candidates(
    cx: &RequestContext,
    db: &mut Connection,
    external_user: &ExternalUser<'_>,
    user: Option<Uuid>,
) -> Result<Vec<User>> {
    let emails = external_user.lookup_emails(&cx.app.policy);
    let subject = &external_user.profile.claims.subject;
    let lookup = IdentityQuery { provider: external_user.provider, subject, emails: &emails, user_id: user };
    identities::find_candidates(db, lookup).await.or_internal_error(LOOKUP_FAILED)
}

fn identity_owner(known: &[User], external_user: &ExternalUser<'_>) -> Option<Uuid> {
    let subject = &external_user.profile.claims.subject;
    let mut all = known.iter().flat_map(|user| &user.identities);
    all.find(|identity| identity.provider == external_user.provider && identity.provider_id == *subject)
        .map(|identity| identity.user_id)
}

/// Whether another user has the e-mail address of the external identity.
fn is_email_taken(known: &[User], external_user: &ExternalUser<'_>, user: Uuid) -> bool {
    let email = external_user.profile.claims.email.to_lowercase();
    let has = |other: &User| other.id != user && !other.is_sso_user && other.email.as_deref() == Some(&*email);
    !email.is_empty() && known.iter().any(has)
}

/// Writes the outcome, and reads a new user as it is stored; false if another request was first.
///
/// The audit log names the actor by the address that `actor` has, by default the user.
async fn write_link(
    cx: &RequestContext,
    db: &mut Connection,
    outcome: &mut LinkingOutcome,
    actor: Option<&User>,
) -> Result<bool> {
    let rows = audit::build_rows(cx, actor.unwrap_or(&outcome.user), outcome.audit_entries.clone());
    if outcome.is_new {
        let stored = identities::insert_user(db, outcome, rows).await.or_internal_error(INSERT_FAILED)?;
        let is_written = stored.is_some();
        outcome.user = stored.unwrap_or_else(|| outcome.user.clone());
        return Ok(is_written);
    }
    match identities::link(db, outcome, cx.now, rows).await {
        Err(error) if error.constraint() == Some("users_email_partial_key") => {
            Err(Error::http(400, ErrorCode::EmailExists, "A user with this email address has already been registered")
                .with_cause(error))
        }
        written => written.or_internal_error(UPDATE_FAILED),
    }
}

/// Sends the confirmation that is still needed and builds the outcome.
async fn finish_link(cx: &RequestContext, db: &mut Connection, outcome: LinkingOutcome) -> Result<LinkOutcome> {
    let LinkingOutcome {
        mut user,
        previous_identities: identities_before,
        is_new,
        confirms_email: confirms,
        sends_confirmation: asks,
        error: refused,
        ..
    } = outcome;
    if asks && let Some(to) = user.email.clone() {
        let email_message = TokenEmail { purpose: Purpose::SignUp, to: &to, pkce: false, new_email: None };
        messages::send_to_new_user(cx, db, &user, email_message, Vec::new()).await?;
        user.confirmation_sent_at = Some(cx.now);
    }
    if is_new && confirms {
        // As in GoTrue, the first identity of a user that is confirmed with it is shown, but not stored, as verified.
        for identity in &mut user.identities {
            identity.identity_data.insert("email_verified".to_owned(), json!(true));
        }
    }
    if !is_new {
        // As in GoTrue, the response shows the identities as they were loaded, also those that are removed.
        user.identities = identities_before;
    }
    Ok(match refused {
        Some(error) => LinkOutcome::Refused(error),
        None => LinkOutcome::SignedIn { user: Box::new(user), is_new },
    })
}
