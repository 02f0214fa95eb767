//! Converts users of Firebase, as `firebase auth:export` and the emulator write them.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use chrono::DateTime;
use serde_json::{Value, json};

use super::conversion::{
    ConvertedRow, ProviderNames, derive_id, phone_factor, take_flag, take_text, unknown_provider_note,
};
use super::row::{ImportError, ImportRow};

/// The hash parameters of a Firebase project.
///
/// The Firebase console shows them under Authentication, "Password hash parameters".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirebaseHashParameters {
    /// `base64_signer_key`.
    pub signer_key: String,
    /// `base64_salt_separator`.
    pub salt_separator: String,
    pub rounds: u32,
    pub mem_cost: u32,
}

/// The hash in exports by a role that may not read hashes: `REDACTED` as base64.
const REDACTED: &str = "UkVEQUNURUQ";
/// How the emulator writes a password: `fakeHash:salt=…:password=…`.
const EMULATOR_PREFIX: &str = "fakeHash:";
/// Members that the conversion needs and others that hold nothing of the account.
const IGNORED: [&str; 4] = ["lastRefreshAt", "passwordUpdatedAt", "validSince", "version"];

/// The columns of `firebase auth:export` as CSV, which has no header; four for each provider are between.
const CSV_COLUMNS: [(usize, &str); 12] = [
    (0, "localId"),
    (1, "email"),
    (2, "emailVerified"),
    (3, "passwordHash"),
    (4, "salt"),
    (5, "displayName"),
    (6, "photoUrl"),
    (23, "createdAt"),
    (24, "lastSignedInAt"),
    (25, "phoneNumber"),
    (26, "disabled"),
    (27, "customAttributes"),
];
/// The first column of each provider: id, address, name and picture.
const CSV_PROVIDERS: [(usize, &str); 4] =
    [(7, "google.com"), (11, "facebook.com"), (15, "twitter.com"), (19, "github.com")];

/// Whether the fields of a CSV line are a user of Firebase.
#[must_use]
pub fn is_csv_row(fields: &[String]) -> bool {
    (26..=40).contains(&fields.len()) && matches!(fields[2].as_str(), "true" | "false")
}

/// Converts the fields of a CSV line to the members of the JSON export.
#[must_use]
pub fn read_csv_row(fields: &[String]) -> ImportRow {
    let field = |at: usize| fields.get(at).map(|text| text.trim()).filter(|text| !text.is_empty());
    let mut user: ImportRow =
        CSV_COLUMNS.iter().filter_map(|(at, name)| Some(((*name).to_owned(), json!(field(*at)?)))).collect();
    let identity = |(at, provider): &(usize, &str)| {
        let mut one = json!({"providerId": provider, "rawId": field(*at)?});
        for (offset, name) in [(1, "email"), (2, "displayName"), (3, "photoUrl")] {
            if let Some(text) = field(at + offset) {
                one[name] = json!(text);
            }
        }
        Some(one)
    };
    let identities: Vec<Value> = CSV_PROVIDERS.iter().filter_map(identity).collect();
    user.insert("providerUserInfo".to_owned(), Value::Array(identities));
    for at in 28..fields.len() {
        if let Some(text) = field(at) {
            user.insert(format!("column {}", at + 1), json!(text));
        }
    }
    user
}

/// Converts a Firebase user to an import line. A password requires the project's hash parameters.
///
/// # Errors
/// For a password without parameters, a hash that is not base64 and a time that is none.
pub fn to_import_line(
    mut user: ImportRow,
    parameters: Option<&FirebaseHashParameters>,
    providers: &ProviderNames,
) -> Result<ConvertedRow, ImportError> {
    let mut converted = ConvertedRow::default();
    let id = take_text(&mut user, &["localId"]);
    converted.set_some("id", id.as_deref().map(|id| derive_id("firebase", id).to_string()));
    converted.set_some("email", take_text(&mut user, &["email"]));
    let phone = take_text(&mut user, &["phoneNumber"]);
    converted.set_some("phone", phone.clone());
    for (member, names) in [("created_at", &["createdAt"][..]), ("last_sign_in_at", &["lastSignedInAt", "lastLoginAt"])]
    {
        if let Some(text) = take_text(&mut user, names) {
            converted.set(member, parse_time(&text).ok_or_else(|| format!("{}: milliseconds are wanted", names[0]))?);
        }
    }
    converted.set("email_verified", take_flag(&mut user, &["emailVerified"]).unwrap_or_default());
    // Firebase stores only verified numbers.
    converted.set("phone_verified", phone.is_some());
    if take_flag(&mut user, &["disabled"]) == Some(true) {
        converted.set("banned_until", "9999-12-31T23:59:59Z");
    }
    let has_password = take_password(&mut user, parameters, &mut converted)?;
    let mut metadata = ImportRow::new();
    for (member, names) in
        [("full_name", &["displayName"][..]), ("avatar_url", &["photoUrl"]), ("user_name", &["screenName"])]
    {
        if let Some(value) = take_text(&mut user, names) {
            metadata.insert(member.to_owned(), json!(value));
        }
    }
    if let Some(id) = &id {
        metadata.insert("firebase_id".to_owned(), json!(id));
    }
    converted.set("raw_user_meta_data", metadata);
    if let Some(claims) = take_text(&mut user, &["customAttributes"]) {
        match serde_json::from_str::<ImportRow>(&claims) {
            Ok(claims) => converted.set("raw_app_meta_data", claims),
            Err(_) => converted.notes.push("customAttributes are left out: a JSON object is wanted".to_owned()),
        }
    }
    take_factors(&mut user, id.as_deref().unwrap_or_default(), &mut converted);
    take_identities(&mut user, has_password, providers, &mut converted);
    for name in IGNORED {
        user.shift_remove(name);
    }
    converted.omit_rest(user);
    Ok(converted)
}

