//! Scopes: what a client may be told of somebody.

/// Asks for an ID token.
pub const OPENID: &str = "openid";
/// Name, picture and the like.
pub const PROFILE: &str = "profile";
/// The address.
pub const EMAIL: &str = "email";
/// The number.
pub const PHONE: &str = "phone";
/// Access while nobody is there; known, and without effect.
pub const OFFLINE_ACCESS: &str = "offline_access";

/// All that are known, in the order in which they are told.
pub const SUPPORTED: [&str; 5] = [OPENID, PROFILE, EMAIL, PHONE, OFFLINE_ACCESS];

/// The scopes of a list with blanks between them.
pub fn list(text: &str) -> impl Iterator<Item = &str> {
    text.trim().split(' ').map(str::trim).filter(|scope| !scope.is_empty())
}

/// Whether the list holds that scope.
pub fn holds(text: &str, scope: &str) -> bool {
    list(text).any(|it| it == scope)
}

/// Whether everything asked for was granted before.
pub fn covers(granted: &str, asked: &str) -> bool {
    list(asked).all(|scope| holds(granted, scope))
}

/// Whether a client may ask for that, else what is wrong.
pub fn check(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err("scope parameter is required".to_owned());
    }
    if list(text).next().is_none() {
        return Err("scope parameter cannot be empty".to_owned());
    }
    match list(text).find(|scope| !SUPPORTED.contains(scope)) {
        Some(unknown) => Err(format!("unsupported scope: {unknown}")),
        None => Ok(()),
    }
}

/// The list with each scope once and one blank between two: what is remembered of a consent.
pub fn once(text: &str) -> String {
    let mut scopes: Vec<&str> = Vec::new();
    for scope in list(text) {
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
    fn what_may_be_asked_for() {
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
            assert_eq!(check(text).err().unwrap_or_default(), complaint, "{text:?}");
        }
    }

    #[test]
    fn a_consent_covers_what_it_holds_and_no_more() {
        for (granted, asked, is_covered) in [
            ("email profile", "email", true),
            ("email profile", "profile email", true),
            ("email", "email email", true),
            ("email", "email profile", false),
            ("", "email", false),
            ("emails", "email", false),
            ("openid", "open", false),
        ] {
            assert_eq!(covers(granted, asked), is_covered, "{granted} / {asked}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic_and_each_scope_stays(text in any::<String>(), other in any::<String>()) {
            let _ = (check(&text), covers(&text, &other));
            let kept = once(&text);
            prop_assert!(covers(&kept, &text) && covers(&text, &kept));
            prop_assert_eq!(once(&kept), kept);
        }

        #[test]
        fn more_is_never_covered_by_less(
            granted in prop::sample::subsequence(SUPPORTED.to_vec(), 0..5),
            asked in prop::sample::subsequence(SUPPORTED.to_vec(), 1..5),
        ) {
            let is_covered = covers(&granted.join(" "), &asked.join(" "));
            prop_assert_eq!(is_covered, asked.iter().all(|scope| granted.contains(scope)));
        }
    }
}
