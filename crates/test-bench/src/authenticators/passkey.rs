//! A software passkey: answers WebAuthn options as a browser and its authenticator do.
//!
//! It keeps nothing: the private state of a passkey is part of the answer, and of the next request.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gotrue_rs::app::App;
use platform::nearest::format_suggestion;
use platform::software_authenticator::Authenticator;
use serde_json::{Map, Value, json};
use url::Url;

use crate::TestApiError;

const MAX_BODY_BYTES: usize = 256 << 10;
/// The longest credential id (WebAuthn §4) and the longest other text of a passkey, in bytes.
const MAX_TEXT: usize = 1023;
/// ES256, the only algorithm of the authenticator (COSE).
const ES256: i64 = -7;
const MEMBERS: [&str; 4] = ["options", "passkey", "origin", "user_verified"];
const HINT: &str = "send {\"options\": …} of a registration; for an authentication also the `passkey` of its answer";

/// Answers the options of a registration or of an authentication: `{credential, passkey}`.
///
/// The body is `{options, passkey?, origin?, user_verified?}`: the options as the server sent them, for an authentication
/// with the passkey of the last answer. `credential` is what `navigator.credentials.create()` or `.get()` returns, and
/// `passkey` the private state: credential id, key, relying party, user handle and signature counter.
///
/// # Errors
///
/// 400 for an invalid body, and where a browser would refuse: the passkey is of another relying party or not allowed.
pub fn answer_options(app: &Arc<App>, body: &[u8]) -> Result<Value, TestApiError> {
    answer_options_of(body, default_origin(app).as_deref())
}

/// The same, without a server; `default_origin` is the origin of options without one.
///
/// # Errors
///
/// As above.
pub fn answer_options_of(body: &[u8], default_origin: Option<&str>) -> Result<Value, TestApiError> {
    let invalid = |problem: String| TestApiError::bad_request(problem, HINT);
    let request = PasskeyRequest::parse(body).map_err(invalid)?;
    let origin = request.origin.clone().or_else(|| default_origin.map(str::to_owned));
    let origin = origin.ok_or_else(|| invalid("origin: no relying party is configured, give an origin".to_owned()))?;
    let (mut device, ceremony) = match &request.passkey {
        None => (create_device(&request, &origin).map_err(invalid)?, Ceremony::Create),
        Some(passkey) => (load_device(passkey, &request, &origin).map_err(invalid)?, Ceremony::Get),
    };
    device.is_user_verified = request.is_user_verified;
    let credential = match ceremony {
        Ceremony::Create => device.create(&request.options),
        Ceremony::Get => device.get(&request.options),
    };
    let key = device.to_pkcs8().map_err(|error| TestApiError::internal("encoding the passkey", &error))?;
    let passkey = json!({
        "credential_id": URL_SAFE_NO_PAD.encode(&device.id),
        "private_key": URL_SAFE_NO_PAD.encode(key),
        "rp_id": device.rp_id,
        "user_handle": device.user_handle,
        "sign_count": device.counter,
    });
    Ok(json!({ "credential": credential, "passkey": passkey }))
}

/// The ceremony of the options.
enum Ceremony {
    Create,
    Get,
}

#[derive(Debug)]
struct PasskeyRequest {
    options: Value,
    passkey: Option<Map<String, Value>>,
    origin: Option<String>,
    is_user_verified: bool,
}

