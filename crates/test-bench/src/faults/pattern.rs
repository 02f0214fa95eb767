//! Patterns of request paths: `*` stands for any characters.

/// The longest pattern, in bytes.
pub(super) const MAX_PATTERN: usize = 1024;

/// A pattern of a path. If it contains `?`, it is compared with path and query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathPattern(String);

impl PathPattern {
    /// Parses a pattern, which starts with `/` or `*`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let is_valid = text.starts_with(['/', '*']) && text.len() <= MAX_PATTERN;
        is_valid.then(|| Self(text.to_owned()))
    }

    /// Whether the pattern matches a path, which may have a query.
    pub(super) fn matches(&self, path_and_query: &str) -> bool {
        let path = path_and_query.split('?').next().unwrap_or_default();
        matches_text(&self.0, if self.0.contains('?') { path_and_query } else { path })
    }
}

/// Compares the parts between the `*` one after the other; the first and the last are at the ends.
fn matches_text(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*').filter(|part| !part.is_empty()) {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    text.ends_with(last)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paths_match_by_their_parts() {
        for (pattern, path, expected) in [
            ("/auth/v1/token", "/auth/v1/token", true),
            ("/auth/v1/token", "/auth/v1/token?grant_type=password", true),
            ("/auth/v1/token", "/auth/v1/token/x", false),
            ("/auth/v1/token?grant_type=password", "/auth/v1/token?grant_type=password", true),
            ("/auth/v1/token?grant_type=password", "/auth/v1/token?grant_type=refresh_token", false),
            ("/auth/v1/token?*refresh*", "/auth/v1/token?grant_type=refresh_token", true),
            ("/auth/v1/*", "/auth/v1/user", true),
            ("/auth/v1/*", "/functions/v1/user", false),
            ("*/user", "/auth/v1/user", true),
            ("*/factors/*/verify", "/auth/v1/factors/7/verify", true),
            ("*/factors/*/verify", "/auth/v1/factors/verify", false),
            ("*", "/anything", true),
            ("/a*a", "/a", false),
        ] {
            assert_eq!(PathPattern::parse(pattern).unwrap().matches(path), expected, "{pattern} {path}");
        }
        assert_eq!(PathPattern::parse("auth"), None);
        assert_eq!(PathPattern::parse(&"/".repeat(MAX_PATTERN + 1)), None);
    }

    proptest! {
        #[test]
        fn pattern_of_the_parts_matches(parts in prop::collection::vec("[a-z/]{0,5}", 1..5), filled in "[a-z/]{0,5}") {
            let pattern = PathPattern(parts.join("*"));
            prop_assert!(pattern.matches(&parts.join(&filled)));
        }

        #[test]
        fn any_pattern_matches_or_does_not(pattern in "[/*?a]{0,12}", path in "[/?a\\PC]{0,12}") {
            let all = PathPattern::parse("*").is_some_and(|all| all.matches(&path));
            prop_assert!(all);
            PathPattern(pattern).matches(&path);
        }
    }
}
