//! Which servers work with a migrated schema `basalt`: expand and contract.
//!
//! Servers of two versions use one database during a rolling update and after a downgrade.

use std::collections::BTreeSet;

use super::script::split_script;

/// The number of the last file from before compatibility was recorded.
///
/// Servers with fewer files do not read it.
pub(super) const BASELINE: u32 = 8;

/// One migration of schema `basalt`.
#[derive(Debug, Clone, Copy)]
pub struct MigrationFile {
    /// `0001-what-it-does.sql`; the files run in the order of their names.
    pub name: &'static str,
    /// Its text, with names unqualified or in schema `basalt`.
    pub sql: &'static str,
    /// What it means for servers that do not know it.
    pub step: MigrationStep,
}

/// What a migration means for servers that do not know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MigrationStep {
    /// It only adds: every server that works with the files before it works with it, too.
    Expand,
    /// It removes or renames what no server uses that has the file with the number `unused_since`.
    Contract {
        /// The number of a file before this one.
        unused_since: u32,
    },
}

impl MigrationFile {
    /// The number at the start of the name; 0 if there is none.
    pub fn number(&self) -> u32 {
        parse_number(self.name)
    }
}

/// Returns the number at the start of a file's name; 0 if there is none.
pub(super) fn parse_number(name: &str) -> u32 {
    name.split('-').next().and_then(|digits| digits.parse().ok()).unwrap_or_default()
}

/// Returns the number that a server must know to work with the result of `file`.
pub(super) fn compatible_since(files: &[MigrationFile], file: &MigrationFile) -> u32 {
    let until = files.iter().filter(|earlier| earlier.number() <= file.number());
    let contracted = until.filter_map(|earlier| match earlier.step {
        MigrationStep::Expand => None,
        MigrationStep::Contract { unused_since } => Some(unused_since),
    });
    contracted.fold(BASELINE, u32::max)
}

/// Returns the violations of the rules of migrations.
///
/// The rules are about numbers, and about statements that are no expansion.
/// The files up to [`BASELINE`] are older than the rules.
pub fn check_files(files: &[MigrationFile]) -> Vec<String> {
    let mut violations = Vec::new();
    for (index, file) in files.iter().enumerate() {
        let name = file.name;
        if usize::try_from(file.number()) != Ok(index + 1) {
            violations.push(format!("{name}: the numbers of the files are consecutive; this one is {:04}", index + 1));
        }
        match file.step {
            MigrationStep::Contract { unused_since } if unused_since >= file.number() || unused_since <= BASELINE => {
                violations.push(format!(
                    "{name}: `unused_since` is the number of a file after {BASELINE:04} and before this one: servers of \
                     the release before must work with the result"
                ));
            }
            MigrationStep::Expand if file.number() > BASELINE => {
                let found = find_contractions(file.sql);
                violations.extend(found.into_iter().map(|found| format!("{name}, {found}")));
            }
            MigrationStep::Expand | MigrationStep::Contract { .. } => {}
        }
    }
    violations
}

/// Returns a description of each statement with which a server that does not know it may fail.
fn find_contractions(sql: &str) -> Vec<String> {
    let mut created = BTreeSet::new();
    let mut found = Vec::new();
    for statement in split_script(sql) {
        let words = list_words(&statement.sql);
        let start: Vec<&str> = words.iter().map(String::as_str).collect();
        if let Some(table) = find_created_table(&start) {
            created.insert(table.to_owned());
        }
        if let Some(why) = find_contraction(&start, &created) {
            found.push(format!("line {}: {why}; an expansion only adds", statement.first_word_line));
        }
    }
    found
}

/// Returns the name of the table that a statement creates, without its schema.
fn find_created_table<'a>(words: &[&'a str]) -> Option<&'a str> {
    let table = words.iter().position(|word| *word == "TABLE")?;
    if words.first() != Some(&"CREATE") || table > 2 {
        return None;
    }
    find_name(&words[table + 1..])
}

