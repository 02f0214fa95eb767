//! Parses an entry of the list of users.
//!
//! It is an import line that may have a plain password, `confirmed`, and factors with plain secrets or recovery codes.

use std::collections::HashMap;

use chrono::TimeDelta;
use foundation::time::Time;
use gotrue_rs::ports::hashing::{MAX_PASSWORD_BYTES, unusable_reason};
use gotrue_rules::domain::bulk::{ImportDefaults, ImportRow, ImportedUser, parse_line};
use gotrue_rules::domain::metadata;
use gotrue_rules::domain::mfa::FactorType;
use gotrue_rules::domain::mfa::recovery_codes::{DEFAULT_NAME, draw_codes, is_plausible_code, normalize_code};
use gotrue_rules::domain::mfa::totp::{SECRET_LENGTH, generate_code};
use gotrue_rules::domain::policy::{MetadataLimits, RecoveryCodesPolicy};
use platform::entropy::Entropy;
use serde_json::{Value, json};
use uuid::Uuid;

/// Values that an entry may omit.
pub(super) struct EntryContext<'a> {
    pub(super) now: Time,
    pub(super) audience: &'a str,
    pub(super) role: &'a str,
    pub(super) metadata_limits: Option<MetadataLimits>,
    pub(super) recovery_codes: &'a RecoveryCodesPolicy,
    pub(super) entropy: &'a Entropy,
}

/// A user to create.
#[derive(Debug)]
pub(super) struct UserEntry {
    /// The rows of the user. Secrets of factors are plain.
    pub(super) user: ImportedUser,
    /// The plain password, if one is given.
    pub(super) password: Option<String>,
    /// The plain TOTP secrets by factor id.
    pub(super) secrets: HashMap<Uuid, String>,
    /// The plain recovery codes, if the user has a factor of that type.
    pub(super) recovery_codes: Vec<String>,
}

/// The largest number of recovery codes of a user; more are not compared with a presented one.
const MAX_RECOVERY_CODES: usize = 64;

/// Parses an entry, or returns what is wrong with it.
pub(super) fn parse_entry(entry: Value, context: &EntryContext<'_>) -> Result<UserEntry, String> {
    let Value::Object(mut line) = entry else { return Err("an object is wanted".to_owned()) };
    line.retain(|_, value| !value.is_null());
    let password = take_password(&mut line)?;
    confirm_contacts(&mut line)?;
    line.entry("id").or_insert_with(|| json!(context.entropy.uuid()));
    for factor in list_members(&mut line, "factors") {
        complete_factor(factor, context)?;
    }
    let recovery_codes = take_recovery_codes(&mut line, context)?;
    complete_identities(&mut line, context);
    for name in ["factors", "identities"] {
        for (offset, row) in (0..).zip(list_members(&mut line, name)) {
            let at = row.get("created_at").cloned();
            let at = at.unwrap_or_else(|| json!(context.now + TimeDelta::microseconds(offset)));
            row.entry("updated_at").or_insert_with(|| at.clone());
            row.insert("created_at".to_owned(), at);
        }
    }
    let mut defaults = ImportDefaults {
        now: context.now,
        audience: context.audience,
        role: context.role,
        new_id: &mut || context.entropy.uuid(),
        unusable_hash: &unusable_reason,
    };
    let user = parse_line(line, &mut defaults)?;
    for (name, column) in [("user_metadata", "raw_user_meta_data"), ("app_metadata", "raw_app_meta_data")] {
        let metadata = user.user.get(column).and_then(Value::as_object);
        metadata::validate(name, metadata, context.metadata_limits).map_err(|error| error.message().to_owned())?;
    }
    let secrets = user.factors.iter().filter_map(totp_secret).collect();
    Ok(UserEntry { user, password, secrets, recovery_codes })
}

fn take_password(line: &mut ImportRow) -> Result<Option<String>, String> {
    let Some(password) = line.shift_remove("password") else { return Ok(None) };
    let Value::String(password) = password else { return Err("password: a text is wanted".to_owned()) };
    if ["password_hash", "encrypted_password"].iter().any(|name| line.contains_key(*name)) {
        return Err("password: give a password or a hash of one, not both".to_owned());
    }
    if password.is_empty() || password.len() > MAX_PASSWORD_BYTES {
        return Err(format!("password: 1 to {MAX_PASSWORD_BYTES} bytes are wanted"));
    }
    Ok(Some(password))
}

/// Marks address and number as confirmed, unless `confirmed` is `false` or the entry has its own times.
fn confirm_contacts(line: &mut ImportRow) -> Result<(), String> {
    let is_confirmed = match line.shift_remove("confirmed") {
        None => true,
        Some(Value::Bool(is_confirmed)) => is_confirmed,
        Some(_) => return Err("confirmed: true or false is wanted".to_owned()),
    };
    for name in ["email_verified", "phone_verified"] {
        line.entry(name).or_insert(Value::Bool(is_confirmed));
    }
    Ok(())
}

