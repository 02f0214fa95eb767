//! Patterns of file names: `*`, `?` and `[a-z]` within a part of a path, as in Go's `path.Match`.

use std::fs;
use std::path::{Component, Path, PathBuf};

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
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_match = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| {
            let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
            matches_pattern(&pattern, &name)
        })
    };
    entries.map(|entry| entry.path()).filter(is_match).collect()
}

/// Matches with one position to return to, which suffices because `*` may match any length.
fn matches_pattern(pattern: &[char], name: &[char]) -> bool {
    let (mut at, mut in_name) = (0, 0);
    let mut after_star: Option<(usize, usize)> = None;
    while in_name < name.len() {
        if pattern.get(at) == Some(&'*') {
            after_star = Some((at + 1, in_name));
            at += 1;
        } else if let Some(length) = match_one(&pattern[at..], name[in_name]) {
            (at, in_name) = (at + length, in_name + 1);
        } else if let Some((pattern_again, name_again)) = after_star {
            after_star = Some((pattern_again, name_again + 1));
            (at, in_name) = (pattern_again, name_again + 1);
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|rest| *rest == '*')
}

/// Returns the length of the part of the pattern that matches the character.
fn match_one(pattern: &[char], character: char) -> Option<usize> {
    match pattern {
        ['?', ..] => Some(1),
        ['[', class @ ..] => match_class(class, character).map(|length| length + 1),
        ['\\', escaped, ..] => (*escaped == character).then_some(2),
        [literal, ..] => (*literal == character).then_some(1),
        [] => None,
    }
}

/// Returns the length of the class after its `[`, if the character is in it.
fn match_class(class: &[char], character: char) -> Option<usize> {
    let (is_negated, members) = match class {
        ['^', members @ ..] => (true, members),
        members => (false, members),
    };
    let end = members.iter().skip(1).position(|member| *member == ']')? + 1;
    let mut rest = &members[..end];
    let mut is_member = false;
    while let Some(first) = rest.first() {
        let (last, length) = match rest {
            [_, '-', last, ..] => (last, 3),
            _ => (first, 1),
        };
        is_member |= (*first..=*last).contains(&character);
        rest = &rest[length..];
    }
    (is_member != is_negated).then_some(usize::from(is_negated) + end + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
        matches_pattern(&pattern, &name)
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
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("*.sql", "seed.sq"), ("?", ""), ("[a-c]", "d"), ("[^a]", "a"), ("[", "["), ("a", "ab")]
        {
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