/// Returns the first name of a statement's rest, without schema and options.
fn find_name<'a>(words: &[&'a str]) -> Option<&'a str> {
    words.iter().copied().find(|word| !["IF", "NOT", "EXISTS", "ONLY", "CONCURRENTLY", "BASALT"].contains(word))
}

/// Returns why the statement is no expansion.
fn find_contraction(words: &[&str], created: &BTreeSet<String>) -> Option<String> {
    let is_new = |rest: &[&str]| find_name(rest).is_some_and(|name| created.contains(name));
    match words {
        ["DROP" | "TRUNCATE" | "DELETE" | "REVOKE" | "REASSIGN", ..] => Some(format!("{} removes", words[0])),
        // The body is text: every word of it counts.
        ["DO", ..] if words.iter().any(|word| ["DROP", "RENAME", "TRUNCATE", "REVOKE", "EXECUTE"].contains(word)) => {
            Some("the block may remove or rename".to_owned())
        }
        ["CREATE", "UNIQUE", "INDEX", rest @ ..] => {
            let table = rest.iter().position(|word| *word == "ON").map_or(&[][..], |on| &rest[on + 1..]);
            (!is_new(table)).then(|| "a unique index may refuse rows of servers that do not know it".to_owned())
        }
        ["ALTER", "TABLE", rest @ ..] if is_new(rest) => None,
        ["ALTER", rest @ ..] => rest.split(|word| *word == ",").find_map(find_contracting_action),
        _ => None,
    }
}

/// Returns why one action of `ALTER` is no expansion.
fn find_contracting_action(action: &[&str]) -> Option<String> {
    let has = |sequence: &[&str]| action.windows(sequence.len()).any(|words| words == sequence);
    let refused: [(&[&str], &str); 10] = [
        (&["RENAME"], "RENAME takes away the former name"),
        (&["SET", "SCHEMA"], "SET SCHEMA takes away the former name"),
        (&["SET", "NOT", "NULL"], "SET NOT NULL refuses rows of servers that do not write the column"),
        (&["TYPE"], "a changed type may refuse values of other servers"),
        (&["ADD", "CONSTRAINT"], "a constraint may refuse rows of other servers"),
        (&["ADD", "CHECK"], "a constraint may refuse rows of other servers"),
        (&["ADD", "UNIQUE"], "a constraint may refuse rows of other servers"),
        (&["ADD", "PRIMARY"], "a constraint may refuse rows of other servers"),
        (&["ADD", "FOREIGN"], "a constraint may refuse rows of other servers"),
        (&["ROW", "LEVEL", "SECURITY"], "row level security may hide rows from other servers"),
    ];
    if let Some((_, why)) = refused.iter().find(|(sequence, _)| has(sequence)) {
        return Some((*why).to_owned());
    }
    if has(&["DROP"]) && !has(&["DROP", "NOT", "NULL"]) {
        return Some("DROP removes".to_owned());
    }
    let is_required = has(&["ADD"]) && has(&["NOT", "NULL"]);
    let has_value = ["DEFAULT", "GENERATED"].iter().any(|word| action.contains(word));
    (is_required && !has_value)
        .then(|| "a column that is NOT NULL without DEFAULT refuses rows of servers that do not write it".to_owned())
}

