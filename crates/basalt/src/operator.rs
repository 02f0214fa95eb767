//! `basalt gotrue admin`: creates or deletes an account on the command line, as GoTrue's commands do.
//! They send no mail, check no password strength and write no audit entry.

use std::io::Write;
use std::sync::Arc;

use anyhow::{Context, bail};
use foundation::email::Email;
use gotrue_rs::app::{App, EmailDelivery};
use gotrue_rs::config::Config;
use gotrue_rs::store::{accounts, admin, users};
use gotrue_rules::domain::user::User;
use platform::journal::Journal;
use platform::mail::DiscardingMailer;
use platform::sealing;
use platform::store::Connection;
use serde_json::json;
use uuid::Uuid;

use crate::{app, database, profiles};

/// The account to create.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewUser<'a> {
    /// Its e-mail address.
    pub email: &'a str,
    /// Its password; if empty, the account has none.
    pub password: &'a str,
    /// Its role; empty if none is given.
    pub role: &'a str,
    /// Whether the administrators' role is the default.
    pub is_admin: bool,
    /// Whether the address counts as confirmed.
    pub is_confirmed: bool,
}

/// Creates an account; fails if a user of the audience has the address.
pub(crate) async fn create_user(config: Config, audience: Option<&str>, wanted: NewUser<'_>) -> anyhow::Result<()> {
    let app = build_app(config)?;
    let email = Email::normalize_for_lookup(wanted.email);
    if email.is_empty() {
        bail!("Error creating new user: the email is empty");
    }
    let audience = audience_or_default(&app, audience);
    let own_domain_providers: Vec<String> = app.policy.experimental.provider_linking_domains.keys().cloned().collect();
    let mut db = pooled_connection(&app);
    let found = users::find_by_identity_email(&mut db, &email, &audience, &own_domain_providers)
        .await
        .context("Error checking user email")?;
    if found.is_some() {
        bail!("Error creating new user: user already exists");
    }
    let account = build_account(&app, email, audience, wanted).await.context("Error creating new user")?;
    let inserted = accounts::insert(&mut db, &account, Vec::new()).await;
    inserted
        .and_then(accounts::UserInsertion::into_result)
        .with_context(|| format!("Unable to create user ({})", wanted.email))?;
    app.pool.close().await;
    Ok(writeln!(std::io::stdout(), "Created user: {}", wanted.email)?)
}

async fn build_account(app: &App, email: String, audience: String, wanted: NewUser<'_>) -> anyhow::Result<User> {
    let (id, now) = (app.entropy.uuid(), app.clock.now());
    let role = match wanted.role {
        "" if wanted.is_admin => app.policy.jwt.admin_group.clone(),
        role => role.to_owned(),
    };
    let mut account =
        User { id, aud: audience, role, email: Some(email), created_at: now, updated_at: now, ..User::default() };
    if !wanted.password.is_empty() {
        let hash = app.hashing.hash(wanted.password, app.policy.password.hash, &app.entropy).await?;
        let sealed = sealing::seal(&hash, id, &app.policy.security.encryption, &app.entropy);
        account.encrypted_password = Some(sealed);
    }
    if wanted.is_confirmed || app.policy.mail.autoconfirm {
        account.email_confirmed_at = Some(now);
        account.user_metadata.insert("email_verified".to_owned(), json!(true));
    }
    Ok(account)
}

/// Deletes an account by e-mail address in the audience, or by id in any audience.
pub(crate) async fn delete_user(config: Config, audience: Option<&str>, who: &str) -> anyhow::Result<()> {
    let app = build_app(config)?;
    let mut db = pooled_connection(&app);
    let by_email =
        users::find_by_email(&mut db, &Email::normalize_for_lookup(who), &audience_or_default(&app, audience)).await?;
    let id = match by_email {
        Some(account) => account.id,
        None => find_user_id(&mut db, who).await?,
    };
    admin::deletion::delete(&mut db, id, Vec::new()).await.with_context(|| format!("Error removing user ({who})"))?;
    app.pool.close().await;
    Ok(writeln!(std::io::stdout(), "Removed user: {who}")?)
}

async fn find_user_id(db: &mut Connection, who: &str) -> anyhow::Result<Uuid> {
    let missing = || format!("Error finding user ({who}): nobody has this email in the audience, or this id");
    let id = Uuid::parse_str(who).ok().with_context(missing)?;
    users::find_with_session(db, id, None).await?.map(|_| id).with_context(missing)
}

fn audience_or_default(app: &App, given: Option<&str>) -> String {
    given.filter(|given| !given.is_empty()).unwrap_or(&app.policy.jwt.aud).to_owned()
}

fn build_app(mut config: Config) -> anyhow::Result<App> {
    profiles::apply_gotrue_profile(&mut config.policy);
    let pool = database::build_pool(&config.database, &config.policy.api)?;
    app::build(&config, &app::SharedPorts::start()?, pool, EmailDelivery::Synchronous(Arc::new(DiscardingMailer)))
}

fn pooled_connection(app: &App) -> Connection {
    Connection::pooled(app.pool.clone(), Arc::new(Journal::default()))
}
