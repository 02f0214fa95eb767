//! The bodies with which worlds are created and forked.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::seed::Seed;
use crate::TestApiError;
use crate::backend::{Profile, WorldSettings};

/// The longest name of a world or a snapshot.
const MAX_NAME: usize = 100;

/// The body of `POST …/worlds`.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NewWorld {
    /// A name for people.
    pub name: Option<String>,
    /// Which behaviour it has.
    pub profile: Profile,
    /// Variables of the profile `gotrue`.
    pub env: BTreeMap<String, String>,
    /// Settings in the shape of `config.toml`.
    #[schema(value_type = Object)]
    pub config: Map<String, Value>,
    /// Its data.
    pub seed: Option<Seed>,
    /// The name of a snapshot.
    pub from: Option<String>,
}

/// The body of `POST …/fork`.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NewFork {
    /// A name for people.
    pub name: Option<String>,
}

/// Parses a body; an empty one is an empty object.
pub(crate) fn parse<T: DeserializeOwned + Default>(body: &[u8]) -> Result<T, TestApiError> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(T::default());
    }
    serde_json::from_slice(body).map_err(|error| {
        TestApiError::bad_request(
            format!("the body cannot be used: {error}"),
            "send a JSON object with these members only",
        )
    })
}

/// Checks a name of a world or a snapshot.
pub(crate) fn check_name(name: &str) -> Result<(), TestApiError> {
    if name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) {
        return Err(TestApiError::bad_request(
            "the name cannot be used",
            format!("a name has 1 to {MAX_NAME} bytes and no control characters"),
        ));
    }
    Ok(())
}

impl NewWorld {
    /// Returns the settings.
    ///
    /// # Errors
    /// The members do not fit the profile.
    pub(crate) fn settings(&self) -> Result<WorldSettings, TestApiError> {
        if let Some(name) = &self.name {
            check_name(name)?;
        }
        let (has_env, has_config) = (!self.env.is_empty(), !self.config.is_empty());
        match self.profile {
            Profile::Serve if has_env => Err(TestApiError::bad_request(
                "env belongs to the profile gotrue",
                "send config, in the shape of config.toml, or add \"profile\": \"gotrue\"",
            )),
            Profile::Gotrue if has_config => Err(TestApiError::bad_request(
                "config belongs to the profile serve",
                "send env, with the variables of the drop-in, or leave out the profile",
            )),
            profile => Ok(WorldSettings { profile, env: self.env.clone(), config: self.config.clone() }),
        }
    }
}

/// Applies a JSON merge patch (RFC 7396) to the settings.
///
/// These are the variables in the profile `gotrue`, else the configuration.
///
/// # Errors
/// A variable is no text.
pub(crate) fn merge_settings(settings: &mut WorldSettings, change: &Map<String, Value>) -> Result<(), TestApiError> {
    if settings.profile == Profile::Serve {
        merge(&mut settings.config, change);
        return Ok(());
    }
    for (name, value) in change {
        match value {
            Value::Null => drop(settings.env.remove(name)),
            Value::String(text) => drop(settings.env.insert(name.clone(), text.clone())),
            _ => {
                return Err(TestApiError::bad_request(
                    format!("{name} is no text"),
                    "send variables as strings, and null to remove one",
                ));
            }
        }
    }
    Ok(())
}

/// Applies a JSON merge patch: `null` removes a member.
pub(crate) fn merge(target: &mut Map<String, Value>, change: &Map<String, Value>) {
    for (name, value) in change {
        match value {
            Value::Null => {
                target.remove(name);
            }
            Value::Object(inner) => {
                let before = target.entry(name.clone()).or_insert_with(|| Value::Object(Map::new()));
                if !before.is_object() {
                    *before = Value::Object(Map::new());
                }
                if let Value::Object(before) = before {
                    merge(before, inner);
                }
            }
            value => {
                target.insert(name.clone(), value.clone());
            }
        }
    }
}
