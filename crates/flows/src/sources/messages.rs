//! Messages that the server sent, each taken once.

use std::time::Duration;

use serde_json::Value;

use super::arguments::wanted;
use super::message_source::{MessageQuery, MessageSource};
use super::scope::Scope;
use crate::FlowError;
use crate::text::parse_url;

/// How long a message is waited for without `wait`.
const DEFAULT_WAIT: f64 = 10.0;
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Waits for the oldest message to the address that was not returned before.
pub(super) async fn take(arguments: &Value, scope: &Scope) -> Result<Value, FlowError> {
    let source = source_of(scope)?;
    let query = MessageQuery::of(arguments);
    let to = query.to.ok_or_else(|| wanted("message", "{\"to\": \"{{email1}}\"}"))?;
    let wait = arguments["wait"].as_f64().unwrap_or(DEFAULT_WAIT).clamp(0.0, 120.0);
    let number = arguments["number"].as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or(1).max(1);
    let started = tokio::time::Instant::now();
    loop {
        let mut listed = source.list(&scope.client, &query).await?;
        listed.retain(|message| !scope.is_taken(&id_of(message)));
        let waited = started.elapsed().as_secs_f64();
        // A server may send fewer messages than the recorded one; the last of them counts.
        if listed.len() >= number || !listed.is_empty() && waited > wait / 2.0 {
            listed.truncate(number);
            let newest =
                listed.iter().map(|message| scope.take_message(&id_of(message))).filter(|is_new| *is_new).count();
            if let Some(mut message) = listed.pop().filter(|_| newest > 0) {
                if let Some(link) = message["link"].as_str().map(parse_url) {
                    message["query"] = link["query"].clone();
                }
                // A message without a code is then reported by the name of the member.
                if let Some(members) = message.as_object_mut() {
                    members.retain(|_, member| !member.is_null());
                }
                return Ok(message);
            }
        }
        if waited >= wait {
            let kind = query.kind.map_or_else(String::new, |kind| format!(" of the kind {kind}"));
            return Err(FlowError::new(
                format!("no message{kind} to {to} arrived within {wait} seconds"),
                "check that the server sends messages to where this replay reads them (--messages)",
            ));
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

fn id_of(message: &Value) -> String {
    message["id"].as_str().map_or_else(|| message["id"].to_string(), str::to_owned)
}

/// Returns the messages that were not returned before, without marking them.
pub(super) async fn list(arguments: &Value, scope: &Scope) -> Result<Value, FlowError> {
    let source = source_of(scope)?;
    let listed = source.list(&scope.client, &MessageQuery::of(arguments)).await?;
    Ok(listed.into_iter().filter(|message| !scope.is_taken(&id_of(message))).collect())
}

fn source_of(scope: &Scope) -> Result<&MessageSource, FlowError> {
    scope.target.messages.as_ref().ok_or_else(|| {
        FlowError::new(
            "a message is wanted, and this replay does not know where the server's messages are",
            "add --messages with the URL of Mailpit or of the message API (…/_dev/messages), or --set with the variable's name",
        )
    })
}
