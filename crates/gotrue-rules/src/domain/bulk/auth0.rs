//! Converts users of Auth0: lines of an export job, or of the password hash export by Auth0's support.

use serde_json::{Value, json};

use super::{ImportError, ImportRow};

/// Converts an Auth0 user to an import line.
pub fn to_import_line(mut user: ImportRow) -> Result<ImportRow, ImportError> {
    let mut text = |names: &[&str]| {
        names.iter().find_map(|name| match user.shift_remove(*name) {
            Some(Value::String(text)) if !text.is_empty() => Some(text),
            _ => None,
        })
    };
    let subject = text(&["user_id", "Id", "id"]);
    let mut line = ImportRow::new();
    for (member, names) in [
        ("email", &["email", "Email"][..]),
        ("phone", &["phone_number"]),
        ("created_at", &["created_at", "Created At"]),
        ("updated_at", &["updated_at", "Updated At"]),
        ("last_sign_in_at", &["last_login"]),
        ("encrypted_password", &["passwordHash", "password_hash"]),
    ] {
        if let Some(value) = text(names) {
            line.insert(member.to_owned(), Value::String(value));
        }
    }
    let mut metadata = ImportRow::new();
    for (member, names) in [
        ("name", &["name", "Name"][..]),
        ("given_name", &["given_name", "Given Name"]),
        ("family_name", &["family_name", "Family Name"]),
        ("nickname", &["nickname", "Nickname"]),
        ("picture", &["picture"]),
    ] {
        if let Some(value) = text(names) {
            metadata.insert(member.to_owned(), Value::String(value));
        }
    }
    if let Some(Value::Object(own)) = user.shift_remove("user_metadata") {
        metadata.extend(own);
    }
    line.insert("raw_user_meta_data".to_owned(), Value::Object(metadata));
    if let Some(Value::Object(own)) = user.shift_remove("app_metadata") {
        line.insert("raw_app_meta_data".to_owned(), Value::Object(own));
    }
    for (member, names) in
        [("email_verified", ["email_verified", "Email Verified"]), ("phone_verified", ["phone_verified"; 2])]
    {
        let is_so = names.iter().any(|name| user.get(*name) == Some(&Value::Bool(true)));
        line.insert(member.to_owned(), Value::Bool(is_so));
    }
    if user.get("blocked") == Some(&Value::Bool(true)) {
        line.insert("banned_until".to_owned(), json!("9999-12-31T23:59:59Z"));
    }
    let listed = convert_identities(&user, subject.as_deref());
    if !listed.is_empty() {
        line.insert("identities".to_owned(), Value::Array(listed));
    }
    Ok(line)
}

/// Auth0 connection names and the provider names that they denote.
const PROVIDERS: [(&str, &str); 4] =
    [("google-oauth2", "google"), ("windowslive", "azure"), ("linkedin", "linkedin_oidc"), ("oauth2", "custom:oauth2")];

/// Converts identities of other providers.
/// If there are any and the user has a password, an e-mail identity is added; an empty list means that the import
/// creates the default identities.
fn convert_identities(user: &ImportRow, subject: Option<&str>) -> Vec<Value> {
    let listed = user.get("identities").and_then(Value::as_array).cloned().unwrap_or_default();
    let by_subject = subject
        .and_then(|subject| subject.split_once('|'))
        .map(|(provider, id)| json!({"provider": provider, "user_id": id}));
    let all = if listed.is_empty() { by_subject.into_iter().collect() } else { listed };
    let is_own = |one: &Value| matches!(one["provider"].as_str(), None | Some("auth0" | "email" | "sms"));
    if all.iter().any(is_own) {
        return Vec::new();
    }
    all.iter()
        .filter_map(|one| {
            let named = one["provider"].as_str()?;
            let provider = PROVIDERS.iter().find(|(theirs, _)| *theirs == named).map_or(named, |(_, ours)| *ours);
            let id = match &one["user_id"] {
                Value::String(id) => id.clone(),
                Value::Number(id) => id.to_string(),
                _ => return None,
            };
            let mut data = one["profileData"].as_object().cloned().unwrap_or_default();
            data.insert("sub".to_owned(), json!(id));
            Some(json!({"provider": provider, "provider_id": id, "identity_data": data}))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn convert(user: Value) -> ImportRow {
        let Value::Object(user) = user else { panic!("an object") };
        to_import_line(user).expect("readable")
    }

    #[test]
    fn user_with_password_keeps_hash() {
        let line = convert(json!({
            "_id": {"$oid": "1"}, "email": "a@b.co", "email_verified": true, "passwordHash": "$2b$10$x",
            "user_id": "auth0|1", "name": "Ann", "user_metadata": {"size": "L"}, "blocked": true,
        }));
        assert_eq!(line["encrypted_password"], "$2b$10$x");
        assert_eq!(line["email_verified"], true);
        assert_eq!(line["raw_user_meta_data"], json!({"name": "Ann", "size": "L"}));
        assert!(line.contains_key("banned_until") && !line.contains_key("identities"));
    }

    #[test]
    fn user_of_external_provider_keeps_subject() {
        for user in [
            json!({"email": "a@b.co", "user_id": "google-oauth2|42"}),
            json!({"email": "a@b.co", "identities": [{"provider": "google-oauth2", "user_id": "42"}]}),
        ] {
            let line = convert(user);
            assert_eq!(line["identities"][0]["provider"], "google");
            assert_eq!(line["identities"][0]["provider_id"], "42");
        }
    }
}
