//! The settings of a transaction: the role, the claims and the request, as policies and triggers see them.

use std::time::Duration;

use http::HeaderMap;
use postgrest_rs::sql::{Sql, Value};

use crate::caller::Caller;

/// The statement that sets everything. Deleting rows is allowed to this server: it deletes the files too.
const STATEMENT: &str = "SELECT set_config('statement_timeout', $1, true), set_config('role', $2, true), \
    set_config('request.jwt.claim.role', $2, true), set_config('request.jwt', $3, true), \
    set_config('request.jwt.claim.sub', $4, true), set_config('request.jwt.claims', $5, true), \
    set_config('request.headers', $6, true), set_config('request.method', $7, true), \
    set_config('request.path', $8, true), set_config('storage.operation', $9, true), \
    set_config('storage.allow_delete_query', 'true', true)";

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

    /// The caller.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The statement that sets it, for the rest of the transaction.
    pub(super) fn statement(&self, timeout: Duration) -> Sql {
        let values = [
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
        Sql { text: STATEMENT.to_owned(), values: values.map(Value::Text).into() }
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