/// Takes the password and returns whether there is one.
fn take_password(
    user: &mut ImportRow,
    parameters: Option<&FirebaseHashParameters>,
    converted: &mut ConvertedRow,
) -> Result<bool, ImportError> {
    let (hash, salt) = (take_text(user, &["passwordHash"]), take_text(user, &["salt"]));
    let Some(hash) = hash else { return Ok(false) };
    if hash.starts_with(EMULATOR_PREFIX) {
        let password = hash.split_once(":password=").map(|(_, password)| password.to_owned());
        converted.password = password.filter(|password| !password.is_empty());
        return Ok(converted.password.is_some());
    }
    if hash.trim_end_matches('=') == REDACTED {
        let note = "the password is left out: the export was made by a role that may not read hashes";
        converted.notes.push(note.to_owned());
        return Ok(true);
    }
    let Some(salt) = salt else {
        converted.notes.push("the password is left out: its hash has no salt".to_owned());
        return Ok(true);
    };
    let parameters = parameters.ok_or(
        "the password's hash needs the project's parameters: --firebase-signer-key and --firebase-salt-separator",
    )?;
    converted.set("encrypted_password", format_stored_hash(&hash, &salt, parameters)?);
    Ok(true)
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

/// Parses milliseconds since the epoch, also with a fraction or an exponent, or RFC 3339.
fn parse_time(text: &str) -> Option<String> {
    let text = text.trim();
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Some(time.to_rfc3339());
    }
    let milliseconds = text.parse().ok().or_else(|| parse_whole(text))?;
    Some(DateTime::from_timestamp_millis(milliseconds)?.to_rfc3339())
}

/// Returns the whole part of a number that a spreadsheet or a script wrote as a float.
fn parse_whole(text: &str) -> Option<i64> {
    let number: f64 = text.parse().ok()?;
    // Times beyond the year 100000 are no times; the bound keeps the text of the number whole.
    if !number.is_finite() || number.abs() > 3.1e15 {
        return None;
    }
    format!("{:.0}", number.trunc()).parse().ok()
}

/// Takes the second factors: numbers are kept, secrets of TOTP are not in an export.
fn take_factors(user: &mut ImportRow, user_id: &str, converted: &mut ConvertedRow) {
    let Some(Value::Array(listed)) = user.shift_remove("mfaInfo") else { return };
    let mut factors = Vec::new();
    for (at, one) in listed.iter().enumerate() {
        let number = one["phoneInfo"].as_str().or_else(|| one["unobfuscatedPhoneInfo"].as_str());
        let Some(number) = number.filter(|number| !number.is_empty()) else {
            let kind = if one.get("totpInfo").is_some() { "TOTP" } else { "of an unknown kind" };
            converted.notes.push(format!("a second factor ({kind}) is left out: the export does not have its secret"));
            continue;
        };
        let enrolment = one["mfaEnrollmentId"].as_str().map_or_else(|| at.to_string(), str::to_owned);
        let mut factor = phone_factor(derive_id("firebase-factor", &format!("{user_id}:{enrolment}")), number);
        if let Some(name) = one["displayName"].as_str().filter(|name| !name.is_empty()) {
            factor["friendly_name"] = json!(name);
        }
        if let Some(time) = one["enrolledAt"].as_str().and_then(parse_time) {
            factor["created_at"] = json!(time);
        }
        factors.push(factor);
    }
    converted.set("factors", factors);
}

/// Names of providers, without `.com`, that are others here.
const PROVIDERS: [(&str, &str); 2] = [("microsoft", "azure"), ("linkedin", "linkedin_oidc")];

