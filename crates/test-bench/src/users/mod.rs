//! Creates users in bulk: all of a list or none of it.

mod entry;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use gotrue_rs::app::App;
use gotrue_rs::ports::hashing::HashingError;
use gotrue_rs::request_context::RequestContext;
use gotrue_rs::services::{passwords, sealing};
use gotrue_rs::store::{bulk, preset_users};
use gotrue_rules::domain::bulk::{ImportRow, ImportedUser};
use gotrue_rules::domain::mfa::FactorType;
use gotrue_rules::domain::user::User;
use gotrue_rules::wire::user::UserJson;
use http::StatusCode;
use platform::store;
use platform::store::Connection;
use serde_json::{Value, json};
use uuid::Uuid;

use self::entry::{EntryContext, UserEntry, parse_entry};
use crate::TestApiError;

/// The largest number of users of one call.
pub const MAX_USERS: usize = 10_000;
/// The largest body, in bytes.
pub const MAX_BODY_BYTES: usize = 16 << 20;

/// Passwords that are hashed at the same time; the hashing pool queues at least 64.
const PARALLEL_HASHES: usize = 16;
const HINT: &str = "send a list of users, such as [{\"email\": \"ann@example.com\", \"password\": \"secret\"}]";

/// Creates the users of a JSON list and returns them in the order of the list.
///
/// They have the form of the admin API, and the secrets of their TOTP factors and their recovery codes.
///
/// An entry has `id`, `email`, `phone`, `password` or `password_hash`, `confirmed` (default `true`), `user_metadata`,
/// `app_metadata`, `factors`, `identities`, or any other member that an import accepts.
///
/// # Errors
///
/// 400 for an invalid entry and 409 for a conflict, both naming the entry by its index; no user is created then.
pub async fn create(app: &Arc<App>, body: &[u8]) -> Result<Value, TestApiError> {
    let cx = RequestContext::internal(Arc::clone(app));
    let mut entries = Vec::new();
    for (index, value) in parse_list(body)?.into_iter().enumerate() {
        let context = EntryContext {
            now: cx.next_timestamp(),
            audience: &app.policy.jwt.aud,
            role: &app.policy.jwt.default_group,
            metadata_limits: app.policy.api.metadata_limits,
            recovery_codes: &app.policy.mfa.recovery_codes,
            entropy: &cx.entropy,
        };
        entries.push(parse_entry(value, &context).map_err(|problem| invalid_entry(index, &problem))?);
    }
    require_unique_ids(&entries)?;
    store_passwords(&cx, &mut entries).await?;
    store_recovery_codes(&cx, &mut entries).await?;
    seal_secrets(&cx, &mut entries);
    let accounts = insert_all(&cx, &entries).await?;
    format_users(&entries, &accounts)
}

fn parse_list(body: &[u8]) -> Result<Vec<Value>, TestApiError> {
    if body.len() > MAX_BODY_BYTES {
        let message = format!("the body is larger than {MAX_BODY_BYTES} bytes");
        return Err(TestApiError::bad_request(message, "create the users in several calls"));
    }
    let list: Vec<Value> = serde_json::from_slice(body)
        .map_err(|error| TestApiError::bad_request(format!("the body is no JSON list: {error}"), HINT))?;
    if list.len() > MAX_USERS {
        let message = format!("{} users are more than {MAX_USERS}", list.len());
        return Err(TestApiError::bad_request(message, "create the users in several calls"));
    }
    Ok(list)
}

fn invalid_entry(index: usize, problem: &str) -> TestApiError {
    TestApiError::bad_request(format!("users[{index}]: {problem}"), "correct this entry; no user was created")
}

fn conflicting_entry(index: usize, problem: &str) -> TestApiError {
    let hint = "no user was created; use another value, or reset the world first";
    TestApiError::conflict(format!("users[{index}]: {problem}"), hint)
}

