//! The columns that an import may fill, and what may stand in them.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Row, Wrong};
use crate::domain::contact::{Email, Phone};

/// A table of people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Table {
    /// `auth.users`.
    Users,
    /// `auth.identities`.
    Identities,
    /// `auth.mfa_factors`.
    Factors,
    /// `auth.webauthn_credentials`.
    Passkeys,
}

impl Table {
    /// All of them, in the order in which they can be filled.
    pub const ALL: [Self; 4] = [Self::Users, Self::Identities, Self::Factors, Self::Passkeys];

    /// The name in the database.
    pub fn name(self) -> &'static str {
        match self {
            Self::Users => "users",
            Self::Identities => "identities",
            Self::Factors => "mfa_factors",
            Self::Passkeys => "webauthn_credentials",
        }
    }

    /// The table of that name in the database.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.name() == name)
    }

    /// Whether a row may name that column.
    pub fn has(self, column: &str) -> bool {
        self.kind(column).is_some() || self.is_derived(column)
    }

    /// What may stand in the column of that name; none if there is no such column, or the database fills it.
    fn kind(self, column: &str) -> Option<Kind> {
        let columns: &[(&str, Kind)] = match self {
            Self::Users => USERS,
            Self::Identities => IDENTITIES,
            Self::Factors => FACTORS,
            Self::Passkeys => PASSKEYS,
        };
        columns.iter().find(|(name, _)| *name == column).map(|(_, kind)| *kind)
    }

    /// Whether the database fills the column itself: it may be named and is left out.
    fn is_derived(self, column: &str) -> bool {
        matches!((self, column), (Self::Users, "confirmed_at") | (Self::Identities, "email"))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Id,
    /// Text of at most so many characters; none at all may be `null`.
    Text(usize),
    Email,
    Phone,
    Time,
    Flag,
    Number,
    Object,
    List,
    /// One of a few words.
    Word(&'static [&'static str]),
    /// A pending code: never taken over, for its message is not.
    Pending,
    /// `\x` and hexadecimal digits.
    Bytes,
}

const ANY: usize = 1 << 16;

const USERS: &[(&str, Kind)] = &[
    ("instance_id", Kind::Id),
    ("id", Kind::Id),
    ("aud", Kind::Text(255)),
    ("role", Kind::Text(255)),
    ("email", Kind::Email),
    ("encrypted_password", Kind::Text(255)),
    ("email_confirmed_at", Kind::Time),
    ("invited_at", Kind::Time),
    ("confirmation_token", Kind::Pending),
    ("confirmation_sent_at", Kind::Time),
    ("recovery_token", Kind::Pending),
    ("recovery_sent_at", Kind::Time),
    ("email_change_token_new", Kind::Pending),
    ("email_change", Kind::Pending),
    ("email_change_sent_at", Kind::Time),
    ("last_sign_in_at", Kind::Time),
    ("raw_app_meta_data", Kind::Object),
    ("raw_user_meta_data", Kind::Object),
    ("is_super_admin", Kind::Flag),
    ("created_at", Kind::Time),
    ("updated_at", Kind::Time),
    ("phone", Kind::Phone),
    ("phone_confirmed_at", Kind::Time),
    ("phone_change", Kind::Pending),
    ("phone_change_token", Kind::Pending),
    ("phone_change_sent_at", Kind::Time),
    ("email_change_token_current", Kind::Pending),
    ("email_change_confirm_status", Kind::Pending),
    ("banned_until", Kind::Time),
    ("reauthentication_token", Kind::Pending),
    ("reauthentication_sent_at", Kind::Time),
    ("is_sso_user", Kind::Flag),
    ("deleted_at", Kind::Time),
    ("is_anonymous", Kind::Flag),
];

const IDENTITIES: &[(&str, Kind)] = &[
    ("id", Kind::Id),
    ("user_id", Kind::Id),
    ("provider", Kind::Text(ANY)),
    ("provider_id", Kind::Text(ANY)),
    ("identity_data", Kind::Object),
    ("last_sign_in_at", Kind::Time),
    ("created_at", Kind::Time),
    ("updated_at", Kind::Time),
];

