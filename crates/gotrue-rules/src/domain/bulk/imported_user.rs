//! Import lines: columns of `auth.users` with `identities`, `factors`, `passkeys` and `recovery_codes`.
//!
//! An e-mail address or a phone number is enough.

use foundation::time::format_microseconds;
use serde_json::{Value, json};
use uuid::Uuid;

use super::columns::{ImportTable, build_row};
use super::row::{ImportDefaults, ImportError, ImportRow};
use crate::domain::mfa::FactorType;

/// A user with the rows of the other tables, ready to be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedUser {
    /// The row of `auth.users`.
    pub user: ImportRow,
    /// The rows of `auth.identities`.
    pub identities: Vec<ImportRow>,
    /// The rows of `auth.mfa_factors`.
    pub factors: Vec<ImportRow>,
    /// The rows of `auth.webauthn_credentials`.
    pub passkeys: Vec<ImportRow>,
    /// The row of `auth.mfa_recovery_code_sets`, if the user has recovery codes.
    pub recovery_code_sets: Vec<ImportRow>,
    /// The rows of `auth.mfa_recovery_codes`.
    pub recovery_codes: Vec<ImportRow>,
}

impl ImportedUser {
    /// Returns the user's id.
    pub fn id(&self) -> Uuid {
        self.user.get("id").and_then(Value::as_str).and_then(|id| id.parse().ok()).unwrap_or_default()
    }

    /// Returns a readable name of the user: the address, else the number, else the id.
    pub fn display_name(&self) -> &str {
        let member = |name| self.user.get(name).and_then(Value::as_str);
        member("email").or_else(|| member("phone")).or_else(|| member("id")).unwrap_or_default()
    }

    /// Removes the recovery codes and their factor; returns whether there were any.
    pub fn remove_recovery_codes(&mut self) -> bool {
        let count = self.factors.len();
        self.factors.retain(|factor| !is_of_recovery_codes(factor));
        self.recovery_code_sets.clear();
        self.recovery_codes.clear();
        self.factors.len() < count
    }

    /// Returns the rows of a table; none of a table that lines do not hold.
    pub fn table_rows(&self, table: ImportTable) -> &[ImportRow] {
        match table {
            ImportTable::Users => std::slice::from_ref(&self.user),
            ImportTable::Identities => &self.identities,
            ImportTable::Factors => &self.factors,
            ImportTable::Passkeys => &self.passkeys,
            ImportTable::RecoveryCodeSets => &self.recovery_code_sets,
            ImportTable::RecoveryCodes => &self.recovery_codes,
            _ => &[],
        }
    }
}

/// Member names of the API and the columns that they denote.
const ALIASES: [(&str, &str); 3] = [
    ("password_hash", "encrypted_password"),
    ("app_metadata", "raw_app_meta_data"),
    ("user_metadata", "raw_user_meta_data"),
];

/// Validates a line and fills in defaults.
pub fn parse_line(mut line: ImportRow, given: &mut ImportDefaults<'_>) -> Result<ImportedUser, ImportError> {
    let lists = [
        ("identities", ImportTable::Identities),
        ("factors", ImportTable::Factors),
        ("passkeys", ImportTable::Passkeys),
    ];
    let [identities, factors, passkeys] =
        lists.map(|(name, table)| ListMember { value: line.shift_remove(name), name, table });
    for (alias, column) in ALIASES {
        if let Some(value) = line.shift_remove(alias) {
            line.entry(column).or_insert(value);
        }
    }
    let recovery_codes = line.shift_remove("recovery_codes").filter(|codes| !codes.is_null());
    let verified = ["email_verified", "phone_verified"].map(|name| line.shift_remove(name) == Some(Value::Bool(true)));
    let mut user = build_row(ImportTable::Users, line)?;
    fill_defaults(&mut user, verified, given)?;
    let identities = match rows(identities, &user, given)? {
        Some(identities) => identities,
        None => default_identities(&user, given),
    };
    add_providers(&mut user, &identities);
    let factors = rows(factors, &user, given)?.unwrap_or_default();
    let passkeys = rows(passkeys, &user, given)?.unwrap_or_default();
    let (recovery_code_sets, recovery_codes) = match recovery_codes {
        None => (Vec::new(), Vec::new()),
        Some(set) => build_recovery_codes(set, &user, &factors, given)
            .map(|(set, codes)| (vec![set], codes))
            .map_err(|wrong| format!("recovery_codes: {wrong}"))?,
    };
    Ok(ImportedUser { user, identities, factors, passkeys, recovery_code_sets, recovery_codes })
}

