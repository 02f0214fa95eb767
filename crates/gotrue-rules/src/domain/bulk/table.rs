//! Converts flat records with the usual names of columns: CSV files of Clerk, of the Supabase dashboard and of others, and
//! records of `PocketBase`.

use chrono::{DateTime, NaiveDateTime};
use foundation::time::format_microseconds;
use serde_json::{Value, json};
use uuid::Uuid;

use super::columns::ImportTable;
use super::conversion::{ConvertedRow, derive_id, take_flag, take_text, totp_factor};
use super::row::{ImportError, ImportRow};

/// Members of an import line that are no columns.
const LINE_MEMBERS: [&str; 8] = [
    "password_hash",
    "app_metadata",
    "user_metadata",
    "email_verified",
    "phone_verified",
    "identities",
    "factors",
    "passkeys",
];

/// Names of columns, normalized, and the members of an import line that they become.
const CONTACTS: [(&str, &[&str]); 7] = [
    ("email", &["email", "primary_email_address", "email_address", "mail", "e_mail"]),
    ("phone", &["phone", "primary_phone_number", "phone_number", "mobile"]),
    ("created_at", &["created_at", "created", "creation_date"]),
    ("updated_at", &["updated_at", "updated"]),
    ("last_sign_in_at", &["last_sign_in_at", "last_signed_in_at", "last_login", "last_login_at"]),
    ("encrypted_password", &["encrypted_password", "password_hash", "password_digest"]),
    ("banned_until", &["banned_until"]),
];

/// Names of columns and the members of the user metadata that they become.
const METADATA: [(&str, &[&str]); 5] = [
    ("full_name", &["full_name", "display_name", "name"]),
    ("given_name", &["given_name", "first_name"]),
    ("family_name", &["family_name", "last_name"]),
    ("user_name", &["username", "user_name"]),
    ("avatar_url", &["avatar_url", "avatar", "picture", "image_url"]),
];

/// Returns the name of a column in one spelling: `Primary E-mail`, `primaryEMail` and `primary_e_mail` are one.
#[must_use]
pub fn normalize_name(name: &str) -> String {
    let mut normalized = String::new();
    let mut was_lower = false;
    for character in name.trim().trim_start_matches('\u{feff}').chars() {
        if character.is_alphanumeric() {
            if character.is_uppercase() && was_lower {
                normalized.push('_');
            }
            normalized.extend(character.to_lowercase());
        } else if !normalized.ends_with('_') && !normalized.is_empty() {
            normalized.push('_');
        }
        was_lower = character.is_lowercase() || character.is_ascii_digit();
    }
    normalized.trim_end_matches('_').to_owned()
}

/// Whether a column of this normalized name can name a user.
#[must_use]
pub fn is_contact_name(name: &str) -> bool {
    CONTACTS[..2].iter().any(|(_, names)| names.contains(&name))
}

/// Converts a record with normalized names. `service` is where it comes from: `clerk`, `pocketbase`, `csv`.
///
/// # Errors
/// For values of the wrong kind.
pub fn to_import_line(row: ImportRow, service: &str) -> Result<ConvertedRow, ImportError> {
    let mut row: ImportRow = row.into_iter().filter(|(_, value)| *value != json!("") && *value != json!("-")).collect();
    let mut converted = ConvertedRow::default();
    let id = take_text(&mut row, &["id", "uid", "user_id"]);
    let mut metadata = ImportRow::new();
    if let Some(id) = &id {
        let own = Uuid::parse_str(id).ok();
        if own.is_none() {
            metadata.insert(format!("{service}_id"), json!(id));
        }
        converted.set("id", own.unwrap_or_else(|| derive_id(service, id)).to_string());
    }
    take_clerk_contacts(&mut row, &mut converted);
    for (member, names) in CONTACTS {
        if let Some(text) = take_text(&mut row, names) {
            let value = if member.ends_with("_at") || member == "banned_until" { normalize_time(&text) } else { text };
            converted.line.entry(member).or_insert_with(|| json!(value));
        }
    }
    take_password(&mut row, &mut converted);
    if let Some(flag) = take_flag(&mut row, &["email_verified", "verified", "email_confirmed"]) {
        converted.line.entry("email_verified").or_insert(Value::Bool(flag));
    }
    if let Some(flag) = take_flag(&mut row, &["phone_verified"]) {
        converted.line.entry("phone_verified").or_insert(Value::Bool(flag));
    }
    if take_flag(&mut row, &["banned", "blocked", "disabled"]) == Some(true) {
        converted.line.entry("banned_until").or_insert_with(|| json!("9999-12-31T23:59:59Z"));
    }
    if let Some(secret) = take_text(&mut row, &["totp_secret"]) {
        let owner = id.as_deref().unwrap_or_default();
        converted.set("factors", vec![totp_factor(derive_id(&format!("{service}-totp"), owner), &secret)]);
    }
    take_providers(&mut row, &mut converted);
    for (member, names) in METADATA {
        if let Some(text) = take_text(&mut row, names) {
            metadata.insert(member.to_owned(), json!(text));
        }
    }
    let mut rest = ImportRow::new();
    for (name, value) in row {
        let is_ours = ImportTable::Users.has_column(&name) || LINE_MEMBERS.contains(&name.as_str());
        if is_ours && !value.is_null() {
            converted.line.entry(name).or_insert(value);
        } else if !is_ours {
            rest.insert(name, value);
        }
    }
    let of_file = ["raw_user_meta_data", "user_metadata"].iter().find_map(|name| converted.line.shift_remove(*name));
    let of_file = match of_file {
        Some(Value::String(text)) => serde_json::from_str(&text).map_err(|_| "user metadata: an object is wanted")?,
        Some(Value::Object(members)) => members,
        _ => ImportRow::new(),
    };
    metadata.extend(of_file);
    converted.set("raw_user_meta_data", metadata);
    converted.omit_rest(rest);
    Ok(converted)
}

