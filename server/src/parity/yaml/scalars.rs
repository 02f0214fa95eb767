//! Texts of YAML: escapes and folded lines. The tests of the parser are here, too.

use std::iter::Peekable;
use std::str::CharIndices;

/// Folds the lines of a text: one line break becomes a space, further ones stay.
pub(super) fn fold_lines(text: &str) -> String {
    if !text.contains('\n') {
        return text.to_owned();
    }
    let mut folded = String::with_capacity(text.len());
    let mut breaks = 0;
    for (number, line) in text.split('\n').enumerate() {
        let line = if number == 0 { line.trim_end() } else { line.trim() };
        if line.is_empty() && number > 0 {
            breaks += 1;
            continue;
        }
        if number > 0 {
            if breaks == 0 {
                folded.push(' ');
            } else {
                folded.extend(std::iter::repeat_n('\n', breaks));
            }
        }
        breaks = 0;
        folded.push_str(line);
    }
    folded
}

/// Folds the line break that was just read within quotes, and those after it.
pub(super) fn fold_break(characters: &mut Peekable<std::iter::Skip<CharIndices<'_>>>, text: &mut String) {
    text.truncate(text.trim_end_matches([' ', '\t', '\r']).len());
    let mut breaks = 0;
    while let Some((_, next)) = characters.next_if(|(_, next)| next.is_ascii_whitespace()) {
        breaks += usize::from(next == '\n');
    }
    if breaks == 0 {
        text.push(' ');
    } else {
        text.extend(std::iter::repeat_n('\n', breaks));
    }
}

/// Parses what follows a backslash in double quotes.
pub(super) fn parse_escape(
    characters: &mut Peekable<std::iter::Skip<CharIndices<'_>>>,
    text: &mut String,
) -> Result<(), &'static str> {
    let escaped = characters.next().map(|(_, character)| character);
    let digits = match escaped.ok_or("a quote is opened here that is never closed")? {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        '\n' => {
            while characters.next_if(|(_, next)| *next == ' ' || *next == '\t').is_some() {}
            return Ok(());
        }
        other => {
            text.push(unescape(other));
            return Ok(());
        }
    };
    let mut code = 0;
    for _ in 0..digits {
        let digit = characters.next().and_then(|(_, character)| character.to_digit(16));
        code = code * 16 + digit.ok_or("an escape has digits that are not hexadecimal")?;
    }
    text.push(char::from_u32(code).ok_or("an escape is not a character")?);
    Ok(())
}

