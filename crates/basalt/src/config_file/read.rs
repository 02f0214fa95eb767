//! Parses the text of `config.toml` into validated values.
//! Every key is known, every value has its kind, and `env(NAME)` is resolved. All problems are collected with their
//! lines.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::keys::{self, Key, KeyUsage, Kind, UNSUPPORTED_TABLES};
use super::suggestion::suggest_name;
use crate::problem::{Problem, line_number};

/// A value in the notation of the auth server: `true`, `3600`, `a,b`.
#[derive(Debug, Clone)]
pub(crate) struct Value {
    pub text: String,
    /// Its items, for a list.
    pub items: Vec<String>,
    /// The key's parts.
    pub path: Vec<String>,
    /// Its line, from 1; `None` if it is not in the file.
    pub line: Option<usize>,
}

/// Returns the value of a variable for `env(NAME)`, or why the file that has it cannot be used.
pub(crate) type Environment<'a> = dyn Fn(&str) -> Result<Option<String>, String> + 'a;

/// A value `env(NAME)` without a variable of that name.
#[derive(Debug, Clone)]
pub(crate) struct UnsetVariable {
    /// The key's parts.
    pub path: Vec<String>,
    /// The name of the variable.
    pub variable: String,
    /// The line of the value, from 1; `None` if it is not in the file.
    pub line: Option<usize>,
    /// Whether the value is an item of a list, whose other items are kept.
    pub is_item: bool,
}

/// A key or table that neither Basalt nor its release of the CLI knows, and that resembles none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnknownKey {
    /// The full name.
    pub name: String,
    /// The line, from 1; `None` if it is not in the file.
    pub line: Option<usize>,
}

/// The values of a file, by full name.
#[derive(Debug, Default)]
pub(crate) struct Values {
    entries: BTreeMap<String, Value>,
    /// The tables that the file has, empty ones included, with the parts of the name and the line of each.
    tables: BTreeMap<String, (Vec<String>, Option<usize>)>,
    /// Tables that count as disabled, whatever the file says.
    switched_off: BTreeSet<String>,
    /// Values whose variable is not set.
    pub unset: Vec<UnsetVariable>,
    /// Keys without effect, perhaps of a newer CLI.
    pub unknown: Vec<UnknownKey>,
    /// Configured tables of services that Basalt does not have, with a description.
    pub unsupported_tables: Vec<(&'static str, &'static str)>,
}

