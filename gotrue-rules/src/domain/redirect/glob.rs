//! Glob patterns of the redirect allow-list: the syntax of `gobwas/glob` with the separators `.` and `/`.
//!
//! `*` is a run of characters other than separators, `**` of any characters, `?` one that is no separator, `[abc]`
//! and `[a-z]` one of these, `[!…]` one of the others (separators too), `{a,b}` either, `\` takes the next character
//! as it is. Where the library's shortcuts match more than the syntax says, this one does not.

use std::iter::Peekable;
use std::str::Chars;

/// A pattern, ready to match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob(Vec<Part>);

/// Why a pattern cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(&'static str);

impl Glob {
    /// Reads a pattern.
    pub fn parse(pattern: &str) -> Result<Self, Malformed> {
        let mut rest = pattern.chars().peekable();
        let parts = sequence(&mut rest, 0)?;
        Ok(Self(parts))
    }

    /// Whether the pattern fits the whole text. Takes time in proportion to both lengths, never more.
    pub fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        let mut reached = vec![false; text.len() + 1];
        reached[0] = true;
        advance(&self.0, &text, reached)[text.len()]
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Letter(char),
    /// `?`
    Single,
    /// `*`
    Run,
    /// `**`
    Anything,
    List {
        letters: Vec<char>,
        not: bool,
    },
    Range {
        low: char,
        high: char,
        not: bool,
    },
    Either(Vec<Vec<Part>>),
}

fn is_separator(letter: char) -> bool {
    letter == '.' || letter == '/'
}

impl Part {
    fn fits(&self, letter: char) -> bool {
        match self {
            Self::Letter(wanted) => letter == *wanted,
            Self::Single | Self::Run => !is_separator(letter),
            Self::Anything => true,
            Self::List { letters, not } => letters.contains(&letter) != *not,
            Self::Range { low, high, not } => (*low..=*high).contains(&letter) != *not,
            Self::Either(_) => false,
        }
    }
}

/// From all the places reached so far, all the places that the parts lead to.
fn advance(parts: &[Part], text: &[char], mut reached: Vec<bool>) -> Vec<bool> {
    for part in parts {
        reached = match part {
            Part::Run | Part::Anything => {
                for at in 0..text.len() {
                    reached[at + 1] |= reached[at] && part.fits(text[at]);
                }
                reached
            }
            Part::Either(branches) => {
                let mut joined = vec![false; reached.len()];
                for branch in branches {
                    let led = advance(branch, text, reached.clone());
                    joined.iter_mut().zip(led).for_each(|(place, led)| *place |= led);
                }
                joined
            }
            _ => {
                let steps = text.iter().zip(&reached).map(|(letter, here)| *here && part.fits(*letter));
                std::iter::once(false).chain(steps).collect()
            }
        };
    }
    reached
}

type Rest<'a> = Peekable<Chars<'a>>;

/// Deeper alternatives than this are a mistake, not a pattern.
const MAX_DEPTH: usize = 16;

/// Parts up to the end, or inside alternatives up to `,` or `}`, which is left alone.
fn sequence(rest: &mut Rest<'_>, depth: usize) -> Result<Vec<Part>, Malformed> {
    let mut parts = Vec::new();
    while let Some(&letter) = rest.peek() {
        if depth > 0 && (letter == ',' || letter == '}') {
            break;
        }
        rest.next();
        match letter {
            '*' if rest.next_if_eq(&'*').is_some() => parts.push(Part::Anything),
            '*' => parts.push(Part::Run),
            '?' => parts.push(Part::Single),
            '[' => parts.push(bracket(rest)?),
            '{' => parts.push(alternatives(rest, depth + 1)?),
            '\\' => parts.extend(rest.next().map(Part::Letter)),
            other => parts.push(Part::Letter(other)),
        }
    }
    Ok(parts)
}

/// `{a,b}`; the opening brace is behind us, the closing one may be missing at the end.
fn alternatives(rest: &mut Rest<'_>, depth: usize) -> Result<Part, Malformed> {
    if depth > MAX_DEPTH {
        return Err(Malformed("braces lie too deep in each other"));
    }
    let mut branches = vec![sequence(rest, depth)?];
    while rest.next_if_eq(&',').is_some() {
        branches.push(sequence(rest, depth)?);
    }
    rest.next();
    Ok(Part::Either(branches))
}

/// `[abc]`, `[a-z]`, `[!…]`; the opening bracket is behind us.
fn bracket(rest: &mut Rest<'_>) -> Result<Part, Malformed> {
    const OPEN: Malformed = Malformed("a [ has no ] after it");
    let not = rest.next_if_eq(&'!').is_some();
    let mut ahead = rest.clone();
    let low = ahead.next().ok_or(OPEN)?;
    if ahead.next() == Some('-') {
        let high = ahead.next().ok_or(OPEN)?;
        *rest = ahead;
        if rest.next().ok_or(OPEN)? != ']' {
            return Err(Malformed("a range like [a-z] holds two characters only"));
        }
        if high < low {
            return Err(Malformed("a range like [a-z] goes upwards"));
        }
        return Ok(Part::Range { low, high, not });
    }
    let mut letters = Vec::new();
    loop {
        match rest.next().ok_or(OPEN)? {
            ']' => break,
            '\\' => letters.push(rest.next().ok_or(OPEN)?),
            other => letters.push(other),
        }
    }
    if letters.is_empty() {
        return Err(Malformed("there is nothing between [ and ]"));
    }
    Ok(Part::List { letters, not })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Glob::parse(pattern).unwrap().matches(text)
    }

    #[test]
    fn patterns_match_as_their_syntax_says() {
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
    fn malformed_patterns_are_told() {
        for pattern in ["[", "[a", "[]", "[!]", "[]a]", "[a-", "[a-z", "[a-zA-Z]", "[z-a]", "a[\\", &"{".repeat(17)] {
            assert!(Glob::parse(pattern).is_err(), "{pattern}");
        }
        assert!(Glob::parse(&"{".repeat(16)).is_ok());
    }

    #[test]
    fn a_long_pattern_on_a_long_text_ends() {
        assert!(!matches(&"*a".repeat(200), &"a".repeat(20_000).replace("aaaa", "aa/a")));
    }

    proptest! {
        #[test]
        fn no_pattern_makes_it_panic(pattern in r"[ab*?!\-\[\]{},\\/.]{0,20}", text in "[ab/.]{0,12}") {
            if let Ok(glob) = Glob::parse(&pattern) {
                let _ = glob.matches(&text);
            }
        }

        #[test]
        fn a_quoted_text_matches_itself_alone(text in any::<String>(), other in any::<String>()) {
            let quoted: String = text.chars().flat_map(|letter| ['\\', letter]).collect();
            prop_assert!(matches(&quoted, &text));
            prop_assert_eq!(matches(&quoted, &other), text == other);
        }
    }
}
