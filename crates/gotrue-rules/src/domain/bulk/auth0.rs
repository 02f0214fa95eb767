//! Converts users of Auth0: of an export job, of a bulk import file, or of the password hash export by Auth0's support.

use serde_json::{Value, json};

use super::conversion::{
    ConvertedRow, ProviderNames, derive_id, phone_factor, take_flag, take_text, totp_factor, unknown_provider_note,
};
use super::row::ImportRow;

/// Members that say where a row comes from and hold nothing of the account.
const IGNORED: [&str; 5] = ["_id", "connection", "tenant", "__v", "_tmp_is_unique"];

/// Returns the subjects under which a row's password may be listed: `auth0|5f1`.
#[must_use]
pub fn list_password_subjects(user: &ImportRow) -> Vec<String> {
    let own = subject(user).filter(|subject| subject.starts_with("auth0|"));
    let listed = user.get("identities").and_then(Value::as_array).into_iter().flatten();
    let linked = listed
        .filter(|one| one["provider"] == "auth0")
        .filter_map(|one| text_of(&one["user_id"]))
        .map(|id| format!("auth0|{id}"));
    let mut subjects: Vec<String> = own.into_iter().chain(linked).collect();
    subjects.dedup();
    subjects
}

/// Returns the password hash of a row of the hash export; `None` for rows without one.
#[must_use]
pub fn find_password_hash(user: &ImportRow) -> Option<&str> {
    let hash = ["passwordHash", "password_hash"].iter().find_map(|name| user.get(*name))?;
    hash.as_str().filter(|hash| !hash.is_empty())
}

