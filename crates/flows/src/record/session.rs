//! The recording of one flow: turns exchanges into steps.

use serde_json::{Map, Value, json};

use super::exchange::Exchange;
use super::known::KnownValues;
use super::plain::{is_email, is_word, phone_digits};
use super::redact::Context;
use crate::format::{Action, Step};
use crate::symbols::Symbols;

/// Shorter texts occur in others by chance.
const MIN_LEARNED: usize = 6;

/// The addresses of the recorded server, which are shown as `<base>` and `<project>`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedUrls {
    /// URLs of the auth API.
    pub bases: Vec<String>,
    /// URLs of the project around it.
    pub projects: Vec<String>,
}

/// A message that the server sent, as far as its requests tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExpectedMessage {
    /// The placeholder of its recipient.
    pub to: String,
    pub channel: &'static str,
    /// The number of messages to this recipient since the last one that was used.
    pub count: u32,
}

/// The names of the address and the number of a user.
#[derive(Debug, Default)]
pub(super) struct LastUser {
    pub email: Option<String>,
    pub phone: Option<String>,
}

/// The recording of one flow.
#[derive(Debug, Default)]
pub(super) struct FlowSession {
    pub symbols: Symbols,
    pub known: KnownValues,
    /// Numbers, which can be written like a text of another kind.
    pub numbers: KnownValues,
    pub urls: RecordedUrls,
    /// Messages that were not used yet, the latest last.
    pub messages: Vec<ExpectedMessage>,
    /// Of the user that a request named last.
    pub last_user: LastUser,
    /// TOTP secrets, by the ids of their factors.
    pub factor_secrets: KnownValues,
    /// URLs that the storage API has signed, by their tokens.
    pub signed_urls: KnownValues,
    /// The expressions of the URLs of resumable uploads, by their last segments.
    pub uploads: KnownValues,
    /// When the request that is being recorded arrived, in seconds.
    pub at: f64,
    /// Whether it has rows or objects of users.
    pub has_user_content: bool,
    /// Passkeys, by the ids of their credentials.
    pub passkeys: KnownValues,
    /// The expression of the page of a provider that a response led to.
    pub provider_page: Option<String>,
    /// The addresses of users that a provider will sign in, whose responses tell the recorded one.
    pub awaited_email: Option<String>,
    pub context: Context,
    /// Providers that a user consented at.
    pub providers: Vec<String>,
    /// Origins of applications.
    pub origins: Vec<String>,
    /// What the settings must allow.
    pub features: Vec<&'static str>,
    /// Steps that must precede the request that is being recorded.
    pub before: Vec<Step>,
    counts: Map<String, Value>,
    pub requests: u32,
}

impl FlowSession {
    pub(super) fn new(urls: RecordedUrls) -> Self {
        let mut symbols = Symbols::default();
        symbols.hide_credentials();
        urls.bases.iter().for_each(|url| symbols.learn(url, "base"));
        urls.projects.iter().for_each(|url| symbols.learn(url, "project"));
        Self { symbols, urls, ..Self::default() }
    }

    /// Returns a new name with this start, such as `email2`.
    pub(super) fn name(&mut self, start: &str) -> String {
        let number = self.counts.get(start).and_then(Value::as_u64).unwrap_or_default() + 1;
        self.counts.insert(start.to_owned(), number.into());
        format!("{start}{number}")
    }

    /// Returns how many names have this start.
    pub(super) fn count(&self, start: &str) -> u64 {
        self.counts.get(start).and_then(Value::as_u64).unwrap_or_default()
    }

