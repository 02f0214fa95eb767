//! Authenticators of users: passkeys and security keys, with responses that a flow can falsify.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use platform::software_authenticator::Authenticator;
use serde_json::{Value, json};

use super::arguments::Arguments;
use crate::FlowError;

/// The origin of a correct browser.
const ORIGIN: &str = "https://app.example.com";
/// The relying party of the settings.
const RELYING_PARTY: &str = "example.com";
const USER_PRESENT: u64 = 0x01;
const USER_VERIFIED: u64 = 0x04;
const BACKUP_ELIGIBLE: u64 = 0x08;
const BACKED_UP: u64 = 0x10;

/// The authenticators of one flow by their numbers.
#[derive(Debug, Default)]
pub(super) struct Authenticators {
    devices: HashMap<u64, Authenticator>,
}

impl Authenticators {
    /// Answers a call; `None` if the name is none of an authenticator.
    pub(super) fn call(&mut self, name: &str, arguments: &Value) -> Result<Option<Value>, FlowError> {
        match name {
            "authenticator" => self.create_device(arguments).map(Some),
            "webauthn_create" => self.respond(name, arguments, true).map(Some),
            "webauthn_get" => self.respond(name, arguments, false).map(Some),
            _ => Ok(None),
        }
    }

    /// Removes all authenticators.
    pub(super) fn clear(&mut self) {
        self.devices.clear();
    }

    fn create_device(&mut self, arguments: &Value) -> Result<Value, FlowError> {
        let relying_party = arguments["rp_id"].as_str().unwrap_or(RELYING_PARTY);
        let device = new_device(relying_party)?;
        let number = self.devices.len() as u64;
        let id = URL_SAFE_NO_PAD.encode(&device.id);
        self.devices.insert(number, device);
        Ok(json!({ "number": number, "id": id }))
    }

    /// Responds to the options of a registration or a sign-in.
    fn respond(&mut self, name: &str, arguments: &Value, is_registration: bool) -> Result<Value, FlowError> {
        let of = Arguments::new(name, arguments);
        let number = arguments["device"]["number"].as_u64();
        let device = number.and_then(|number| self.devices.get_mut(&number));
        let device = device.ok_or_else(|| of.wanted("{\"device\": authenticator, \"options\": {…}}"))?;
        let relying_party = std::mem::take(&mut device.rp_id);
        device.rp_id = arguments["rp_id"].as_str().unwrap_or(&relying_party).to_owned();
        arguments["origin"].as_str().unwrap_or(ORIGIN).clone_into(&mut device.origin);
        device.challenge = arguments["challenge"].as_str().map(str::to_owned);
        device.ceremony = match arguments["type"].as_str() {
            Some("webauthn.get") => Some("webauthn.get"),
            Some("webauthn.create") => Some("webauthn.create"),
            _ => None,
        };
        let flags = arguments["flags"].as_u64().unwrap_or(USER_PRESENT | USER_VERIFIED);
        device.is_user_present = flags & USER_PRESENT != 0;
        device.is_user_verified = flags & USER_VERIFIED != 0;
        device.is_backup_eligible = flags & BACKUP_ELIGIBLE != 0;
        device.is_backed_up = flags & BACKED_UP != 0;
        device.has_counter = false;
        device.counter = arguments["count"].as_u64().and_then(|count| count.try_into().ok()).unwrap_or(0);
        let options = &arguments["options"];
        let response = if is_registration {
            let mut response = device.create(options);
            response["response"]["transports"] = json!(["internal"]);
            response
        } else {
            device.user_handle = arguments["user_handle"].as_str().map(str::to_owned);
            sign_in(device, options, arguments["corrupt_signature"] == true)?
        };
        device.rp_id = relying_party;
        Ok(response)
    }
}

fn new_device(relying_party: &str) -> Result<Authenticator, FlowError> {
    Authenticator::new(ORIGIN, relying_party)
        .map_err(|error| FlowError::new(format!("an authenticator cannot be made: {error}"), "try again"))
}

/// Responds to a sign-in; an invalid signature is one of another key.
fn sign_in(device: &mut Authenticator, options: &Value, is_invalid: bool) -> Result<Value, FlowError> {
    if !is_invalid {
        return Ok(device.get(options));
    }
    let other = new_device(&device.rp_id)?;
    let key = std::mem::replace(&mut device.key, other.key);
    let response = device.get(options);
    device.key = key;
    Ok(response)
}