impl PasskeyRequest {
    fn parse(body: &[u8]) -> Result<Self, String> {
        if body.len() > MAX_BODY_BYTES {
            return Err(format!("the body is larger than {MAX_BODY_BYTES} bytes"));
        }
        let parsed = serde_json::from_slice(body).map_err(|error| format!("the body is no JSON object: {error}"));
        let mut members: Map<String, Value> = parsed?;
        members.retain(|_, value| !value.is_null());
        if let Some(unknown) = members.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
            let suggestion = format_suggestion(unknown, MEMBERS);
            return Err(format!("{unknown}: no such member{suggestion}; known are {}", MEMBERS.join(", ")));
        }
        let options = members.shift_remove("options").unwrap_or_default();
        let options = options.get("publicKey").cloned().unwrap_or(options);
        if options.get("challenge").and_then(Value::as_str).is_none_or(str::is_empty) {
            return Err("options: the options of a registration or an authentication are wanted".to_owned());
        }
        let passkey = match members.shift_remove("passkey") {
            None => None,
            Some(Value::Object(passkey)) => Some(passkey),
            Some(_) => return Err("passkey: an object is wanted".to_owned()),
        };
        let origin = match members.shift_remove("origin") {
            None => None,
            Some(origin) => {
                let url = origin.as_str().and_then(|origin| Url::parse(origin).ok()).filter(Url::has_host);
                Some(
                    url.ok_or("origin: an origin such as http://localhost:3000 is wanted")?
                        .origin()
                        .ascii_serialization(),
                )
            }
        };
        let is_user_verified = match members.shift_remove("user_verified") {
            None => true,
            Some(Value::Bool(is_user_verified)) => is_user_verified,
            Some(_) => return Err("user_verified: true or false is wanted".to_owned()),
        };
        Ok(Self { options, passkey, origin, is_user_verified })
    }
}

fn default_origin(app: &App) -> Option<String> {
    app.policy.webauthn.relying_party.as_ref().and_then(|party| party.origins.first()).cloned()
}

/// Creates a passkey for the options of a registration.
fn create_device(request: &PasskeyRequest, origin: &str) -> Result<Authenticator, String> {
    let options = &request.options;
    if !options["user"].is_object() {
        return Err("passkey: the options are of an authentication, which needs the passkey".to_owned());
    }
    let algorithms = options["pubKeyCredParams"].as_array();
    if algorithms.is_some_and(|list| !list.is_empty() && list.iter().all(|parameters| parameters["alg"] != ES256)) {
        return Err("options.pubKeyCredParams: ES256 (-7) is not allowed, and there is no other algorithm".to_owned());
    }
    let host = || Url::parse(origin).ok().and_then(|url| url.host_str().map(str::to_owned));
    let rp_id = options["rp"]["id"].as_str().map(str::to_owned).or_else(host).unwrap_or_default();
    Authenticator::new(origin, &rp_id).map_err(|error| error.to_string())
}

