//! YAML as Compose files use it: the events of `saphyr-parser` become values with texts as they are written.
//!
//! Aliases and merge keys are resolved. Tags are ignored; keys other than scalars are refused. Limits on size, depth and
//! number hold for every text.

use std::collections::BTreeMap;
use std::fmt;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError};

/// The largest text, in bytes.
pub(super) const MAX_BYTES: usize = 1 << 20;
/// The deepest nesting.
const MAX_DEPTH: usize = 64;
/// The largest number of values, including those that aliases repeat.
const MAX_VALUES: usize = 100_000;
/// The key whose maps are merged into its own.
const MERGE_KEY: &str = "<<";

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Yaml {
    /// No value: empty, `~` or `null`.
    Null,
    /// A text, a number or a switch, as it is written.
    Text(String),
    List(Vec<Yaml>),
    /// A map, in the order of the text; a later value of a key replaces an earlier one.
    Map(Vec<(String, Yaml)>),
}

/// A text that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct YamlError {
    /// The line, from 1.
    pub line: usize,
    pub problem: String,
}

impl fmt::Display for YamlError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}: {}", self.line, self.problem)
    }
}

impl From<ScanError> for YamlError {
    fn from(error: ScanError) -> Self {
        Self { line: error.marker().line(), problem: error.info().to_owned() }
    }
}

impl Yaml {
    /// Returns the value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&Yaml> {
        self.entries().iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Returns the entries of a map; none for another value.
    pub(super) fn entries(&self) -> &[(String, Yaml)] {
        if let Self::Map(entries) = self { entries } else { &[] }
    }

    /// Returns the text of a scalar.
    pub(super) fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// Returns the number of values in this one.
    fn count(&self) -> usize {
        match self {
            Self::Null | Self::Text(_) => 1,
            Self::List(items) => 1 + items.iter().map(Self::count).sum::<usize>(),
            Self::Map(entries) => 1 + entries.iter().map(|(_, value)| value.count()).sum::<usize>(),
        }
    }
}

/// Parses the first document of a text.
pub(super) fn parse(text: &str) -> Result<Yaml, YamlError> {
    if text.len() > MAX_BYTES {
        return Err(YamlError { line: 1, problem: "the file has more than 1 MiB".to_owned() });
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader =
        Reader { parser: Parser::new_from_str(text), line: 1, depth: 0, values: 0, anchors: BTreeMap::new() };
    loop {
        match reader.next_event()? {
            Event::StreamEnd => return Ok(Yaml::Null),
            Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing => {}
            event => {
                let value = reader.read_value(event)?;
                // The end of the document shows whether all of its text belongs to the value.
                reader.next_event()?;
                return Ok(value);
            }
        }
    }
}

/// The events of a text, and what they have defined.
struct Reader<'t> {
    parser: Parser<'t, saphyr_parser::StrInput<'t>>,
    /// The line of the latest event, from 1.
    line: usize,
    depth: usize,
    values: usize,
    /// Values by the number of their anchor.
    anchors: BTreeMap<usize, Yaml>,
}

impl<'t> Reader<'t> {
    fn error(&self, problem: &str) -> YamlError {
        YamlError { line: self.line, problem: problem.to_owned() }
    }

