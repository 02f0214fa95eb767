//! Columns that an import may set, and validation of their values.

use chrono::{DateTime, Datelike as _, Utc};
use foundation::email::Email;
use foundation::time::format_microseconds;
use serde_json::{Value, json};
use uuid::Uuid;

use super::row::{ImportError, ImportRow};
use crate::domain::contact::Phone;

/// A table that an import fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ImportTable {
    /// `auth.users`.
    Users,
    /// `auth.identities`.
    Identities,
    /// `auth.mfa_factors`.
    Factors,
    /// `auth.webauthn_credentials`.
    Passkeys,
    /// `auth.sso_providers`.
    SsoProviders,
    /// `auth.oauth_clients`.
    OauthClients,
    /// `auth.saml_providers`.
    SamlProviders,
    /// `auth.sso_domains`.
    SsoDomains,
    /// `auth.oauth_consents`.
    OauthConsents,
    /// `auth.mfa_recovery_code_sets`.
    RecoveryCodeSets,
    /// `auth.mfa_recovery_codes`.
    RecoveryCodes,
}

impl ImportTable {
    /// All tables, in the order of their foreign keys.
    pub const ALL: [Self; 11] = [
        Self::Users,
        Self::Identities,
        Self::Factors,
        Self::Passkeys,
        Self::SsoProviders,
        Self::OauthClients,
        Self::SamlProviders,
        Self::SsoDomains,
        Self::OauthConsents,
        Self::RecoveryCodeSets,
        Self::RecoveryCodes,
    ];

    /// The tables whose rows an import line holds, except for those that a database may lack.
    pub const OF_LINES: [Self; 4] = [Self::Users, Self::Identities, Self::Factors, Self::Passkeys];

    /// The tables of recovery codes, which an import line may hold and a database may lack.
    pub const OF_RECOVERY_CODES: [Self; 2] = [Self::RecoveryCodeSets, Self::RecoveryCodes];

    /// Returns the table name in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Users => "users",
            Self::Identities => "identities",
            Self::Factors => "mfa_factors",
            Self::Passkeys => "webauthn_credentials",
            Self::SsoProviders => "sso_providers",
            Self::OauthClients => "oauth_clients",
            Self::SamlProviders => "saml_providers",
            Self::SsoDomains => "sso_domains",
            Self::OauthConsents => "oauth_consents",
            Self::RecoveryCodeSets => "mfa_recovery_code_sets",
            Self::RecoveryCodes => "mfa_recovery_codes",
        }
    }

    /// Returns how many steps of foreign keys lie between the table and one without any.
    pub fn level(self) -> u8 {
        match self {
            Self::Users => 0,
            Self::Identities | Self::Factors | Self::Passkeys | Self::SsoProviders | Self::OauthClients => 1,
            Self::SamlProviders | Self::SsoDomains | Self::OauthConsents | Self::RecoveryCodeSets => 2,
            Self::RecoveryCodes => 3,
        }
    }

    /// Returns what a row is called in a report, for one and for several.
    pub fn row_name(self) -> [&'static str; 2] {
        match self {
            Self::Users => ["account", "accounts"],
            Self::Identities => ["identity", "identities"],
            Self::Factors => ["factor", "factors"],
            Self::Passkeys => ["passkey", "passkeys"],
            Self::SsoProviders => ["SSO provider", "SSO providers"],
            Self::OauthClients => ["OAuth client", "OAuth clients"],
            Self::SamlProviders => ["SAML provider", "SAML providers"],
            Self::SsoDomains => ["SSO domain", "SSO domains"],
            Self::OauthConsents => ["OAuth grant", "OAuth grants"],
            Self::RecoveryCodeSets => ["set of recovery codes", "sets of recovery codes"],
            Self::RecoveryCodes => ["recovery code", "recovery codes"],
        }
    }

    /// Returns the table with this name in the database.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.name() == name)
    }

    /// Whether a row may contain the column.
    pub fn has_column(self, column: &str) -> bool {
        self.column_kind(column).is_some() || self.is_derived(column)
    }

    /// Returns the kind of the column, or `None` if the import cannot set it.
    fn column_kind(self, column: &str) -> Option<ColumnKind> {
        let columns: &[(&str, ColumnKind)] = match self {
            Self::Users => USERS,
            Self::Identities => IDENTITIES,
            Self::Factors => FACTORS,
            Self::Passkeys => PASSKEYS,
            Self::SsoProviders => SSO_PROVIDERS,
            Self::OauthClients => OAUTH_CLIENTS,
            Self::SamlProviders => SAML_PROVIDERS,
            Self::SsoDomains => SSO_DOMAINS,
            Self::OauthConsents => OAUTH_CONSENTS,
            Self::RecoveryCodeSets => RECOVERY_CODE_SETS,
            Self::RecoveryCodes => RECOVERY_CODES,
        };
        columns.iter().find(|(name, _)| *name == column).map(|(_, kind)| *kind)
    }

    /// Whether the database computes the column: the import accepts and ignores it.
    fn is_derived(self, column: &str) -> bool {
        matches!((self, column), (Self::Users, "confirmed_at") | (Self::Identities, "email"))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnKind {
    Id,
    /// Text of at most so many characters; an empty text may be `null`.
    Text(usize),
    Email,
    Phone,
    Time,
    Flag,
    Number,
    Object,
    List,
    /// One of a fixed set of words.
    Enum(&'static [&'static str]),
    /// A pending one-time token, which is never imported.
    Pending,
    /// `\x` and hexadecimal digits.
    Bytes,
}