const FACTORS: &[(&str, Kind)] = &[
    ("id", Kind::Id),
    ("user_id", Kind::Id),
    ("friendly_name", Kind::Text(ANY)),
    ("factor_type", Kind::Word(&["totp", "phone", "webauthn"])),
    ("status", Kind::Word(&["verified", "unverified"])),
    ("secret", Kind::Text(ANY)),
    ("phone", Kind::Phone),
    ("last_challenged_at", Kind::Time),
    ("web_authn_credential", Kind::Object),
    ("web_authn_aaguid", Kind::Id),
    ("last_webauthn_challenge_data", Kind::Object),
    ("created_at", Kind::Time),
    ("updated_at", Kind::Time),
];

const PASSKEYS: &[(&str, Kind)] = &[
    ("id", Kind::Id),
    ("user_id", Kind::Id),
    ("credential_id", Kind::Bytes),
    ("public_key", Kind::Bytes),
    ("attestation_type", Kind::Text(ANY)),
    ("aaguid", Kind::Id),
    ("sign_count", Kind::Number),
    ("transports", Kind::List),
    ("backup_eligible", Kind::Flag),
    ("backed_up", Kind::Flag),
    ("friendly_name", Kind::Text(ANY)),
    ("created_at", Kind::Time),
    ("updated_at", Kind::Time),
    ("last_used_at", Kind::Time),
];

/// The row with every value in the form in which the database reads it. Columns without a value are left out.
pub fn row(table: Table, given: Row) -> Result<Row, Wrong> {
    let mut row = Row::new();
    for (column, value) in given {
        if value.is_null() || table.is_derived(&column) {
            continue;
        }
        let kind = table.kind(&column).ok_or_else(|| unknown(table, &column))?;
        if let Some(value) = checked(kind, value).map_err(|wrong| format!("{column}: {wrong}"))? {
            row.insert(column, value);
        }
    }
    Ok(row)
}

fn unknown(table: Table, column: &str) -> Wrong {
    let column: String = column.chars().take(60).collect();
    format!("there is no {column} in {}; see `basalt users import --help` for what a line may say", table.name())
}

fn checked(kind: Kind, value: Value) -> Result<Option<Value>, Wrong> {
    let text = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(|| "a text is wanted".to_owned());
    let told = |error: crate::domain::error::Error| error.message().to_owned();
    Ok(Some(match kind {
        Kind::Pending => return Ok(None),
        Kind::Id => json!(Uuid::parse_str(&text(&value)?).map_err(|_| "a UUID is wanted")?),
        Kind::Text(most) => {
            let text = text(&value)?;
            if text.chars().count() > most || text.contains('\0') {
                return Err(format!("at most {most} characters are wanted, none of them NUL"));
            }
            Value::String(text)
        }
        Kind::Email => match text(&value)?.as_str() {
            "" => return Ok(None),
            address => json!(Email::parse(address).map_err(told)?.as_str()),
        },
        Kind::Phone => match text(&value)?.as_str() {
            "" => return Ok(None),
            number => json!(Phone::parse(number).map_err(told)?.as_str()),
        },
        Kind::Time => json!(time(&text(&value)?)?.to_rfc3339_opts(SecondsFormat::Micros, true)),
        Kind::Flag => json!(flag(&value)?),
        Kind::Number => json!(number(&value)?),
        Kind::Object => structured(value, Value::is_object, "an object is wanted")?,
        Kind::List => structured(value, Value::is_array, "a list is wanted")?,
        Kind::Word(words) => {
            let word = text(&value)?;
            if !words.contains(&word.as_str()) {
                return Err(format!("one of {} is wanted", words.join(", ")));
            }
            Value::String(word)
        }
        Kind::Bytes => {
            let text = text(&value)?;
            let digits = text.strip_prefix("\\x").unwrap_or("?");
            if digits.len() % 2 != 0 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err("bytes are written as \\x and hexadecimal digits".to_owned());
            }
            Value::String(text)
        }
    }))
}