/// Returns the objects of a list. The validation of the line rejects what is no list and no object.
fn list_members<'a>(line: &'a mut ImportRow, name: &str) -> impl Iterator<Item = &'a mut ImportRow> {
    let list = line.get_mut(name).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut)
}

/// Adds the defaults of a factor: a verified TOTP factor with a new secret.
fn complete_factor(factor: &mut ImportRow, context: &EntryContext<'_>) -> Result<(), String> {
    factor.retain(|_, value| !value.is_null());
    if let Some(kind) = factor.shift_remove("type") {
        factor.entry("factor_type").or_insert(kind);
    }
    let totp = FactorType::Totp.as_str();
    let is_totp = factor.entry("factor_type").or_insert_with(|| json!(totp)) == totp;
    factor.entry("status").or_insert_with(|| json!("verified"));
    if is_totp {
        let new_secret = || json!(context.entropy.base32(SECRET_LENGTH).to_ascii_uppercase());
        let secret = factor.entry("secret").or_insert_with(new_secret);
        let is_usable = secret.as_str().is_some_and(|secret| generate_code(secret, context.now).is_some());
        if !is_usable {
            return Err("factors: secret: base32 text is wanted, such as GEZDGNBVGY3TQOJQ".to_owned());
        }
    }
    Ok(())
}

/// Takes the member `codes` of the factor of recovery codes; draws codes if it has none.
fn take_recovery_codes(line: &mut ImportRow, context: &EntryContext<'_>) -> Result<Vec<String>, String> {
    let kind = FactorType::RecoveryCode.as_str();
    let is_codes = |factor: &&mut ImportRow| factor.get("factor_type").is_some_and(|given| given == kind);
    let mut factors: Vec<&mut ImportRow> = list_members(line, "factors").filter(is_codes).collect();
    let [factor] = &mut *factors else {
        return if factors.is_empty() {
            Ok(Vec::new())
        } else {
            Err(format!("factors: one of type {kind} is allowed"))
        };
    };
    if factor["status"] != "verified" {
        return Err(format!("factors: a factor of type {kind} is verified"));
    }
    factor.entry("friendly_name").or_insert_with(|| json!(DEFAULT_NAME));
    let policy = context.recovery_codes;
    let codes = match factor.shift_remove("codes") {
        None => draw_codes(policy.count, || context.entropy.base32(policy.code_length)),
        Some(Value::Array(codes)) => codes
            .iter()
            .map(read_recovery_code)
            .collect::<Option<Vec<String>>>()
            .ok_or("factors: codes: texts of 1 to 64 letters and digits are wanted, such as abcdefgh234567ij")?,
        Some(_) => return Err("factors: codes: a list of texts is wanted".to_owned()),
    };
    if codes.is_empty() || codes.len() > MAX_RECOVERY_CODES {
        return Err(format!("factors: codes: 1 to {MAX_RECOVERY_CODES} are wanted"));
    }
    Ok(codes)
}

fn read_recovery_code(given: &Value) -> Option<String> {
    normalize_code(given.as_str()?).ok().filter(|code| is_plausible_code(code))
}

/// Adds the provider's id and the data of each identity.
fn complete_identities(line: &mut ImportRow, context: &EntryContext<'_>) {
    let (id, email) = (line.get("id").cloned(), line.get("email").cloned());
    for identity in list_members(line, "identities") {
        identity.retain(|_, value| !value.is_null());
        let is_own = matches!(identity.get("provider").and_then(Value::as_str), Some("email" | "phone"));
        let has_api_form = identity.contains_key("identity_id") && identity.contains_key("id");
        if !has_api_form && !identity.contains_key("provider_id") {
            let subject = identity.get("identity_data").and_then(|data| data.get("sub")).cloned();
            let own = id.clone().filter(|_| is_own);
            let provider_id = subject.or(own).unwrap_or_else(|| json!(context.entropy.uuid().to_string()));
            identity.insert("provider_id".to_owned(), provider_id);
        }
        let subject = identity.get(if has_api_form { "id" } else { "provider_id" }).cloned();
        let data = identity.entry("identity_data").or_insert_with(|| json!({}));
        if let Value::Object(data) = data {
            let defaults = [("sub", subject), ("email", email.clone())];
            for (name, value) in defaults.into_iter().filter_map(|(name, value)| Some((name, value?))) {
                data.entry(name).or_insert(value);
            }
        }
    }
}

