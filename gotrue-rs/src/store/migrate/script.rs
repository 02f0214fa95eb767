//! Splits a file of SQL into its statements (PostgreSQL, "Lexical Structure").
//!
//! A semicolon ends a statement outside of quotes, comments, parentheses and bodies of `BEGIN ATOMIC`.

/// A statement of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptStatement {
    /// The text without the semicolon, with the comments before it.
    pub sql: String,
    /// The line where the text begins, from 1.
    pub line: usize,
    /// The line of the first word.
    pub first_word_line: usize,
}

/// Splits the text. Comments without a statement are left out.
pub fn split_script(text: &str) -> Vec<ScriptStatement> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut scanner = Scanner { text, at: 0, first_word: None, parentheses: 0, atomic: Atomic::default() };
    let mut statements = Vec::new();
    let (mut start, mut lines) = (0, LineCounter { text, at: 0, line: 1 });
    while scanner.at < text.len() {
        if scanner.ends_statement() {
            statements.extend(build_statement(&mut lines, start..scanner.at, scanner.first_word));
            scanner.at += 1;
            start = scanner.at;
            scanner.begin_statement();
        } else {
            scanner.skip_token();
        }
    }
    statements.extend(build_statement(&mut lines, start..text.len(), scanner.first_word));
    statements
}

fn build_statement(
    lines: &mut LineCounter<'_>,
    range: std::ops::Range<usize>,
    first_word: Option<usize>,
) -> Option<ScriptStatement> {
    let first_word = first_word?;
    let whole = &lines.text[range.clone()];
    let start = range.start + whole.len() - whole.trim_start().len();
    let line = lines.line_of(start);
    let first_word_line = lines.line_of(first_word);
    Some(ScriptStatement { sql: whole.trim().to_owned(), line, first_word_line })
}

/// Counts lines up to ascending positions.
struct LineCounter<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl LineCounter<'_> {
    fn line_of(&mut self, position: usize) -> usize {
        self.line += self.text[self.at..position].matches('\n').count();
        self.at = position;
        self.line
    }
}

/// The words that lead to the body of a function in `BEGIN ATOMIC … END`.
#[derive(Default)]
struct Atomic {
    /// Whether the statement begins with `CREATE`.
    creates: bool,
    /// Whether it creates a function or procedure.
    creates_routine: bool,
    /// The number of words so far.
    words: usize,
    /// The number of open `BEGIN` and `CASE`.
    depth: usize,
}