/// Builds the rows of a set of recovery codes: an object with `codes`, whose factor the line lists, too.
fn build_recovery_codes(
    set: Value,
    user: &ImportRow,
    factors: &[ImportRow],
    given: &mut ImportDefaults<'_>,
) -> Result<(ImportRow, Vec<ImportRow>), ImportError> {
    let Value::Object(mut set) = set else { return Err("an object is wanted".to_owned()) };
    let Some(Value::Array(codes)) = set.shift_remove("codes") else {
        return Err("codes: a list is wanted".to_owned());
    };
    let mut set = build_row(ImportTable::RecoveryCodeSets, set)?;
    let factor = factors.iter().find(|factor| is_of_recovery_codes(factor));
    let factor = factor.and_then(|factor| factor.get("id")).ok_or("a factor of type recovery_code is wanted")?;
    set.insert("user_id".to_owned(), user["id"].clone());
    set.insert("mfa_factor_id".to_owned(), factor.clone());
    set.entry("id").or_insert_with(|| json!((given.new_id)()));
    for column in ["created_at", "updated_at"] {
        set.entry(column).or_insert_with(|| user["created_at"].clone());
    }
    let mut rows = Vec::new();
    for (at, code) in codes.into_iter().enumerate() {
        let Value::Object(code) = code else { return Err(format!("codes[{at}]: an object is wanted")) };
        let mut code = build_row(ImportTable::RecoveryCodes, code).map_err(|wrong| format!("codes[{at}]: {wrong}"))?;
        let hash = code.get("code_hash").and_then(Value::as_str);
        let hash = hash.ok_or_else(|| format!("codes[{at}]: code_hash is missing"))?;
        if let Some(why) = (given.unusable_hash)(hash) {
            return Err(format!("codes[{at}]: code_hash: {why}"));
        }
        code.insert("mfa_recovery_code_set_id".to_owned(), set["id"].clone());
        code.entry("id").or_insert_with(|| json!((given.new_id)()));
        code.entry("created_at").or_insert_with(|| set["created_at"].clone());
        rows.push(code);
    }
    Ok((set, rows))
}

/// Whether a factor is that of recovery codes.
fn is_of_recovery_codes(factor: &ImportRow) -> bool {
    factor.get("factor_type").and_then(Value::as_str) == Some(FactorType::RecoveryCode.as_str())
}

fn import_time(given: &ImportDefaults<'_>) -> Value {
    json!(format_microseconds(given.now))
}

fn fill_defaults(
    user: &mut ImportRow,
    [email_verified, phone_verified]: [bool; 2],
    given: &mut ImportDefaults<'_>,
) -> Result<(), ImportError> {
    let is_anonymous = user.get("is_anonymous") == Some(&Value::Bool(true));
    let is_gone = user.contains_key("deleted_at");
    if !user.contains_key("email") && !user.contains_key("phone") && !is_anonymous && !is_gone {
        return Err("an email or a phone is wanted".to_owned());
    }
    if let Some(hash) = user.get("encrypted_password").and_then(Value::as_str).filter(|hash| !hash.is_empty())
        && let Some(why) = (given.unusable_hash)(hash)
    {
        return Err(format!("encrypted_password: {why}"));
    }
    let now = import_time(given);
    if email_verified && user.contains_key("email") {
        user.entry("email_confirmed_at").or_insert_with(|| now.clone());
    }
    if phone_verified && user.contains_key("phone") {
        user.entry("phone_confirmed_at").or_insert_with(|| now.clone());
    }
    user.entry("id").or_insert_with(|| json!((given.new_id)()));
    user.insert("instance_id".to_owned(), json!(Uuid::nil()));
    user.entry("aud").or_insert_with(|| json!(given.audience));
    user.entry("role").or_insert_with(|| json!(given.role));
    user.entry("encrypted_password").or_insert_with(|| json!(""));
    user.entry("created_at").or_insert_with(|| now.clone());
    user.entry("updated_at").or_insert(now);
    for column in ["raw_app_meta_data", "raw_user_meta_data"] {
        user.entry(column).or_insert_with(|| json!({}));
    }
    for column in ["is_sso_user", "is_anonymous"] {
        user.entry(column).or_insert(Value::Bool(false));
    }
    for column in PENDING {
        user.insert(column.to_owned(), json!(""));
    }
    user.insert("email_change_confirm_status".to_owned(), json!(0));
    Ok(())
}