impl Values {
    /// Returns the value of a key, unless its table is disabled.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.entries.get(name).filter(|value| !self.is_disabled(&value.path))
    }

    /// Returns the text of a key's value, unless its table is disabled.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.get(name).map(|value| value.text.as_str())
    }

    /// Returns whether a switch is on; `default` if it is not set.
    pub(crate) fn is_enabled(&self, name: &str, default: bool) -> bool {
        let is_off = name.rsplit_once('.').is_some_and(|(table, _)| self.switched_off.contains(table));
        !is_off && self.entries.get(name).map_or(default, |value| value.text == "true")
    }

    /// Returns whether the file has a table, even an empty one.
    pub(crate) fn has_table(&self, name: &str) -> bool {
        self.tables.contains_key(name)
    }

    /// Returns whether [`Values::switch_off`] disabled a table.
    pub(super) fn is_switched_off(&self, table: &str) -> bool {
        self.switched_off.contains(table)
    }

    /// Makes a table count as disabled.
    pub(crate) fn switch_off(&mut self, table: impl Into<String>) {
        self.switched_off.insert(table.into());
    }

    /// Returns all values in effect: those of disabled tables are omitted, except for the switch itself.
    pub(crate) fn enabled_values(&self) -> impl Iterator<Item = &Value> {
        self.entries.values().filter(|value| !self.is_disabled(&value.path))
    }

    /// Returns the names that stand for `*` in `table.*`, also of an empty table, in order.
    pub(crate) fn names_in_table(&self, table: &str) -> BTreeSet<&str> {
        let parts: Vec<&str> = table.split('.').collect();
        let paths = self.entries.values().map(|value| &value.path).chain(self.tables.values().map(|(path, _)| path));
        paths
            .filter(|path| path.len() > parts.len() && path.iter().zip(&parts).all(|(a, b)| a == b))
            .map(|path| path[parts.len()].as_str())
            .collect()
    }

    /// Builds a problem of a key: its name, then `text`.
    pub(crate) fn build_problem(&self, key: &str, text: &str) -> Problem {
        Problem { line: self.get(key).and_then(|value| value.line), text: format!("{key} {text}") }
    }

    /// Returns the line of a key, or of the innermost table that it belongs to.
    pub(crate) fn find_line(&self, key: &str) -> Option<usize> {
        let own = self.entries.get(key).and_then(|value| value.line);
        own.or_else(|| {
            let tables = key.rmatch_indices('.').map(|(end, _)| &key[..end]);
            std::iter::once(key).chain(tables).find_map(|table| self.tables.get(table).and_then(|(_, line)| *line))
        })
    }

    /// Replaces all lines by those of `original`: these values are of a text that was made of it and of other settings.
    ///
    /// What is not the same there has no line.
    pub(super) fn take_lines(&mut self, original: &Self) {
        for (key, value) in &mut self.entries {
            let same = original.entries.get(key).filter(|before| before.text == value.text);
            value.line = same.and_then(|before| before.line);
        }
        for (key, (_, line)) in &mut self.tables {
            *line = original.tables.get(key).and_then(|(_, line)| *line);
        }
        for unset in &mut self.unset {
            let same = |before: &&UnsetVariable| before.path == unset.path && before.variable == unset.variable;
            unset.line = original.unset.iter().find(same).and_then(|before| before.line);
        }
        for key in &mut self.unknown {
            key.line = original.unknown.iter().find(|before| before.name == key.name).and_then(|before| before.line);
        }
    }

    /// Returns whether any table that contains `path` is disabled.
    pub(super) fn is_disabled(&self, path: &[String]) -> bool {
        (2..path.len()).any(|depth| {
            let table = &path[..depth];
            if self.switched_off.contains(&table.join(".")) {
                return true;
            }
            let mut switch: Vec<&str> = table.iter().map(String::as_str).collect();
            switch.push("enabled");
            let itself = path.len() == depth + 1 && path[depth] == "enabled";
            let is_switch = keys::find_key(&switch).is_some_and(|key| key.path.ends_with(".enabled"));
            !itself && is_switch && !self.is_enabled(&switch.join("."), is_enabled_by_default(table))
        })
    }
}

/// Returns whether a table is enabled by its presence, as in the CLI.
fn is_enabled_by_default(table: &[String]) -> bool {
    const TABLES: [&str; 4] = ["auth.email.smtp", "basalt.desk", "db.migrations", "db.seed"];
    table.first().is_some_and(|first| first == "functions") || TABLES.contains(&&*table.join("."))
}

/// Reads the text; returns the values and the problems of those that cannot be used.
/// `environment` returns the value of a variable, for `env(NAME)`.
///
/// # Errors
/// The text is not TOML.
pub(super) fn read(text: &str, environment: &Environment<'_>) -> Result<(Values, Vec<Problem>), Vec<Problem>> {
    let document = parse_document(text)?;
    let mut reader = Reader { text, environment, values: Values::default(), problems: Vec::new(), path: Vec::new() };
    reader.read_table(document.get_ref());
    Ok((reader.values, reader.problems))
}

/// Parses the text.
///
/// # Errors
/// The first problem of each line that is not TOML: others of the same line follow from it.
pub(super) fn parse_document(text: &str) -> Result<Spanned<DeTable<'_>>, Vec<Problem>> {
    let (document, errors) = DeTable::parse_recoverable(text);
    let mut problems: Vec<Problem> = Vec::new();
    for error in &errors {
        let line = error.span().map(|span| line_number(text, &span));
        if problems.iter().all(|earlier| earlier.line != line) {
            problems.push(Problem { line, text: format!("this is not TOML: {}", error.message()) });
        }
    }
    if problems.is_empty() { Ok(document) } else { Err(problems) }
}

