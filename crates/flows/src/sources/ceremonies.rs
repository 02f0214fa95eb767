//! Passkeys: what a browser and its authenticator answer to WebAuthn options.

use serde_json::{Value, json};
use test_bench::authenticators::answer_options_of;

use super::arguments::wanted;
use super::scope::Scope;
use crate::FlowError;

/// The origin of applications in test servers.
const DEFAULT_ORIGIN: &str = "http://localhost:3000";

/// Answers options of a registration or of an authentication: `{credential, passkey}`.
#[expect(clippy::unused_async, reason = "the other sources wait")]
pub(super) async fn passkey(arguments: &Value, scope: &Scope) -> Result<Value, FlowError> {
    let form = "{\"options\": \"{{started.options}}\", \"passkey\": \"{{credential1.passkey}}\"}";
    if !arguments["options"].is_object() {
        return Err(wanted("passkey", form));
    }
    let configured = scope.settings.config.get("auth").and_then(|auth| auth["webauthn"]["rp_origins"][0].as_str());
    let body = json!(arguments).to_string();
    answer_options_of(body.as_bytes(), Some(configured.unwrap_or(DEFAULT_ORIGIN)))
        .map_err(|error| FlowError::new(format!("passkey: {}", error.message), error.hint))
}
