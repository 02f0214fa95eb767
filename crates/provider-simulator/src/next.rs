//! The next sign-in at a provider, as a test determines it.

use std::time::Duration;

use platform::entropy::Entropy;
use platform::nearest::format_suggestion;
use serde_json::{Map, Value};

use crate::catalog::{EmailRule, ProviderEntry, find_provider, provider_names};
use crate::scenario::{Deviation, SCENARIOS, Scenario};
use crate::users::{ProviderUser, RELAY_DOMAIN, is_address_or_empty, is_numeric_id};

/// The members of the JSON form.
const MEMBERS: [&str; 8] =
    ["sub", "email", "email_verified", "claims", "error", "error_description", "scenario", "delay_ms"];
/// Maximum length of an id or error.
const MAX_TEXT_LENGTH: usize = 200;
/// Maximum size of the claims, in bytes of JSON.
const MAX_CLAIMS_LENGTH: usize = 16 * 1024;
const MAX_DELAY_MILLISECONDS: u64 = 60_000;
const DEFAULT_DELAY: Duration = Duration::from_secs(5);

/// The next sign-in at a provider: its user, an error, or a scenario.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NextSignIn {
    subject: Option<String>,
    email: Option<String>,
    email_verified: Option<bool>,
    claims: Map<String, Value>,
    error: Option<(String, String)>,
    deviation: Deviation,
}

/// Why the next sign-in cannot be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextSignInError(String);

impl NextSignInError {
    /// Creates an error with this text.
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl std::fmt::Display for NextSignInError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NextSignInError {}

/// How a sign-in proceeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SignInPlan {
    /// This user signs in.
    User(Box<ProviderUser>, Deviation),
    /// The provider returns this error with this description.
    Error(String, String),
}

impl NextSignIn {
    /// Parses the JSON form of a sign-in.
    ///
    /// It is `{sub, email, email_verified, claims}`, `{error, error_description}` or `{scenario, delay_ms}`.
    /// A scenario may have a user, too; without one it is that of `login_hint` or the first preset user.
    ///
    /// # Errors
    ///
    /// An unknown member or scenario, a value of another type, or a value over its limit.
    pub fn parse(body: &Value) -> Result<Self, NextSignInError> {
        let Value::Object(members) = body else { return Err(refuse("the body must be a JSON object")) };
        if let Some(unknown) = members.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
            let suggestion = format_suggestion(unknown, MEMBERS);
            return Err(refuse(format!(
                "unknown member {unknown:?}{suggestion}; the members are {}",
                MEMBERS.join(", ")
            )));
        }
        let next = Self {
            subject: parse_subject(members)?,
            email: parse_text(members, "email")?,
            email_verified: parse_flag(members, "email_verified")?,
            claims: parse_claims(members)?,
            error: parse_error(members)?,
            deviation: parse_deviation(members)?,
        };
        if next.email.as_deref().is_some_and(|email| !is_address_or_empty(email)) {
            return Err(refuse("email must be an e-mail address of at most 200 bytes"));
        }
        if next.error.is_some() && (next.has_user() || next.deviation.scenario.is_some()) {
            return Err(refuse("error stands alone: leave out the user and the scenario"));
        }
        if next.error.is_none() && next.deviation.scenario.is_none() && !next.has_user() {
            return Err(refuse("give a user (sub or email), an error or a scenario"));
        }
        Ok(next)
    }

    /// Checks that the provider can sign in like this.
    pub(crate) fn validate_for(&self, entry: &ProviderEntry) -> Result<(), NextSignInError> {
        let name = &entry.name;
        if entry.numeric_ids && self.subject.as_deref().is_some_and(|subject| !is_numeric_id(subject)) {
            return Err(refuse(format!("sub must be a number below 2^53: so are the ids of {name}")));
        }
        let is_unverified = self.email_verified == Some(false) || self.deviation.is(Scenario::UnverifiedEmail);
        if entry.emails == EmailRule::VerifiedOnly && is_unverified {
            return Err(refuse(format!("{name} returns verified addresses only: use the scenario missing_email")));
        }
        match self.deviation.scenario {
            Some(Scenario::WrongNonce | Scenario::BadSignature) if !entry.has_signed_profile() => {
                Err(unsupported(name, "issues no ID tokens", ProviderEntry::has_signed_profile))
            }
            Some(Scenario::RevokedRefreshToken) if !entry.has_refresh_token() => {
                Err(unsupported(name, "issues no refresh tokens", ProviderEntry::has_refresh_token))
            }
            Some(Scenario::RelayEmail) if !entry.posts_user => {
                Err(unsupported(name, "has no relay addresses", |entry| entry.posts_user))
            }
            _ => Ok(()),
        }
    }

    /// Returns how the sign-in proceeds; `hinted` is the user of `login_hint`.
    pub(crate) fn into_plan(self, hinted: Option<ProviderUser>, entropy: &Entropy) -> SignInPlan {
        if let Some((error, description)) = self.error {
            return SignInPlan::Error(error, description);
        }
        let deviation = self.deviation;
        if deviation.is(Scenario::Denied) {
            return SignInPlan::Error("access_denied".to_owned(), "The user denied the request".to_owned());
        }
        let mut user = self.into_user(hinted);
        match deviation.scenario {
            Some(Scenario::MissingEmail) => user.email.clear(),
            Some(Scenario::UnverifiedEmail) => user.is_email_verified = false,
            Some(Scenario::ChangedEmail) => user.email.insert_str(0, "changed."),
            Some(Scenario::SharedEmail) => user.subject.push_str("-other"),
            Some(Scenario::RelayEmail) => {
                user.email = format!("{}{RELAY_DOMAIN}", entropy.base32(10).to_lowercase());
                user.is_email_verified = true;
            }
            _ => {}
        }
        SignInPlan::User(Box::new(user), deviation)
    }

    fn has_user(&self) -> bool {
        self.subject.is_some() || self.email.is_some()
    }

    fn into_user(self, hinted: Option<ProviderUser>) -> ProviderUser {
        let usual = || hinted.unwrap_or_else(ProviderUser::default_user);
        let mut user = match (&self.subject, &self.email) {
            (None, None) => usual(),
            (Some(subject), _) => ProviderUser::named(subject),
            (None, Some(email)) => {
                ProviderUser::from_input("", email, true).unwrap_or_else(|| ProviderUser::named("dev-user"))
            }
        };
        if let Some(email) = self.email {
            user.is_email_verified = !email.is_empty();
            user.email = email;
        }
        user.is_email_verified = self.email_verified.unwrap_or(user.is_email_verified);
        if let Some(Value::String(name)) = self.claims.get("name") {
            user.name.clone_from(name);
        }
        user.claims = self.claims;
        user
    }
}