const MAX_TEXT_LENGTH: usize = 1 << 16;

const USERS: &[(&str, ColumnKind)] = &[
    ("instance_id", ColumnKind::Id),
    ("id", ColumnKind::Id),
    ("aud", ColumnKind::Text(255)),
    ("role", ColumnKind::Text(255)),
    ("email", ColumnKind::Email),
    ("encrypted_password", ColumnKind::Text(255)),
    ("email_confirmed_at", ColumnKind::Time),
    ("invited_at", ColumnKind::Time),
    ("confirmation_token", ColumnKind::Pending),
    ("confirmation_sent_at", ColumnKind::Time),
    ("recovery_token", ColumnKind::Pending),
    ("recovery_sent_at", ColumnKind::Time),
    ("email_change_token_new", ColumnKind::Pending),
    ("email_change", ColumnKind::Pending),
    ("email_change_sent_at", ColumnKind::Time),
    ("last_sign_in_at", ColumnKind::Time),
    ("raw_app_meta_data", ColumnKind::Object),
    ("raw_user_meta_data", ColumnKind::Object),
    ("is_super_admin", ColumnKind::Flag),
    ("created_at", ColumnKind::Time),
    ("updated_at", ColumnKind::Time),
    ("phone", ColumnKind::Phone),
    ("phone_confirmed_at", ColumnKind::Time),
    ("phone_change", ColumnKind::Pending),
    ("phone_change_token", ColumnKind::Pending),
    ("phone_change_sent_at", ColumnKind::Time),
    ("email_change_token_current", ColumnKind::Pending),
    ("email_change_confirm_status", ColumnKind::Pending),
    ("banned_until", ColumnKind::Time),
    ("reauthentication_token", ColumnKind::Pending),
    ("reauthentication_sent_at", ColumnKind::Time),
    ("is_sso_user", ColumnKind::Flag),
    ("deleted_at", ColumnKind::Time),
    ("is_anonymous", ColumnKind::Flag),
];

const IDENTITIES: &[(&str, ColumnKind)] = &[
    ("id", ColumnKind::Id),
    ("user_id", ColumnKind::Id),
    ("provider", ColumnKind::Text(MAX_TEXT_LENGTH)),
    ("provider_id", ColumnKind::Text(MAX_TEXT_LENGTH)),
    ("identity_data", ColumnKind::Object),
    ("last_sign_in_at", ColumnKind::Time),
    ("created_at", ColumnKind::Time),
    ("updated_at", ColumnKind::Time),
];

const FACTORS: &[(&str, ColumnKind)] = &[
    ("id", ColumnKind::Id),
    ("user_id", ColumnKind::Id),
    ("friendly_name", ColumnKind::Text(MAX_TEXT_LENGTH)),
    ("factor_type", ColumnKind::Enum(&["totp", "phone", "webauthn", "recovery_code"])),
    ("status", ColumnKind::Enum(&["verified", "unverified"])),
    ("secret", ColumnKind::Text(MAX_TEXT_LENGTH)),
    ("phone", ColumnKind::Phone),
    ("last_challenged_at", ColumnKind::Time),
    ("web_authn_credential", ColumnKind::Object),
    ("web_authn_aaguid", ColumnKind::Id),
    ("last_webauthn_challenge_data", ColumnKind::Object),
    ("created_at", ColumnKind::Time),
    ("updated_at", ColumnKind::Time),
];

