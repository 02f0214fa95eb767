//! Symbols: what values that differ in each run are shown as.
//!
//! `<uuid1>` is the same id wherever it stands in one run; `<time>` is an RFC 3339 time; `<now+3600>` a time in seconds
//! relative to the request; a JWT is its header and claims; an opaque secret its name, alphabet and length.

mod literals;
mod matchers;
mod times;

use std::collections::HashMap;

use serde_json::{Map, Number, Value, json};

use self::literals::Literals;
use self::matchers::{TimeForm, find_uuids, parse_jwt, time_form};
pub(crate) use self::matchers::{
    decode_base64url, is_error_code, is_number_member, is_uuid, jwt_claims, jwt_header, shape,
};
use self::times::KnownTimes;
use crate::text::{parse_pairs, split_url};

/// The id that stands for none.
const NIL: &str = "00000000-0000-0000-0000-000000000000";

/// Members with a time in seconds.
const EPOCHS: [&str; 8] =
    ["expires_at", "iat", "exp", "nbf", "timestamp", "auth_time", "client_id_issued_at", "updated_at"];

/// Members with an opaque secret.
const SECRETS: [&str; 29] = [
    "refresh_token",
    "hashed_token",
    "email_otp",
    "provider_token",
    "provider_refresh_token",
    "token_hash",
    "code",
    "auth_code",
    "token",
    "state",
    "flow_state",
    "secret",
    "client_secret",
    "challenge",
    "nonce",
    "registration_access_token",
    "code_challenge",
    "code_verifier",
    "otp",
    "token_new",
    "token_hash_new",
    "authorization_id",
    "clientDataJSON",
    "attestationObject",
    "authenticatorData",
    "signature",
    "credential_id",
    "rawId",
    "userHandle",
];

/// The symbols of one run: known texts, and ids in the order of their first occurrence.
#[derive(Debug, Clone, Default)]
pub struct Symbols {
    literals: Literals,
    /// What known numbers are shown as.
    numbers: HashMap<String, String>,
    ids: HashMap<String, String>,
    /// Members with a secret that only the recorder shows as one.
    are_all_secrets_hidden: bool,
    times: KnownTimes,
}

impl Symbols {
    /// Shows `text` as `<name>` from here on.
    pub fn learn(&mut self, text: &str, name: &str) {
        self.literals.insert(text, name);
    }

    /// Shows a number as `<name>` from here on, except in members with numbers of the API.
    pub(crate) fn learn_number(&mut self, number: &Number, name: &str) {
        self.numbers.entry(number.to_string()).or_insert_with(|| format!("<{name}>"));
    }

    /// Returns how many numbers are shown by their names.
    pub(crate) fn count_numbers(&self) -> usize {
        self.numbers.len()
    }

    /// Shows members of credentials as secrets, too, and sorts methods of authentication by their names.
    ///
    /// The recordings of this repository keep both as they are.
    pub fn hide_credentials(&mut self) {
        self.are_all_secrets_hidden = true;
    }

    /// Shows a time as what it was shown as first, however long the requests in between took.
    ///
    /// For flows in which no time passes but that of the requests: a busy machine does not change what is shown.
    pub(crate) fn remember_times(&mut self) {
        self.times.remember();
    }

    /// Allows new times to be near this moment, too.
    ///
    /// A request takes time, and a fact is older than its note.
    pub(crate) fn allow_time(&mut self, seconds: f64) {
        self.times.allow(seconds);
    }