/// Takes the identities; without any the import creates the default ones.
fn take_identities(user: &mut ImportRow, has_password: bool, providers: &ProviderNames, converted: &mut ConvertedRow) {
    let Some(Value::Array(listed)) = user.shift_remove("providerUserInfo") else { return };
    let is_listed = |name: &str| listed.iter().any(|one| one["providerId"] == name);
    let mut identities = Vec::new();
    if converted.line.contains_key("email") && (has_password || is_listed("password") || is_listed("emailLink")) {
        identities.push(json!({"provider": "email"}));
    }
    if converted.line.contains_key("phone") {
        identities.push(json!({"provider": "phone"}));
    }
    for one in &listed {
        let named = one["providerId"].as_str().unwrap_or_default();
        if matches!(named, "password" | "phone" | "emailLink") {
            continue;
        }
        let short = named.strip_suffix(".com").unwrap_or(named);
        let Some(provider) = providers.given(named).or_else(|| providers.find(short, &PROVIDERS)) else {
            converted.notes.push(unknown_provider_note(named));
            continue;
        };
        let Some(id) = ["rawId", "uid", "federatedId"].iter().find_map(|name| one[*name].as_str()) else {
            converted.notes.push(format!("the identity of {named} is left out: it has no rawId"));
            continue;
        };
        let mut data = json!({"sub": id});
        for (member, name) in [("email", "email"), ("full_name", "displayName"), ("avatar_url", "photoUrl")] {
            if let Some(value) = one[name].as_str() {
                data[member] = json!(value);
            }
        }
        identities.push(json!({"provider": provider, "provider_id": id, "identity_data": data}));
    }
    if !identities.is_empty() || !listed.is_empty() {
        converted.set("identities", identities);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parameters() -> FirebaseHashParameters {
        FirebaseHashParameters { signer_key: "a2V5".into(), salt_separator: "Bw==".into(), rounds: 8, mem_cost: 14 }
    }

    fn convert(user: Value, parameters: Option<&FirebaseHashParameters>) -> Result<ConvertedRow, ImportError> {
        let Value::Object(user) = user else { panic!("an object") };
        to_import_line(user, parameters, &ProviderNames::default())
    }

    #[test]
    fn password_hash_is_converted_with_project_parameters() {
        let user = json!({"localId": "u", "email": "a@b.co", "emailVerified": true, "passwordHash": "_-8=", "salt": "c2FsdA==",
            "createdAt": "1700000000000", "customAttributes": "{\"admin\":true}", "displayName": "Ann"});
        let line = convert(user.clone(), Some(&parameters())).expect("readable").line;
        assert_eq!(line["encrypted_password"], "$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==,sk=a2V5$c2FsdA==$/+8=");
        assert_eq!(line["created_at"], "2023-11-14T22:13:20+00:00");
        assert_eq!(line["raw_app_meta_data"], json!({"admin": true}));
        assert!(convert(user, None).expect_err("no parameters").contains("--firebase-signer-key"));
    }

    #[test]
    fn user_of_external_provider_keeps_subject() {
        let user = json!({"localId": "u", "email": "a@b.co", "providerUserInfo": [
            {"providerId": "google.com", "rawId": "42", "email": "a@b.co"}]});
        let line = convert(user, None).expect("readable").line;
        assert_eq!(
            line["identities"],
            json!([{"provider": "google", "provider_id": "42", "identity_data": {"sub": "42", "email": "a@b.co"}}])
        );
    }

    #[test]
    fn password_provider_and_factor_are_kept_together() {
        let user = json!({"localId": "u", "email": "a@b.co", "passwordHash": "_-8=", "salt": "c2FsdA==",
            "mfaInfo": [{"mfaEnrollmentId": "m", "phoneInfo": "+15555550101", "displayName": "mine"}, {"totpInfo": {}}],
            "providerUserInfo": [{"providerId": "google.com", "rawId": "42"}, {"providerId": "password", "rawId": "a@b.co"},
                {"providerId": "oidc.okta", "rawId": "00u1"}]});
        let converted = convert(user, Some(&parameters())).expect("readable");
        assert_eq!(converted.line["identities"][0], json!({"provider": "email"}));
        assert_eq!(converted.line["identities"][1]["provider"], "google");
        assert_eq!(converted.line["factors"][0]["phone"], "+15555550101");
        assert!(converted.notes[0].contains("TOTP"), "{:?}", converted.notes);
        assert!(converted.notes[1].contains("--provider oidc.okta=custom:NAME"), "{:?}", converted.notes);
    }

    #[test]
    fn password_of_the_emulator_is_found() {
        let user =
            json!({"localId": "u", "email": "a@b.co", "salt": "s", "passwordHash": "fakeHash:salt=s:password=a:b=c"});
        assert_eq!(convert(user, None).expect("readable").password.as_deref(), Some("a:b=c"));
    }

    #[test]
    fn times_may_be_floats() {
        for text in ["1700000000000", "1700000000000.0", "1.7e12", "1700000000000.25", "2023-11-14T22:13:20Z"] {
            assert_eq!(parse_time(text).as_deref(), Some("2023-11-14T22:13:20+00:00"), "{text}");
        }
        for text in ["NaN", "inf", "1e300", "soon", ""] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_fields_do_not_panic(fields in proptest::collection::vec("[ -~]{0,6}", 0..42)) {
            if is_csv_row(&fields) {
                let _ = to_import_line(read_csv_row(&fields), None, &ProviderNames::default());
            }
        }

        #[test]
        fn arbitrary_times_do_not_panic(text in "\\PC{0,20}") {
            let _ = parse_time(&text);
        }
    }
}
