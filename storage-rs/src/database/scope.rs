//! The settings of a transaction: the role, the claims and the request, as policies and triggers see them.

use std::time::Duration;

use http::HeaderMap;
use postgrest_rs::sql::{Sql, Value};

use crate::caller::Caller;

/// The settings of a scope, whose values are these and the following eight parameters. Deleting rows is allowed to this server:
/// it deletes the files too.
fn settings(first: usize) -> String {
    let names = [
        "statement_timeout",
        "role",
        "request.jwt",
        "request.jwt.claim.sub",
        "request.jwt.claims",
        "request.headers",
        "request.method",
        "request.path",
        "storage.operation",
    ];
    let set = names.iter().enumerate().map(|(place, name)| format!("set_config('{name}', ${}, true), ", first + place));
    format!(
        "{}set_config('request.jwt.claim.role', ${}, true), set_config('storage.allow_delete_query', 'true', true)",
        set.collect::<String>(),
        first + 1
    )
}

/// The role and the claims of a part of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// Whether this is the server itself.
    pub is_service: bool,
    caller: Caller,
    headers: String,
    method: String,
    path: String,
    operation: &'static str,
}

impl Scope {
    /// The scope of a request.
    pub fn new(caller: Caller, headers: &HeaderMap, method: &str, path: &str, operation: &'static str) -> Self {
        Self {
            is_service: false,
            caller,
            headers: describe(headers),
            method: method.to_owned(),
            path: path.to_owned(),
            operation,
        }
    }

    /// The scope of the server itself on behalf of the same request.
    #[must_use]
    pub fn as_service(&self, role: &str) -> Self {
        Self { is_service: true, caller: Caller::service(role), ..self.clone() }
    }

    /// The scope of work that belongs to no request.
    pub fn of_upkeep(role: &str, operation: &'static str) -> Self {
        Self {
            is_service: true,
            caller: Caller::service(role),
            headers: "{}".to_owned(),
            method: String::new(),
            path: String::new(),
            operation,
        }
    }

    /// The name of the operation.
    pub fn operation(&self) -> &'static str {
        self.operation
    }

    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The statement that sets it, for the rest of the transaction.
    pub(super) fn statement(&self, timeout: Duration) -> Sql {
        self.set_after("SELECT ", timeout, Vec::new())
    }

    /// The statement that selects these columns and then sets the scope for the rest of the transaction. The columns end in a
    /// comma, unless there are none.
    pub(super) fn set_after(&self, columns: &str, timeout: Duration, mut values: Vec<Value>) -> Sql {
        let text = format!("{columns}{}", settings(values.len() + 1));
        let own = [
            timeout.as_millis().to_string(),
            self.caller.role.clone(),
            self.caller.token.clone(),
            self.caller.owner.clone().unwrap_or_default(),
            self.caller.claims.clone(),
            self.headers.clone(),
            self.method.clone(),
            self.path.clone(),
            self.operation.to_owned(),
        ];
        values.extend(own.map(Value::Text));
        Sql { text, values }
    }
}

/// The header fields as a JSON object. Of a field that is there several times the values are joined. Texts of the database
/// cannot hold NUL, which no header can either.
fn describe(headers: &HeaderMap) -> String {
    let mut fields = serde_json::Map::new();
    for name in headers.keys() {
        let values: Vec<_> =
            headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
        fields.insert(name.as_str().to_owned(), values.join(", ").into());
    }
    serde_json::Value::Object(fields).to_string()
}
