//! One account at a time.

use std::io::{BufRead, IsTerminal, Write};

use anyhow::{Context, bail};
use http::Method;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::Place;
use crate::cli::{AddArguments, BanArguments, DeleteArguments, ListArguments, ShowArguments};

/// Makes an account.
pub async fn add(place: &Place, arguments: &AddArguments) -> anyhow::Result<()> {
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
            bail!("--password-stdin: nothing came on standard input; the password is its first line");
        }
        body["password"] = json!(password);
    }
    if let Some(data) = &arguments.data {
        let data: Value = serde_json::from_str(data).context("--data: JSON is wanted")?;
        if !data.is_object() {
            bail!("--data: a JSON object is wanted, such as '{{\"name\": \"Ann\"}}'");
        }
        body["user_metadata"] = data;
    }
    let made = place.ask(Method::POST, "/admin/users", Some(body)).await?;
    tell(&format!("Made {} with the id {}.", contact_of(&made), text(&made, "id")))?;
    if !arguments.confirmed {
        let what = if is_phone { "number" } else { "address" };
        tell(&format!("Its {what} is not confirmed yet; --confirmed makes accounts that are."))?;
    }
    Ok(())
}

/// Lists accounts, newest first.
pub async fn list(place: &Place, arguments: &ListArguments) -> anyhow::Result<()> {
    let mut left = usize::try_from(arguments.limit).unwrap_or(usize::MAX);
    let filter = utf8_percent_encode(&arguments.filter, NON_ALPHANUMERIC);
    for page in 1.. {
        let per_page = left.min(100);
        if per_page == 0 {
            break;
        }
        // Pages are counted in their own size, so that the last one is cut rather than asked for in another size.
        let path = format!("/admin/users?page={page}&per_page=100&filter={filter}");
        let answer = place.ask(Method::GET, &path, None).await?;
        let users = answer["users"].as_array().map(Vec::as_slice).unwrap_or_default();
        if page == 1 && users.is_empty() {
            eprintln!("Nobody.");
        }
        for user in users.iter().take(per_page) {
            tell(&if arguments.json { user.to_string() } else { line(user) })?;
        }
        left -= users.len().min(per_page);
        if users.len() < 100 {
            break;
        }
    }
    Ok(())
}

/// Shows an account.
pub async fn show(place: &Place, arguments: &ShowArguments) -> anyhow::Result<()> {
    let id = place.find(&arguments.who).await?;
    let user = place.ask(Method::GET, &format!("/admin/users/{id}"), None).await?;
    tell(&serde_json::to_string_pretty(&user)?)
}

/// Bans an account, or lets it in again.
pub async fn ban(place: &Place, arguments: &BanArguments) -> anyhow::Result<()> {
    let id = place.find(&arguments.who).await?;
    let duration = if arguments.lift { "none" } else { arguments.duration.as_str() };
    let path = format!("/admin/users/{id}");
    let user = place.ask(Method::PUT, &path, Some(json!({"ban_duration": duration}))).await?;
    let name = contact_of(&user);
    match user["banned_until"].as_str() {
        Some(until) => {
            tell(&format!("{name} cannot sign in until {until}. `basalt users ban {id} --lift` lets it in again."))
        }
        None => tell(&format!("{name} may sign in.")),
    }
}

/// Deletes an account, once somebody has said so.
pub async fn delete(place: &Place, arguments: &DeleteArguments) -> anyhow::Result<()> {
    let id = place.find(&arguments.who).await?;
    let path = format!("/admin/users/{id}");
    let name = contact_of(&place.ask(Method::GET, &path, None).await?);
    if !arguments.yes {
        if !std::io::stdin().is_terminal() {
            bail!("{name} was not deleted: nobody is there to be asked; --yes does not ask");
        }
        eprint!("Delete {name} ({id}) for good? [y/N] ");
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer)?;
        if !matches!(answer.trim(), "y" | "Y" | "yes") {
            bail!("{name} was not deleted");
        }
    }
    place.ask(Method::DELETE, &path, Some(json!({"should_soft_delete": arguments.soft}))).await?;
    tell(&format!("Deleted {name}."))
}

fn tell(line: &str) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout().lock(), "{line}")?)
}

fn text<'v>(user: &'v Value, name: &str) -> &'v str {
    user[name].as_str().unwrap_or_default()
}

fn contact_of(user: &Value) -> String {
    let named = ["email", "phone", "id"].into_iter().map(|name| text(user, name)).find(|name| !name.is_empty());
    named.unwrap_or_default().to_owned()
}

/// An account as a line: id, name, when it was made, when it was last there, what there is to know.
fn line(user: &Value) -> String {
    let day = |name| text(user, name).get(..10).unwrap_or("-").to_owned();
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
    let (id, name) = (text(user, "id"), contact_of(user));
    let (made, seen) = (day("created_at"), day("last_sign_in_at"));
    format!("{id}  {name:<32}  made {made}  seen {seen:<10}  {}", notes.join(", ")).trim_end().to_owned()
}
