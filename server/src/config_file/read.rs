//! From the text of a file to checked values: every key known, every value of its kind, `env(NAME)` filled in. Everything
//! wrong is collected, with its line.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Problem;
use super::keys::{self, Key, Kind, NOT_SERVED, Use};
use super::nearest::known_name;

/// One value as the auth server takes it: `true`, `3600`, `a,b`.
#[derive(Debug, Clone)]
pub struct Value {
    /// Its text.
    pub text: String,
    /// Its parts, for a list.
    pub items: Vec<String>,
    /// The key's parts.
    pub path: Vec<String>,
    /// Where it stands, from 1.
    pub line: usize,
}

/// The values of a file, by their full names.
#[derive(Debug, Default)]
pub struct Values {
    found: BTreeMap<String, Value>,
    /// Tables that belong to services we are not, with what those are.
    pub not_served: Vec<(&'static str, &'static str)>,
}

impl Values {
    /// The value of a key, unless its table is switched off.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.found.get(name).filter(|value| !self.is_off(&value.path))
    }

    /// Its text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).map(|value| value.text.as_str())
    }

    /// Whether a switch is on; `default` when nothing is said.
    pub fn is_on(&self, name: &str, default: bool) -> bool {
        self.found.get(name).map_or(default, |value| value.text == "true")
    }

    /// Everything that counts: what stands in a table that is switched off does not, but for the switch.
    pub fn all(&self) -> impl Iterator<Item = &Value> {
        self.found.values().filter(|value| !self.is_off(&value.path))
    }

    /// The names that stand for `*` in `table.*`.
    pub fn names_below(&self, table: &str) -> Vec<&str> {
        let parts: Vec<&str> = table.split('.').collect();
        let mut names: Vec<&str> = self
            .found
            .values()
            .filter(|value| value.path.len() > parts.len() && value.path.iter().zip(&parts).all(|(a, b)| a == b))
            .map(|value| value.path[parts.len()].as_str())
            .collect();
        names.dedup();
        names
    }

    /// Whether a table that `path` stands in has a switch that is off.
    fn is_off(&self, path: &[String]) -> bool {
        (2..path.len()).any(|depth| {
            let table = &path[..depth];
            let mut switch: Vec<&str> = table.iter().map(String::as_str).collect();
            switch.push("enabled");
            let itself = path.len() == depth + 1 && path[depth] == "enabled";
            let is_switch = keys::find(&switch).is_some_and(|key| key.path.ends_with(".enabled"));
            !itself && is_switch && !self.is_on(&switch.join("."), on_by_default(table))
        })
    }
}

/// As the CLI has it: written down is switched on for these tables.
fn on_by_default(table: &[String]) -> bool {
    table.first().is_some_and(|first| first == "functions") || table.join(".") == "auth.email.smtp"
}

/// Reads the text. `environment` gives the value of a variable, for `env(NAME)`.
pub fn read(text: &str, environment: &dyn Fn(&str) -> Option<String>) -> Result<Values, Vec<Problem>> {
    let (document, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        let problem = |error: &toml::de::Error| Problem {
            line: error.span().map(|span| line_of(text, &span)),
            text: format!("this is not TOML: {}", error.message()),
        };
        return Err(errors.iter().map(problem).collect());
    }
    let mut reader = Reader {
        text,
        environment,
        values: Values::default(),
        problems: Vec::new(),
        unset: Vec::new(),
        path: Vec::new(),
    };
    reader.table(document.get_ref());
    let Reader { values, mut problems, unset, .. } = reader;
    // A variable that is not set only matters where it is used.
    problems.extend(unset.into_iter().filter(|unset| !values.is_off(&unset.path)).map(|unset| Problem {
        line: Some(unset.line),
        text: format!(
            "{} asks for the environment variable {}, which is not set",
            unset.path.join("."),
            unset.variable
        ),
    }));
    problems.sort_by_key(|problem| problem.line);
    if problems.is_empty() { Ok(values) } else { Err(problems) }
}

struct Reader<'a> {
    text: &'a str,
    environment: &'a dyn Fn(&str) -> Option<String>,
    values: Values,
    problems: Vec<Problem>,
    unset: Vec<Unset>,
    path: Vec<String>,
}

struct Unset {
    path: Vec<String>,
    variable: String,
    line: usize,
}