fn refuse(reason: impl Into<String>) -> NextSignInError {
    NextSignInError::new(reason)
}

fn unsupported(name: &str, why: &str, is_supported: impl Fn(&ProviderEntry) -> bool) -> NextSignInError {
    let entries = provider_names().filter_map(find_provider).filter(|entry| is_supported(entry));
    let others: Vec<_> = entries.map(|entry| entry.name.as_str()).collect();
    refuse(format!("{name} {why}; providers with this scenario: {}", others.join(", ")))
}

fn parse_text(members: &Map<String, Value>, name: &str) -> Result<Option<String>, NextSignInError> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.len() <= MAX_TEXT_LENGTH => Ok(Some(text.clone())),
        Some(_) => Err(refuse(format!("{name} must be a string of at most {MAX_TEXT_LENGTH} bytes"))),
    }
}

/// Parses `sub`: a text, or a number as some providers have it.
fn parse_subject(members: &Map<String, Value>) -> Result<Option<String>, NextSignInError> {
    match members.get("sub") {
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        Some(Value::String(text)) if text.is_empty() => Err(refuse("sub must not be empty")),
        _ => parse_text(members, "sub"),
    }
}

fn parse_flag(members: &Map<String, Value>, name: &str) -> Result<Option<bool>, NextSignInError> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(_) => Err(refuse(format!("{name} must be true or false"))),
    }
}

fn parse_claims(members: &Map<String, Value>) -> Result<Map<String, Value>, NextSignInError> {
    match members.get("claims") {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(claims)) if Value::Object(claims.clone()).to_string().len() <= MAX_CLAIMS_LENGTH => {
            Ok(claims.clone())
        }
        Some(_) => Err(refuse(format!("claims must be a JSON object of at most {MAX_CLAIMS_LENGTH} bytes"))),
    }
}

/// Parses `error` and `error_description` (RFC 6749 §4.1.2.1).
fn parse_error(members: &Map<String, Value>) -> Result<Option<(String, String)>, NextSignInError> {
    let is_allowed = |text: &str| {
        text.chars().all(|character| matches!(character, ' '..='~') && character != '"' && character != '\\')
    };
    let description = parse_text(members, "error_description")?;
    match (parse_text(members, "error")?, description) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err(refuse("error_description needs error, such as \"temporarily_unavailable\"")),
        (Some(error), description) => {
            let description = description.unwrap_or_default();
            if error.is_empty() || !is_allowed(&error) || !is_allowed(&description) {
                return Err(refuse("error must be an OAuth error code, such as \"access_denied\" (RFC 6749 §4.1.2.1)"));
            }
            Ok(Some((error, description)))
        }
    }
}

fn parse_deviation(members: &Map<String, Value>) -> Result<Deviation, NextSignInError> {
    let delay = match members.get("delay_ms") {
        None | Some(Value::Null) => None,
        Some(delay) => Some(delay.as_u64().filter(|delay| *delay <= MAX_DELAY_MILLISECONDS).ok_or_else(|| {
            refuse(format!("delay_ms must be a whole number of at most {MAX_DELAY_MILLISECONDS} milliseconds"))
        })?),
    };
    let scenario = match parse_text(members, "scenario")? {
        None => None,
        Some(name) => Some(Scenario::find(&name).ok_or_else(|| {
            let names: Vec<_> = SCENARIOS.iter().map(|(name, _)| *name).collect();
            let suggestion = format_suggestion(&name, names.iter().copied());
            refuse(format!("unknown scenario {name:?}{suggestion}; the scenarios are {}", names.join(", ")))
        })?),
    };
    if delay.is_some() && scenario != Some(Scenario::SlowResponse) {
        return Err(refuse("delay_ms belongs to the scenario slow_response"));
    }
    Ok(Deviation { scenario, delay: delay.map_or(DEFAULT_DELAY, Duration::from_millis) })
}

#[cfg(test)]
mod tests;
