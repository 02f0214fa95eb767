//! OAuth scopes.

use crate::domain::policy::OAuthServerPolicy;

/// Requests an ID token.
pub const OPENID: &str = "openid";
/// Name, picture and other profile claims.
pub const PROFILE: &str = "profile";
/// The e-mail address.
pub const EMAIL: &str = "email";
/// The phone number.
pub const PHONE: &str = "phone";
/// Offline access; accepted without effect.
pub const OFFLINE_ACCESS: &str = "offline_access";

/// All supported scopes, in the order of the metadata document.
pub const SUPPORTED: [&str; 5] = [OPENID, PROFILE, EMAIL, PHONE, OFFLINE_ACCESS];

/// The scopes of services, each of which opens its service to the client's access token, after those of the user.
///
/// They have the names of the paths `/functions/v1`, `/rest/v1`, `/graphql/v1`, `/storage/v1` and `/realtime/v1`.
pub const SERVICES: [&str; 5] = ["functions", "rest", "graphql", "storage", "realtime"];
/// All scopes with those of services, in the order of the metadata document.
pub const SUPPORTED_WITH_SERVICES: [&str; 10] =
    [OPENID, PROFILE, EMAIL, PHONE, OFFLINE_ACCESS, "functions", "rest", "graphql", "storage", "realtime"];

/// Returns the scopes that a client may request.
pub fn list_supported(policy: &OAuthServerPolicy) -> &'static [&'static str] {
    if policy.has_service_scopes { &SUPPORTED_WITH_SERVICES } else { &SUPPORTED }
}

/// Splits a space-separated list.
pub fn split_scopes(text: &str) -> impl Iterator<Item = &str> {
    text.trim().split(' ').map(str::trim).filter(|scope| !scope.is_empty())
}

/// Whether the list contains the scope.
pub fn contains_scope(text: &str, scope: &str) -> bool {
    split_scopes(text).any(|granted| granted == scope)
}

/// Whether an earlier grant includes all requested scopes.
pub fn covers(granted: &str, requested: &str) -> bool {
    split_scopes(requested).all(|scope| contains_scope(granted, scope))
}

/// Validates a requested scope list; the error describes the problem.
pub fn validate_scopes(text: &str, policy: &OAuthServerPolicy) -> Result<(), String> {
    if text.is_empty() {
        return Err("scope parameter is required".to_owned());
    }
    if split_scopes(text).next().is_none() {
        return Err("scope parameter cannot be empty".to_owned());
    }
    match split_scopes(text).find(|scope| !list_supported(policy).contains(scope)) {
        Some(unknown) => Err(format!("unsupported scope: {unknown}")),
        None => Ok(()),
    }
}

/// Normalizes a list for a stored consent: each scope once, separated by one space.
pub fn normalize_scopes(text: &str) -> String {
    let mut scopes: Vec<&str> = Vec::new();
    for scope in split_scopes(text) {
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    scopes.join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn scope_lists_are_validated() {
        for (text, complaint) in [
            ("email", ""),
            ("openid  email profile phone offline_access", ""),
            (" email ", ""),
            ("email email", ""),
            ("", "scope parameter is required"),
            (" ", "scope parameter cannot be empty"),
            ("email admin", "unsupported scope: admin"),
            ("Email", "unsupported scope: Email"),
            ("email,profile", "unsupported scope: email,profile"),
            ("email\tprofile", "unsupported scope: email\tprofile"),
        ] {
            assert_eq!(
                validate_scopes(text, &OAuthServerPolicy::default()).err().unwrap_or_default(),
                complaint,
                "{text:?}"
            );
        }
    }

    #[test]
    fn consent_covers_exactly_its_scopes() {
        for (granted, requested, is_covered) in [
            ("email profile", "email", true),
            ("email profile", "profile email", true),
            ("email", "email email", true),
            ("email", "email profile", false),
            ("", "email", false),
            ("emails", "email", false),
            ("openid", "open", false),
        ] {
            assert_eq!(covers(granted, requested), is_covered, "{granted} / {requested}");
        }
    }

    proptest! {
        #[test]
        fn normalize_keeps_every_scope(text in any::<String>(), other in any::<String>()) {
            let _ = (validate_scopes(&text, &OAuthServerPolicy::default()), covers(&text, &other));
            let kept = normalize_scopes(&text);
            prop_assert!(covers(&kept, &text) && covers(&text, &kept));
            prop_assert_eq!(normalize_scopes(&kept), kept);
        }

        #[test]
        fn superset_is_not_covered_by_subset(
            granted in prop::sample::subsequence(SUPPORTED.to_vec(), 0..5),
            requested in prop::sample::subsequence(SUPPORTED.to_vec(), 1..5),
        ) {
            let is_covered = covers(&granted.join(" "), &requested.join(" "));
            prop_assert_eq!(is_covered, requested.iter().all(|scope| granted.contains(scope)));
        }
    }
}
