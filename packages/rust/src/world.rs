//! A world and what is in it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::api::{TestApi, encode};
use crate::error::Error;

/// How long [`World::next_message`] waits: less than a runner of tests, so that the error names the messages.
const DEFAULT_WAIT: Duration = Duration::from_secs(3);
/// The largest number of messages of one call.
const PAGE: u32 = 200;
/// The largest number of events of a report: the last ones.
const MAX_REPORTED_EVENTS: usize = 100;

/// An isolated backend with its own URL, keys, database, clock, messages and settings.
///
/// A world that is not deleted ends with the server, or an hour after its last use.
#[derive(Debug, Clone)]
pub struct World {
    root: TestApi,
    api: TestApi,
    description: Value,
    /// The ids of the messages that [`World::next_message`] has returned.
    returned: Arc<Mutex<HashSet<String>>>,
}

impl World {
    pub(crate) fn new(root: TestApi, description: Value) -> Self {
        let api = root.below(&format!("/worlds/{}", encode(description["id"].as_str().unwrap_or_default())));
        Self { root, api, description, returned: Arc::default() }
    }

    /// Returns its id.
    pub fn id(&self) -> &str {
        self.text("id")
    }

    /// Returns the URL that clients take as the project's URL.
    pub fn url(&self) -> &str {
        self.text("url")
    }

    /// Returns the key for clients.
    pub fn publishable_key(&self) -> &str {
        self.text("publishable_key")
    }

    /// Returns the key that may do everything.
    pub fn secret_key(&self) -> &str {
        self.text("secret_key")
    }

    /// Returns a text member of the description, such as `jwt_secret` or `database_url_tcp`; empty if there is none.
    pub fn text(&self, name: &str) -> &str {
        self.description[name].as_str().unwrap_or_default()
    }

    /// Calls the test API below this world's path, for what has no method of its own.
    ///
    /// # Errors
    /// The call is refused, or the server is unreachable.
    pub async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, Error> {
        self.api.call(method, path, body).await
    }

    /// Adds to the time, such as `61m` or `1h30m`; returns `{now, rate, frozen}`.
    ///
    /// # Errors
    /// The length is invalid, or the server is unreachable.
    pub async fn advance_clock(&self, length: &str) -> Result<Value, Error> {
        self.change_clock(json!({ "advance": length })).await
    }

    /// Changes the clock: `advance` or `at`, `freeze`, `rate`; returns `{now, rate, frozen}`.
    ///
    /// # Errors
    /// The change is invalid, or the server is unreachable.
    pub async fn change_clock(&self, change: Value) -> Result<Value, Error> {
        self.api.call(Method::POST, "/clock", Some(&change)).await
    }

    /// Returns `{now, rate, frozen}`.
    ///
    /// # Errors
    /// The server is unreachable.
    pub async fn clock(&self) -> Result<Value, Error> {
        self.api.call(Method::GET, "/clock", None).await
    }

    /// Returns to real time.
    ///
    /// # Errors
    /// The server is unreachable.
    pub async fn reset_clock(&self) -> Result<Value, Error> {
        self.api.call(Method::DELETE, "/clock", None).await
    }