/// Columns of pending one-time tokens and contacts; the import stores them empty.
const PENDING: [&str; 8] = [
    "confirmation_token",
    "recovery_token",
    "email_change_token_new",
    "email_change",
    "email_change_token_current",
    "phone_change",
    "phone_change_token",
    "reauthentication_token",
];

/// A member of a line that lists rows of a table.
struct ListMember {
    value: Option<Value>,
    name: &'static str,
    table: ImportTable,
}

/// Parses the rows that a line lists in a member; `None` if the member is absent.
fn rows(
    ListMember { value, name, table }: ListMember,
    user: &ImportRow,
    given: &mut ImportDefaults<'_>,
) -> Result<Option<Vec<ImportRow>>, ImportError> {
    let listed = match value {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(listed)) => listed,
        Some(_) => return Err(format!("{name}: a list is wanted")),
    };
    let mut rows = Vec::new();
    for (at, value) in listed.into_iter().enumerate() {
        let Value::Object(mut one) = value else { return Err(format!("{name}[{at}]: an object is wanted")) };
        if table == ImportTable::Identities {
            // In the API `identity_id` is the row's id, and `id` is the provider's id.
            if let Some(id) = one.shift_remove("identity_id") {
                let provider_id = one.insert("id".to_owned(), id);
                one.entry("provider_id").or_insert(provider_id.unwrap_or_default());
            }
            complete_own_identity(&mut one, user);
        }
        let mut one = build_row(table, one).map_err(|wrong| format!("{name}[{at}]: {wrong}"))?;
        one.entry("id").or_insert_with(|| json!((given.new_id)()));
        one.insert("user_id".to_owned(), user["id"].clone());
        for column in ["created_at", "updated_at"] {
            one.entry(column).or_insert_with(|| user["created_at"].clone());
        }
        require_columns(table, &one).map_err(|wrong| format!("{name}[{at}]: {wrong}"))?;
        rows.push(one);
    }
    Ok(Some(rows))
}

/// Checks that a row has the required columns of its table.
fn require_columns(table: ImportTable, row: &ImportRow) -> Result<(), ImportError> {
    let needed: &[&str] = match table {
        ImportTable::Identities => &["provider", "provider_id", "identity_data"],
        ImportTable::Factors => &["factor_type", "status"],
        ImportTable::Passkeys => &["credential_id", "public_key"],
        _ => &[],
    };
    match needed.iter().find(|column| !row.contains_key(**column)) {
        Some(column) => Err(format!("{column} is missing")),
        None => Ok(()),
    }
}

/// Adds the values of an identity by address or number that names only its provider.
fn complete_own_identity(identity: &mut ImportRow, user: &ImportRow) {
    let Some(contact @ ("email" | "phone")) = identity.get("provider").and_then(Value::as_str) else { return };
    let contact = contact.to_owned();
    if identity.contains_key("provider_id") || !user.contains_key(&contact) {
        return;
    }
    let data = own_identity_data(user, &contact);
    identity.insert("provider_id".to_owned(), user["id"].clone());
    identity.entry("identity_data").or_insert(Value::Object(data));
}

/// Returns the identity data of an identity by address or number.
fn own_identity_data(user: &ImportRow, contact: &str) -> ImportRow {
    let is_verified = user.contains_key(&format!("{contact}_confirmed_at"));
    ImportRow::from_iter([
        ("sub".to_owned(), user["id"].clone()),
        (contact.to_owned(), user[contact].clone()),
        ("email_verified".to_owned(), json!(contact == "email" && is_verified)),
        ("phone_verified".to_owned(), json!(contact == "phone" && is_verified)),
    ])
}

/// Builds the identities that a sign-up with this address and number creates.
fn default_identities(user: &ImportRow, given: &mut ImportDefaults<'_>) -> Vec<ImportRow> {
    let own = |contact: &str| {
        user.get(contact)?;
        let data = own_identity_data(user, contact);
        let row = json!({
            "id": (given.new_id)(),
            "user_id": user["id"],
            "provider": contact,
            "provider_id": user["id"],
            "identity_data": data,
            "last_sign_in_at": user.get("last_sign_in_at").unwrap_or(&user["created_at"]),
            "created_at": user["created_at"],
            "updated_at": user["updated_at"],
        });
        row.as_object().cloned()
    };
    ["email", "phone"].into_iter().filter_map(own).collect()
}