struct Reader<'a> {
    text: &'a str,
    environment: &'a Environment<'a>,
    values: Values,
    problems: Vec<Problem>,
    path: Vec<String>,
}

impl Reader<'_> {
    fn read_table(&mut self, table: &DeTable<'_>) {
        for (name, value) in table {
            // The newer name of the same table in the CLI.
            let top = self.path.is_empty() && name.get_ref() == "local_smtp";
            self.path.push(if top { "inbucket".to_owned() } else { name.get_ref().to_string() });
            self.read_entry(&name.span(), value);
            self.path.pop();
        }
    }

    fn read_entry(&mut self, name: &Range<usize>, value: &Spanned<DeValue<'_>>) {
        let joined = self.path.join(".");
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        if let Some(known) = UNSUPPORTED_TABLES.iter().find(|(table, _)| *table == joined) {
            if is_service_requested(value.get_ref()) {
                self.values.unsupported_tables.push(*known);
            }
        } else if let Some(key) = keys::find_key(&path) {
            self.read_leaf(key, value);
        } else if !keys::is_table(&path) {
            // The CLI gets new keys; those of Basalt are all known, and a typing error may be one in a security setting.
            match suggest_name(&path) {
                Some(meant) => self.report(name, format!("{joined} is not known; did you mean {meant}?")),
                None if path[0] == "basalt" => self.report(name, format!("{joined} is not known")),
                None => {
                    let line = Some(line_number(self.text, name));
                    self.values.unknown.push(UnknownKey { name: joined, line });
                }
            }
        } else if let Some(table) = value.get_ref().as_table() {
            self.values.tables.insert(joined, (self.path.clone(), Some(line_number(self.text, name))));
            self.read_table(table);
        } else {
            self.report(name, format!("{joined} must be a table, [{joined}]"));
        }
    }

    fn read_leaf(&mut self, key: &Key, value: &Spanned<DeValue<'_>>) {
        if matches!(key.usage, KeyUsage::Ignored) {
            return;
        }
        let line = Some(line_number(self.text, &value.span()));
        let path = self.path.clone();
        let converted = match (key.kind, value.get_ref()) {
            (Kind::List, DeValue::Array(array)) => self.convert_list(array, &path),
            (kind, scalar) => self.convert(kind, scalar).map_err(|error| (value.span(), error)),
        };
        match converted {
            // Every item was a variable that is not set.
            Ok(items) if items.is_empty() && self.values.unset.iter().any(|unset| unset.path == path) => {}
            Ok(items) => {
                let text = items.join(",");
                self.values.entries.insert(path.join("."), Value { text, items, path, line });
            }
            Err((place, ValueError::Unset(variable))) => {
                let line = Some(line_number(self.text, &place));
                self.values.unset.push(UnsetVariable { path, variable, line, is_item: false });
            }
            Err((place, ValueError::Invalid(wanted))) => {
                self.report(&place, format!("{} must be {wanted}", path.join(".")));
            }
            Err((place, ValueError::Unreadable(why))) => {
                self.report(&place, format!("{} has no value: {why}", path.join(".")));
            }
        }
    }

    /// Returns the texts of the list of `path`. Items whose variable is not set are noted and left out.
    ///
    /// # Errors
    /// The place of the first item that cannot be used.
    fn convert_list(
        &mut self,
        array: &DeArray<'_>,
        path: &[String],
    ) -> Result<Vec<String>, (Range<usize>, ValueError)> {
        let mut texts = Vec::with_capacity(array.len());
        for item in array {
            match self.convert_item(item.get_ref()) {
                Ok(text) => texts.push(text),
                Err(ValueError::Unset(variable)) => {
                    let line = Some(line_number(self.text, &item.span()));
                    self.values.unset.push(UnsetVariable { path: path.to_owned(), variable, line, is_item: true });
                }
                Err(error) => return Err((item.span(), error)),
            }
        }
        Ok(texts)
    }

    fn convert_item(&self, value: &DeValue<'_>) -> Result<String, ValueError> {
        let text = value.as_str().ok_or_else(|| ValueError::Invalid(describe_kind(Kind::List)))?;
        let text = self.resolve_variable(text)?;
        if text.contains(',') {
            return Err(ValueError::Invalid("a list of texts without commas, which separate them".to_owned()));
        }
        Ok(text)
    }

    /// Returns one text for a scalar; several for a list in a variable.
    fn convert(&self, kind: Kind, value: &DeValue<'_>) -> Result<Vec<String>, ValueError> {
        let wrong = || ValueError::Invalid(describe_kind(kind));
        let text = match value {
            DeValue::String(text) => self.resolve_variable(text)?,
            DeValue::Boolean(value) if kind == Kind::Bool => value.to_string(),
            DeValue::Integer(number) if matches!(kind, Kind::Count | Kind::Text) => {
                u64::from_str_radix(number.as_str(), number.radix()).map_err(|_| wrong())?.to_string()
            }
            _ => return Err(wrong()),
        };
        let fits = match kind {
            Kind::Bool => matches!(text.as_str(), "true" | "false"),
            Kind::Count => text.parse::<u64>().is_ok(),
            Kind::Choice(choices) => choices.contains(&text.as_str()),
            // A variable may hold several items, in the auth server's list notation.
            Kind::List => return Ok(text.split(',').filter(|item| !item.is_empty()).map(str::to_owned).collect()),
            Kind::Text | Kind::Duration | Kind::Any => true,
        };
        if fits { Ok(vec![text]) } else { Err(wrong()) }
    }

    /// Returns the text, or the value of the variable that `env(NAME)` refers to.
    fn resolve_variable(&self, text: &str) -> Result<String, ValueError> {
        let Some(variable) = text.strip_prefix("env(").and_then(|rest| rest.strip_suffix(')')) else {
            return Ok(text.to_owned());
        };
        (self.environment)(variable)
            .map_err(ValueError::Unreadable)?
            .filter(|value| !value.is_empty())
            .ok_or_else(|| ValueError::Unset(variable.to_owned()))
    }

    fn report(&mut self, span: &Range<usize>, text: String) {
        self.problems.push(Problem { line: Some(line_number(self.text, span)), text });
    }
}

enum ValueError {
    Unset(String),
    Invalid(String),
    Unreadable(String),
}

fn describe_kind(kind: Kind) -> String {
    match kind {
        Kind::Bool => "true or false".to_owned(),
        Kind::Count => "a whole number, such as 3600".to_owned(),
        Kind::Text | Kind::Any => "a text in quotes".to_owned(),
        Kind::Duration => "a length of time in quotes, such as \"90s\" or \"1h30m\"".to_owned(),
        Kind::List => "a list of texts, such as [\"https://example.com\"]".to_owned(),
        Kind::Choice(choices) => {
            let quoted: Vec<String> = choices.iter().map(|choice| format!("{choice:?}")).collect();
            format!("one of {}", quoted.join(", "))
        }
    }
}

/// Returns whether a table requests its service: one that only disables it is not worth a notice.
pub(super) fn is_service_requested(value: &DeValue<'_>) -> bool {
    let Some(table) = value.as_table() else { return false };
    match table.get("enabled").map(toml::Spanned::get_ref) {
        Some(DeValue::Boolean(enabled)) => *enabled,
        Some(_) => true,
        None => table
            .iter()
            .any(|(_, value)| value.get_ref().as_table().is_none_or(|_| is_service_requested(value.get_ref()))),
    }
}
