//! The settings of a transaction, and the function that runs before the statement.

use std::collections::BTreeMap;

use super::{Sql, identifier_list};
use crate::config::Config;
use crate::jwt::Identity;
use crate::plan::{Plan, PlanKind};
use crate::request::{ApiRequest, QualifiedName};

/// The settings of the roles that the login role may become.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoleSettings {
    /// Names and values by role, without the isolation level.
    pub values: BTreeMap<String, Vec<(String, String)>>,
    /// The isolation level by role.
    pub isolation: BTreeMap<String, String>,
}

impl Sql {
    fn setting(&mut self, name: &str, value: &str) -> &mut Self {
        self.raw("set_config(").text(name).raw(", ").text(value).raw(", true), ")
    }
}

/// The statement that sets everything that functions of the database may ask for. Settings of the role come before the role:
/// parameters that the login role was granted can be set only by it.
pub fn build(config: &Config, roles: &RoleSettings, identity: &Identity, request: &ApiRequest, plan: &Plan) -> Sql {
    let mut sql = Sql::default();
    let path = std::iter::once(&request.schema).chain(&config.db_extra_search_path);
    sql.raw("SELECT ").setting("search_path", &identifier_list(path.map(String::as_str)));
    for (name, value) in roles.values.get(&identity.role).into_iter().flatten() {
        sql.setting(name, value);
    }
    sql.setting("role", &identity.role).setting("request.jwt.claims", &identity.claims);
    sql.setting("request.method", &request.method).setting("request.path", &request.path);
    let headers =
        request.headers.iter().map(|(name, value)| (name.clone(), String::from_utf8_lossy(value).into_owned()));
    sql.setting("request.headers", &json_object(headers));
    sql.setting("request.cookies", &json_object(request.cookies.iter().cloned()));
    // A function may have set these for the session: they are of its request alone.
    for name in ["response.headers", "response.status"] {
        sql.setting(name, "");
    }
    if let Some(timezone) = &request.preferences.timezone {
        sql.setting("timezone", timezone);
    }
    if let Plan::Statement(statement) = plan
        && let PlanKind::Call { function, .. } = &statement.kind
    {
        for (name, value) in &function.settings {
            sql.setting(name, value);
        }
    }
    for (name, value) in &config.app_settings {
        sql.setting(name, value);
    }
    // The list ends with a comma and a blank.
    sql.text.truncate(sql.text.len() - 2);
    sql
}

/// An object with sorted keys; of a key that is there twice the last value.
fn json_object(pairs: impl Iterator<Item = (String, String)>) -> String {
    let sorted: BTreeMap<String, String> = pairs.collect();
    // Texts serialise always.
    serde_json::to_string(&sorted).unwrap_or_default()
}

/// The statement that calls the function before requests.
pub fn pre_request(function: &QualifiedName) -> Sql {
    let mut sql = Sql::default();
    sql.raw("SELECT ").qualified(function).raw("()");
    sql
}