    /// Adds a generated value for a recorded one; responses show it by its name. Returns its name.
    pub(super) fn generate(&mut self, recorded: &str, start: &str, call: Value) -> String {
        let name = self.name(start);
        self.known.insert(recorded, name.clone());
        let is_shown = matches!(start, "email" | "phone" | "text" | "date" | "file" | "content")
            && recorded.len() >= MIN_LEARNED
            && (!is_word(recorded) || start == "file" && recorded.contains('.'));
        if is_shown {
            self.symbols.learn(recorded, &name);
            self.push(Action::Values(Map::from_iter([(name.clone(), call)])));
        } else {
            let call = call.as_object().and_then(|call| call.iter().next()).map(|(source, arguments)| {
                let call = Map::from_iter([(format!("@{source}"), arguments.clone())]);
                Value::Object(call)
            });
            self.push(Action::Set(Map::from_iter([(name.clone(), call.unwrap_or_default())])));
        }
        name
    }

    /// Returns the number of facts that the settings of a replay follow from.
    pub(super) fn count_facts(&self) -> usize {
        self.features.len() + self.providers.len() + self.origins.len()
    }

    /// Sets a variable before the request that is being recorded.
    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.push(Action::Set(Map::from_iter([(name.to_owned(), value)])));
    }

    /// Adds a step before the request that is being recorded.
    pub(super) fn push(&mut self, action: Action) {
        self.before.push(Step { label: None, action });
    }

    /// Returns the placeholder of an address, which is generated if it is new.
    pub(super) fn email(&mut self, address: &str) -> String {
        if let Some(known) = self.known.find(address) {
            return known.to_owned();
        }
        // Addresses are compared without case, and stored in lower case.
        let lower = address.to_lowercase();
        let number = self.counts.get("email").and_then(Value::as_u64).unwrap_or_default() + 1;
        let name = self.generate(&lower, "email", json!({ "email": format!("user{number}") }));
        self.known.insert(address, name.clone());
        self.symbols.learn(address, &name);
        name
    }

    /// Returns the placeholder of a number.
    pub(super) fn phone(&mut self, digits: &str) -> String {
        if let Some(known) = self.known.find(digits) {
            return known.to_owned();
        }
        let number = self.counts.get("phone").and_then(Value::as_u64).unwrap_or_default();
        self.generate(digits, "phone", json!({ "phone": number }))
    }

    /// Notes an origin of an application.
    pub(super) fn add_origin(&mut self, origin: &str) {
        if !self.origins.iter().any(|known| known == origin) {
            self.origins.push(origin.to_owned());
        }
    }

    /// Notes what the settings must allow.
    pub(super) fn add_feature(&mut self, feature: &'static str) {
        if !self.features.contains(&feature) {
            self.features.push(feature);
        }
    }

    /// Returns the number of the request that is being recorded.
    pub(super) fn request_number(&self) -> u32 {
        self.requests
    }

    /// Gives addresses and numbers of the response, which no request had, their names.
    pub(super) fn learn_addresses(&mut self, exchange: &Exchange) {
        let json = exchange.response_json();
        let mut found = Vec::new();
        collect_texts(json, &mut found, 0);
        if let (Some(name), Some(email)) = (self.awaited_email.clone(), found.iter().find(|text| is_email(text)))
            && self.known.find(email).is_none()
        {
            self.known.insert(email, name.clone());
            self.symbols.learn(email, &name);
            self.awaited_email = None;
        }
        for text in found.into_iter().filter(|text| is_email(text)) {
            if self.known.find(text).is_some() {
                continue;
            }
            // It cannot be generated: the replay has another one, or none.
            self.symbols.learn(text, "any");
        }
        let phone = |name: &str| json.pointer(name).and_then(Value::as_str).and_then(phone_digits).map(str::to_owned);
        for digits in [phone("/phone"), phone("/user/phone")].into_iter().flatten() {
            if self.known.find(&digits).is_none() {
                self.symbols.learn(&digits, "any");
            }
        }
    }
}

/// Collects the texts of a JSON value.
fn collect_texts<'a>(value: &'a Value, found: &mut Vec<&'a str>, depth: usize) {
    match value {
        _ if depth > 16 || found.len() > 1000 => {}
        Value::String(text) => found.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, found, depth + 1)),
        Value::Object(members) => members.values().for_each(|item| collect_texts(item, found, depth + 1)),
        _ => {}
    }
}