impl Reader<'_> {
    fn table(&mut self, table: &DeTable<'_>) {
        for (name, value) in table {
            // The CLI's newer name of the same table.
            let top = self.path.is_empty() && name.get_ref() == "local_smtp";
            self.path.push(if top { "inbucket".to_owned() } else { name.get_ref().to_string() });
            self.entry(&name.span(), value);
            self.path.pop();
        }
    }

    fn entry(&mut self, name: &Range<usize>, value: &Spanned<DeValue<'_>>) {
        let joined = self.path.join(".");
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        if let Some(known) = NOT_SERVED.iter().find(|(table, _)| *table == joined) {
            if wants_service(value.get_ref()) {
                self.values.not_served.push(*known);
            }
        } else if let Some(key) = keys::find(&path) {
            self.leaf(key, value);
        } else if !keys::is_table(&path) {
            let hint = known_name(&path).map_or_else(String::new, |name| format!("; did you mean {name}?"));
            self.complain(name, format!("{joined} is not known{hint}"));
        } else if let Some(table) = value.get_ref().as_table() {
            self.table(table);
        } else {
            self.complain(name, format!("{joined} must be a table, [{joined}]"));
        }
    }

    fn leaf(&mut self, key: &Key, value: &Spanned<DeValue<'_>>) {
        if matches!(key.usage, Use::Nothing) {
            return;
        }
        let line = line_of(self.text, &value.span());
        let path = self.path.clone();
        match self.convert(key.kind, value.get_ref()) {
            Ok(items) => {
                let text = items.join(",");
                self.values.found.insert(path.join("."), Value { text, items, path, line });
            }
            Err(Fault::Unset(variable)) => self.unset.push(Unset { path, variable, line }),
            Err(Fault::Wrong(wanted)) => {
                self.complain(&value.span(), format!("{} must be {wanted}", path.join(".")));
            }
        }
    }

    /// One text for a scalar, several for a list.
    fn convert(&self, kind: Kind, value: &DeValue<'_>) -> Result<Vec<String>, Fault> {
        let wrong = || Fault::Wrong(form_of(kind));
        if let (Kind::List, DeValue::Array(array)) = (kind, value) {
            let items: Result<Vec<String>, Fault> =
                array.iter().map(|item| self.filled(item.get_ref().as_str().ok_or_else(wrong)?)).collect();
            let items = items?;
            if items.iter().any(|item| item.contains(',')) {
                return Err(Fault::Wrong("a list of texts without commas, which separate them".to_owned()));
            }
            return Ok(items);
        }
        let text = match value {
            DeValue::String(text) => self.filled(text)?,
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
            // A variable may hold several, as the auth server writes a list.
            Kind::List => return Ok(text.split(',').filter(|item| !item.is_empty()).map(str::to_owned).collect()),
            Kind::Text | Kind::Duration | Kind::Any => true,
        };
        if fits { Ok(vec![text]) } else { Err(wrong()) }
    }

    /// The text, or what the variable holds that it names.
    fn filled(&self, text: &str) -> Result<String, Fault> {
        let Some(variable) = text.strip_prefix("env(").and_then(|rest| rest.strip_suffix(')')) else {
            return Ok(text.to_owned());
        };
        (self.environment)(variable).filter(|value| !value.is_empty()).ok_or_else(|| Fault::Unset(variable.to_owned()))
    }

    fn complain(&mut self, span: &Range<usize>, text: String) {
        self.problems.push(Problem { line: Some(line_of(self.text, span)), text });
    }
}

enum Fault {
    Unset(String),
    Wrong(String),
}

fn form_of(kind: Kind) -> String {
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

/// A table of a service we are not is worth a word when it asks for something.
fn wants_service(value: &DeValue<'_>) -> bool {
    let Some(table) = value.as_table() else { return false };
    match table.get("enabled").map(toml::Spanned::get_ref) {
        Some(DeValue::Boolean(enabled)) => *enabled,
        Some(_) => true,
        None => {
            table.iter().any(|(_, value)| value.get_ref().as_table().is_none_or(|_| wants_service(value.get_ref())))
        }
    }
}

fn line_of(text: &str, span: &Range<usize>) -> usize {
    text.as_bytes().iter().take(span.start).filter(|byte| **byte == b'\n').count() + 1
}
