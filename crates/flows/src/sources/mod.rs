//! Named sources of values that a recording cannot contain: codes in mails, passwords, consents.

mod arguments;
mod ceremonies;
mod computed;
mod crypto;
mod generated;
pub(crate) mod message_source;
mod messages;
mod provider;
mod scope;

use std::pin::Pin;

use serde_json::{Map, Value};

pub use self::arguments::wanted;
pub use self::message_source::MessageSource;
pub use self::scope::{Scope, SourceFuture, Sources};
pub use crate::tokens::{sha256, sign_token};

use crate::FlowError;
use crate::expressions::{Call, fill_text};

/// The deepest call inside arguments of calls.
const MAX_DEPTH: usize = 32;

/// The sources of this crate.
#[derive(Debug, Clone, Copy, Default)]
pub struct BuiltInSources;

impl Sources for BuiltInSources {
    fn call<'a>(&'a self, name: &'a str, arguments: &'a Value, scope: &'a Scope) -> SourceFuture<'a> {
        Box::pin(async move {
            if let Some(value) = generated::call(name, arguments, scope)? {
                return Ok(Some(value));
            }
            if let Some(value) = crypto::call(name, arguments, scope)? {
                return Ok(Some(value));
            }
            if let Some(value) = computed::call(name, arguments)? {
                return Ok(Some(value));
            }
            match name {
                "message" => messages::take(arguments, scope).await.map(Some),
                "messages" => messages::list(arguments, scope).await.map(Some),
                "passkey" => ceremonies::passkey(arguments, scope).await.map(Some),
                "provider" => provider::consent(arguments, scope).await.map(Some),
                "id_token" => provider::id_token(arguments, scope).await.map(Some),
                _ => Ok(None),
            }
        })
    }
}

/// Calls a source by its name.
///
/// # Errors
/// No source has this name, or it has no value; the error says what to provide.
pub async fn call_source(scope: &Scope, name: &str, arguments: &Value) -> Result<Value, FlowError> {
    for sources in scope.sources() {
        if let Some(value) = sources.call(name, arguments, scope).await? {
            return Ok(value);
        }
    }
    if let Some(value) = BuiltInSources.call(name, arguments, scope).await? {
        return Ok(value);
    }
    Err(FlowError::new(
        format!("there is no source {name:?}"),
        "docs/guides/record-and-replay.md lists the sources; others need a stand-in that this server does not have",
    ))
}

/// Fills the placeholders of a value and answers its calls, the innermost first.
///
/// # Errors
/// A value or a source is missing.
pub fn resolve<'a>(
    scope: &'a Scope,
    value: &'a Value,
    depth: usize,
) -> Pin<Box<dyn Future<Output = Result<Value, FlowError>> + Send + 'a>> {
    Box::pin(async move {
        if depth > MAX_DEPTH {
            return Err(FlowError::new("calls are nested too deeply", "set variables for the inner ones"));
        }
        if let Some(Call { name, arguments }) = Call::of(value) {
            let arguments = resolve(scope, arguments, depth + 1).await?;
            return call_source(scope, name, &arguments).await;
        }
        match value {
            Value::String(text) => fill_text(text, &scope.variables()),
            Value::Array(items) => {
                let mut filled = Vec::with_capacity(items.len());
                for item in items {
                    filled.push(resolve(scope, item, depth + 1).await?);
                }
                Ok(Value::Array(filled))
            }
            Value::Object(members) => {
                let mut filled = Map::with_capacity(members.len());
                for (name, item) in members {
                    let name = name.strip_prefix('@').filter(|name| name.starts_with('@')).unwrap_or(name);
                    let name = fill_text(name, &scope.variables())?;
                    let item = resolve(scope, item, depth + 1).await?;
                    filled.insert(crate::expressions::as_text(&name).into_owned(), item);
                }
                Ok(Value::Object(filled))
            }
            other => Ok(other.clone()),
        }
    })
}
