//! `PUT /user`: the account changes itself. Metadata alone is one statement after the guard's; a new address or number
//! first asks whoever has it.

use gotrue_rules::domain::audit::{Action, Entry};
use gotrue_rules::domain::error::{Error, Result};
use gotrue_rules::domain::identity::{merged, of_first_password, providers, with_providers};
use gotrue_rules::domain::metadata;
use gotrue_rules::domain::reauthentication::{Demand, NonceCheck, check_nonce, demand, invalid_nonce};
use gotrue_rules::domain::user::{Account, Identity};
use gotrue_rules::domain::user_update::{
    Changes, contacts, current_password, current_password_wrong, email_taken, permit, phone_taken, same_password,
};
use gotrue_rules::wire::requests::UserUpdate;
use gotrue_rules::wire::user::UserJson;

use crate::cx::{Caller, Cx};
use crate::http::reply::Reply;
use crate::services::messages::require_right_by_sender;
use crate::services::notices::without_pending;
use crate::services::{audit, contact_change, limits, notices, passwords};
use crate::store::audit::AuditRow;
use crate::store::{Connection, OrRefuse, accounts, audit as audit_log, identities, one_time_tokens, users};

/// Changes the account of the token.
pub async fn handle(cx: Cx) -> Result<Reply> {
    let request = UserUpdate::decode(&cx.bytes().await?)?;
    let caller = cx.caller()?;
    let policy = &cx.app.policy;
    let (stored, limits) = (&caller.account, policy.api.metadata_limits);
    metadata::check_update("data", &stored.user_metadata, request.data.as_ref(), limits)?;
    metadata::check_update("app_metadata", &stored.app_metadata, request.app_metadata.as_ref(), limits)?;
    let contacts = contacts(&request, policy)?;
    if let Some(password) = &request.password {
        passwords::require_strong(&cx, password).await?;
    }
    let changes = permit(&request, contacts, &caller.account, caller.session.as_ref(), policy)?;
    require_free(&cx, &caller.account, &changes).await?;
    let password = new_password(&cx, caller, &request).await?;
    let update = Update { cx: &cx, caller, request: &request, password };
    let changes_contact = changes.email.is_some() || changes.phone.is_some();
    let account = if changes_contact { update.with_contacts(&changes).await? } else { update.alone().await? };
    let is_told = changes_contact && !cx.app.delivery.is_outbox();
    if update.password.is_some() && !is_told {
        notices::of_password(&cx, &caller.account).await;
    }
    notices::of_contacts(&cx, &caller.account, &account).await;
    Ok(Reply::json(&UserJson::from(&account)))
}

/// Refuses an address or number that another account has.
async fn require_free(cx: &Cx, account: &Account, changes: &Changes) -> Result<()> {
    if let Some(email) = &changes.email {
        let apart: Vec<String> = cx.app.policy.experimental.provider_linking_domains.keys().cloned().collect();
        let taken = users::email_taken(&mut cx.db(), email.as_str(), &cx.audience(), &apart, account.id).await;
        if taken.or_refuse("Database error checking email")? {
            return Err(email_taken());
        }
    }
    if let Some((phone, _)) = &changes.phone {
        let taken = users::phone_taken(&mut cx.db(), phone.as_str(), &cx.audience(), account.id).await;
        if taken.or_refuse("Database error checking phone")? {
            return Err(phone_taken());
        }
    }
    Ok(())
}

/// The hash of the new password, if one is set and everything that must be shown for it was. No connection is held
/// while passwords are compared and hashed.
async fn new_password(cx: &Cx, caller: &Caller, request: &UserUpdate) -> Result<Option<String>> {
    let Some(password) = &request.password else { return Ok(None) };
    let (account, session) = (&caller.account, caller.session.as_ref());
    if demand(&request.nonce, session, &cx.app.policy.security, cx.now)? == Demand::Needed {
        use_up_nonce(cx, account, &request.nonce).await?;
    }
    if let Some(current) = current_password(request, account, session, &cx.app.policy.security)? {
        let guess = limits::at_password(cx, &account.id.to_string(), Some(account.id)).await?;
        if !passwords::is_right(cx, current, account).await? {
            return Err(current_password_wrong());
        }
        guess.was_right();
    }
    if passwords::is_right(cx, password, account).await? {
        return Err(same_password());
    }
    Ok(Some(passwords::hash(cx, account.id, password).await?))
}

/// A right code is used up whatever follows; of two requests at once, one has it.
async fn use_up_nonce(cx: &Cx, account: &Account, nonce: &str) -> Result<()> {
    let guess = limits::at_code(cx, &account.id.to_string()).await?;
    match check_nonce(nonce, account, &cx.app.policy, cx.now)? {
        NonceCheck::Good => {}
        NonceCheck::AskTwilio => {
            require_right_by_sender(cx, account.phone.as_deref().unwrap_or_default(), nonce).await?;
        }
    }
    guess.was_right();
    let stored = &account.reauthentication_token;
    let used = one_time_tokens::use_up_reauthentication(&mut cx.db(), account.id, stored, cx.now).await;
    if used.or_refuse("Error during nonce verification")? { Ok(()) } else { Err(invalid_nonce()) }
}