/// Returns the user's subject: `user_id`, or that of a row of the hash export or a bulk import file.
fn subject(user: &ImportRow) -> Option<String> {
    let named = ["user_id", "Id", "id"].iter().find_map(|name| user.get(*name).and_then(text_of));
    match named {
        Some(id) if id.contains('|') => Some(id),
        Some(id) => Some(format!("auth0|{id}")),
        None => {
            let id = user.get("_id")?;
            Some(format!("auth0|{}", text_of(&id["$oid"]).or_else(|| text_of(id))?))
        }
    }
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Converts an Auth0 user to an import line.
#[must_use]
pub fn to_import_line(mut user: ImportRow, providers: &ProviderNames) -> ConvertedRow {
    let subject = subject(&user);
    let mut converted = ConvertedRow::default();
    converted.set_some("id", subject.as_deref().map(|subject| derive_id("auth0", subject).to_string()));
    for name in ["user_id", "Id", "id"].iter().chain(&IGNORED) {
        user.shift_remove(*name);
    }
    for (member, names) in [
        ("email", &["email", "Email"][..]),
        ("phone", &["phone_number", "Phone Number"]),
        ("created_at", &["created_at", "Created At"]),
        ("updated_at", &["updated_at", "Updated At"]),
        ("last_sign_in_at", &["last_login", "Last Login"]),
        ("encrypted_password", &["passwordHash", "password_hash"]),
    ] {
        converted.set_some(member, take_text(&mut user, names));
    }
    take_custom_hash(&mut user, &mut converted);
    let mut metadata = ImportRow::new();
    for (member, names) in [
        ("name", &["name", "Name"][..]),
        ("given_name", &["given_name", "Given Name"]),
        ("family_name", &["family_name", "Family Name"]),
        ("nickname", &["nickname", "Nickname"]),
        ("user_name", &["username", "Username"]),
        ("picture", &["picture", "Picture"]),
    ] {
        if let Some(value) = take_text(&mut user, names) {
            metadata.insert(member.to_owned(), Value::String(value));
        }
    }
    if let Some(own) = take_object(&mut user, "user_metadata") {
        metadata.extend(own);
    }
    converted.set("raw_user_meta_data", metadata);
    converted.set_some("raw_app_meta_data", take_object(&mut user, "app_metadata"));
    for (member, names) in
        [("email_verified", ["email_verified", "Email Verified"]), ("phone_verified", ["phone_verified"; 2])]
    {
        converted.set(member, take_flag(&mut user, &names).unwrap_or_default());
    }
    if take_flag(&mut user, &["blocked", "Blocked"]) == Some(true) {
        converted.set("banned_until", "9999-12-31T23:59:59Z");
    }
    take_factors(&mut user, subject.as_deref().unwrap_or_default(), &mut converted);
    take_identities(&mut user, subject.as_deref(), providers, &mut converted);
    converted.omit_rest(user);
    converted
}

/// Takes an object, also one that a CSV file holds as a text.
fn take_object(user: &mut ImportRow, name: &str) -> Option<ImportRow> {
    let object = match user.get(name)? {
        Value::Object(object) => object.clone(),
        Value::String(text) => serde_json::from_str(text).ok()?,
        _ => return None,
    };
    user.shift_remove(name);
    Some(object)
}

/// Takes `custom_password_hash` of a bulk import file.
fn take_custom_hash(user: &mut ImportRow, converted: &mut ConvertedRow) {
    let Some(custom) = user.shift_remove("custom_password_hash").filter(Value::is_object) else { return };
    let algorithm = custom["algorithm"].as_str().unwrap_or_default();
    match custom["hash"]["value"].as_str() {
        Some(hash) if matches!(algorithm, "bcrypt" | "argon2") => {
            converted.line.entry("encrypted_password").or_insert_with(|| json!(hash));
        }
        _ => converted.notes.push(format!(
            "the password is left out: hashes of {algorithm:?} cannot be verified here; the user sets a new one"
        )),
    }
}

/// Takes the second factors of a bulk import file.
fn take_factors(user: &mut ImportRow, subject: &str, converted: &mut ConvertedRow) {
    let Some(Value::Array(listed)) = user.shift_remove("mfa_factors") else { return };
    let mut factors = Vec::new();
    for (at, factor) in listed.iter().enumerate() {
        let id = derive_id("auth0-factor", &format!("{subject}:{at}"));
        if let Some(secret) = factor["totp"]["secret"].as_str() {
            factors.push(totp_factor(id, secret));
        } else if let Some(number) = factor["phone"]["value"].as_str() {
            factors.push(phone_factor(id, number));
        } else {
            let kind = factor.as_object().and_then(|members| members.keys().next()).map_or("unknown", String::as_str);
            converted.notes.push(format!("a second factor of the kind {kind:?} is left out: there is none here"));
        }
    }
    converted.set("factors", factors);
}

/// Auth0 connection names and the provider names that they denote.
const PROVIDERS: [(&str, &str); 4] =
    [("google-oauth2", "google"), ("windowslive", "azure"), ("linkedin", "linkedin_oidc"), ("oauth2", "custom:oauth2")];

/// Takes the identities; without any the import creates the default ones.
fn take_identities(
    user: &mut ImportRow,
    subject: Option<&str>,
    providers: &ProviderNames,
    converted: &mut ConvertedRow,
) {
    let listed = match user.get("identities") {
        Some(Value::Array(listed)) => Some(listed.clone()),
        Some(Value::String(text)) => serde_json::from_str::<Vec<Value>>(text).ok(),
        _ => None,
    };
    if listed.is_some() {
        user.shift_remove("identities");
    }
    let by_subject = subject
        .and_then(|subject| subject.split_once('|'))
        .map(|(provider, id)| json!({"provider": provider, "user_id": id}));
    let listed = listed.filter(|listed| !listed.is_empty()).unwrap_or_else(|| by_subject.into_iter().collect());
    let mut identities = Vec::new();
    for one in &listed {
        let Some(named) = one["provider"].as_str() else {
            converted.notes.push("an identity without a provider is left out".to_owned());
            continue;
        };
        let own = match named {
            "auth0" | "email" => Some("email"),
            "sms" => Some("phone"),
            _ => None,
        };
        if let Some(own) = own {
            if converted.line.contains_key(own) && !identities.contains(&json!({"provider": own})) {
                identities.push(json!({"provider": own}));
            }
            continue;
        }
        let by_connection = one["connection"].as_str().and_then(|connection| providers.given(connection));
        let Some(provider) = by_connection.or_else(|| providers.find(named, &PROVIDERS)) else {
            converted.notes.push(unknown_provider_note(named));
            continue;
        };
        let Some(id) = text_of(&one["user_id"]) else {
            converted.notes.push(format!("the identity of {named} is left out: it has no user_id"));
            continue;
        };
        let mut data = one["profileData"].as_object().cloned().unwrap_or_default();
        data.insert("sub".to_owned(), json!(id));
        identities.push(json!({"provider": provider, "provider_id": id, "identity_data": data}));
    }
    // An account whose every identity is left out gets none of its own: nobody could have signed in by mail.
    if !identities.is_empty() || !listed.is_empty() && !converted.notes.is_empty() {
        converted.set("identities", identities);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn convert(user: Value) -> ConvertedRow {
        let Value::Object(user) = user else { panic!("an object") };
        to_import_line(user, &ProviderNames::default())
    }

    #[test]
    fn user_with_password_keeps_hash() {
        let converted = convert(json!({
            "_id": {"$oid": "1"}, "email": "a@b.co", "email_verified": true, "passwordHash": "$2b$10$x",
            "user_id": "auth0|1", "name": "Ann", "user_metadata": {"size": "L"}, "blocked": true, "logins_count": 3,
        }));
        let line = &converted.line;
        assert_eq!(line["encrypted_password"], "$2b$10$x");
        assert_eq!(line["email_verified"], true);
        assert_eq!(line["raw_user_meta_data"], json!({"name": "Ann", "size": "L"}));
        assert_eq!(line["identities"], json!([{"provider": "email"}]));
        assert!(line.contains_key("banned_until"));
        assert_eq!(converted.omitted, ["logins_count"]);
    }

    #[test]
    fn rows_of_export_and_hash_file_have_one_id() {
        let export = convert(json!({"user_id": "auth0|5f1", "email": "a@b.co"}));
        let hash = json!({"_id": {"$oid": "5f1"}, "email": "a@b.co", "passwordHash": "$2b$10$x"});
        assert_eq!(export.line["id"], convert(hash.clone()).line["id"]);
        assert_eq!(list_password_subjects(hash.as_object().expect("an object")), ["auth0|5f1"]);
        let linked = json!({"user_id": "google-oauth2|1", "identities": [
            {"provider": "google-oauth2", "user_id": "1"}, {"provider": "auth0", "user_id": "5f1"}]});
        assert_eq!(list_password_subjects(linked.as_object().expect("an object")), ["auth0|5f1"]);
    }

    #[test]
    fn user_of_external_provider_keeps_subject() {
        for user in [
            json!({"email": "a@b.co", "user_id": "google-oauth2|42"}),
            json!({"email": "a@b.co", "identities": [{"provider": "google-oauth2", "user_id": "42"}]}),
        ] {
            let line = convert(user).line;
            assert_eq!(line["identities"][0]["provider"], "google");
            assert_eq!(line["identities"][0]["provider_id"], "42");
        }
    }

    #[test]
    fn linked_identities_and_factors_are_kept_or_reported() {
        let converted = convert(json!({
            "user_id": "auth0|1", "email": "a@b.co",
            "identities": [{"provider": "auth0", "user_id": "1"}, {"provider": "google-oauth2", "user_id": "42"},
                {"provider": "samlp", "user_id": "x", "connection": "corp"}],
            "mfa_factors": [{"totp": {"secret": "JBSWY3DPEHPK3PXP"}}, {"phone": {"value": "+15550100001"}}, {"email": {"value": "x"}}],
            "custom_password_hash": {"algorithm": "md5", "hash": {"value": "x"}},
        }));
        let providers: Vec<_> = converted.line["identities"].as_array().expect("a list").iter().collect();
        assert_eq!(providers.iter().map(|one| &one["provider"]).collect::<Vec<_>>(), ["email", "google"]);
        assert_eq!(converted.line["factors"].as_array().map(Vec::len), Some(2));
        assert_eq!(converted.notes.len(), 3, "{:?}", converted.notes);
        assert!(converted.notes[2].contains("--provider samlp=sso:ID"));
    }

    proptest! {
        #[test]
        fn every_member_is_used_or_reported(name in "[a-z]{12,16}", value in "[a-z]{1,9}") {
            let user = ImportRow::from_iter([(name.clone(), json!(value)), ("email".to_owned(), json!("a@b.co"))]);
            prop_assert_eq!(to_import_line(user, &ProviderNames::default()).omitted, [name]);
        }
    }
}
