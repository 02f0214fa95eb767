//! `PUT /user`: updates the signed-in user.
//!
//! A metadata update is one statement after the guard's; a new address or number needs a confirmation first.

use std::sync::Arc;

use foundation::error::{Error, Result};
use gotrue_rules::domain::audit::{AuditAction, AuditEntry};
use gotrue_rules::domain::identity::{
    app_metadata_with_providers, identity_for_first_password, merge_metadata, provider_metadata,
};
use gotrue_rules::domain::metadata;
use gotrue_rules::domain::reauthentication::{
    NonceCheck, ReauthenticationRequirement, decide_requirement, invalid_nonce, verify_nonce,
};
use gotrue_rules::domain::user::{Identity, User};
use gotrue_rules::domain::user_update::{
    ContactChanges, authorize_update, current_password_to_verify, current_password_wrong, email_taken, parse_contacts,
    phone_taken, same_password,
};
use gotrue_rules::wire::requests::UserUpdateRequest;
use gotrue_rules::wire::user::UserJson;
use platform::store::{Connection, OrInternalError};

use crate::http::reply::Reply;
use crate::request_context::{Caller, RequestContext};
use crate::services::messages::require_provider_approval;
use crate::services::notices::without_pending_tokens;
use crate::services::passwords::AfterDisconnect;
use crate::services::{audit, contact_change, limits, notices, passwords};
use crate::store::audit::AuditRow;
use crate::store::{accounts, audit as audit_log, identities, one_time_tokens, users};

/// Updates the user of the token.
pub async fn handle(cx: RequestContext, caller: Arc<Caller>) -> Result<Reply> {
    let request = UserUpdateRequest::decode(&cx.read_body().await?)?;
    let policy = &cx.app.policy;
    let (stored, limits) = (&caller.user, policy.api.metadata_limits);
    metadata::validate_update("data", &stored.user_metadata, request.data.as_ref(), limits)?;
    metadata::validate_update("app_metadata", &stored.app_metadata, request.app_metadata.as_ref(), limits)?;
    let contacts = parse_contacts(&request, policy)?;
    if let Some(password) = &request.password {
        passwords::require_strong(&cx, password).await?;
    }
    let changes = authorize_update(&request, contacts, &caller.user, caller.session.as_ref(), policy)?;
    require_unused_contacts(&cx, &caller.user, &changes).await?;
    let password = hash_new_password(&cx, &caller, &request).await?;
    let update = AuthorizedUpdate { cx: &cx, caller: &caller, request: &request, password };
    let changes_contact = changes.email.is_some() || changes.phone.is_some();
    let user = if changes_contact {
        update.apply_with_contacts(&changes).await?
    } else {
        update.apply_without_contacts().await?
    };
    let is_notified = changes_contact && !cx.app.delivery.is_outbox();
    if update.password.is_some() && !is_notified {
        notices::send_password_changed(&cx, &caller.user).await;
    }
    notices::send_contact_changed(&cx, &caller.user, &user).await;
    Ok(Reply::json(&UserJson::from(&user)))
}

/// Refuses an address or number of another user.
async fn require_unused_contacts(cx: &RequestContext, user: &User, changes: &ContactChanges) -> Result<()> {
    if let Some(email) = &changes.email {
        let own_domain_providers: Vec<String> =
            cx.app.policy.experimental.provider_linking_domains.keys().cloned().collect();
        let taken =
            users::is_email_taken(&mut cx.db(), email.as_str(), &cx.audience(), &own_domain_providers, user.id).await;
        if taken.or_internal_error("Database error checking email")? {
            return Err(email_taken());
        }
    }
    if let Some((phone, _)) = &changes.phone {
        let taken = users::is_phone_taken(&mut cx.db(), phone.as_str(), &cx.audience(), user.id).await;
        if taken.or_internal_error("Database error checking phone")? {
            return Err(phone_taken());
        }
    }
    Ok(())
}

/// Returns the hash of the new password after the required proofs: nonce, current password.
///
/// No connection is held during hashing.
async fn hash_new_password(
    cx: &RequestContext,
    caller: &Caller,
    request: &UserUpdateRequest,
) -> Result<Option<String>> {
    let Some(password) = &request.password else { return Ok(None) };
    let (user, session) = (&caller.user, caller.session.as_ref());
    let mut then = AfterDisconnect::Skip;
    if decide_requirement(&request.nonce, session, &cx.app.policy.security, cx.now)?
        == ReauthenticationRequirement::Needed
    {
        consume_nonce(cx, user, &request.nonce).await?;
        then = AfterDisconnect::Complete;
    }
    if let Some(current) = current_password_to_verify(request, user, session, &cx.app.policy.security)? {
        let guess = limits::count_password_guess(cx, &user.id.to_string(), Some(user.id)).await?;
        if !passwords::is_correct(cx, current, user, then).await? {
            return Err(current_password_wrong());
        }
        guess.release_correct();
    }
    if passwords::is_correct(cx, password, user, then).await? {
        return Err(same_password());
    }
    Ok(Some(passwords::hash(cx, user.id, password, then).await?))
}

/// Verifies the nonce and consumes it, whatever follows. Of two concurrent requests, one succeeds.
async fn consume_nonce(cx: &RequestContext, user: &User, nonce: &str) -> Result<()> {
    let guess = limits::count_code_guess(cx, &user.id.to_string()).await?;
    match verify_nonce(nonce, user, &cx.app.policy, cx.now)? {
        NonceCheck::Valid => {}
        NonceCheck::RequiresTwilioCheck => {
            require_provider_approval(cx, user.phone.as_deref().unwrap_or_default(), nonce).await?;
        }
    }
    guess.release_correct();
    let stored = &user.reauthentication_token;
    let consumed = one_time_tokens::consume_reauthentication(&mut cx.db(), user.id, stored, cx.now).await;
    if consumed.or_internal_error("Error during nonce verification")? { Ok(()) } else { Err(invalid_nonce()) }
}

