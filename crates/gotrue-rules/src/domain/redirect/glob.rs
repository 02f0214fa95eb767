//! Glob patterns of the redirect allow-list.
//! The syntax is that of `gobwas/glob` with the separators `.` and `/`: `*` matches any characters except separators,
//! `**` any characters, `?` one character except a separator, `[abc]` and `[a-z]` one of these, `[!…]` any other one
//! (including separators), `{a,b}` either alternative, `\` escapes the next character. Optimizations of `gobwas/glob`
//! that match more than its syntax says are not reproduced.

use std::iter::Peekable;
use std::str::Chars;

/// A parsed pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob(Vec<Part>);

/// Why a pattern is malformed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct GlobError(&'static str);

impl Glob {
    /// Parses a pattern.
    pub fn parse(pattern: &str) -> Result<Self, GlobError> {
        let mut rest = pattern.chars().peekable();
        let parts = parse_sequence(&mut rest, 0)?;
        Ok(Self(parts))
    }

    /// Whether the pattern matches the whole text, in time proportional to the product of both lengths.
    pub fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        let mut reached = vec![false; text.len() + 1];
        reached[0] = true;
        advance_positions(&self.0, &text, reached)[text.len()]
    }

    /// Splits the pattern of a URL after scheme and authority.
    ///
    /// A wildcard at the end of the authority, with no path behind it, also stands for the rest. `None` if `://` is not
    /// spelled out, or inside of alternatives.
    pub fn split_after_authority(&self) -> Option<(Self, Self)> {
        let slash = Part::Literal('/');
        let delimiter = [Part::Literal(':'), slash.clone(), slash.clone()];
        let authority = self.0.windows(3).position(|parts| parts == delimiter)? + delimiter.len();
        let end = self.0[authority..].iter().position(|part| *part == slash).map(|length| authority + length);
        let rest = match (end, self.0.last()) {
            (Some(end), _) => self.0[end..].to_vec(),
            (None, Some(wildcard @ (Part::Segment | Part::Anything))) => vec![wildcard.clone()],
            (None, _) => Vec::new(),
        };
        Some((Self(self.0[..end.unwrap_or(self.0.len())].to_vec()), Self(rest)))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(char),
    /// `?`
    Single,
    /// `*`
    Segment,
    /// `**`
    Anything,
    Set {
        characters: Vec<char>,
        not: bool,
    },
    Range {
        low: char,
        high: char,
        not: bool,
    },
    Alternatives(Vec<Vec<Part>>),
}

fn is_separator(character: char) -> bool {
    character == '.' || character == '/'
}

impl Part {
    fn matches_char(&self, character: char) -> bool {
        match self {
            Self::Literal(wanted) => character == *wanted,
            Self::Single | Self::Segment => !is_separator(character),
            Self::Anything => true,
            Self::Set { characters: symbols, not } => symbols.contains(&character) != *not,
            Self::Range { low, high, not } => (*low..=*high).contains(&character) != *not,
            Self::Alternatives(_) => false,
        }
    }
}

/// Computes the positions reachable through the parts from the reached positions.
fn advance_positions(parts: &[Part], text: &[char], mut reached: Vec<bool>) -> Vec<bool> {
    for part in parts {
        reached = match part {
            Part::Segment | Part::Anything => {
                for at in 0..text.len() {
                    reached[at + 1] |= reached[at] && part.matches_char(text[at]);
                }
                reached
            }
            Part::Alternatives(branches) => {
                let mut joined = vec![false; reached.len()];
                for branch in branches {
                    let branch_reached = advance_positions(branch, text, reached.clone());
                    joined.iter_mut().zip(branch_reached).for_each(|(joined, reached)| *joined |= reached);
                }
                joined
            }
            _ => {
                let steps = text
                    .iter()
                    .zip(&reached)
                    .map(|(character, is_reached)| *is_reached && part.matches_char(*character));
                std::iter::once(false).chain(steps).collect()
            }
        };
    }
    reached
}

type PatternChars<'a> = Peekable<Chars<'a>>;

/// The maximum nesting of alternatives.
const MAX_DEPTH: usize = 16;

/// Parses parts up to the end, or inside alternatives up to `,` or `}`, which is not consumed.
fn parse_sequence(rest: &mut PatternChars<'_>, depth: usize) -> Result<Vec<Part>, GlobError> {
    let mut parts = Vec::new();
    while let Some(&character) = rest.peek() {
        if depth > 0 && (character == ',' || character == '}') {
            break;
        }
        rest.next();
        match character {
            '*' if rest.next_if_eq(&'*').is_some() => parts.push(Part::Anything),
            '*' => parts.push(Part::Segment),
            '?' => parts.push(Part::Single),
            '[' => parts.push(parse_bracket(rest)?),
            '{' => parts.push(parse_alternatives(rest, depth + 1)?),
            '\\' => parts.extend(rest.next().map(Part::Literal)),
            other => parts.push(Part::Literal(other)),
        }
    }
    Ok(parts)
}