/// JSON, or JSON written as a text, as dumps have it. A NUL inside is nothing that the database can keep.
fn structured(value: Value, is_right: fn(&Value) -> bool, wanted: &str) -> Result<Value, Wrong> {
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

/// RFC 3339, or as PostgreSQL writes it: `2024-05-06 07:08:09.123+00`.
fn time(text: &str) -> Result<DateTime<Utc>, Wrong> {
    const FORMS: [&str; 2] = ["%Y-%m-%d %H:%M:%S%.f%#z", "%Y-%m-%dT%H:%M:%S%.f%#z"];
    let parsed = FORMS.iter().find_map(|form| DateTime::parse_from_str(text, form).ok());
    let parsed = parsed.or_else(|| DateTime::parse_from_rfc3339(text).ok());
    parsed.map(|time| time.to_utc()).ok_or_else(|| "a time is wanted, such as 2024-05-06T07:08:09Z".to_owned())
}

fn flag(value: &Value) -> Result<bool, Wrong> {
    match value {
        Value::Bool(flag) => Ok(*flag),
        Value::String(text) if matches!(text.as_str(), "t" | "true") => Ok(true),
        Value::String(text) if matches!(text.as_str(), "f" | "false") => Ok(false),
        _ => Err("true or false is wanted".to_owned()),
    }
}

fn number(value: &Value) -> Result<i64, Wrong> {
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
    fn times_are_read_as_json_and_postgresql_write_them() {
        for text in ["2024-05-06T07:08:09.5Z", "2024-05-06 07:08:09.5+00", "2024-05-06 09:08:09.500000+02:00"] {
            assert_eq!(time(text).expect(text).to_rfc3339(), "2024-05-06T07:08:09.500+00:00", "{text}");
        }
        for text in ["", "yesterday", "2024-05-06", "1714979289"] {
            assert!(time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn values_have_the_forms_of_their_columns() {
        let one = |table, column: &str, value| row(table, Row::from_iter([(column.to_owned(), value)]));
        for (table, column, value, stored) in [
            (Table::Users, "email", json!("Ann@Example.com"), json!("ann@example.com")),
            (Table::Users, "phone", json!("+1 555 010 0001"), json!("15550100001")),
            (Table::Users, "is_anonymous", json!("f"), json!(false)),
            (Table::Users, "raw_app_meta_data", json!("{\"a\": 1}"), json!({"a": 1})),
            (Table::Passkeys, "sign_count", json!("7"), json!(7)),
            (Table::Passkeys, "credential_id", json!("\\x00ff"), json!("\\x00ff")),
            (Table::Factors, "status", json!("verified"), json!("verified")),
        ] {
            assert_eq!(one(table, column, value).expect(column).get(column), Some(&stored), "{column}");
        }
        for (table, column, value) in [
            (Table::Users, "email", json!("ann")),
            (Table::Users, "emial", json!("ann@example.com")),
            (Table::Users, "raw_user_meta_data", json!([])),
            (Table::Users, "raw_user_meta_data", json!({"a": "\u{0}"})),
            (Table::Users, "role", json!("x".repeat(256))),
            (Table::Factors, "factor_type", json!("hope")),
            (Table::Passkeys, "public_key", json!("abc")),
            (Table::Passkeys, "sign_count", json!(1.5)),
        ] {
            assert!(one(table, column, value.clone()).is_err(), "{column} {value}");
        }
    }

    #[test]
    fn what_is_pending_or_derived_is_left_out() {
        let given = json!({"confirmation_token": "abc", "email_change": "b@c", "confirmed_at": "never", "phone": ""});
        let Value::Object(given) = given else { unreachable!() };
        assert_eq!(row(Table::Users, given).expect("nothing is wrong"), Row::new());
    }
}
