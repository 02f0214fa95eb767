//! Accounts of a file that have more rights than other users of this server.

use gotrue_rules::domain::bulk::ImportedUser;
use serde_json::Value;

/// The role of ordinary users.
const AUTHENTICATED: &str = "authenticated";

/// Returns in words why an account has more rights than others; `None` if it has not.
///
/// The column `role` becomes the role of the account's tokens in the database and the auth API; an owner in `app_metadata`
/// may use the desk. `usual_role` is the role that the server gives to a new account.
pub(super) fn describe_privilege(account: &ImportedUser, usual_role: &str) -> Option<String> {
    let role = account.user.get("role").and_then(Value::as_str).unwrap_or_default();
    let is_usual = role.is_empty() || role == AUTHENTICATED || role == usual_role;
    let metadata = account.user.get("raw_app_meta_data").and_then(Value::as_object);
    let is_owner = metadata.is_some_and(desk::has_owner_role);
    match (is_usual, is_owner) {
        (true, false) => None,
        (false, false) => Some(format!("the role {role:?}")),
        (true, true) => Some("the rights of an owner of the shop in app_metadata".to_owned()),
        (false, true) => Some(format!("the role {role:?} and the rights of an owner of the shop in app_metadata")),
    }
}