/// Returns the words of a statement in upper case, and its commas outside of parentheses.
///
/// Comments and literals are left out; the body of a `DO` block is not.
fn list_words(sql: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut rest, mut depth) = (sql, 0_usize);
    while let Some(first) = rest.chars().next() {
        let is_block = words.first().is_some_and(|word: &String| word == "DO");
        let length = if rest.starts_with("--") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if first == '\'' {
            rest[1..].find('\'').map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with("$$") && !is_block {
            rest[2..].find("$$").map_or(rest.len(), |end| end + 4)
        } else if first.is_alphanumeric() || first == '_' {
            let end = rest.find(|next: char| !next.is_alphanumeric() && next != '_').unwrap_or(rest.len());
            words.push(rest[..end].to_uppercase());
            end
        } else {
            match first {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => words.push(",".to_owned()),
                _ => {}
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OLD: MigrationFile = MigrationFile { name: "0001-old.sql", sql: "", step: MigrationStep::Expand };

    fn with_ninth(sql: &'static str, step: MigrationStep) -> Vec<String> {
        let names = ["0001-a", "0002-b", "0003-c", "0004-d", "0005-e", "0006-f", "0007-g", "0008-h"];
        let old = names.map(|name| MigrationFile { name, ..OLD });
        let new = MigrationFile { name: "0009-new.sql", sql, step };
        check_files(&old.into_iter().chain([new]).collect::<Vec<_>>())
    }

    #[test]
    fn additions_are_expansions() {
        for sql in [
            "CREATE TABLE t (id int NOT NULL); CREATE UNIQUE INDEX ON t (id); ALTER TABLE basalt.t ADD CHECK (id > 0);",
            "ALTER TABLE leases ADD COLUMN note text, ADD COLUMN level int NOT NULL DEFAULT 0;",
            "ALTER TABLE leases ALTER COLUMN holder DROP NOT NULL;",
            "CREATE INDEX leases_holder_idx ON leases (holder);",
            "CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql AS $$ SELECT 1 -- DROP\n $$;",
            "UPDATE leases SET note = 'DROP TABLE leases'; -- RENAME",
            "DO $$ BEGIN GRANT SELECT ON leases TO postgres; END $$;",
        ] {
            assert_eq!(with_ninth(sql, MigrationStep::Expand), [""; 0], "{sql}");
        }
    }

    #[test]
    fn removals_and_restrictions_are_no_expansions() {
        for sql in [
            "DROP TABLE leases;",
            "ALTER TABLE leases RENAME TO l;",
            "ALTER TABLE leases RENAME COLUMN holder TO owner;",
            "ALTER TABLE leases ADD COLUMN note text, DROP COLUMN holder;",
            "ALTER TABLE leases ADD COLUMN note text NOT NULL;",
            "ALTER TABLE leases ALTER COLUMN holder SET DATA TYPE text;",
            "ALTER TABLE leases ALTER holder SET NOT NULL;",
            "ALTER TABLE leases ADD CONSTRAINT c CHECK (name <> '');",
            "CREATE UNIQUE INDEX leases_holder_key ON leases (holder);",
            "DELETE FROM leases;",
            "TRUNCATE leases;",
            "REVOKE SELECT ON leases FROM supabase_auth_admin;",
            "DO $$ BEGIN ALTER TABLE leases RENAME TO l; END $$;",
            "/* only adds */ drop function count_limits;",
        ] {
            let violations = with_ninth(sql, MigrationStep::Expand);
            assert!(
                violations.len() == 1 && violations[0].starts_with("0009-new.sql, line 1: "),
                "{sql}: {violations:?}"
            );
        }
    }

    #[test]
    fn contraction_names_an_earlier_file() {
        let contract = |unused_since| with_ninth("DROP TABLE leases;", MigrationStep::Contract { unused_since });
        assert_eq!(contract(9).len(), 1, "in one step");
        assert_eq!(contract(8).len(), 1, "servers with eight files use it");
        assert_eq!(with_ninth("", MigrationStep::Expand).len(), 0);
        assert_eq!(check_files(&[MigrationFile { name: "0002-b.sql", ..OLD }]).len(), 1, "a gap");
    }

    #[test]
    fn compatibility_is_that_of_the_latest_contraction() {
        let file = |name, step| MigrationFile { name, sql: "", step };
        let files = [
            file("0008-a.sql", MigrationStep::Expand),
            file("0009-b.sql", MigrationStep::Expand),
            file("0010-c.sql", MigrationStep::Contract { unused_since: 9 }),
            file("0011-d.sql", MigrationStep::Expand),
        ];
        let since: Vec<u32> = files.iter().map(|file| compatible_since(&files, file)).collect();
        assert_eq!(since, [8, 8, 9, 9]);
    }

    proptest! {
        #[test]
        fn arbitrary_text_does_not_panic(text in "(--|/\\*|\\*/|'|\\$\\$|DO|ALTER TABLE|ADD|,|\\(|\\)|\n| |ü|\\PC)*") {
            let _ = find_contractions(&text);
        }
    }
}