/// Parses `{a,b}` after the opening brace; the closing one may be missing at the end.
fn parse_alternatives(rest: &mut PatternChars<'_>, depth: usize) -> Result<Part, GlobError> {
    if depth > MAX_DEPTH {
        return Err(GlobError("braces lie too deep in each other"));
    }
    let mut branches = vec![parse_sequence(rest, depth)?];
    while rest.next_if_eq(&',').is_some() {
        branches.push(parse_sequence(rest, depth)?);
    }
    rest.next();
    Ok(Part::Alternatives(branches))
}

/// Parses `[abc]`, `[a-z]`, `[!…]` after the opening bracket.
fn parse_bracket(rest: &mut PatternChars<'_>) -> Result<Part, GlobError> {
    const OPEN: GlobError = GlobError("a [ has no ] after it");
    let not = rest.next_if_eq(&'!').is_some();
    let mut ahead = rest.clone();
    let low = ahead.next().ok_or(OPEN)?;
    if ahead.next() == Some('-') {
        let high = ahead.next().ok_or(OPEN)?;
        *rest = ahead;
        if rest.next().ok_or(OPEN)? != ']' {
            return Err(GlobError("a range like [a-z] holds two characters only"));
        }
        if high < low {
            return Err(GlobError("a range like [a-z] goes upwards"));
        }
        return Ok(Part::Range { low, high, not });
    }
    let mut symbols = Vec::new();
    loop {
        match rest.next().ok_or(OPEN)? {
            ']' => break,
            '\\' => symbols.push(rest.next().ok_or(OPEN)?),
            other => symbols.push(other),
        }
    }
    if symbols.is_empty() {
        return Err(GlobError("there is nothing between [ and ]"));
    }
    Ok(Part::Set { characters: symbols, not })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Glob::parse(pattern).unwrap().matches(text)
    }

    #[test]
    fn patterns_match_by_syntax() {
        for (pattern, fits, fails) in [
            ("", &[""][..], &["a"][..]),
            ("a.b/c", &["a.b/c"], &["a.b/C", "a.b/cc", "axb/c"]),
            ("a*", &["a", "abc"], &["a.b", "a/", "ba"]),
            ("a**", &["a", "a.b/c"], &["ba"]),
            ("a***b", &["ab", "a/./b"], &["a/"]),
            ("a?c", &["abc", "aéc"], &["ac", "a/c", "a.c", "abbc"]),
            ("[ab]d", &["ad", "bd"], &["cd", "d", "abd"]),
            ("[!ab]d", &["cd", "/d", ".d"], &["ad", "d"]),
            ("[a-c]d", &["ad", "cd"], &["dd", "-d"]),
            ("[!a-c]d", &["dd", "/d"], &["ad"]),
            ("[a-a]", &["a"], &["b"]),
            ("[-a]", &["-", "a"], &["b"]),
            ("[abc-e]", &["-", "e"], &["d"]),
            ("[a\\]]", &["a", "]"], &["\\"]),
            ("[\\-a]", &["\\", "]", "^", "a"], &["-"]),
            ("{a,b*}c", &["ac", "bc", "bxc"], &["c", "abc", "b.c"]),
            ("{a,{b,c}d}", &["a", "bd", "cd"], &["ad", "b"]),
            ("{,a}b", &["b", "ab"], &["a"]),
            ("{a", &["a"], &["{a"]),
            ("a,b}", &["a,b}"], &["a"]),
            ("\\*\\[", &["*["], &["a["]),
            ("a\\", &["a"], &["a\\"]),
            ("a**a", &["aa", "a/a"], &["a"]),
        ] {
            for text in fits {
                assert!(matches(pattern, text), "{pattern} fits {text}");
            }
            for text in fails {
                assert!(!matches(pattern, text), "{pattern} does not fit {text}");
            }
        }
    }

    #[test]
    fn malformed_patterns_are_rejected() {
        for pattern in ["[", "[a", "[]", "[!]", "[]a]", "[a-", "[a-z", "[a-zA-Z]", "[z-a]", "a[\\", &"{".repeat(17)] {
            assert!(Glob::parse(pattern).is_err(), "{pattern}");
        }
        assert!(Glob::parse(&"{".repeat(16)).is_ok());
    }

    #[test]
    fn long_pattern_on_long_text_terminates() {
        assert!(!matches(&"*a".repeat(200), &"a".repeat(20_000).replace("aaaa", "aa/a")));
    }

    proptest! {
        #[test]
        fn arbitrary_patterns_do_not_panic(pattern in r"[ab*?!\-\[\]{},\\/.]{0,20}", text in "[ab/.]{0,12}") {
            if let Ok(glob) = Glob::parse(&pattern) {
                let _ = glob.matches(&text);
            }
        }

        #[test]
        fn escaped_text_matches_only_itself(text in any::<String>(), other in any::<String>()) {
            let quoted: String = text.chars().flat_map(|character| ['\\', character]).collect();
            prop_assert!(matches(&quoted, &text));
            prop_assert_eq!(matches(&quoted, &other), text == other);
        }
    }
}
