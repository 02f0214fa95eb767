//! The keys of a `config.toml` and what is done with each, for `basalt parity`.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{self, KeyUsage, UNSUPPORTED_TABLES};
use super::read::{is_service_requested, parse_document};
use super::suggestion::suggest_name;
use crate::problem::{Problem, line_number};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyEffect {
    /// It has an effect.
    Used,
    /// It is known and has none.
    Ignored,
    /// The table of a service that Basalt does not have, with a description; `false`: the file disables it.
    Service(&'static str, bool),
    /// It is not known; perhaps another one is meant.
    Unknown(Option<String>),
}

/// A key of a file, or the table of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileKey {
    /// The full name.
    pub path: String,
    /// Its line, from 1.
    pub line: usize,
    /// What is done with it.
    pub state: KeyEffect,
    /// The value as text; empty for a table or a list.
    pub text: String,
}

/// Lists all keys of a text.
///
/// # Errors
/// The text is not TOML.
pub(crate) fn list_keys(text: &str) -> Result<Vec<FileKey>, Vec<Problem>> {
    let document = parse_document(text)?;
    let mut inventory = Inventory { text, path: Vec::new(), keys: Vec::new() };
    inventory.list_table(document.get_ref());
    inventory.keys.sort_by_key(|key| key.line);
    Ok(inventory.keys)
}

/// Returns the names of the known keys without effect.
#[cfg(test)]
pub(crate) fn list_ignored_names() -> impl Iterator<Item = &'static str> {
    keys::all_keys().filter(|key| matches!(key.usage, KeyUsage::Ignored)).map(|key| key.path)
}

/// Returns the names of the tables of services that Basalt does not have.
#[cfg(test)]
pub(crate) fn list_service_tables() -> impl Iterator<Item = &'static str> {
    UNSUPPORTED_TABLES.iter().map(|(table, _)| *table)
}

struct Inventory<'a> {
    text: &'a str,
    path: Vec<String>,
    keys: Vec<FileKey>,
}

impl Inventory<'_> {
    fn list_table(&mut self, table: &DeTable<'_>) {
        for (name, value) in table {
            // The newer name of the same table in the CLI.
            let is_renamed = self.path.is_empty() && name.get_ref() == "local_smtp";
            self.path.push(if is_renamed { "inbucket".to_owned() } else { name.get_ref().to_string() });
            let line = line_number(self.text, &name.span());
            self.list_entry(line, value);
            self.path.pop();
        }
    }

    fn list_entry(&mut self, line: usize, value: &Spanned<DeValue<'_>>) {
        let joined = self.path.join(".");
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        let state = if let Some((_, what)) = UNSUPPORTED_TABLES.iter().find(|(table, _)| *table == joined) {
            KeyEffect::Service(what, is_service_requested(value.get_ref()))
        } else if let Some(key) = keys::find_key(&path) {
            if matches!(key.usage, KeyUsage::Ignored) { KeyEffect::Ignored } else { KeyEffect::Used }
        } else if let (true, Some(table)) = (keys::is_table(&path), value.get_ref().as_table()) {
            return self.list_table(table);
        } else {
            KeyEffect::Unknown(suggest_name(&path))
        };
        let text = match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            DeValue::Boolean(value) => value.to_string(),
            DeValue::Integer(number) => number.as_str().to_owned(),
            _ => String::new(),
        };
        self.keys.push(FileKey { path: joined, line, state, text });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tables_of_services_are_listed_once() {
        let keys = list_keys("[realtime]\nenabled = true\n[realtime.inner.a]\npublic = true\n[local_smtp]\nport = 1\n");
        let keys = keys.expect("it is TOML");
        let names: Vec<&str> = keys.iter().map(|key| key.path.as_str()).collect();
        assert_eq!(names, ["realtime", "inbucket.port"]);
        assert_eq!(keys[0].state, KeyEffect::Service("the realtime service", true));
        assert!(list_keys("[auth").is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_text_does_not_panic(text in "\\PC{0,60}") {
            drop(list_keys(&text));
        }

        #[test]
        fn arbitrary_tables_do_not_panic(lines in proptest::collection::vec(
            "(\\[|\\[\\[|)(auth|api|storage|functions|local_smtp|x)(\\.(email|external|[a-z]{1,4})|)(\\]|\\]\\]| = (1|true|\"a\"|\\[\\]|\\{\\}))", 0..12,
        )) {
            drop(list_keys(&lines.join("\n")));
        }
    }
}
