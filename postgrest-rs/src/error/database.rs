//! Errors of the database: SQLSTATE to status, and the two ways in which a function chooses its own answer.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;

use super::Error;

/// An error that the database reported.
#[derive(Debug, Clone, Copy)]
pub struct DatabaseError<'a> {
    /// SQLSTATE
    pub code: &'a str,
    /// The primary message.
    pub message: &'a str,
    pub detail: Option<&'a str>,
    pub hint: Option<&'a str>,
}

/// The message of `RAISE SQLSTATE 'PGRST'`.
#[derive(Deserialize)]
struct RaisedMessage {
    code: String,
    message: String,
    details: Option<String>,
    hint: Option<String>,
}

/// The detail of `RAISE SQLSTATE 'PGRST'`.
#[derive(Deserialize)]
struct RaisedDetail {
    status: u16,
    status_text: Option<String>,
    headers: BTreeMap<String, String>,
}

impl Error {
    /// No connection to the database.
    pub fn connection(details: impl Into<String>) -> Self {
        Self::new(503, "PGRST000", "Database connection error.").with_details(details)
    }

    /// The connection broke during the request, or the database stopped answering.
    pub fn connection_lost(details: impl Into<String>) -> Self {
        Self::new(503, "PGRST001", "Database client error. Retrying the connection.").with_details(details)
    }

    /// The request took longer than it may.
    pub fn request_timeout(limit: std::time::Duration) -> Self {
        Self::new(504, "PGRST003", "The request took too long.")
            .with_details(format!("It was ended after {} seconds", limit.as_secs()))
    }

    /// Whether the connection is not usable any more: it broke, or the database ends it.
    pub fn is_lost_connection(&self) -> bool {
        matches!(&*self.code, "PGRST001" | "57P01" | "57P02" | "57P03")
    }

    /// No connection became free in time.
    pub fn pool_timeout() -> Self {
        Self::new(504, "PGRST003", "Timed out acquiring connection from connection pool.")
    }

    /// A result that is too large for memory could not be kept in a file.
    pub fn no_space_for_result() -> Self {
        Self::new(503, "PGRST003", "There is no space for a large result.")
    }

    /// A name that no role has, as the database says it.
    pub fn unknown_role(name: &str) -> Self {
        let message = format!("role \"{name}\" does not exist");
        Self::from_database(&DatabaseError { code: "22023", message: &message, detail: None, hint: None }, false)
    }

    /// Something that cannot happen.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "PGRSTX00", message)
    }

    /// A write of all rows, as the extension safeupdate refuses it.
    pub fn unsafe_write(statement: &str) -> Self {
        Self::new(400, "21000", format!("{statement} requires a WHERE clause"))
    }

    /// An error of the database. `is_authenticated` tells whether the role of the request is another one than that of requests
    /// without a token.
    pub fn from_database(error: &DatabaseError<'_>, is_authenticated: bool) -> Self {
        if error.code == "PGRST" {
            return from_raised(error);
        }
        let (status, reason) = status(error, is_authenticated);
        let mut answer = Self::new(status, "", error.message);
        answer.code = Cow::Owned(error.code.to_owned());
        answer.reason = reason;
        answer.details = error.detail.map(Into::into);
        answer.hint = error.hint.map(Into::into);
        if status == 401 {
            answer.headers.push(("WWW-Authenticate".to_owned(), "Bearer".to_owned()));
        }
        answer
    }
}

/// The answer that a function chose by `RAISE SQLSTATE 'PGRST'`.
fn from_raised(error: &DatabaseError<'_>) -> Error {
    let Ok(message) = serde_json::from_str::<RaisedMessage>(error.message) else {
        return malformed_raise(format!("Invalid JSON value for MESSAGE: '{}'", error.message), true);
    };
    let Some(text) = error.detail else {
        return malformed_raise("DETAIL is missing in the RAISE statement".to_owned(), false);
    };
    let Ok(detail) = serde_json::from_str::<RaisedDetail>(text) else {
        return malformed_raise(format!("Invalid JSON value for DETAIL: '{text}'"), false);
    };
    let mut answer = Error::new(detail.status, "", message.message);
    answer.code = Cow::Owned(message.code);
    answer.reason = detail.status_text;
    answer.details = message.details.map(Into::into);
    answer.hint = message.hint;
    answer.headers = detail.headers.into_iter().collect();
    answer
}

fn malformed_raise(details: String, is_message: bool) -> Error {
    let hint = if is_message {
        "MESSAGE must be a JSON object with obligatory keys: 'code', 'message' and optional keys: 'details', 'hint'."
    } else {
        "DETAIL must be a JSON object with obligatory keys: 'status', 'headers' and optional key: 'status_text'."
    };
    Error::new(500, "PGRST121", "Could not parse JSON in the \"RAISE SQLSTATE 'PGRST'\" error")
        .with_details(details)
        .with_hint(hint)
}

/// The status of an SQLSTATE, and the reason phrase of `PTxyz`.
fn status(error: &DatabaseError<'_>, is_authenticated: bool) -> (u16, Option<String>) {
    let message = error.message;
    let code = error.code;
    let status = match code {
        "23503" | "23505" => 409,
        "25006" => 405,
        "21000" if message.ends_with("requires a WHERE clause") => 400,
        "21000" | "53400" | "42P17" => 500,
        "22023" if message.starts_with("role") && message.ends_with("does not exist") => 401,
        "57P01" => 503,
        "P0001" => 400,
        "42883" if message.starts_with("function xmlagg(") => 406,
        "42883" | "42P01" => 404,
        "42501" if is_authenticated => 403,
        "42501" => 401,
        _ => match code.get(..2) {
            Some("08" | "53") => 503,
            Some("0L" | "0P" | "28") => 403,
            Some(
                "09" | "25" | "2D" | "38" | "39" | "3B" | "40" | "54" | "55" | "57" | "58" | "F0" | "HV" | "P0" | "XX",
            ) => 500,
            Some("PT") => {
                return match code[2..].parse::<u16>() {
                    Ok(number) => (number, Some(message.to_owned())),
                    Err(_) => (500, None),
                };
            }
            _ => 400,
        },
    };
    (status, None)
}