    /// Learns the times of a response that is not shown.
    pub(crate) fn learn_times(&mut self, value: &Value, now: f64) {
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    match member.as_f64().filter(|_| EPOCHS.contains(&name.as_str())) {
                        Some(seconds) => drop(self.times.show(seconds, now)),
                        None => self.learn_times(member, now),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.learn_times(item, now)),
            Value::String(text) => {
                if let Some((_, claims)) = parse_jwt(text) {
                    self.learn_times(&claims, now);
                }
            }
            _ => {}
        }
    }

    /// Replaces known texts and ids.
    pub fn text(&mut self, text: &str) -> String {
        let replaced = self.literals.replace(text);
        let shown = replaced.as_deref().unwrap_or(text);
        let found = find_uuids(shown);
        if found.is_empty() {
            return replaced.unwrap_or_else(|| text.to_owned());
        }
        let mut start = 0;
        let mut out = String::with_capacity(shown.len());
        for at in found {
            out.push_str(&shown[start..at]);
            out.push_str(&self.id(&shown[at..at + 36]));
            start = at + 36;
        }
        out.push_str(&shown[start..]);
        out
    }

    /// Returns the symbol of an id.
    fn id(&mut self, id: &str) -> String {
        if id == NIL {
            return id.to_owned();
        }
        let next = self.ids.len() + 1;
        self.ids.entry(id.to_ascii_lowercase()).or_insert_with(|| format!("<uuid{next}>")).clone()
    }

    /// Returns a URL as base, query and fragment.
    pub fn url(&mut self, text: &str, now: f64) -> Value {
        let parts = split_url(text);
        let mut shown = Map::new();
        shown.insert("base".to_owned(), self.text(parts.base).into());
        for (name, raw) in [("query", parts.query), ("fragment", parts.fragment)] {
            if raw.is_empty() {
                continue;
            }
            let mut pairs = parse_pairs(raw);
            pairs.sort();
            let value = if pairs.is_empty() {
                self.text(raw).into()
            } else {
                let each = pairs.into_iter().map(|(name, value)| {
                    let shown = self.value(&Value::String(value), &name, now);
                    (name, shown)
                });
                Value::Object(each.collect())
            };
            shown.insert(name.to_owned(), value);
        }
        Value::Object(shown)
    }

    /// Replaces everything that differs in each run.
    ///
    /// `key` is the name of the member, `now` the time of the request.
    pub fn value(&mut self, value: &Value, key: &str, now: f64) -> Value {
        match value {
            Value::Object(members) => self.members(members, key, now),
            Value::Array(items) => {
                let mut items: Vec<&Value> = items.iter().collect();
                // They are stored without an order.
                if key == "identities" && items.iter().all(|item| item.is_object()) {
                    items.sort_by_key(|item| item["provider"].as_str().unwrap_or("None").to_owned());
                }
                // Methods of the same second have no order, so that it depends on the pace of the client.
                if key == "amr" && self.are_all_secrets_hidden && items.iter().all(|item| item.is_object()) {
                    items.sort_by_key(|item| item["method"].as_str().unwrap_or_default().to_owned());
                }
                items.into_iter().map(|item| self.value(item, key, now)).collect()
            }
            Value::Bool(_) | Value::Null => value.clone(),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(seconds), _) if key == "expires_in" => round_expiry(seconds).into(),
                (_, Some(seconds)) if EPOCHS.contains(&key) => self.times.show(seconds, now).into(),
                _ if self.numbers.is_empty() || is_number_member(key) => value.clone(),
                _ => self.numbers.get(&number.to_string()).map_or_else(|| value.clone(), |shown| shown.as_str().into()),
            },
            Value::String(text) => self.string(text, key, now),
        }
    }

    fn members(&mut self, members: &Map<String, Value>, key: &str, now: f64) -> Value {
        let mut names: Vec<&String> = members.keys().collect();
        names.sort();
        // A serialised structure of one library with random members.
        if key == "last_webauthn_challenge_data" {
            return json!({ "type": members.get("type"), "members": names });
        }
        let shown = names.into_iter().map(|name| (self.text(name), self.value(&members[name], name, now)));
        Value::Object(shown.collect())
    }

    fn string(&mut self, text: &str, key: &str, now: f64) -> Value {
        let digits = (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse::<i64>());
        if let (Some(Ok(seconds)), "expires_in") = (&digits, key) {
            return round_expiry(*seconds).to_string().into();
        }
        if let Some(shown) = self.literals.find(text) {
            return shown.into();
        }
        #[expect(clippy::cast_precision_loss, reason = "seconds are far below 2^52")]
        if let (Some(Ok(seconds)), true) = (&digits, EPOCHS.contains(&key)) {
            return self.times.show(*seconds as f64, now).into();
        }
        match time_form(text) {
            Some(TimeForm::Zero) => return "<time zero>".into(),
            Some(TimeForm::Utc) => return "<time>".into(),
            Some(TimeForm::Offset) => return "<time with offset>".into(),
            None => {}
        }
        if let Some((header, claims)) = parse_jwt(text) {
            let header = self.value(&header, "", now);
            let claims = self.value(&claims, "", now);
            return json!({ "jwt": { "header": header, "claims": claims } });
        }
        if key == "code" && is_error_code(text) {
            return text.into();
        }
        if self.is_secret(key) && !text.is_empty() && !is_uuid(text) {
            return format!("<{key} {}>", shape(text)).into();
        }
        match key {
            "SAMLRequest" | "SAMLResponse" | "Signature" => return format!("<{key}>").into(),
            "qr_code" => return format!("<{key} {}>", text.chars().take(24).collect::<String>()).into(),
            _ => {}
        }
        if text.contains("://") && text.contains(['?', '#']) && !text.contains(' ') {
            return self.url(text, now);
        }
        self.text(text).into()
    }

    fn is_secret(&self, key: &str) -> bool {
        let is_credential = matches!(key, "credential_id" | "rawId" | "userHandle");
        SECRETS.contains(&key) && (self.are_all_secrets_hidden || !is_credential)
    }
}

/// Adds the second or two that passed since the token was issued.
fn round_expiry(seconds: i64) -> i64 {
    match (-seconds).rem_euclid(10) {
        passed @ (1 | 2) => seconds + passed,
        _ => seconds,
    }
}