const PASSKEYS: &[(&str, ColumnKind)] = &[
    ("id", ColumnKind::Id),
    ("user_id", ColumnKind::Id),
    ("credential_id", ColumnKind::Bytes),
    ("public_key", ColumnKind::Bytes),
    ("attestation_type", ColumnKind::Text(MAX_TEXT_LENGTH)),
    ("aaguid", ColumnKind::Id),
    ("sign_count", ColumnKind::Number),
    ("transports", ColumnKind::List),
    ("backup_eligible", ColumnKind::Flag),
    ("backed_up", ColumnKind::Flag),
    ("friendly_name", ColumnKind::Text(MAX_TEXT_LENGTH)),
    ("created_at", ColumnKind::Time),
    ("updated_at", ColumnKind::Time),
    ("last_used_at", ColumnKind::Time),
];

/// The largest metadata document of a SAML provider.
const MAX_METADATA_LENGTH: usize = 1 << 20;

const SSO_PROVIDERS: &[(&str, ColumnKind)] = &[
    ("id", ColumnKind::Id),
    ("resource_id", ColumnKind::Text(MAX_TEXT_LENGTH)),
    ("created_at", ColumnKind::Time),
    ("updated_at", ColumnKind::Time),
    ("disabled", ColumnKind::Flag),
];

const OAUTH_CLIENTS: &[(&str, ColumnKind)] = &[
    ("id", ColumnKind::Id),
    ("client_secret_hash", ColumnKind::Text(MAX_TEXT_LENGTH)),
    ("registration_type", ColumnKind::Enum(&["dynamic", "manual"])),
    ("redirect_uris", ColumnKind::Text(MAX_TEXT_LENGTH)),
    ("grant_types", ColumnKind::Text(MAX_TEXT_LENGTH)),
    ("client_name", ColumnKind::Text(1024)),
    ("client_uri", ColumnKind::Text(2048)),
    ("logo_uri", ColumnKind::Text(2048)),
    ("created_at", ColumnKind::Time),
    ("updated_at", ColumnKind::Time),
    ("deleted_at", ColumnKind::Time),
    ("client_type", ColumnKind::Enum(&["public", "confidential"])),
    ("token_endpoint_auth_method", ColumnKind::Enum(&["client_secret_basic", "client_secret_post", "none"])),
];

const SAML_PROVIDERS: &[(&str, ColumnKind)] = &[
    ("id", ColumnKind::Id),
    ("sso_provider_id", ColumnKind::Id),
    ("entity_id", ColumnKind::Text(MAX_TEXT_LENGTH)),
    ("metadata_xml", ColumnKind::Text(MAX_METADATA_LENGTH)),
    ("metadata_url", ColumnKind::Text(MAX_TEXT_LENGTH)),
    ("attribute_mapping", ColumnKind::Object),
    ("created_at", ColumnKind::Time),
    ("updated_at", ColumnKind::Time),
    ("name_id_format", ColumnKind::Text(MAX_TEXT_LENGTH)),
];

const SSO_DOMAINS: &[(&str, ColumnKind)] = &[
    ("id", ColumnKind::Id),
    ("sso_provider_id", ColumnKind::Id),
    ("domain", ColumnKind::Text(MAX_TEXT_LENGTH)),
    ("created_at", ColumnKind::Time),
    ("updated_at", ColumnKind::Time),
];

const OAUTH_CONSENTS: &[(&str, ColumnKind)] = &[
    ("id", ColumnKind::Id),
    ("user_id", ColumnKind::Id),
    ("client_id", ColumnKind::Id),
    ("scopes", ColumnKind::Text(2048)),
    ("granted_at", ColumnKind::Time),
    ("revoked_at", ColumnKind::Time),
];

const RECOVERY_CODE_SETS: &[(&str, ColumnKind)] = &[
    ("id", ColumnKind::Id),
    ("user_id", ColumnKind::Id),
    ("mfa_factor_id", ColumnKind::Id),
    ("failed_verification_count", ColumnKind::Number),
    ("verification_locked_until", ColumnKind::Time),
    ("created_at", ColumnKind::Time),
    ("updated_at", ColumnKind::Time),
];

