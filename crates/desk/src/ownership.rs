//! Who may use the desk.

use foundation::time::Time;
use gotrue_rules::domain::ban::{BannedAttempt, require_not_banned};
use gotrue_rules::domain::user::User;
use serde_json::{Map, Value};

/// The role of an owner in `app_metadata`, which only administrators change.
const OWNER: &str = "owner";

/// Whether `app_metadata` names the role `owner`: as `role`, or in the list `roles`.
pub fn has_owner_role(app_metadata: &Map<String, Value>) -> bool {
    let is_listed = |roles: &Vec<Value>| roles.iter().any(|role| role == OWNER);
    app_metadata.get("role").is_some_and(|role| role == OWNER)
        || app_metadata.get("roles").and_then(Value::as_array).is_some_and(is_listed)
}

/// Whether the user may use the desk now.
///
/// The claim `role` of a token, which is the column `role` of the user, has no part in it.
pub(crate) fn is_admitted(user: &User, now: Time) -> bool {
    has_owner_role(&user.app_metadata)
        && !user.is_anonymous
        && user.deleted_at.is_none()
        && require_not_banned(user, BannedAttempt::Access, now).is_ok()
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use serde_json::json;

    use super::*;

    fn user(app_metadata: &Value) -> User {
        User { app_metadata: app_metadata.as_object().cloned().unwrap_or_default(), ..User::default() }
    }

    #[test]
    fn role_is_read_from_app_metadata_alone() {
        let now = Time::UNIX_EPOCH;
        let cases = [
            (json!({"role": "owner"}), true),
            (json!({"roles": ["editor", "owner"]}), true),
            (json!({"role": "editor", "roles": ["owner"]}), true),
            (json!({"role": "Owner"}), false),
            (json!({"roles": "owner"}), false),
            (json!({"roles": {"owner": true}}), false),
            (json!({"role": ["owner"]}), false),
            (json!({"provider": "owner"}), false),
            (json!({}), false),
        ];
        for (app_metadata, expected) in cases {
            assert_eq!(is_admitted(&user(&app_metadata), now), expected, "{app_metadata}");
        }
        let claims =
            User { role: OWNER.into(), user_metadata: user(&json!({"role": "owner"})).app_metadata, ..User::default() };
        assert!(!is_admitted(&claims, now));
    }

    #[test]
    fn banned_deleted_and_anonymous_users_are_not_admitted() {
        let now = Time::UNIX_EPOCH;
        let owner = user(&json!({"role": "owner"}));
        let later = Some(now + TimeDelta::seconds(1));
        for refused in [
            User { banned_until: later, ..owner.clone() },
            User { deleted_at: Some(now), ..owner.clone() },
            User { is_anonymous: true, ..owner.clone() },
        ] {
            assert!(!is_admitted(&refused, now));
        }
        assert!(is_admitted(&User { banned_until: Some(now), ..owner }, now));
    }
}