/// Adds the providers to the metadata, as a sign-up does, unless the line sets them.
fn add_providers(user: &mut ImportRow, identities: &[ImportRow]) {
    let mut providers: Vec<&Value> = identities.iter().filter_map(|identity| identity.get("provider")).collect();
    providers.dedup();
    let Some(Value::Object(metadata)) = user.get_mut("raw_app_meta_data") else { return };
    if let Some(first) = providers.first() {
        metadata.entry("provider").or_insert_with(|| (*first).clone());
        metadata.entry("providers").or_insert_with(|| json!(providers));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: Value) -> Result<ImportedUser, ImportError> {
        let mut next = 0;
        let mut new_id = move || {
            next += 1;
            Uuid::from_u128(next)
        };
        let mut given = ImportDefaults {
            now: chrono::DateTime::UNIX_EPOCH,
            audience: "authenticated",
            role: "authenticated",
            new_id: &mut new_id,
            unusable_hash: &|hash| (!hash.starts_with("$2")).then_some("no known form"),
        };
        let Value::Object(line) = line else { panic!("a line is an object") };
        parse_line(line, &mut given)
    }

    #[test]
    fn line_with_email_only_is_accepted() {
        let imported_user = parse(json!({"email": "Ann@example.com", "email_verified": true})).expect("enough");
        assert_eq!(imported_user.display_name(), "ann@example.com");
        assert_eq!(imported_user.user["email_confirmed_at"], "1970-01-01T00:00:00.000000Z");
        assert_eq!(imported_user.user["raw_app_meta_data"], json!({"provider": "email", "providers": ["email"]}));
        assert_eq!(imported_user.identities.len(), 1);
        assert_eq!(imported_user.identities[0]["identity_data"]["email"], "ann@example.com");
        assert_eq!(imported_user.identities[0]["provider_id"], imported_user.user["id"]);
    }

    #[test]
    fn listed_rows_belong_to_the_user() {
        let id = "10000000-0000-4000-8000-000000000001";
        let imported_user = parse(json!({
            "id": id, "email": "a@b.co",
            "identities": [{"provider": "google", "provider_id": "7", "identity_data": {"sub": "7"}, "user_id": Uuid::nil()}],
            "factors": [{"factor_type": "totp", "status": "verified", "secret": "S"}],
        }))
        .expect("enough");
        assert_eq!(imported_user.identities[0]["user_id"], id);
        assert_eq!(imported_user.factors[0]["user_id"], id);
        assert_eq!(imported_user.user["raw_app_meta_data"]["providers"], json!(["google"]));
        assert!(parse(json!({"email": "a@b.co", "identities": []})).expect("none is fine").identities.is_empty());
    }

    #[test]
    fn recovery_codes_belong_to_the_factor_of_their_type() {
        let line = json!({
            "email": "a@b.co",
            "factors": [
                {"factor_type": "totp", "status": "verified", "secret": "S"},
                {"factor_type": "recovery_code", "status": "verified"},
            ],
            "recovery_codes": {"failed_verification_count": 2, "codes": [{"code_hash": "$2a"}]},
        });
        let mut imported_user = parse(line).expect("enough");
        let (set, code) = (&imported_user.recovery_code_sets[0], &imported_user.recovery_codes[0]);
        assert_eq!(set["mfa_factor_id"], imported_user.factors[1]["id"]);
        assert_eq!(set["user_id"], imported_user.user["id"]);
        assert_eq!(code["mfa_recovery_code_set_id"], set["id"]);
        assert!(imported_user.remove_recovery_codes() && !imported_user.remove_recovery_codes());
        let left =
            (imported_user.factors.len(), imported_user.recovery_code_sets.len(), imported_user.recovery_codes.len());
        assert_eq!(left, (1, 0, 0));
    }

    #[test]
    fn invalid_line_is_rejected_with_reason() {
        for (line, expected) in [
            (json!({}), "an email or a phone is wanted"),
            (json!({"email": "a"}), "email: Unable to validate email address: invalid format"),
            (json!({"email": "a@b.co", "password_hash": "plain"}), "encrypted_password: no known form"),
            (json!({"email": "a@b.co", "identities": {}}), "identities: a list is wanted"),
            (json!({"email": "a@b.co", "identities": [{}]}), "identities[0]: provider is missing"),
            (
                json!({"email": "a@b.co", "factors": [{"factor_type": "x"}]}),
                "factors[0]: factor_type: one of totp, phone, webauthn, recovery_code is wanted",
            ),
            (json!({"email": "a@b.co", "id": "7"}), "id: a UUID is wanted"),
            (
                json!({"email": "a@b.co", "recovery_codes": {"codes": []}}),
                "recovery_codes: a factor of type recovery_code is wanted",
            ),
        ] {
            assert_eq!(parse(line.clone()).expect_err("wrong"), expected, "{line}");
        }
    }
}