fn unescape(character: char) -> char {
    match character {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        '0' => '\0',
        'e' => '\u{1b}',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::super::{Yaml, parse};

    fn text(value: &str) -> Yaml {
        Yaml::Text(value.to_owned())
    }

    fn map(entries: &[(&str, Yaml)]) -> Yaml {
        Yaml::Map(entries.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect())
    }

    #[test]
    fn maps_lists_and_scalars_are_parsed() {
        let source = "# a comment\n---\nname: shop # another\nservices:\n  auth:\n    image: 'it''s'\n    ports:\n    - \"9999:9999\"\n    \
                      - 80\n    test: [ \"CMD\", wget, # why\n      'a b' ]\n    url: http://a:1/#x\n    empty:\n    none: ~\nlast: \"a\\tb\"\n";
        let auth = map(&[
            ("image", text("it's")),
            ("ports", Yaml::List(vec![text("9999:9999"), text("80")])),
            ("test", Yaml::List(vec![text("CMD"), text("wget"), text("a b")])),
            ("url", text("http://a:1/#x")),
            ("empty", Yaml::Null),
            ("none", Yaml::Null),
        ]);
        let expected = map(&[("name", text("shop")), ("services", map(&[("auth", auth)])), ("last", text("a\tb"))]);
        assert_eq!(parse(source), Ok(expected));
    }

    #[test]
    fn anchors_are_merged_and_blocks_have_their_lines() {
        let source = "x: &base\n  a: 1\n  b: 2\ny:\n  <<: *base\n  b: 3\nz: |\n  one\n    two\n\nw: >-\n  one\n  two\n\n  three\nv: {a: 1, \"b\": [x, {c: d}]}\n\
                      u:\n  - k: 1\n    l: 2\n  -\n    m: 3\nplain: one\n  two\n";
        let value = parse(source).expect("valid");
        assert_eq!(value.get("y"), Some(&map(&[("b", text("3")), ("a", text("1"))])));
        assert_eq!(value.get("z"), Some(&text("one\n  two\n")));
        assert_eq!(value.get("w"), Some(&text("one two\nthree")));
        let inner = Yaml::List(vec![text("x"), map(&[("c", text("d"))])]);
        assert_eq!(value.get("v"), Some(&map(&[("a", text("1")), ("b", inner)])));
        let items = vec![map(&[("k", text("1")), ("l", text("2"))]), map(&[("m", text("3"))])];
        assert_eq!(value.get("u"), Some(&Yaml::List(items)));
        assert_eq!(value.get("plain"), Some(&text("one two")));
    }

    #[test]
    fn invalid_texts_are_refused_with_their_line() {
        for (source, line) in [
            ("a: 1\n\tb: 2\n", 2),
            ("a: \"x\n", 1),
            ("a: [1, 2\n", 2),
            ("a: *b\n", 1),
            ("a: 1\nb\n", 2),
            ("? a\n: b\n", 1),
            ("a:\n    b: 1\n  c: 2\n", 3),
        ] {
            assert_eq!(parse(source).expect_err(source).line, line, "{source:?}");
        }
        let bomb = (0..30).fold("a0: &a0 [x, x, x]\n".to_owned(), |mut bomb, level| {
            let _ = writeln!(bomb, "a{}: &a{} [*a{level}, *a{level}, *a{level}]", level + 1, level + 1);
            bomb
        });
        assert!(parse(&bomb).expect_err("a bomb").problem.contains("too many"));
        assert!(parse(&"[".repeat(5000)).expect_err("deep").problem.contains("deeply"));
    }

    /// Generates values, which [`write`] writes in block style.
    fn value() -> impl Strategy<Value = Yaml> {
        let leaf = prop_oneof![Just(Yaml::Null), "[ -~éß\n]{0,12}".prop_map(Yaml::Text)];
        leaf.prop_recursive(4, 40, 5, |inner| {
            let entry = ("[a-z]{1,3}|[ -~]{1,5}", inner.clone());
            prop_oneof![
                proptest::collection::vec(inner, 1..4).prop_map(Yaml::List),
                proptest::collection::btree_map(entry.0, entry.1, 1..4)
                    .prop_map(|map| Yaml::Map(map.into_iter().filter(|(key, _)| key != "<<").collect())),
            ]
        })
        .prop_filter("an empty map has no block style", |value| !format!("{value:?}").contains("Map([])"))
    }

    fn quote(text: &str) -> String {
        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
    }

    fn write(value: &Yaml, depth: usize, out: &mut String) {
        let indentation = "  ".repeat(depth);
        match value {
            Yaml::Null => out.push_str(" ~\n"),
            Yaml::Text(text) => drop(writeln!(out, " {}", quote(text))),
            Yaml::List(items) => {
                out.push('\n');
                for item in items {
                    let _ = write!(out, "{indentation}-");
                    write(item, depth + 1, out);
                }
            }
            Yaml::Map(entries) => {
                out.push('\n');
                for (key, value) in entries {
                    let _ = write!(out, "{indentation}{}:", quote(key));
                    write(value, depth + 1, out);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn written_values_are_read_back(expected in value()) {
            let mut source = "---".to_owned();
            write(&expected, 0, &mut source);
            prop_assert_eq!(parse(&source), Ok(expected), "{}", source);
        }

        #[test]
        fn arbitrary_text_does_not_panic(source in "\\PC{0,80}") {
            let _ = parse(&source);
        }

        #[test]
        fn arbitrary_parts_do_not_panic(parts in proptest::collection::vec("(a|: |:|- |\n|\n  |\t|\\[|\\]|\\{|\\}|\"|'|é|\\||>-|&x|\\*x|<<|!t|#| #|,|\\\\|---|\r\n|~)", 0..40)) {
            let _ = parse(&parts.concat());
        }
    }
}