fn totp_secret(factor: &ImportRow) -> Option<(Uuid, String)> {
    let text = |name| factor.get(name).and_then(Value::as_str);
    let is_totp = text("factor_type") == Some(FactorType::Totp.as_str());
    let (id, secret) = (text("id")?.parse().ok()?, text("secret")?.to_owned());
    is_totp.then_some((id, secret))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(entry: Value) -> Result<UserEntry, String> {
        let (entropy, recovery_codes) = (Entropy::from_seed(1), RecoveryCodesPolicy::default());
        let context = EntryContext {
            now: Time::UNIX_EPOCH,
            audience: "authenticated",
            role: "authenticated",
            metadata_limits: None,
            recovery_codes: &recovery_codes,
            entropy: &entropy,
        };
        parse_entry(entry, &context)
    }

    #[test]
    fn address_alone_is_a_confirmed_user_with_an_identity() {
        let entry = parse(json!({"email": "Ann@example.com", "password": "secret", "phone": null})).unwrap();
        assert_eq!(entry.password.as_deref(), Some("secret"));
        assert_eq!(entry.user.user["email"], "ann@example.com");
        assert!(entry.user.user.contains_key("email_confirmed_at"));
        assert_eq!(entry.user.identities[0]["provider"], "email");
        let pending = parse(json!({"email": "ann@example.com", "confirmed": false})).unwrap();
        assert!(!pending.user.user.contains_key("email_confirmed_at"));
    }

    #[test]
    fn factors_and_identities_get_defaults() {
        let entry = parse(json!({
            "email": "a@b.co", "factors": [{}, {"type": "phone", "phone": "+15550100", "status": "unverified"}],
            "identities": [{"provider": "google"}, {"provider": "github", "identity_data": {"sub": "7", "email": "g@b.co"}}],
        }))
        .unwrap();
        let [totp, phone] = &*entry.user.factors else { panic!("two factors") };
        assert_eq!((&totp["factor_type"], &totp["status"]), (&json!("totp"), &json!("verified")));
        assert_eq!(entry.secrets.len(), 1);
        assert_eq!((&phone["phone"], &phone["status"]), (&json!("15550100"), &json!("unverified")));
        let [google, github] = &*entry.user.identities else { panic!("two identities") };
        assert_eq!(google["identity_data"]["sub"], google["provider_id"]);
        assert_eq!(google["identity_data"]["email"], "a@b.co");
        assert_eq!((&github["provider_id"], &github["identity_data"]["email"]), (&json!("7"), &json!("g@b.co")));
    }

    #[test]
    fn recovery_codes_are_given_or_drawn() {
        let drawn = parse(json!({"email": "a@b.co", "factors": [{}, {"type": "recovery_code"}]})).unwrap();
        assert_eq!((drawn.recovery_codes.len(), drawn.recovery_codes[0].len()), (10, 16));
        assert_eq!(drawn.user.factors[1]["friendly_name"], DEFAULT_NAME);
        let given = json!({"email": "a@b.co", "factors": [{"type": "recovery_code", "codes": ["ABCD-efgh"]}]});
        assert_eq!(parse(given).unwrap().recovery_codes, ["abcdefgh"]);
        assert!(parse(json!({"email": "a@b.co", "factors": [{}]})).unwrap().recovery_codes.is_empty());
    }

    #[test]
    fn invalid_entries_are_rejected_with_a_reason() {
        for (entry, expected) in [
            (json!(7), "an object is wanted"),
            (json!({"email": "a@b.co", "pasword": "x"}), "pasword"),
            (json!({"email": "a@b.co", "password": ""}), "password: 1 to"),
            (json!({"email": "a@b.co", "password": "x".repeat(73)}), "password: 1 to"),
            (json!({"email": "a@b.co", "password": 7}), "password: a text is wanted"),
            (json!({"email": "a@b.co", "password": "x", "password_hash": "$2a$"}), "not both"),
            (json!({"email": "a@b.co", "password_hash": "plain"}), "encrypted_password"),
            (json!({"email": "a@b.co", "confirmed": "yes"}), "confirmed: true or false"),
            (json!({"email": "a@b.co", "factors": [{"secret": "not base32!"}]}), "factors: secret"),
            (json!({"email": "a@b.co", "factors": [7]}), "factors[0]"),
            (
                json!({"email": "a@b.co", "factors": [{"type": "recovery_code"}, {"type": "recovery_code"}]}),
                "one of type",
            ),
            (json!({"email": "a@b.co", "factors": [{"type": "recovery_code", "codes": [7]}]}), "codes: texts"),
            (json!({"email": "a@b.co", "factors": [{"type": "recovery_code", "codes": []}]}), "codes: 1 to"),
            (json!({"email": "a@b.co", "identities": {}}), "identities: a list is wanted"),
        ] {
            let problem = parse(entry.clone()).expect_err("invalid");
            assert!(problem.contains(expected), "{entry}: {problem}");
        }
    }

    fn arbitrary_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[ -~]{0,12}".prop_map(Value::from),
        ];
        let name = prop_oneof![
            Just("email".to_owned()),
            Just("password".to_owned()),
            Just("factors".to_owned()),
            Just("identities".to_owned()),
            Just("identity_data".to_owned()),
            Just("provider".to_owned()),
            Just("secret".to_owned()),
            Just("confirmed".to_owned()),
            "[a-z_]{1,10}",
        ];
        leaf.prop_recursive(3, 24, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::vec((name.clone(), inner), 0..4).prop_map(|members| members.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn parsed_entries_have_an_id_and_a_contact(entry in arbitrary_json()) {
            if let Ok(entry) = parse(entry) {
                prop_assert!(!entry.user.id().is_nil() && !entry.user.display_name().is_empty());
                prop_assert!(entry.password.is_none_or(|password| !password.is_empty()));
            }
        }
    }
}
