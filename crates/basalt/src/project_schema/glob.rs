//! Patterns of file names: `*`, `?` and `[a-z]` within a part of a path, as in Go's `path.Match`.

use std::fs;
use std::path::{Component, Path, PathBuf};

use glob::Pattern;

/// Returns the files below `folder` that match the pattern, by name.
pub(super) fn find_files(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    for part in Path::new(pattern).components() {
        found = match part {
            Component::Normal(part) => match part.to_str() {
                Some(part) if part.contains(['*', '?', '[', '\\']) => {
                    found.iter().flat_map(|folder| list_matches(folder, part)).collect()
                }
                _ => found.iter().map(|folder| folder.join(part)).collect(),
            },
            Component::CurDir => found,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                found.iter().map(|folder| folder.join(part)).collect()
            }
        };
    }
    found.retain(|path| path.is_file());
    found.sort();
    found
}

fn list_matches(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let Some(pattern) = parse_pattern(pattern) else { return Vec::new() };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_match =
        |path: &PathBuf| path.file_name().and_then(|name| name.to_str()).is_some_and(|name| pattern.matches(name));
    entries.map(|entry| entry.path()).filter(is_match).collect()
}

/// Parses a pattern of Go: `\\` escapes, `^` negates a class, and `**` is `*`.
fn parse_pattern(text: &str) -> Option<Pattern> {
    let mut pattern = String::new();
    let mut is_in_class = false;
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\\' if !is_in_class => pattern += &Pattern::escape(&rest.next().unwrap_or('\\').to_string()),
            '*' if !is_in_class && pattern.ends_with('*') => {}
            '[' if !is_in_class => {
                is_in_class = true;
                pattern.push('[');
                if rest.next_if_eq(&'^').is_some() {
                    pattern.push('!');
                } else if rest.peek() == Some(&'!') {
                    // The `!` is a member; no name contains the one before it.
                    pattern.push('\0');
                }
                pattern.extend(rest.next());
            }
            _ => {
                is_in_class &= character != ']';
                pattern.push(character);
            }
        }
    }
    Pattern::new(&pattern).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        parse_pattern(pattern).is_some_and(|pattern| pattern.matches(name))
    }

    #[test]
    fn patterns_match_names() {
        for (pattern, name) in [
            ("*.sql", "seed.sql"),
            ("seed*", "seed"),
            ("*a*b", "xaxxb"),
            ("0?_[a-c]*.sql", "01_base.sql"),
            ("[^a]", "b"),
            ("\\*", "*"),
            ("**", "seed"),
            ("a**b", "ab"),
            ("[]a]", "]"),
            ("[^]a]", "b"),
            ("[!a]", "!"),
            ("[\\a]", "\\"),
            ("\\", "\\"),
            ("[*]?", "*a"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("*.sql", "seed.sq"),
            ("?", ""),
            ("[a-c]", "d"),
            ("[^a]", "a"),
            ("[", "["),
            ("a", "ab"),
            ("\\*", "a"),
            ("[!a]", "b"),
            ("[^]a]", "]"),
            ("[]", "]"),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_patterns_do_not_panic(pattern in "[a-c*?\\[\\]^\\\\-]{0,12}", name in "[a-c]{0,9}") {
            let _ = matches(&pattern, &name);
        }

        #[test]
        fn literal_names_match_themselves(name in "[a-z0-9_.]{0,12}", other in "[a-z0-9_.]{0,12}") {
            prop_assert_eq!(matches(&name, &other), name == other);
            let (pattern, longer) = (format!("*{name}*"), [other.as_str(), &name, &other].concat());
            prop_assert!(matches(&pattern, &longer));
        }
    }
}