const RECOVERY_CODES: &[(&str, ColumnKind)] = &[
    ("id", ColumnKind::Id),
    ("mfa_recovery_code_set_id", ColumnKind::Id),
    ("code_hash", ColumnKind::Text(MAX_TEXT_LENGTH)),
    ("consumed_at", ColumnKind::Time),
    ("created_at", ColumnKind::Time),
];

/// Validates a row and converts each value to the form that the database reads.
/// Columns without a value are omitted.
pub fn build_row(table: ImportTable, given: ImportRow) -> Result<ImportRow, ImportError> {
    let mut row = ImportRow::new();
    for (column, value) in given {
        if value.is_null() || table.is_derived(&column) {
            continue;
        }
        let kind = table.column_kind(&column).ok_or_else(|| unknown_column(table, &column))?;
        if let Some(value) = validate_value(kind, value).map_err(|wrong| format!("{column}: {wrong}"))? {
            row.insert(column, value);
        }
    }
    Ok(row)
}

fn unknown_column(table: ImportTable, column: &str) -> ImportError {
    let column: String = column.chars().take(60).collect();
    format!("there is no {column} in {}; see `basalt users import --help` for what a line may say", table.name())
}

fn validate_value(kind: ColumnKind, value: Value) -> Result<Option<Value>, ImportError> {
    let text = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(|| "a text is wanted".to_owned());
    let message = |error: foundation::error::Error| error.message().to_owned();
    Ok(Some(match kind {
        ColumnKind::Pending => return Ok(None),
        ColumnKind::Id => json!(Uuid::parse_str(&text(&value)?).map_err(|_| "a UUID is wanted")?),
        ColumnKind::Text(most) => {
            let text = text(&value)?;
            if text.chars().count() > most || text.contains('\0') {
                return Err(format!("at most {most} characters are wanted, none of them NUL"));
            }
            Value::String(text)
        }
        ColumnKind::Email => match text(&value)?.as_str() {
            "" => return Ok(None),
            address => json!(Email::parse(address).map_err(message)?.as_str()),
        },
        ColumnKind::Phone => match text(&value)?.as_str() {
            "" => return Ok(None),
            number => json!(Phone::parse(number).map_err(message)?.as_str()),
        },
        ColumnKind::Time => Value::String(normalize_time(&text(&value)?)?),
        ColumnKind::Flag => json!(parse_bool(&value)?),
        ColumnKind::Number => json!(parse_integer(&value)?),
        ColumnKind::Object => validate_json(value, Value::is_object, "an object is wanted")?,
        ColumnKind::List => validate_json(value, Value::is_array, "a list is wanted")?,
        ColumnKind::Enum(words) => {
            let word = text(&value)?;
            if !words.contains(&word.as_str()) {
                return Err(format!("one of {} is wanted", words.join(", ")));
            }
            Value::String(word)
        }
        ColumnKind::Bytes => {
            let text = text(&value)?;
            let digits = text.strip_prefix("\\x").unwrap_or("?");
            if digits.len() % 2 != 0 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err("bytes are written as \\x and hexadecimal digits".to_owned());
            }
            Value::String(text)
        }
    }))
}

/// Validates a JSON value, or JSON in a text as in database dumps. Rejects NUL characters.
fn validate_json(value: Value, is_right: fn(&Value) -> bool, wanted: &str) -> Result<Value, ImportError> {
    let value = match value {
        Value::String(text) => serde_json::from_str(&text).map_err(|_| wanted.to_owned())?,
        other => other,
    };
    if !is_right(&value) {
        return Err(wanted.to_owned());
    }
    if value.to_string().contains("\\u0000") {
        return Err("a NUL character cannot be stored".to_owned());
    }
    Ok(value)
}

/// Returns a time as PostgreSQL reads it, also one before Christ, after the year 9999 or without end.
fn normalize_time(text: &str) -> Result<String, ImportError> {
    let text = text.trim();
    match parse_time(text) {
        Ok(time) if (0..=9999).contains(&time.year()) => Ok(format_microseconds(time)),
        _ if is_unusual_time(text) => Ok(text.to_owned()),
        parsed => Err(parsed.err().unwrap_or_else(|| "a time is wanted, such as 2024-05-06T07:08:09Z".to_owned())),
    }
}