    fn next_event(&mut self) -> Result<Event<'t>, YamlError> {
        let Some(next) = self.parser.next_event() else { return Ok(Event::StreamEnd) };
        let (event, span) = next?;
        self.line = span.start.line();
        Ok(event)
    }

    /// Reads the value that begins with an event.
    fn read_value(&mut self, event: Event<'t>) -> Result<Yaml, YamlError> {
        self.add_values(1)?;
        let (anchor, value) = match event {
            Event::Scalar(text, style, anchor, _) => (anchor, read_scalar(&text, style)),
            Event::Alias(anchor) => {
                let known = self.anchors.get(&anchor).cloned();
                let value = known.ok_or_else(|| self.error("an alias is used inside its own anchor"))?;
                self.add_values(value.count())?;
                (0, value)
            }
            Event::SequenceStart(anchor, _) => (anchor, self.read_nested(Self::read_list)?),
            Event::MappingStart(anchor, _) => (anchor, self.read_nested(Self::read_map)?),
            _ => return Err(self.error("a value is expected here")),
        };
        // Anchors are numbered from 1.
        if anchor > 0 {
            self.anchors.insert(anchor, value.clone());
        }
        Ok(value)
    }

    fn add_values(&mut self, count: usize) -> Result<(), YamlError> {
        self.values += count;
        if self.values > MAX_VALUES { Err(self.error("there are too many values")) } else { Ok(()) }
    }

    fn read_nested(&mut self, read: fn(&mut Self) -> Result<Yaml, YamlError>) -> Result<Yaml, YamlError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error("values are nested too deeply"));
        }
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn read_list(&mut self) -> Result<Yaml, YamlError> {
        let mut items = Vec::new();
        loop {
            match self.next_event()? {
                Event::SequenceEnd => return Ok(Yaml::List(items)),
                event => items.push(self.read_value(event)?),
            }
        }
    }

    fn read_map(&mut self) -> Result<Yaml, YamlError> {
        let (mut entries, mut merged) = (Vec::new(), Vec::new());
        loop {
            let key = match self.next_event()? {
                Event::MappingEnd => break,
                Event::Scalar(key, ..) => key.into_owned(),
                _ => return Err(self.error("a key that is not a text is not supported")),
            };
            let event = self.next_event()?;
            let value = self.read_value(event)?;
            match value {
                Yaml::List(maps) if key == MERGE_KEY => merged.extend(maps),
                value if key == MERGE_KEY => merged.push(value),
                value => {
                    entries.retain(|(name, _)| *name != key);
                    entries.push((key, value));
                }
            }
        }
        // Own entries precede merged ones, and those of an earlier map those of a later one.
        for (key, value) in merged.iter().flat_map(Yaml::entries) {
            if !entries.iter().any(|(name, _)| name == key) {
                entries.push((key.clone(), value.clone()));
            }
        }
        Ok(Yaml::Map(entries))
    }
}

fn read_scalar(text: &str, style: ScalarStyle) -> Yaml {
    let is_null = style == ScalarStyle::Plain && matches!(text, "" | "~" | "null" | "Null" | "NULL");
    if is_null { Yaml::Null } else { Yaml::Text(text.to_owned()) }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::{Yaml, parse};

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
    fn forms_of_compose_files_are_parsed() {
        let source = "a: >  # a comment\n  one\n  two\nb:\n  - &x k=v\n  - *x\nc: [\"d\", \"e\n  f\"]\ng:\n  - &y h: i\n    j: k\n\
                      l: {m: &z \"n\", o: *z}\np:\n  - |  # another\n    q\nr: !!str 1\n? s\n: t\n";
        let value = parse(source).expect("valid");
        assert_eq!(value.get("a"), Some(&text("one two\n")));
        assert_eq!(value.get("b"), Some(&Yaml::List(vec![text("k=v"), text("k=v")])));
        assert_eq!(value.get("c"), Some(&Yaml::List(vec![text("d"), text("e f")])));
        assert_eq!(value.get("g"), Some(&Yaml::List(vec![map(&[("h", text("i")), ("j", text("k"))])])));
        assert_eq!(value.get("l"), Some(&map(&[("m", text("n")), ("o", text("n"))])));
        assert_eq!(value.get("p"), Some(&Yaml::List(vec![text("q\n")])));
        assert_eq!((value.get("r"), value.get("s")), (Some(&text("1")), Some(&text("t"))));
    }

    #[test]
    fn invalid_texts_are_refused_with_their_line() {
        for (source, line) in [
            ("a: 1\nb:\tc\n\td: 2\n", 2),
            ("a: \"x\n", 1),
            ("a: [1, 2\n", 2),
            ("a: *b\n", 1),
            ("a: 1\nb\n", 3),
            ("? [a]\n: b\n", 1),
            ("a:\n    b: 1\n  c: 2\n", 3),
        ] {
            assert_eq!(parse(source).expect_err(source).line, line, "{source:?}");
        }
        let bomb = (0..30).fold("a0: &a0 [x, x, x]\n".to_owned(), |mut bomb, level| {
            let _ = writeln!(bomb, "a{}: &a{} [*a{level}, *a{level}, *a{level}]", level + 1, level + 1);
            bomb
        });
        assert!(parse(&bomb).expect_err("a bomb").problem.contains("too many"));
        let nested = format!("{}{}", "[".repeat(70), "]".repeat(70));
        assert!(parse(&nested).expect_err("deep").problem.contains("deeply"));
        assert!(parse(&"[".repeat(5000)).is_err());
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