/// Takes Clerk's lists of addresses and numbers: the primary one is kept, the others are reported.
fn take_clerk_contacts(row: &mut ImportRow, converted: &mut ConvertedRow) {
    for (contact, primary, verified, unverified) in [
        ("email", "primary_email_address", "verified_email_addresses", "unverified_email_addresses"),
        ("phone", "primary_phone_number", "verified_phone_numbers", "unverified_phone_numbers"),
    ] {
        let mut list = |name: &str| {
            let text = take_text(row, &[name]).unwrap_or_default();
            let parts = text.split(['|', ',', ';', '\n']).map(str::trim).filter(|part| !part.is_empty());
            parts.map(str::to_owned).collect::<Vec<String>>()
        };
        let (verified, unverified) = (list(verified), list(unverified));
        let Some(kept) = list(primary).into_iter().chain(verified.clone()).chain(unverified.clone()).next() else {
            continue;
        };
        converted.set(&format!("{contact}_verified"), verified.contains(&kept));
        let further: Vec<&String> = verified.iter().chain(&unverified).filter(|other| **other != kept).collect();
        if !further.is_empty() {
            let number = further.len();
            converted.notes.push(format!("{number} further {contact} left out: an account has one here"));
        }
        converted.set(contact, kept);
    }
}

/// Takes a password hash of the member `password`, which in other files is a password itself.
fn take_password(row: &mut ImportRow, converted: &mut ConvertedRow) {
    let hasher = take_text(row, &["password_hasher"]);
    let is_known = hasher.as_deref().is_none_or(|hasher| hasher.starts_with("bcrypt") || hasher.starts_with("argon2"));
    if !is_known && converted.line.shift_remove("encrypted_password").is_some() {
        let hasher = hasher.unwrap_or_default();
        converted.notes.push(format!(
            "the password is left out: hashes of {hasher:?} cannot be verified here; the user sets a new one"
        ));
    }
    let is_hash = |value: &Value| value.as_str().is_some_and(|text| text.starts_with('$'));
    if let Some(hash) = row.get("password").filter(|value| is_hash(value)).cloned() {
        row.shift_remove("password");
        converted.line.entry("encrypted_password").or_insert(hash);
    }
}

/// Takes the providers that the Supabase dashboard lists; their subjects are not in the file.
fn take_providers(row: &mut ImportRow, converted: &mut ConvertedRow) {
    let listed = take_text(row, &["providers"]).unwrap_or_default();
    row.shift_remove("provider_type");
    let names = listed.split(|character: char| !(character.is_alphanumeric() || "_:-".contains(character)));
    let names: Vec<String> = names.filter(|name| !matches!(*name, "" | "-")).map(str::to_lowercase).collect();
    if names.is_empty() {
        return;
    }
    let own = names.iter().filter(|name| ["email", "phone"].contains(&name.as_str()));
    let own = own.filter(|name| converted.line.contains_key(name.as_str()));
    let identities: Vec<Value> = own.map(|name| json!({"provider": name})).collect();
    for name in names.iter().filter(|name| !["email", "phone"].contains(&name.as_str())) {
        converted.notes.push(format!(
            "the identity of {name} is left out: this file does not have its id; a dump by pg_dump --schema auth has it"
        ));
    }
    converted.set("identities", identities);
}

