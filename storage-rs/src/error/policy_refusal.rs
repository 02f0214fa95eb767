//! Why row security refused a request, for development.

use std::borrow::Cow;

/// What a refused request needs of policies, and what it lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyRefusal {
    /// The operation, `storage.object.upload` for instance.
    pub operation: &'static str,
    /// The role of the request.
    pub role: String,
    /// The table of the schema `storage`.
    pub table: &'static str,
    /// The commands for which policies are needed.
    pub needed: Vec<&'static str>,
    /// Those for which the role has none.
    pub missing: Vec<String>,
}

impl PolicyRefusal {
    /// The cause in one sentence.
    pub fn reason(&self) -> String {
        let Self { operation, role, table, needed, missing } = self;
        let needed = enumerate(needed);
        if missing.is_empty() {
            return format!(
                "{operation} needs policies on storage.{table} for {needed}; {role} has some, and one of them is false here"
            );
        }
        let lacking = enumerate(missing);
        format!("{operation} needs policies on storage.{table} for {needed}; {role} has none for {lacking}")
    }

    /// What changes the answer.
    pub fn remedy(&self) -> Cow<'static, str> {
        let Self { role, table, missing, .. } = self;
        if missing.is_empty() {
            return "Send the request with a token for which the conditions of the policies hold, or change a policy."
                .into();
        }
        let create = |command: &String| {
            let clause = if command == "INSERT" { "WITH CHECK" } else { "USING" };
            format!("CREATE POLICY … ON storage.{table} FOR {command} TO {role} {clause} (…);")
        };
        let statements: Vec<String> = missing.iter().map(create).collect();
        format!("Allow it by policies: {}", statements.join(" ")).into()
    }
}

/// Words with commas and "and".
fn enumerate<T: AsRef<str>>(words: &[T]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match &words[..] {
        [] => String::new(),
        [word] => (*word).to_owned(),
        [words @ .., last] => format!("{} and {last}", words.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_enumerated() {
        assert_eq!(enumerate(&["INSERT"]), "INSERT");
        assert_eq!(enumerate(&["INSERT", "SELECT", "UPDATE"]), "INSERT, SELECT and UPDATE");
    }
}
