//! Patterns of request paths: `*` stands for any characters.

use wildmatch::WildMatchPattern;

/// The longest pattern, in bytes.
pub(super) const MAX_PATTERN: usize = 1024;

/// A pattern of a path. If it contains `?`, it is compared with path and query.
///
/// No path contains NUL, which is therefore the sign for one character.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PathPattern(WildMatchPattern<'*', '\0'>);

impl PathPattern {
    /// Parses a pattern, which starts with `/` or `*`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let is_valid = text.starts_with(['/', '*']) && text.len() <= MAX_PATTERN;
        is_valid.then(|| Self(WildMatchPattern::new(text)))
    }

    /// Whether the pattern matches a path, which may have a query.
    pub(super) fn matches(&self, path_and_query: &str) -> bool {
        let path = path_and_query.split('?').next().unwrap_or_default();
        self.0.matches(if self.0.pattern_chars().contains(&'?') { path_and_query } else { path })
    }
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
            let pattern = PathPattern(WildMatchPattern::new(&parts.join("*")));
            prop_assert!(pattern.matches(&parts.join(&filled)));
        }

        #[test]
        fn any_pattern_matches_or_does_not(pattern in "[/*?a]{0,12}", path in "[/?a\\PC]{0,12}") {
            let all = PathPattern::parse("*").is_some_and(|all| all.matches(&path));
            prop_assert!(all);
            PathPattern(WildMatchPattern::new(&pattern)).matches(&path);
        }
    }
}