fn require_unique_ids(entries: &[UserEntry]) -> Result<(), TestApiError> {
    let mut ids = HashSet::new();
    let repeated = entries.iter().enumerate().find(|(_, entry)| !ids.insert(entry.user.id()));
    match repeated {
        Some((index, entry)) => {
            Err(conflicting_entry(index, &format!("an entry before has the id {}", entry.user.id())))
        }
        None => Ok(()),
    }
}

/// Sets the stored form of every password. Equal plain passwords are hashed once.
async fn store_passwords(cx: &RequestContext, entries: &mut [UserEntry]) -> Result<(), TestApiError> {
    let distinct: HashSet<String> = entries.iter().filter_map(|entry| entry.password.clone()).collect();
    let hash = |password: String| async {
        let how = cx.app.policy.password.hash;
        let hash = cx.app.hashing.hash(&password, how, &cx.entropy).await.map_err(|error| hashing_error(&error))?;
        Ok::<_, TestApiError>((password, hash))
    };
    let hashes: HashMap<String, String> =
        stream::iter(distinct).map(hash).buffer_unordered(PARALLEL_HASHES).try_collect().await?;
    for entry in entries {
        let id = entry.user.id();
        let imported = entry.user.user.get("encrypted_password").and_then(Value::as_str).unwrap_or_default();
        let stored = match entry.password.as_ref().and_then(|password| hashes.get(password)) {
            Some(hash) => sealing::seal(cx, id, hash),
            None if imported.is_empty() => continue,
            None => passwords::seal_imported_hash(cx, id, imported),
        };
        entry.user.user.insert("encrypted_password".to_owned(), json!(stored));
    }
    Ok(())
}

fn hashing_error(error: &HashingError) -> TestApiError {
    match error {
        HashingError::Busy { .. } => TestApiError::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "busy",
            "the hashing threads are busy",
            "repeat the call after a moment",
        ),
        other => TestApiError::internal("hashing the passwords", other),
    }
}

/// Adds the rows of recovery codes as their generation does.
async fn store_recovery_codes(cx: &RequestContext, entries: &mut [UserEntry]) -> Result<(), TestApiError> {
    for entry in entries {
        let is_codes = |factor: &&ImportRow| factor["factor_type"] == FactorType::RecoveryCode.as_str();
        let Some(factor) = entry.user.factors.iter().find(is_codes).cloned() else { continue };
        let hashes = passwords::hash_recovery_codes(cx, &entry.recovery_codes)
            .await
            .map_err(|error| TestApiError::internal("hashing the recovery codes", &error))?;
        let set_id = cx.entropy.uuid();
        let at = &factor["created_at"];
        entry.user.recovery_code_sets = vec![row(json!({
            "id": set_id, "user_id": factor["user_id"], "mfa_factor_id": factor["id"], "created_at": at, "updated_at": at,
        }))];
        let code = |hash: String| {
            let id = cx.entropy.uuid();
            row(json!({"id": id, "mfa_recovery_code_set_id": set_id, "code_hash": hash, "created_at": at}))
        };
        entry.user.recovery_codes = hashes.into_iter().map(code).collect();
    }
    Ok(())
}

fn row(object: Value) -> ImportRow {
    match object {
        Value::Object(row) => row,
        _ => ImportRow::new(),
    }
}

/// Encrypts the secrets of TOTP factors as enrolment does.
fn seal_secrets(cx: &RequestContext, entries: &mut [UserEntry]) {
    for entry in entries {
        for factor in &mut entry.user.factors {
            let id = factor.get("id").and_then(Value::as_str).and_then(|id| id.parse().ok());
            if let Some((id, secret)) = id.and_then(|id: Uuid| Some((id, entry.secrets.get(&id)?))) {
                factor.insert("secret".to_owned(), json!(sealing::seal(cx, id, secret)));
            }
        }
    }
}