impl Atomic {
    fn read(&mut self, word: &str) {
        let is = |wanted: &str| word.eq_ignore_ascii_case(wanted);
        match self.words {
            0 => self.creates = is("create"),
            1..=3 if self.creates && (is("function") || is("procedure")) => self.creates_routine = true,
            _ if !self.creates_routine => {}
            _ if is("begin") || (is("case") && self.depth > 0) => self.depth += 1,
            _ if is("end") => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.words += 1;
    }
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// The position of the statement's first character outside of comments.
    first_word: Option<usize>,
    parentheses: usize,
    atomic: Atomic,
}

impl Scanner<'_> {
    fn begin_statement(&mut self) {
        (self.first_word, self.parentheses, self.atomic) = (None, 0, Atomic::default());
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn ends_statement(&self) -> bool {
        self.rest().starts_with(';') && self.parentheses == 0 && self.atomic.depth == 0
    }

    /// Skips a comment, white space, a quoted text, a word, or one other character.
    fn skip_token(&mut self) {
        let Some(first) = self.rest().chars().next() else { return };
        if self.rest().starts_with("--") {
            self.at = self.find('\n').map_or(self.text.len(), |end| end + 1);
            return;
        }
        if self.rest().starts_with("/*") {
            return self.skip_block_comment();
        }
        if first.is_whitespace() {
            self.at += first.len_utf8();
            return;
        }
        self.first_word.get_or_insert(self.at);
        match first {
            '\'' => self.skip_quoted('\'', false),
            '"' => self.skip_quoted('"', false),
            '$' => self.skip_dollar_quoted(),
            _ if is_word_start(first) => self.skip_word(),
            '0'..='9' => self.at += self.rest().find(|next| !is_word_part(next)).unwrap_or(self.rest().len()),
            _ => {
                match first {
                    '(' => self.parentheses += 1,
                    ')' => self.parentheses = self.parentheses.saturating_sub(1),
                    _ => {}
                }
                self.at += first.len_utf8();
            }
        }
    }

    fn find(&self, character: char) -> Option<usize> {
        self.rest().find(character).map(|at| self.at + at)
    }

    fn skip_word(&mut self) {
        let length = self.rest().find(|next| !is_word_part(next)).unwrap_or(self.rest().len());
        let word = &self.text[self.at..self.at + length];
        self.at += length;
        if word.eq_ignore_ascii_case("e") && self.rest().starts_with('\'') {
            return self.skip_quoted('\'', true);
        }
        if self.parentheses == 0 {
            self.atomic.read(word);
        }
    }

    /// Skips a text in quotes; a doubled quote belongs to it, with `escapes` also an escaped one.
    fn skip_quoted(&mut self, quote: char, escapes: bool) {
        self.at += 1;
        while let Some(next) = self.rest().chars().next() {
            self.at += next.len_utf8();
            if escapes && next == '\\' {
                self.at += self.rest().chars().next().map_or(0, char::len_utf8);
            } else if next == quote {
                if !self.rest().starts_with(quote) {
                    return;
                }
                self.at += 1;
            }
        }
    }

    /// Skips `$tag$…$tag$`, or a `$` that opens none.
    fn skip_dollar_quoted(&mut self) {
        let inner = &self.rest()[1..];
        let length = inner.find(|next| !(is_word_part(next) && next != '$')).unwrap_or(inner.len());
        let is_tag = inner[length..].starts_with('$') && !inner.starts_with(|first: char| first.is_ascii_digit());
        if !is_tag {
            self.at += 1;
            return;
        }
        let delimiter = &self.text[self.at..self.at + length + 2];
        let body = self.at + delimiter.len();
        self.at = self.text[body..].find(delimiter).map_or(self.text.len(), |end| body + end + delimiter.len());
    }

    fn skip_block_comment(&mut self) {
        let mut depth = 0_usize;
        while let Some(next) = self.rest().chars().next() {
            if self.rest().starts_with("/*") {
                (depth, self.at) = (depth + 1, self.at + 2);
            } else if self.rest().starts_with("*/") {
                (depth, self.at) = (depth - 1, self.at + 2);
                if depth == 0 {
                    return;
                }
            } else {
                self.at += next.len_utf8();
            }
        }
    }
}

fn is_word_start(character: char) -> bool {
    character.is_ascii_alphabetic() || character == '_' || !character.is_ascii()
}

fn is_word_part(character: char) -> bool {
    is_word_start(character) || character.is_ascii_digit() || character == '$'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(text: &str) -> Vec<String> {
        split_script(text).into_iter().map(|statement| statement.sql).collect()
    }

    #[test]
    fn semicolons_end_statements() {
        assert_eq!(split("SELECT 1; SELECT 2;\n\n;SELECT 3"), ["SELECT 1", "SELECT 2", "SELECT 3"]);
        assert_eq!(split("-- nothing\n/* at all */ ;"), Vec::<String>::new());
    }

    #[test]
    fn quoted_semicolons_belong_to_the_statement() {
        for sql in [
            "SELECT 'a;''b;'",
            "SELECT E'a\\';b'",
            "SELECT 'a\\'",
            "SELECT \"a;\"\"b\"",
            "SELECT $$a;b$$",
            "SELECT $x$a;$$;$y$;$x$",
            "SELECT 1 -- one; two\n+ 1",
            "SELECT /* a; /* b; */ c; */ 1",
            "CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2)",
            "CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1; SELECT CASE WHEN true THEN 1 END; END",
            "SELECT a$b, $1, 'ü;'",
        ] {
            assert_eq!(split(&format!("{sql};\nSELECT 2;")), [sql, "SELECT 2"]);
        }
    }

    #[test]
    fn transaction_commands_are_statements() {
        assert_eq!(split("BEGIN; CREATE TABLE t (); COMMIT;"), ["BEGIN", "CREATE TABLE t ()", "COMMIT"]);
        assert_eq!(
            split("SELECT CASE WHEN true THEN 1 END; SELECT 2"),
            ["SELECT CASE WHEN true THEN 1 END", "SELECT 2"]
        );
    }

    #[test]
    fn lines_are_counted() {
        let statements = split_script("\u{feff}\n-- first\nSELECT 1;\n\nSELECT\n2;");
        let lines: Vec<(usize, usize)> = statements.iter().map(|it| (it.line, it.first_word_line)).collect();
        assert_eq!(lines, [(2, 3), (5, 5)]);
    }

    proptest! {
        #[test]
        fn statements_are_parts_of_the_text_in_order(parts in proptest::collection::vec(
            "(;|'|\"|--|/\\*|\\*/|\\$\\$|\\$a\\$|\\(|\\)|\n| |begin|end|create|function|case|e'|\\\\|ü|x1)", 0..40)) {
            let text = parts.concat();
            let mut from = 0;
            for statement in split_script(&text) {
                let at = text[from..].find(&statement.sql);
                prop_assert!(at.is_some() && !statement.sql.is_empty(), "{statement:?}");
                from += at.unwrap_or_default() + statement.sql.len();
                prop_assert!(statement.line <= statement.first_word_line);
                prop_assert!(statement.first_word_line <= 1 + text.matches('\n').count());
            }
        }

        #[test]
        fn arbitrary_text_does_not_panic(text in "\\PC*") {
            let _ = split_script(&text);
        }
    }
}
