//! Commands for single accounts.

use std::io::{BufRead, Write};

use anyhow::{Context, bail};
use http::Method;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::arguments::{AddArguments, BanArguments, DeleteArguments, ListArguments, ShowArguments};
use super::database::UserDatabase;
use crate::confirmation::confirm;

/// Creates an account.
pub(crate) async fn add(database: &UserDatabase, arguments: &AddArguments) -> anyhow::Result<()> {
    let contact = arguments.contact.as_str();
    let is_phone = contact.starts_with('+');
    let mut body = if is_phone {
        json!({"phone": contact, "phone_confirm": arguments.confirmed})
    } else {
        json!({"email": contact, "email_confirm": arguments.confirmed})
    };
    if arguments.password_stdin {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).context("reading the password from standard input")?;
        let password = line.trim_end_matches(['\r', '\n']);
        if password.is_empty() {
            bail!("--password-stdin: standard input is empty; the password is its first line");
        }
        body["password"] = json!(password);
    }
    if let Some(metadata) = &arguments.metadata {
        let metadata: Value = serde_json::from_str(metadata).context("--metadata is not JSON")?;
        if !metadata.is_object() {
            bail!("--metadata is not a JSON object, such as '{{\"name\": \"Ann\"}}'");
        }
        body["user_metadata"] = metadata;
    }
    let made = database.request(Method::POST, "/admin/users", Some(body)).await?;
    if arguments.json {
        return print(&made.to_string());
    }
    print(&format!("Created {} with the id {}.", primary_contact(&made), member(&made, "id")))?;
    if !arguments.confirmed {
        let what = if is_phone { "number" } else { "address" };
        print(&format!("Its {what} is not confirmed yet; with --confirmed it would be."))?;
    }
    Ok(())
}

/// Lists accounts, newest first.
pub(crate) async fn list(database: &UserDatabase, arguments: &ListArguments) -> anyhow::Result<()> {
    let mut left = usize::try_from(arguments.limit).unwrap_or(usize::MAX);
    let filter = utf8_percent_encode(&arguments.filter, NON_ALPHANUMERIC);
    for page in 1.. {
        let per_page = left.min(100);
        if per_page == 0 {
            break;
        }
        // The page size stays constant and the last page is truncated: another size would shift the pages.
        let path = format!("/admin/users?page={page}&per_page=100&filter={filter}");
        let answer = database.request(Method::GET, &path, None).await?;
        let users = answer["users"].as_array().map(Vec::as_slice).unwrap_or_default();
        if page == 1 && users.is_empty() {
            eprintln!("No accounts.");
        }
        for user in users.iter().take(per_page) {
            print(&if arguments.json { user.to_string() } else { format_line(user) })?;
        }
        left -= users.len().min(per_page);
        if users.len() < 100 {
            break;
        }
    }
    Ok(())
}

/// Shows an account.
pub(crate) async fn show(database: &UserDatabase, arguments: &ShowArguments) -> anyhow::Result<()> {
    let id = database.find(&arguments.who).await?;
    let user = database.request(Method::GET, &format!("/admin/users/{id}"), None).await?;
    print(&if arguments.json { user.to_string() } else { serde_json::to_string_pretty(&user)? })
}

/// Bans an account, or lifts the ban.
pub(crate) async fn ban(database: &UserDatabase, arguments: &BanArguments) -> anyhow::Result<()> {
    let id = database.find(&arguments.who).await?;
    let duration = if arguments.lift { "none" } else { arguments.duration.as_str() };
    let path = format!("/admin/users/{id}");
    let user = database.request(Method::PUT, &path, Some(json!({"ban_duration": duration}))).await?;
    let name = primary_contact(&user);
    match user["banned_until"].as_str() {
        Some(until) => {
            print(&format!("{name} cannot sign in until {until}. `basalt users ban {id} --lift` lets it in again."))
        }
        None => print(&format!("{name} may sign in.")),
    }
}

/// Deletes an account after confirmation.
pub(crate) async fn delete(database: &UserDatabase, arguments: &DeleteArguments) -> anyhow::Result<()> {
    let id = database.find(&arguments.who).await?;
    let path = format!("/admin/users/{id}");
    let name = primary_contact(&database.request(Method::GET, &path, None).await?);
    confirm(arguments.yes, &format!("Delete {name} ({id}) for good?"), &format!("{name} was not deleted"))?;
    database.request(Method::DELETE, &path, Some(json!({"should_soft_delete": arguments.soft}))).await?;
    print(&format!("Deleted {name}."))
}

fn print(line: &str) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout().lock(), "{line}")?)
}

fn member<'v>(user: &'v Value, name: &str) -> &'v str {
    user[name].as_str().unwrap_or_default()
}

fn primary_contact(user: &Value) -> String {
    let named = ["email", "phone", "id"].into_iter().map(|name| member(user, name)).find(|name| !name.is_empty());
    named.unwrap_or_default().to_owned()
}

/// Formats an account as a line: id, name, creation date, last sign-in date, remarks.
fn format_line(user: &Value) -> String {
    let day = |name| member(user, name).get(..10).unwrap_or("-").to_owned();
    let mut notes = Vec::new();
    if user["banned_until"].is_string() {
        notes.push("banned");
    }
    if user["is_anonymous"] == true {
        notes.push("anonymous");
    }
    if user["is_anonymous"] != true
        && !user["email_confirmed_at"].is_string()
        && !user["phone_confirmed_at"].is_string()
    {
        notes.push("unconfirmed");
    }
    let (id, name) = (member(user, "id"), primary_contact(user));
    let (created, last_sign_in) = (day("created_at"), day("last_sign_in_at"));
    let notes = notes.join(", ");
    format!("{id}  {name:<32}  created {created}  last sign-in {last_sign_in:<10}  {notes}").trim_end().to_owned()
}
