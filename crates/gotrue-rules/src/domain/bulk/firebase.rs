//! Converts users of Firebase, as `firebase auth:export --format=json` writes them.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use chrono::DateTime;
use serde_json::{Value, json};

use super::{ImportError, ImportRow};

/// The hash parameters of a Firebase project.
///
/// The Firebase console shows them under Authentication, "Password hash parameters".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirebaseHashParameters {
    /// `base64_signer_key`.
    pub signer_key: String,
    /// `base64_salt_separator`.
    pub salt_separator: String,
    /// `rounds`.
    pub rounds: u32,
    /// `mem_cost`.
    pub mem_cost: u32,
}

/// Converts a Firebase user to an import line. A password requires the project's hash parameters.
pub fn to_import_line(user: &ImportRow, parameters: Option<&FirebaseHashParameters>) -> Result<ImportRow, ImportError> {
    let text = |name: &str| user.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let mut line = ImportRow::new();
    for (member, name) in [("email", "email"), ("phone", "phoneNumber")] {
        if let Some(value) = text(name) {
            line.insert(member.to_owned(), json!(value));
        }
    }
    for (member, name) in [("created_at", "createdAt"), ("last_sign_in_at", "lastSignedInAt")] {
        if let Some(value) = user.get(name) {
            line.insert(
                member.to_owned(),
                json!(parse_millis(value).ok_or_else(|| format!("{name}: milliseconds are wanted"))?),
            );
        }
    }
    line.insert("email_verified".to_owned(), json!(user.get("emailVerified") == Some(&Value::Bool(true))));
    // Firebase stores only verified numbers.
    line.insert("phone_verified".to_owned(), json!(text("phoneNumber").is_some()));
    if user.get("disabled") == Some(&Value::Bool(true)) {
        line.insert("banned_until".to_owned(), json!("9999-12-31T23:59:59Z"));
    }
    if let (Some(hash), Some(salt)) = (text("passwordHash"), text("salt")) {
        let parameters = parameters.ok_or(
            "the password's hash needs the project's parameters: --firebase-signer-key and --firebase-salt-separator",
        )?;
        line.insert("encrypted_password".to_owned(), json!(format_stored_hash(hash, salt, parameters)?));
    }
    let mut metadata = ImportRow::new();
    for (member, name) in [("full_name", "displayName"), ("avatar_url", "photoUrl")] {
        if let Some(value) = text(name) {
            metadata.insert(member.to_owned(), json!(value));
        }
    }
    if let Some(id) = text("localId") {
        metadata.insert("firebase_id".to_owned(), json!(id));
    }
    line.insert("raw_user_meta_data".to_owned(), Value::Object(metadata));
    if let Some(claims) = text("customAttributes").and_then(|text| serde_json::from_str::<ImportRow>(text).ok()) {
        line.insert("raw_app_meta_data".to_owned(), Value::Object(claims));
    }
    let listed = convert_identities(user);
    if !listed.is_empty() && text("passwordHash").is_none() {
        line.insert("identities".to_owned(), Value::Array(listed));
    }
    Ok(line)
}

/// Formats a stored hash: `$fbscrypt$v=1,n=…,r=…,p=1,ss=…,sk=…$salt$hash`, plain base64.
fn format_stored_hash(hash: &str, salt: &str, parameters: &FirebaseHashParameters) -> Result<String, ImportError> {
    let plain = |name: &str, text: &str| {
        let bytes = URL_SAFE.decode(text).or_else(|_| STANDARD.decode(text));
        bytes.map(|bytes| STANDARD.encode(bytes)).map_err(|_| format!("{name}: base64 is wanted"))
    };
    let FirebaseHashParameters { signer_key, salt_separator, rounds, mem_cost } = parameters;
    Ok(format!(
        "$fbscrypt$v=1,n={mem_cost},r={rounds},p=1,ss={},sk={}${}${}",
        plain("the salt separator", salt_separator)?,
        plain("the signer key", signer_key)?,
        plain("salt", salt)?,
        plain("passwordHash", hash)?,
    ))
}

/// Parses milliseconds since the epoch, a text or a number.
fn parse_millis(value: &Value) -> Option<String> {
    let milliseconds = match value {
        Value::String(text) => text.parse().ok()?,
        other => other.as_i64()?,
    };
    Some(DateTime::from_timestamp_millis(milliseconds)?.to_rfc3339())
}

/// Converts identities of other providers: `google.com` becomes `google`.
fn convert_identities(user: &ImportRow) -> Vec<Value> {
    let listed = user.get("providerUserInfo").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let other = |one: &Value| {
        let (named, id) = (one["providerId"].as_str()?, one["rawId"].as_str()?);
        let provider = named.strip_suffix(".com").filter(|name| !matches!(*name, "password" | "phone"))?;
        let mut data = json!({"sub": id});
        for (member, name) in [("email", "email"), ("full_name", "displayName"), ("avatar_url", "photoUrl")] {
            if let Some(value) = one[name].as_str() {
                data[member] = json!(value);
            }
        }
        Some(json!({"provider": provider, "provider_id": id, "identity_data": data}))
    };
    listed.iter().filter_map(other).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters() -> FirebaseHashParameters {
        FirebaseHashParameters { signer_key: "a2V5".into(), salt_separator: "Bw==".into(), rounds: 8, mem_cost: 14 }
    }

    fn convert(user: Value, parameters: Option<&FirebaseHashParameters>) -> Result<ImportRow, ImportError> {
        let Value::Object(user) = user else { panic!("an object") };
        to_import_line(&user, parameters)
    }

    #[test]
    fn password_hash_is_converted_with_project_parameters() {
        let user = json!({"localId": "u", "email": "a@b.co", "emailVerified": true, "passwordHash": "_-8=", "salt": "c2FsdA==",
            "createdAt": "1700000000000", "customAttributes": "{\"admin\":true}", "displayName": "Ann"});
        let line = convert(user.clone(), Some(&parameters())).expect("readable");
        assert_eq!(line["encrypted_password"], "$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,sk=a2V5$c2FsdA==$/+8=");
        assert_eq!(line["created_at"], "2023-11-14T22:13:20+00:00");
        assert_eq!(line["raw_app_meta_data"], json!({"admin": true}));
        assert!(convert(user, None).expect_err("no parameters").contains("--firebase-signer-key"));
    }

    #[test]
    fn user_of_external_provider_keeps_subject() {
        let user = json!({"localId": "u", "email": "a@b.co", "providerUserInfo": [
            {"providerId": "google.com", "rawId": "42", "email": "a@b.co"}, {"providerId": "password", "rawId": "a@b.co"}]});
        let line = convert(user, None).expect("readable");
        assert_eq!(
            line["identities"],
            json!([{"provider": "google", "provider_id": "42", "identity_data": {"sub": "42", "email": "a@b.co"}}])
        );
    }
}