/// Loads the passkey of an authentication and checks that the options allow it.
fn load_device(passkey: &Map<String, Value>, request: &PasskeyRequest, origin: &str) -> Result<Authenticator, String> {
    let options = &request.options;
    if options["user"].is_object() {
        return Err("passkey: the options are of a registration, which creates a new one".to_owned());
    }
    let text = |name: &str| {
        let text = passkey.get(name).and_then(Value::as_str).filter(|text| !text.is_empty() && text.len() <= MAX_TEXT);
        text.ok_or_else(|| format!("passkey.{name}: a text of 1 to {MAX_TEXT} bytes is wanted"))
    };
    let bytes = |name: &str| {
        let decoded = URL_SAFE_NO_PAD.decode(text(name)?);
        decoded.map_err(|_| format!("passkey.{name}: base64url without padding is wanted"))
    };
    let rp_id = text("rp_id")?;
    if options["rpId"].as_str().is_some_and(|wanted| wanted != rp_id) {
        return Err(format!("passkey: it is of the relying party {rp_id}, and the options are of {}", options["rpId"]));
    }
    let allowed = options["allowCredentials"].as_array().filter(|list| !list.is_empty());
    let id = text("credential_id")?;
    if allowed.is_some_and(|list| list.iter().all(|credential| credential["id"] != id)) {
        return Err("passkey: options.allowCredentials does not list it".to_owned());
    }
    let counter = passkey.get("sign_count").and_then(Value::as_u64).and_then(|count| u32::try_from(count).ok());
    let counter = counter.filter(|count| *count < u32::MAX).ok_or("passkey.sign_count: a whole number is wanted")?;
    let key = bytes("private_key")?;
    let device = Authenticator::from_pkcs8(&key, origin, rp_id);
    let device = device.map_err(|error| format!("passkey.private_key: {error}"))?;
    let user_handle = passkey.get("user_handle").and_then(Value::as_str).map(str::to_owned);
    Ok(Authenticator { id: bytes("credential_id")?, counter, user_handle, ..device })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn creation() -> Value {
        json!({"challenge": "AAAA", "rp": {"id": "example.com"}, "user": {"id": "dXNlcg"}})
    }

    fn prepare(body: &Value) -> Result<Authenticator, String> {
        let request = PasskeyRequest::parse(body.to_string().as_bytes())?;
        match &request.passkey {
            None => create_device(&request, "https://example.com"),
            Some(passkey) => load_device(passkey, &request, "https://example.com"),
        }
    }

    fn stored() -> Value {
        let device = prepare(&json!({"options": creation()})).unwrap();
        json!({
            "credential_id": URL_SAFE_NO_PAD.encode(&device.id), "rp_id": device.rp_id, "sign_count": 7,
            "private_key": URL_SAFE_NO_PAD.encode(device.to_pkcs8().unwrap()), "user_handle": "dXNlcg",
        })
    }

    #[test]
    fn passkey_is_loaded_with_its_state() {
        let passkey = stored();
        let device = prepare(&json!({"options": {"publicKey": {"challenge": "AAAA"}}, "passkey": passkey})).unwrap();
        assert_eq!(URL_SAFE_NO_PAD.encode(&device.id), passkey["credential_id"]);
        assert_eq!((device.counter, device.user_handle.as_deref()), (7, Some("dXNlcg")));
    }

    #[test]
    fn invalid_bodies_are_rejected_with_a_reason() {
        let with = |name: &str, value: Value| {
            let mut passkey = stored();
            passkey[name] = value;
            json!({"options": {"challenge": "AAAA"}, "passkey": passkey})
        };
        for (body, expected) in [
            (json!([]), "no JSON object"),
            (json!({}), "options: "),
            (json!({"options": {"challenge": ""}}), "options: "),
            (json!({"options": {"challenge": "AAAA"}}), "needs the passkey"),
            (json!({"options": creation(), "passkey": stored()}), "creates a new one"),
            (json!({"options": creation(), "origin": "shop"}), "origin: "),
            (json!({"options": creation(), "user_verified": 1}), "user_verified: "),
            (json!({"options": creation(), "option": 1}), "option: no such member"),
            (json!({"options": {"challenge": "AAAA", "user": {}, "pubKeyCredParams": [{"alg": -8}]}}), "ES256"),
            (with("private_key", json!("AAAA")), "passkey.private_key: the key is no P-256 key"),
            (with("private_key", json!("!")), "passkey.private_key: base64url"),
            (with("credential_id", json!("")), "passkey.credential_id"),
            (with("sign_count", json!(-1)), "passkey.sign_count"),
            (with("sign_count", json!(u32::MAX)), "passkey.sign_count"),
            (json!({"options": {"challenge": "A", "rpId": "other.example"}, "passkey": stored()}), "relying party"),
            (
                json!({"options": {"challenge": "A", "allowCredentials": [{"id": "AAAA"}]}, "passkey": stored()}),
                "does not list it",
            ),
        ] {
            let problem = prepare(&body).expect_err("invalid");
            assert!(problem.contains(expected), "{body}: {problem}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_or_rejected(body in prop::collection::vec(any::<u8>(), 0..80)) {
            drop(PasskeyRequest::parse(&body));
        }

        #[test]
        fn any_passkey_is_loaded_or_rejected(name in "credential_id|rp_id|private_key|sign_count|user_handle", value in "\\PC{0,20}") {
            let mut passkey = stored();
            passkey[&name] = json!(value);
            if let Ok(device) = prepare(&json!({"options": {"challenge": "AAAA"}, "passkey": passkey})) {
                prop_assert!(!device.id.is_empty() && name != "sign_count");
            }
        }
    }
}