/// Inserts all users in one transaction and returns them by id.
async fn insert_all(cx: &RequestContext, entries: &[UserEntry]) -> Result<HashMap<Uuid, User>, TestApiError> {
    let users: Vec<&ImportedUser> = entries.iter().map(|entry| &entry.user).collect();
    let mut db = cx.begin().await.map_err(|error| database_error(&error))?.with_long_statements();
    let refusal = match bulk::try_insert(&mut db, &users).await {
        Ok(inserted) if inserted.len() == users.len() => {
            let listed = preset_users::list_by_ids(&mut db, &inserted).await.map_err(|error| database_error(&error))?;
            db.commit().await.map_err(|error| database_error(&error))?;
            return Ok(listed.into_iter().map(|account| (account.id, account)).collect());
        }
        Ok(inserted) => find_conflict(&mut db, &users, &inserted).await,
        Err(error) if error.database_message().is_some() => find_refused(&mut db, &users).await,
        Err(error) => Err(error),
    };
    db.rollback().await.map_err(|error| database_error(&error))?;
    Err(refusal.unwrap_or_else(|error| database_error(&error)))
}

/// Describes the conflict of the first user that was not inserted.
async fn find_conflict(db: &mut Connection, users: &[&ImportedUser], inserted: &[Uuid]) -> store::Result<TestApiError> {
    let inserted: HashSet<&Uuid> = inserted.iter().collect();
    let omitted = users.iter().enumerate().find(|(_, user)| !inserted.contains(&user.id()));
    let Some((index, user)) = omitted else { return Ok(conflicting_entry(0, "the database left a user out")) };
    let member = |name: &str| user.user.get(name).and_then(Value::as_str).map(str::to_owned);
    let (emails, phones): (Vec<_>, Vec<_>) =
        (member("email").into_iter().collect(), member("phone").into_iter().collect());
    let existing = bulk::find_existing(db, &[user.id()], &emails, &phones).await?;
    let problem = match existing.first() {
        Some(other) if other.id == user.id() => format!("a user with the id {} exists", other.id),
        Some(other) if other.email.is_some() && other.email == member("email") => {
            format!("the user {} has the address {}", other.id, user.display_name())
        }
        Some(other) => format!("the user {} has the number {}", other.id, member("phone").unwrap_or_default()),
        None => "another user has its id, address or number".to_owned(),
    };
    Ok(conflicting_entry(index, &problem))
}

/// Finds the first user that the database refuses, by inserting halves.
async fn find_refused(db: &mut Connection, users: &[&ImportedUser]) -> store::Result<TestApiError> {
    let (mut accepted, mut refused) = (0, users.len());
    let mut message = String::new();
    while accepted < refused {
        let end = usize::midpoint(accepted, refused) + usize::from(refused - accepted == 1);
        match bulk::try_insert(db, &users[accepted..end]).await {
            Ok(_) => accepted = end,
            Err(error) => {
                let Some(text) = error.database_message() else { return Err(error) };
                text.clone_into(&mut message);
                if end - accepted == 1 {
                    break;
                }
                refused = end;
            }
        }
    }
    Ok(conflicting_entry(accepted.min(users.len().saturating_sub(1)), &message))
}

fn database_error(error: &store::Error) -> TestApiError {
    TestApiError::internal("creating the users", error)
}

/// Formats the users in the order of the entries.
fn format_users(entries: &[UserEntry], accounts: &HashMap<Uuid, User>) -> Result<Value, TestApiError> {
    let format = |entry: &UserEntry| {
        let account = accounts.get(&entry.user.id()).cloned().unwrap_or_default();
        let mut shown = serde_json::to_value(UserJson::from(&account))?;
        for factor in shown.get_mut("factors").and_then(Value::as_array_mut).into_iter().flatten() {
            let id = factor["id"].as_str().and_then(|id| id.parse::<Uuid>().ok()).unwrap_or_default();
            if let Some(secret) = entry.secrets.get(&id) {
                factor["secret"] = json!(secret);
            }
            if factor["factor_type"] == FactorType::RecoveryCode.as_str() {
                factor["codes"] = json!(entry.recovery_codes);
            }
        }
        Ok(shown)
    };
    let users: Result<Vec<Value>, serde_json::Error> = entries.iter().map(format).collect();
    users.map(Value::Array).map_err(|error| TestApiError::internal("formatting the users", &error))
}