/// Whether a text has the form in which PostgreSQL writes times that RFC 3339 cannot express. The database checks the date.
fn is_unusual_time(text: &str) -> bool {
    if matches!(text, "infinity" | "-infinity") {
        return true;
    }
    let of_era = text.strip_suffix(" BC").unwrap_or(text);
    let Some((year, rest)) = of_era.split_once('-') else { return false };
    let is_year = (4..=6).contains(&year.len()) && year.bytes().all(|byte| byte.is_ascii_digit());
    let is_time = |byte: u8| byte.is_ascii_digit() || b"-:.+TZ ".contains(&byte);
    is_year && (5..=40).contains(&rest.len()) && rest.bytes().all(is_time)
}

/// Parses RFC 3339, or PostgreSQL's format: `2024-05-06 07:08:09.123+00`.
fn parse_time(text: &str) -> Result<DateTime<Utc>, ImportError> {
    const FORMS: [&str; 2] = ["%Y-%m-%d %H:%M:%S%.f%#z", "%Y-%m-%dT%H:%M:%S%.f%#z"];
    let parsed = FORMS.iter().find_map(|form| DateTime::parse_from_str(text, form).ok());
    let parsed = parsed.or_else(|| DateTime::parse_from_rfc3339(text).ok());
    parsed.map(|time| time.to_utc()).ok_or_else(|| "a time is wanted, such as 2024-05-06T07:08:09Z".to_owned())
}

fn parse_bool(value: &Value) -> Result<bool, ImportError> {
    match value {
        Value::Bool(flag) => Ok(*flag),
        Value::String(text) if matches!(text.as_str(), "t" | "true") => Ok(true),
        Value::String(text) if matches!(text.as_str(), "f" | "false") => Ok(false),
        _ => Err("true or false is wanted".to_owned()),
    }
}

fn parse_integer(value: &Value) -> Result<i64, ImportError> {
    let number = match value {
        Value::String(text) => text.parse().ok(),
        other => other.as_i64(),
    };
    number.ok_or_else(|| "a whole number is wanted".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_parse_in_rfc3339_and_postgresql_format() {
        for text in ["2024-05-06T07:08:09.5Z", "2024-05-06 07:08:09.5+00", "2024-05-06 09:08:09.500000+02:00"] {
            assert_eq!(parse_time(text).expect(text).to_rfc3339(), "2024-05-06T07:08:09.500+00:00", "{text}");
        }
        for text in ["", "yesterday", "2024-05-06", "1714979289"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn values_are_validated_by_column_kind() {
        let one = |table, column: &str, value| build_row(table, ImportRow::from_iter([(column.to_owned(), value)]));
        for (table, column, value, stored) in [
            (ImportTable::Users, "email", json!("Ann@Example.com"), json!("ann@example.com")),
            (ImportTable::Users, "phone", json!("+1 555 010 0001"), json!("15550100001")),
            (ImportTable::Users, "is_anonymous", json!("f"), json!(false)),
            (ImportTable::Users, "raw_app_meta_data", json!("{\"a\": 1}"), json!({"a": 1})),
            (ImportTable::Passkeys, "sign_count", json!("7"), json!(7)),
            (ImportTable::Passkeys, "credential_id", json!("\\x00ff"), json!("\\x00ff")),
            (ImportTable::Factors, "status", json!("verified"), json!("verified")),
        ] {
            assert_eq!(one(table, column, value).expect(column).get(column), Some(&stored), "{column}");
        }
        for (table, column, value) in [
            (ImportTable::Users, "email", json!("ann")),
            (ImportTable::Users, "emial", json!("ann@example.com")),
            (ImportTable::Users, "raw_user_meta_data", json!([])),
            (ImportTable::Users, "raw_user_meta_data", json!({"a": "\u{0}"})),
            (ImportTable::Users, "role", json!("x".repeat(256))),
            (ImportTable::Factors, "factor_type", json!("hope")),
            (ImportTable::Passkeys, "public_key", json!("abc")),
            (ImportTable::Passkeys, "sign_count", json!(1.5)),
        ] {
            assert!(one(table, column, value.clone()).is_err(), "{column} {value}");
        }
    }

    #[test]
    fn pending_and_derived_columns_are_omitted() {
        let given = json!({"confirmation_token": "abc", "email_change": "b@c", "confirmed_at": "never", "phone": ""});
        let Value::Object(given) = given else { unreachable!() };
        assert_eq!(build_row(ImportTable::Users, given).expect("nothing is wrong"), ImportRow::new());
    }
}
