//! The server of one replay, and what provides it.

use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::test_api::TestApiClient;
use crate::FlowError;
use crate::format::{Profile, Service, Settings};
use crate::sources::message_source::MessageSource;

/// The server of one replay of a flow.
#[derive(Debug, Clone, Default)]
pub struct Target {
    /// The URL of the auth API, without a slash at the end.
    pub base: String,
    /// The URL around it; the same where the auth API is at the root.
    pub project: String,
    /// Other URLs that it calls itself by, such as the issuer of its tokens.
    pub aliases: Vec<String>,
    /// The behaviour that it has.
    pub profile: Profile,
    /// The key of clients.
    pub publishable_key: Option<String>,
    /// The key of servers.
    pub secret_key: Option<String>,
    /// Whether requests need a key.
    pub needs_key: bool,
    /// The secret of tokens with symmetric signatures.
    pub jwt_secret: Option<String>,
    /// The variables of the profile `gotrue` as it was started.
    pub env: Map<String, Value>,
    /// The names that stand-ins gave.
    pub names: Map<String, Value>,
    /// The database, for an operator.
    pub database_url: Option<String>,
    /// Where its messages are.
    pub messages: Option<MessageSource>,
    /// The test API of its world.
    pub test_api: Option<TestApiClient>,
    /// Whether no other replay uses it.
    pub is_isolated: bool,
    /// Whether two servers answer in turn, which share their database and not what they simulate.
    pub is_alternating: bool,
}

/// The future of a [`Targets`] call.
pub type TargetFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, FlowError>> + Send + 'a>>;

/// Provides the server of each replay.
pub trait Targets: Send + Sync {
    /// Provides a server of this behaviour with these settings.
    fn open<'a>(&'a self, wanted: &'a WantedServer) -> TargetFuture<'a, Arc<Target>>;

    /// Called before each request of a flow with its number among the requests.
    fn before_step<'a>(&'a self, _target: &'a Target, _number: usize) -> TargetFuture<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Ends what [`Targets::open`] provided.
    fn close<'a>(&'a self, target: &'a Target) -> TargetFuture<'a, ()>;
}

/// The server that a flow wants.
#[derive(Debug, Clone)]
pub struct WantedServer {
    /// The name of the flow.
    pub flow: String,
    /// The behaviour.
    pub profile: Profile,
    pub settings: Arc<Settings>,
    /// The names that stand-ins gave, for placeholders in settings.
    pub names: Map<String, Value>,
}

impl Target {
    /// Returns the variables that every flow has.
    pub(crate) fn variables(&self) -> Map<String, Value> {
        let mut variables = self.names.clone();
        let known = [
            ("base", json!(self.base)),
            ("project", json!(self.project)),
            ("keys", json!({ "publishable": self.publishable_key, "secret": self.secret_key })),
            ("jwt_secret", json!(self.jwt_secret)),
            ("env", Value::Object(self.env.clone())),
        ];
        variables.extend(known.map(|(name, value)| (name.to_owned(), value)));
        if self.secret_key.is_none() {
            // A use of the key is then reported by its name.
            variables.insert("keys".to_owned(), json!({ "publishable": self.publishable_key }));
        }
        variables
    }

    /// Returns the URL of a service of the project.
    pub(crate) fn service_url(&self, service: Service) -> String {
        format!("{}/{}/v1", self.project, service.as_str())
    }
}

/// Fills the placeholders of settings with the names that are known before the start.
///
/// # Errors
/// A name is missing.
pub fn fill_settings(value: &Value, names: &Map<String, Value>) -> Result<Value, FlowError> {
    match value {
        Value::String(text) => crate::expressions::fill_text(text, names),
        Value::Array(items) => items.iter().map(|item| fill_settings(item, names)).collect(),
        Value::Object(members) => {
            let filled = members.iter().map(|(name, item)| Ok((name.clone(), fill_settings(item, names)?)));
            filled.collect::<Result<Map<_, _>, FlowError>>().map(Value::Object)
        }
        other => Ok(other.clone()),
    }
}