/// Returns a time as the import reads it; another text unchanged, so that its column is reported.
fn normalize_time(text: &str) -> String {
    let text = text.trim();
    if let Ok(milliseconds) = text.parse::<i64>() {
        // Below the year 2286 in seconds; milliseconds of that size are of January 1970.
        let time = if milliseconds.unsigned_abs() < 10_000_000_000 {
            DateTime::from_timestamp(milliseconds, 0)
        } else {
            DateTime::from_timestamp_millis(milliseconds)
        };
        return time.map_or_else(|| text.to_owned(), format_microseconds);
    }
    for form in ["%a %d %b %Y %H:%M:%S GMT%z", "%a, %d %b %Y %H:%M:%S GMT%z", "%a %b %d %Y %H:%M:%S GMT%z"] {
        if let Ok(time) = DateTime::parse_from_str(text, form) {
            return format_microseconds(time.to_utc());
        }
    }
    for form in ["%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f"] {
        if let Ok(time) = NaiveDateTime::parse_from_str(text, form) {
            return format_microseconds(time.and_utc());
        }
    }
    DateTime::parse_from_rfc2822(text).map_or_else(|_| text.to_owned(), |time| format_microseconds(time.to_utc()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn convert(row: Value, service: &str) -> ConvertedRow {
        let Value::Object(row) = row else { panic!("an object") };
        let row = row.into_iter().map(|(name, value)| (normalize_name(&name), value)).collect();
        to_import_line(row, service).expect("readable")
    }

    #[test]
    fn names_have_one_spelling() {
        for name in ["Primary E-mail", "primaryE_mail", "primary_e_mail", " PRIMARY e-mail "] {
            assert_eq!(normalize_name(name), "primary_e_mail", "{name}");
        }
        assert_eq!(normalize_name("UID"), "uid");
    }

    #[test]
    fn user_of_clerk_keeps_password_factor_and_verification() {
        let converted = convert(
            json!({"id": "user_1", "first_name": "Ann", "username": "ann", "primary_email_address": "a@b.co",
                "verified_email_addresses": "a@b.co|c@d.co", "unverified_phone_numbers": "+15550100001",
                "totp_secret": "S", "password_digest": "$2a$10$x", "password_hasher": "bcrypt", "shoe_size": "7"}),
            "clerk",
        );
        let line = &converted.line;
        assert_eq!((&line["email_verified"], &line["phone_verified"]), (&json!(true), &json!(false)));
        assert_eq!((&line["email"], &line["phone"]), (&json!("a@b.co"), &json!("+15550100001")));
        assert_eq!(line["encrypted_password"], "$2a$10$x");
        assert_eq!(line["factors"][0]["factor_type"], "totp");
        assert_eq!(line["raw_user_meta_data"], json!({"clerk_id": "user_1", "given_name": "Ann", "user_name": "ann"}));
        assert_eq!((converted.notes.len(), converted.omitted), (1, vec!["shoe_size".to_owned()]));
    }

    #[test]
    fn columns_of_the_users_table_are_kept() {
        let id = "10000000-0000-4000-8000-000000000001";
        let converted = convert(
            json!({"id": id, "email": "a@b.co", "email_confirmed_at": "2024-01-01 00:00:00+00", "is_sso_user": "f",
                "raw_user_meta_data": "{\"size\": \"L\"}", "Providers": "{Email,Google}", "phone": ""}),
            "csv",
        );
        assert_eq!(converted.line["id"], id);
        assert_eq!(converted.line["email_confirmed_at"], "2024-01-01 00:00:00+00");
        assert_eq!(converted.line["raw_user_meta_data"], json!({"size": "L"}));
        assert_eq!(converted.line["identities"], json!([{"provider": "email"}]));
        assert!(converted.notes[0].contains("google"), "{:?}", converted.notes);
    }

    #[test]
    fn times_of_other_services_are_read() {
        for text in ["1704067200", "1704067200000", "Mon 01 Jan 2024 00:00:00 GMT+0000", "2024-01-01 00:00:00"] {
            assert_eq!(normalize_time(text), "2024-01-01T00:00:00.000000Z", "{text}");
        }
        assert_eq!(normalize_time("soon"), "soon");
    }

    proptest! {
        #[test]
        fn every_column_is_used_or_reported(name in "[a-z]{13,16}", value in "[a-z]{1,9}") {
            let converted = convert(json!({"email": "a@b.co", name.clone(): value}), "csv");
            prop_assert_eq!(converted.omitted, [name]);
        }

        #[test]
        fn arbitrary_values_do_not_panic(name in "(id|email|created|providers|verified|password|totp_secret|avatar)", value in "\\PC{0,30}") {
            convert(json!({name: value}), "csv");
        }
    }
}