/// An update that is authorized.
struct AuthorizedUpdate<'a> {
    cx: &'a RequestContext,
    caller: &'a Caller,
    request: &'a UserUpdateRequest,
    /// The hash of the new password.
    password: Option<String>,
}

impl AuthorizedUpdate<'_> {
    /// Updates password and metadata in one statement.
    async fn apply_without_contacts(&self) -> Result<User> {
        let mut log = self.password_audit_rows();
        let actor = self.with_new_metadata(&self.caller.user);
        log.extend(audit::build_rows(self.cx, &actor, [AuditEntry::new(AuditAction::UserModified)]));
        if self.first_password_identity(&self.caller.user).is_none() {
            return self.write_update(&mut self.cx.db(), log).await;
        }
        let mut db = self.cx.begin().await?;
        let user = self.write_update(&mut db, log).await?;
        let user = self.insert_first_password_identity(&mut db, user).await?;
        db.commit().await?;
        Ok(user)
    }

    /// The identity that a first password adds, where the policy enables it.
    fn first_password_identity(&self, user: &User) -> Option<Identity> {
        let is_enabled = self.cx.app.policy.experimental.create_email_identity_on_password_set;
        self.password.as_ref().filter(|_| is_enabled)?;
        identity_for_first_password(&self.caller.user, user, self.cx.entropy.uuid(), self.cx.now)
    }

    async fn insert_first_password_identity(&self, db: &mut Connection, mut user: User) -> Result<User> {
        let Some(identity) = self.first_password_identity(&user) else { return Ok(user) };
        user.identities.push(identity.clone());
        user.app_metadata = app_metadata_with_providers(&user);
        let added = identities::insert(db, &identity, provider_metadata(&user), self.cx.now).await;
        if !added.or_internal_error("Error creating identity")? {
            user.identities.pop();
        }
        Ok(user)
    }

    /// Sends the messages without holding a connection, then writes everything in one transaction.
    ///
    /// Messages and their hooks see the user as the preceding changes leave it.
    async fn apply_with_contacts(&self, changes: &ContactChanges) -> Result<User> {
        if self.password.is_some() && !self.cx.app.delivery.is_outbox() {
            notices::send_password_changed(self.cx, &self.caller.user).await;
        }
        let image = self.with_changes(&self.caller.user);
        let started = contact_change::request_changes(self.cx, &image, changes, &self.request.pkce).await?;
        let mut db = self.cx.begin().await?;
        let user = self.write_update(&mut db, self.password_audit_rows()).await?;
        let mut user = self.insert_first_password_identity(&mut db, user).await?;
        for change in started {
            user = change.store(self.cx, &mut db, user).await?;
        }
        let log = audit::build_rows(self.cx, &user, [AuditEntry::new(AuditAction::UserModified)]);
        audit_log::insert(&mut db, log).await?;
        db.commit().await?;
        Ok(user)
    }

    /// Writes password and metadata; without either only the audit rows.
    async fn write_update(&self, db: &mut Connection, log: Vec<AuditRow>) -> Result<User> {
        let UserUpdateRequest { data, app_metadata, .. } = self.request;
        if !self.changes_columns() {
            audit_log::insert(db, log).await?;
            return Ok(self.caller.user.clone());
        }
        let changes = accounts::UserChanges {
            user_metadata: data.as_ref(),
            app_metadata: app_metadata.as_ref(),
            password: self.password.as_deref(),
            keep_session: self.caller.session.as_ref().map(|session| session.id),
        };
        let failed = if self.password.is_some() { "Error during password storage" } else { "Error updating user" };
        let written = accounts::update(db, self.caller.user.id, self.cx.now, changes, log).await;
        written.or_internal_error(failed)?.ok_or_else(|| Error::internal(failed))
    }

    fn password_audit_rows(&self) -> Vec<AuditRow> {
        let entry = self.password.as_ref().map(|_| AuditEntry::new(AuditAction::UserUpdatedPassword));
        audit::build_rows(self.cx, &self.caller.user, entry)
    }

    /// The user under the name of the new metadata, for the audit log.
    fn with_new_metadata(&self, user: &User) -> User {
        let mut user = user.clone();
        if let Some(data) = &self.request.data {
            user.user_metadata = merge_metadata(user.user_metadata, data);
        }
        user
    }

    /// Whether there is anything to write besides new contacts.
    fn changes_columns(&self) -> bool {
        self.password.is_some() || self.request.data.is_some() || self.request.app_metadata.is_some()
    }

    /// The user with the new password and metadata, not yet written.
    ///
    /// A new password invalidates pending tokens. Without either, `updated_at` is the stored time.
    fn with_changes(&self, user: &User) -> User {
        let mut user = self.with_new_metadata(user);
        if self.changes_columns() {
            user.updated_at = self.cx.now;
        }
        if let Some(data) = &self.request.app_metadata {
            user.app_metadata = merge_metadata(user.app_metadata, data);
        }
        let Some(password) = &self.password else { return user };
        User {
            encrypted_password: Some(password.clone()),
            confirmation_token: String::new(),
            recovery_token: String::new(),
            email_change_token_current: String::new(),
            email_change_token_new: String::new(),
            phone_change_token: String::new(),
            reauthentication_token: String::new(),
            ..without_pending_tokens(user)
        }
    }
}
