//! The path to the role in the claims of a token (`jwt-role-claim-key`).

use std::fmt;

use serde_json::{Map, Value};

/// A path into JSON: `.app_metadata.roles[0]`, with a condition at the end: `.roles[?(@ ^== "admin")]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimPath {
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
    /// The first text of an array that meets the condition.
    First(Condition, String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Condition {
    Equals,
    Differs,
    StartsWith,
    EndsWith,
    Contains,
}

impl Default for ClaimPath {
    /// `.role`
    fn default() -> Self {
        Self { steps: vec![Step::Key("role".to_owned())] }
    }
}

impl ClaimPath {
    /// Parses a path.
    ///
    /// # Errors
    /// The text, when it is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut steps = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (step, after) =
                parse_step(rest).ok_or_else(|| format!("failed to parse role-claim-key value ({text})"))?;
            rest = after;
            steps.push(step);
        }
        if steps.is_empty() {
            return Err(format!("failed to parse role-claim-key value ({text})"));
        }
        Ok(Self { steps })
    }

    /// The role that the claims name; JSON that is no text is the role's name as it is written.
    pub fn find(&self, claims: &Map<String, Value>) -> Option<String> {
        let Some((Step::Key(first), steps)) = self.steps.split_first() else { return None };
        let mut value = claims.get(first)?;
        for step in steps {
            value = match (step, value) {
                (Step::Key(key), Value::Object(object)) => object.get(key)?,
                (Step::Index(index), Value::Array(array)) => array.get(*index)?,
                (Step::First(condition, pattern), Value::Array(array)) => {
                    array.iter().find(|element| element.as_str().is_some_and(|text| condition.holds(pattern, text)))?
                }
                _ => return None,
            };
        }
        Some(match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    }
}

/// The path as it is written in a file, keys in quotation marks.
impl fmt::Display for ClaimPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            match step {
                Step::Key(key) => write!(out, ".\"{key}\"")?,
                Step::Index(index) => write!(out, "[{index}]")?,
                Step::First(condition, pattern) => write!(out, "[?(@ {} \"{pattern}\")]", condition.operator())?,
            }
        }
        Ok(())
    }
}

impl Condition {
    fn operator(self) -> &'static str {
        match self {
            Self::Equals => "==",
            Self::Differs => "!=",
            Self::StartsWith => "^==",
            Self::EndsWith => "==^",
            Self::Contains => "*==",
        }
    }

    fn holds(self, pattern: &str, text: &str) -> bool {
        match self {
            Self::Equals => text == pattern,
            Self::Differs => text != pattern,
            Self::StartsWith => text.starts_with(pattern),
            Self::EndsWith => text.ends_with(pattern),
            Self::Contains => text.contains(pattern),
        }
    }
}

/// The next step, and the text behind it.
fn parse_step(text: &str) -> Option<(Step, &str)> {
    if let Some(key) = text.strip_prefix('.') {
        if key.starts_with('"') {
            let (key, after) = quoted(key)?;
            return Some((Step::Key(key.to_owned()), after));
        }
        let end = key.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '$' | '@')).unwrap_or(key.len());
        return (end > 0).then(|| (Step::Key(key[..end].to_owned()), &key[end..]));
    }
    let inner = text.strip_prefix('[')?;
    if let Some(condition) = inner.strip_prefix("?(@") {
        let condition = condition.trim_start();
        let operators = [
            ("==^", Condition::EndsWith),
            ("==", Condition::Equals),
            ("!=", Condition::Differs),
            ("^==", Condition::StartsWith),
            ("*==", Condition::Contains),
        ];
        let (pattern, operator) =
            operators.into_iter().find_map(|(name, operator)| Some((condition.strip_prefix(name)?, operator)))?;
        let (pattern, after) = quoted(pattern.trim_start())?;
        return (after == ")]").then(|| (Step::First(operator, pattern.to_owned()), ""));
    }
    let (digits, after) = inner.split_once(']')?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    Some((Step::Index(digits.parse().ok().filter(|_| is_number)?), after))
}

/// A text in quotation marks, and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('"')?.split_once('"')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::ClaimPath;

    #[test]
    fn role_is_found_by_path() {
        let claims = json!({"role": 7, "a": {"b-c": ["x", "yes_role", "z"]}});
        let cases = [
            (".role", Some("7")),
            (".a.\"b-c\"[0]", Some("x")),
            (".a.\"b-c\"[9]", None),
            (".a.\"b-c\"[?(@ == \"z\")]", Some("z")),
            (".a.\"b-c\"[?(@ != \"x\")]", Some("yes_role")),
            (".a.\"b-c\"[?(@ ^== \"yes\")]", Some("yes_role")),
            (".a.\"b-c\"[?(@ ==^ \"role\")]", Some("yes_role")),
            (".a.\"b-c\"[?(@ *== \"s_r\")]", Some("yes_role")),
            (".role.x", None),
        ];
        for (path, role) in cases {
            let parsed = ClaimPath::parse(path).unwrap();
            assert_eq!(parsed.find(claims.as_object().unwrap()).as_deref(), role, "{path}");
            assert_eq!(ClaimPath::parse(&parsed.to_string()).unwrap(), parsed, "{path}");
        }
        for path in ["", "role", ".", ".a[", ".a[?(@ = \"b\")]", ".a[?(@ == \"b\")].c", ".a[+1]"] {
            assert!(ClaimPath::parse(path).is_err(), "{path}");
        }
    }
}
