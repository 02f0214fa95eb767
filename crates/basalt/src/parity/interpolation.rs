//! Substitution of variables in Compose files.
//!
//! The forms are `$A`, `${A}`, `${A:-b}`, `${A-b}`, `${A:?text}`, `${A:+b}` and `$$`.

use std::collections::BTreeSet;

/// The deepest nesting of defaults.
const MAX_DEPTH: usize = 16;

/// Substitutes variables and remembers those that have no value.
pub(super) struct Interpolation<'a> {
    /// Returns the value of a variable.
    pub lookup: &'a dyn Fn(&str) -> Option<String>,
    /// Variables without a value and without a default, which become empty.
    pub unset: BTreeSet<String>,
    /// Variables that the file requires and that have no value.
    pub missing: BTreeSet<String>,
}

impl<'a> Interpolation<'a> {
    /// Creates a substitution from a source of variables.
    pub(super) fn new(lookup: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { lookup, unset: BTreeSet::new(), missing: BTreeSet::new() }
    }

    /// Returns the text with its variables replaced; what is no substitution stays.
    pub(super) fn expand(&mut self, text: &str) -> String {
        self.expand_nested(text, 0)
    }

    fn expand_nested(&mut self, text: &str, depth: usize) -> String {
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            expanded.push_str(&rest[..at]);
            let after = &rest[at + 1..];
            rest = if let Some(after) = after.strip_prefix('$') {
                expanded.push('$');
                after
            } else if let Some((expression, after)) = after.strip_prefix('{').and_then(split_braces) {
                expanded.push_str(&self.evaluate(expression, depth));
                after
            } else {
                let end = name_length(after);
                if end == 0 {
                    expanded.push('$');
                } else {
                    expanded.push_str(&self.evaluate(&after[..end], depth));
                }
                &after[end..]
            };
        }
        expanded + rest
    }

    /// Evaluates what is between braces.
    fn evaluate(&mut self, expression: &str, depth: usize) -> String {
        let (name, operation) = expression.split_at(name_length(expression));
        let value = (self.lookup)(name);
        let (is_empty_unset, operation) = match operation.strip_prefix(':') {
            Some(operation) => (true, operation),
            None => (false, operation),
        };
        let value = value.filter(|value| !(is_empty_unset && value.is_empty()));
        let operand = |operation: &str| operation.get(1..).unwrap_or_default().to_owned();
        match (operation.chars().next(), value) {
            (Some('+'), Some(_)) | (Some('-'), None) if depth < MAX_DEPTH => {
                self.expand_nested(&operand(operation), depth + 1)
            }
            (Some('+'), None) => String::new(),
            (Some('?'), None) => {
                self.missing.insert(name.to_owned());
                String::new()
            }
            (_, Some(value)) => value,
            (_, None) => {
                self.unset.insert(name.to_owned());
                String::new()
            }
        }
    }
}

/// Splits at the brace that closes the expression.
fn split_braces(text: &str) -> Option<(&str, &str)> {
    let mut depth = 1_usize;
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        match character {
            '{' if before == '$' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((&text[..at], &text[at + 1..]));
        }
        before = character;
    }
    None
}

/// Returns the length of the name at the beginning.
fn name_length(text: &str) -> usize {
    let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    if text.starts_with(|character: char| character.is_ascii_digit()) {
        return 0;
    }
    text.find(|character| !is_name(character)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lookup(name: &str) -> Option<String> {
        match name {
            "A" => Some("1".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        }
    }

    #[test]
    fn forms_of_compose_are_substituted() {
        for (text, expected) in [
            ("$A-${A}", "1-1"),
            ("${B:-x${A}y}", "x1y"),
            ("${EMPTY:-x} ${EMPTY-x}", "x "),
            ("${B:-}", ""),
            ("${A:+yes} ${B:+yes}", "yes "),
            ("$$(cat) $ 5 ${A", "$(cat) $ 5 ${A"),
            ("${A:?it is needed}", "1"),
            ("postgres://u:${A}@${B}:5432/$A", "postgres://u:1@:5432/1"),
            ("${B:-${C:-${A}}}", "1"),
        ] {
            assert_eq!(Interpolation::new(&lookup).expand(text), expected, "{text}");
        }
        let mut interpolation = Interpolation::new(&lookup);
        interpolation.expand("${B:?it is needed} $C ${D:-d}");
        assert_eq!(interpolation.missing.iter().collect::<Vec<_>>(), ["B"]);
        assert_eq!(interpolation.unset.iter().collect::<Vec<_>>(), ["C"]);
    }

    proptest! {
        #[test]
        fn arbitrary_text_does_not_panic(text in "(\\$|\\{|\\}|A|B|:|-|\\?|\\+|é| ){0,40}") {
            Interpolation::new(&lookup).expand(&text);
        }

        #[test]
        fn text_without_variables_stays(text in "[^$]{0,40}") {
            prop_assert_eq!(Interpolation::new(&lookup).expand(&text), text);
        }
    }
}
