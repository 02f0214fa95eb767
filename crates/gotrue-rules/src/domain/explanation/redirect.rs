//! Explains why a redirect target is not used.

use foundation::explanation::DecisionRecord;

use crate::domain::redirect::AllowList;

/// The longest part of a target that is logged, in characters.
const MAX_SHOWN: usize = 200;

/// Explains a requested target that is not allowed; `None` if it is allowed or empty.
pub fn explain_target(allow_list: &AllowList, requested: &str) -> Option<DecisionRecord> {
    if requested.is_empty() || allow_list.allows(requested) {
        return None;
    }
    let shown = show_target(requested);
    let record = DecisionRecord::adjusted(
        "redirect.not_listed",
        "The redirect target is neither below the site URL nor in the allow list, so the site URL is used.",
    )
    .with_setting("GOTRUE_URI_ALLOW_LIST")
    .with_input("requested", shown.clone())
    .with_input("site_url", allow_list.site_url())
    .with_input("allow_list", allow_list.patterns().map(str::to_owned).collect::<Vec<_>>());
    let record = match find_entry(allow_list, requested, &shown) {
        Some(entry) => record
            .with_input("entry_to_add", entry.clone())
            .with_remedy(format!("Add \"{entry}\" to {{setting}}, or send a target that is listed.")),
        None => record.with_remedy(
            "No entry can allow this target. Send an absolute URL with a host name and without user information.",
        ),
    };
    Some(record.with_value(shown))
}

/// Returns the target without user information, query and fragment, which may contain secrets.
fn show_target(target: &str) -> String {
    let end = target.find(['?', '#']).unwrap_or(target.len());
    let shown: String = target[..end].chars().filter(|character| !character.is_control()).take(MAX_SHOWN).collect();
    let Some((scheme, rest)) = shown.split_once("://") else { return shown };
    let authority_end = rest.find('/').unwrap_or(rest.len());
    match rest[..authority_end].rfind('@') {
        Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
        None => shown,
    }
}

/// Returns the narrowest entry that allows the target: the target itself, else everything on its host.
fn find_entry(allow_list: &AllowList, requested: &str, shown: &str) -> Option<String> {
    let (scheme, rest) = shown.split_once("://")?;
    let host = rest.split('/').next().unwrap_or_default();
    let is_plain = |text: &str| !text.contains(['*', '?', '[', ']', '{', '}', '\\', ',', '!']);
    let entries =
        [shown.to_owned(), format!("{shown}**"), format!("{scheme}://{host}/**"), format!("{scheme}://{host}**")];
    entries.into_iter().find(|entry| {
        is_plain(&entry.replace("**", ""))
            && allow_list.clone().with_pattern(entry).is_some_and(|extended| extended.allows(requested))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn list(is_strict: bool) -> AllowList {
        let patterns = ["https://app.example.com/**".to_owned()];
        AllowList::compile("https://shop.example.com", &patterns).unwrap().with_strict(is_strict)
    }

    fn entry(requested: &str) -> Option<String> {
        let record = explain_target(&list(true), requested)?;
        let entry = record.inputs.iter().find(|(name, _)| *name == "entry_to_add");
        entry.map(|(_, value)| value.as_str().unwrap_or_default().to_owned())
    }

    #[test]
    fn allowed_target_needs_no_explanation() {
        for target in ["", "https://shop.example.com/x", "https://app.example.com/y?z"] {
            assert_eq!(explain_target(&list(true), target), None, "{target}");
        }
    }

    #[test]
    fn entry_to_add_is_the_narrowest_one() {
        for (target, expected) in [
            ("https://other.example.com/welcome", Some("https://other.example.com/welcome")),
            ("https://other.example.com/welcome?a=b", Some("https://other.example.com/welcome**")),
            ("http://shop.example.com:8080/x#y", Some("http://shop.example.com:8080/x")),
            ("https://other.example.com/a,b", Some("https://other.example.com/**")),
            ("myapp://login", Some("myapp://login")),
            ("https://ann:secret@other.example.com/", None),
            ("javascript:alert(1)", None),
            ("/welcome", None),
        ] {
            assert_eq!(entry(target).as_deref(), expected, "{target}");
        }
    }

    #[test]
    fn value_has_no_query_and_no_user_information() {
        let record = explain_target(&list(true), "https://ann:secret@other.example.com/a?token=secret#secret").unwrap();
        assert_eq!(record.value.as_deref(), Some("https://other.example.com/a"));
        assert!(!format!("{record:?}").contains("secret"), "{record:?}");
    }

    proptest! {
        #[test]
        fn named_entry_allows_the_target(target in "(https?|myapp)://[a-z.@:0-9]{0,12}(/[a-z*?,{}\\[\\]#!]{0,8}){0,2}", strict: bool) {
            let list = list(strict);
            if let Some(record) = explain_target(&list, &target)
                && let Some((_, entry)) = record.inputs.iter().find(|(name, _)| *name == "entry_to_add")
            {
                let entry = entry.as_str().unwrap_or_default();
                prop_assert!(list.with_pattern(entry).is_some_and(|list| list.allows(&target)), "{entry} {target}");
            }
        }
    }
}