    /// Returns the oldest message to this recipient that this method has not returned before; waits 3 seconds for one.
    ///
    /// Each message is returned once: the second call for an address returns the second mail.
    ///
    /// # Errors
    /// There is none in time, or the server is unreachable.
    pub async fn next_message(&self, to: &str) -> Result<Value, Error> {
        let end = Instant::now() + DEFAULT_WAIT;
        let mut after = String::new();
        loop {
            let wait = end.saturating_duration_since(Instant::now()).as_secs_f64();
            let path = format!("/messages?to={}&wait={wait:.3}&limit={PAGE}{after}", encode(to));
            let page = self.api.call(Method::GET, &path, None).await?;
            let page = page["messages"].as_array().cloned().unwrap_or_default();
            for message in &page {
                let id = message["id"].as_str().unwrap_or_default();
                if self.returned.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned()) {
                    return Ok(message.clone());
                }
                after = format!("&after={}", encode(id));
            }
            if page.is_empty() && Instant::now() >= end {
                return Err(self.no_message(to, DEFAULT_WAIT).await);
            }
        }
    }

    /// Waits for the first message to this recipient that is later than the message `after`.
    ///
    /// # Errors
    /// There is none in time, or the server is unreachable.
    pub async fn wait_for_message(&self, to: &str, after: Option<&str>, patience: Duration) -> Result<Value, Error> {
        let seconds = patience.as_secs().min(60);
        let after = after.map(|id| format!("&after={}", encode(id))).unwrap_or_default();
        let path = format!("/messages?to={}&wait={seconds}&limit=1{after}", encode(to));
        let answer = self.api.call(Method::GET, &path, None).await?;
        match answer["messages"].get(0) {
            Some(message) => Ok(message.clone()),
            None => Err(self.no_message(to, Duration::from_secs(seconds)).await),
        }
    }

    async fn no_message(&self, to: &str, wait: Duration) -> Error {
        let seen = match self.list_messages().await {
            messages if messages.is_empty() => "the world has no messages at all".to_owned(),
            messages => format!("its messages: {}", messages.join("; ")),
        };
        Error::NoMessage { to: to.to_owned(), wait, seen }
    }

    /// Describes what happened, for the output of a failed test: the id, the last events and the messages.
    pub async fn report(&self) -> String {
        let events = self.api.call(Method::GET, "/events", None).await.unwrap_or_default();
        let text = |event: &Value, name: &str| event[name].as_str().unwrap_or_default().to_owned();
        let describe = |event: &Value| format!("{} {} {}", text(event, "at"), text(event, "kind"), event["data"]);
        let events: Vec<String> = events["events"].as_array().into_iter().flatten().map(describe).collect();
        let events = &events[events.len().saturating_sub(MAX_REPORTED_EVENTS)..];
        let list = |lines: &[String]| if lines.is_empty() { "none".to_owned() } else { lines.join("\n  ") };
        let messages = self.list_messages().await;
        let (events, messages) = (list(events), list(&messages));
        format!("world {} ({})\nevents:\n  {events}\nmessages:\n  {messages}", self.id(), self.url())
    }

    /// Describes the messages; none if they cannot be read.
    async fn list_messages(&self) -> Vec<String> {
        let answer = self.api.call(Method::GET, "/messages", None).await.unwrap_or_default();
        let describe = |message: &Value| {
            let text = |name: &str| message[name].as_str().unwrap_or_default();
            format!("{} {} to {} ({})", text("at"), text("kind"), text("to"), text("subject"))
        };
        answer["messages"].as_array().into_iter().flatten().map(describe).collect()
    }

    /// Creates a user: `email`, `password`, `factors` and more; returns it with the secrets of its factors.
    ///
    /// # Errors
    /// The user is invalid or exists, or the server is unreachable.
    pub async fn create_user(&self, user: Value) -> Result<Value, Error> {
        let created = self.create_users(vec![user]).await?;
        Ok(created.into_iter().next().unwrap_or_default())
    }

    /// Creates all users of a list, or none.
    ///
    /// # Errors
    /// A user is invalid or exists, or the server is unreachable.
    pub async fn create_users(&self, users: Vec<Value>) -> Result<Vec<Value>, Error> {
        let created = self.api.call(Method::POST, "/users", Some(&Value::Array(users))).await?;
        Ok(created.as_array().cloned().unwrap_or_default())
    }

    /// Creates a session of a user: `aal`, `amr`, `expires_in`, `origin`, `format`.
    ///
    /// # Errors
    /// The options are invalid, there is no such user, or the server is unreachable.
    pub async fn create_session(&self, user: &Value, mut options: Value) -> Result<Value, Error> {
        options["id"] = user["id"].clone();
        self.api.call(Method::POST, "/sessions", Some(&options)).await
    }

    /// Returns the code that an authenticator application shows for this secret.
    ///
    /// # Errors
    /// The secret is invalid, or the server is unreachable.
    pub async fn totp(&self, secret: &str) -> Result<String, Error> {
        let answer = self.api.call(Method::POST, "/authenticators/totp", Some(&json!({ "secret": secret }))).await?;
        Ok(answer["code"].as_str().unwrap_or_default().to_owned())
    }

    /// Adds a fault: `match`, `target`, `do`, `count`; returns its id and hits.
    ///
    /// # Errors
    /// The rule is invalid, or the server is unreachable.
    pub async fn add_fault(&self, rule: Value) -> Result<Value, Error> {
        self.api.call(Method::POST, "/faults", Some(&rule)).await
    }

    /// Removes all faults.
    ///
    /// # Errors
    /// The server is unreachable.
    pub async fn clear_faults(&self) -> Result<(), Error> {
        self.api.call(Method::DELETE, "/faults", None).await.map(drop)
    }

    /// Changes settings in the shape of `config.toml` (a JSON merge patch, RFC 7396); returns all.
    ///
    /// # Errors
    /// The settings are invalid, or the server is unreachable.
    pub async fn change_config(&self, change: Value) -> Result<Value, Error> {
        self.api.call(Method::PATCH, "/config", Some(&change)).await
    }

    /// Returns to the state after the creation.
    ///
    /// # Errors
    /// The server is unreachable.
    pub async fn reset(&self) -> Result<(), Error> {
        self.api.call(Method::POST, "/reset", None).await.map(drop)
    }

    /// Creates a world with the complete state of this one.
    ///
    /// # Errors
    /// There are too many worlds, or the server is unreachable.
    pub async fn fork(&self) -> Result<Self, Error> {
        let description = self.api.call(Method::POST, "/fork", None).await?;
        Ok(Self::new(self.root.clone(), description))
    }

    /// Stores the state under a name.
    ///
    /// # Errors
    /// The name is invalid, or the server is unreachable.
    pub async fn store_snapshot(&self, name: &str) -> Result<(), Error> {
        self.api.call(Method::POST, &format!("/snapshots/{}", encode(name)), None).await.map(drop)
    }

    /// Returns to a stored state.
    ///
    /// # Errors
    /// There is none of this name, or the server is unreachable.
    pub async fn restore_snapshot(&self, name: &str) -> Result<(), Error> {
        self.api.call(Method::POST, &format!("/snapshots/{}/restore", encode(name)), None).await.map(drop)
    }

    /// Deletes the world, which may be deleted already.
    ///
    /// # Errors
    /// The server is unreachable.
    pub async fn delete(self) -> Result<(), Error> {
        match self.api.call(Method::DELETE, "", None).await {
            Err(Error::Refused { status: StatusCode::NOT_FOUND, .. }) => Ok(()),
            outcome => outcome.map(drop),
        }
    }
}
