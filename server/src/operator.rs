//! `basalt gotrue admin`: an account made or deleted on the command line, as the reference's commands do it: no mail, no
//! checks of strength, no entry in the audit log.

use std::io::Write;
use std::sync::Arc;

use anyhow::{Context, bail};
use gotrue_rs::app::{App, Delivery};
use gotrue_rs::config::Config;
use gotrue_rs::journal::Journal;
use gotrue_rs::ports::mail::Nobody;
use gotrue_rs::ports::sealing;
use gotrue_rs::store::{Connection, accounts, admin, users};
use gotrue_rules::domain::contact::Email;
use gotrue_rules::domain::user::Account;
use serde_json::json;
use uuid::Uuid;

use crate::{database, gotrue, profiles};

/// An account that is wanted.
#[derive(Debug, Clone, Copy)]
pub struct NewUser<'a> {
    /// Its address.
    pub email: &'a str,
    /// Its password; an empty one is none.
    pub password: &'a str,
    /// Its role; empty if it is not given.
    pub role: &'a str,
    /// Whether it gets the administrators' role where none is given.
    pub is_admin: bool,
    /// Whether the address counts as confirmed.
    pub is_confirmed: bool,
}

/// Makes an account; refused if somebody of the audience has the address.
pub async fn create_user(config: Config, audience: Option<&str>, wanted: NewUser<'_>) -> anyhow::Result<()> {
    let app = open(config)?;
    let email = Email::lookup_form(wanted.email);
    if email.is_empty() {
        bail!("Error creating new user: the email is empty");
    }
    let audience = audience_of(&app, audience);
    let apart: Vec<String> = app.policy.experimental.provider_linking_domains.keys().cloned().collect();
    let mut db = db(&app);
    let found =
        users::by_identity_email(&mut db, &email, &audience, &apart).await.context("Error checking user email")?;
    if found.is_some() {
        bail!("Error creating new user: user already exists");
    }
    let account = account(&app, email, audience, wanted).await.context("Error creating new user")?;
    let inserted = accounts::insert(&mut db, &account, Vec::new()).await;
    inserted
        .and_then(accounts::Insertion::or_fail)
        .with_context(|| format!("Unable to create user ({})", wanted.email))?;
    app.pool.close().await;
    Ok(writeln!(std::io::stdout(), "Created user: {}", wanted.email)?)
}

async fn account(app: &App, email: String, audience: String, wanted: NewUser<'_>) -> anyhow::Result<Account> {
    let (id, now) = (app.entropy.uuid(), app.clock.now());
    let role = match wanted.role {
        "" if wanted.is_admin => app.policy.jwt.admin_group.clone(),
        role => role.to_owned(),
    };
    let mut account =
        Account { id, aud: audience, role, email: Some(email), created_at: now, updated_at: now, ..Account::default() };
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

/// Deletes the account of an address of the audience, or of an id of any.
pub async fn delete_user(config: Config, audience: Option<&str>, who: &str) -> anyhow::Result<()> {
    let app = open(config)?;
    let mut db = db(&app);
    let by_email = users::by_email(&mut db, &Email::lookup_form(who), &audience_of(&app, audience)).await?;
    let id = match by_email {
        Some(account) => account.id,
        None => by_id(&mut db, who).await?,
    };
    admin::deletion::delete(&mut db, id, Vec::new()).await.with_context(|| format!("Error removing user ({who})"))?;
    app.pool.close().await;
    Ok(writeln!(std::io::stdout(), "Removed user: {who}")?)
}

async fn by_id(db: &mut Connection, who: &str) -> anyhow::Result<Uuid> {
    let missing = || format!("Error finding user ({who}): nobody has this email in the audience, or this id");
    let id = Uuid::parse_str(who).ok().with_context(missing)?;
    users::with_session(db, id, None).await?.map(|_| id).with_context(missing)
}

fn audience_of(app: &App, given: Option<&str>) -> String {
    given.filter(|given| !given.is_empty()).unwrap_or(&app.policy.jwt.aud).to_owned()
}

fn open(mut config: Config) -> anyhow::Result<App> {
    profiles::gotrue(&mut config.policy);
    let pool = database::pool(&config.database, &config.policy.api)?;
    gotrue::build(&config, pool, Delivery::AtOnce(Arc::new(Nobody)))
}

fn db(app: &App) -> Connection {
    Connection::pooled(app.pool.clone(), Arc::new(Journal::default()))
}