/// A request that may be performed.
struct Update<'a> {
    cx: &'a Cx,
    caller: &'a Caller,
    request: &'a UserUpdate,
    /// The hash of the new password.
    password: Option<String>,
}

impl Update<'_> {
    /// Password and metadata in one statement.
    async fn alone(&self) -> Result<Account> {
        let mut log = self.log_of_password();
        let actor = self.renamed(&self.caller.account);
        log.extend(audit::rows(self.cx, &actor, [Entry::of(Action::UserModified)]));
        if self.own_identity(&self.caller.account).is_none() {
            return self.write(&mut self.cx.db(), log).await;
        }
        let mut db = self.cx.begin().await?;
        let account = self.write(&mut db, log).await?;
        let account = self.with_own_identity(&mut db, account).await?;
        db.commit().await?;
        Ok(account)
    }

    /// The identity that the first password brings with it, where the operator wants it.
    fn own_identity(&self, account: &Account) -> Option<Identity> {
        let wanted = self.cx.app.policy.experimental.create_email_identity_on_password_set;
        self.password.as_ref().filter(|_| wanted)?;
        of_first_password(&self.caller.account, account, self.cx.entropy.uuid(), self.cx.now)
    }

    async fn with_own_identity(&self, db: &mut Connection, mut account: Account) -> Result<Account> {
        let Some(identity) = self.own_identity(&account) else { return Ok(account) };
        account.identities.push(identity.clone());
        account.app_metadata = with_providers(&account);
        let added = identities::add(db, &identity, providers(&account), self.cx.now).await;
        if !added.or_refuse("Error creating identity")? {
            account.identities.pop();
        }
        Ok(account)
    }

    /// Messages first, with no connection held; then everything in one transaction. The messages, and the hooks that
    /// send them, see the account as the changes before them leave it.
    async fn with_contacts(&self, changes: &Changes) -> Result<Account> {
        if self.password.is_some() && !self.cx.app.delivery.is_outbox() {
            notices::of_password(self.cx, &self.caller.account).await;
        }
        let image = self.changed(&self.caller.account);
        let started = contact_change::start(self.cx, &image, changes, &self.request.pkce).await?;
        let mut db = self.cx.begin().await?;
        let account = self.write(&mut db, self.log_of_password()).await?;
        let mut account = self.with_own_identity(&mut db, account).await?;
        for change in started {
            account = change.store(self.cx, &mut db, account).await?;
        }
        let log = audit::rows(self.cx, &account, [Entry::of(Action::UserModified)]);
        audit_log::insert(&mut db, log).await?;
        db.commit().await?;
        Ok(account)
    }

    /// Writes password and metadata; with neither of them only the log.
    async fn write(&self, db: &mut Connection, log: Vec<AuditRow>) -> Result<Account> {
        let UserUpdate { data, app_metadata, .. } = self.request;
        if self.password.is_none() && data.is_none() && app_metadata.is_none() {
            audit_log::insert(db, log).await?;
            return Ok(self.caller.account.clone());
        }
        let changes = accounts::Changes {
            user_metadata: data.as_ref(),
            app_metadata: app_metadata.as_ref(),
            password: self.password.as_deref(),
            keep_session: self.caller.session.as_ref().map(|session| session.id),
        };
        let failed = if self.password.is_some() { "Error during password storage" } else { "Error updating user" };
        let written = accounts::update(db, self.caller.account.id, self.cx.now, changes, log).await;
        written.or_refuse(failed)?.ok_or_else(|| Error::internal(failed))
    }

    fn log_of_password(&self) -> Vec<AuditRow> {
        let entry = self.password.as_ref().map(|_| Entry::of(Action::UserUpdatedPassword));
        audit::rows(self.cx, &self.caller.account, entry)
    }

    /// The account under the name that it is logged by once its metadata has changed.
    fn renamed(&self, account: &Account) -> Account {
        let mut account = account.clone();
        if let Some(data) = &self.request.data {
            account.user_metadata = merged(account.user_metadata, data);
        }
        account
    }

    /// The account with its new password and metadata, not yet written. With a new password what was asked for under
    /// the old one is void.
    fn changed(&self, account: &Account) -> Account {
        let mut account = Account { updated_at: self.cx.now, ..self.renamed(account) };
        if let Some(data) = &self.request.app_metadata {
            account.app_metadata = merged(account.app_metadata, data);
        }
        let Some(password) = &self.password else { return account };
        Account {
            encrypted_password: Some(password.clone()),
            confirmation_token: String::new(),
            recovery_token: String::new(),
            email_change_token_current: String::new(),
            email_change_token_new: String::new(),
            phone_change_token: String::new(),
            reauthentication_token: String::new(),
            ..without_pending(account)
        }
    }
}
