//! Splits a file of SQL into its statements (PostgreSQL, "Lexical Structure").
//!
//! A semicolon ends a statement outside of quotes, comments, parentheses and bodies of `BEGIN ATOMIC`. What only psql reads
//! is recognised: its commands, and the rows after `COPY … FROM stdin`.

/// A statement of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptStatement {
    /// The text without the semicolon, with the comments before it.
    pub sql: String,
    /// The line where the text begins, from 1.
    pub line: usize,
    pub first_word_line: usize,
    /// The rows of `COPY … FROM stdin`, without the line that ends them.
    pub copied_rows: Option<String>,
}

impl ScriptStatement {
    /// Returns whether it is a command of psql, such as `\i other.sql`.
    pub fn is_psql_command(&self) -> bool {
        self.sql.starts_with('\\')
    }
}

/// Commands of psql that read files or run statements; a file without them is another one.
///
/// The others, such as `\restrict` of a dump, have no effect on the database.
const PSQL_COMMANDS_WITH_EFFECT: [&str; 9] =
    ["i", "ir", "include", "include_relative", "copy", "gexec", "g", "lo_import", "if"];

/// Splits the text. Comments without a statement and commands of psql without effect are left out.
pub fn split_script(text: &str) -> Vec<ScriptStatement> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut scanner = Scanner { text, at: 0, first_word: None, parentheses: 0, words: StatementWords::default() };
    let mut statements: Vec<ScriptStatement> = Vec::new();
    let (mut start, mut lines) = (0, LineCounter { text, at: 0, line: 1 });
    while scanner.at < text.len() {
        if scanner.ends_statement() {
            let reads_rows = scanner.words.reads_rows();
            let mut statement = build_statement(&mut lines, start..scanner.at, scanner.first_word);
            scanner.at += 1;
            if let Some(statement) = statement.as_mut().filter(|_| reads_rows) {
                statement.copied_rows = Some(scanner.take_rows().to_owned());
            }
            statements.extend(statement);
        } else if scanner.is_psql_command() {
            let command = scanner.at;
            scanner.skip_line();
            let name =
                text[command + 1..scanner.at].split(|next: char| !next.is_ascii_alphanumeric() && next != '_').next();
            if name.is_some_and(|name| PSQL_COMMANDS_WITH_EFFECT.contains(&name)) {
                statements.extend(build_statement(&mut lines, command..scanner.at, Some(command)));
            }
        } else {
            scanner.skip_token();
            continue;
        }
        start = scanner.at;
        scanner.begin_statement();
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
    Some(ScriptStatement { sql: whole.trim().to_owned(), line, first_word_line, copied_rows: None })
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

/// The words of a statement outside of parentheses that change how it ends.
#[derive(Default)]
struct StatementWords {
    /// Whether the statement begins with `CREATE`.
    creates: bool,
    /// Whether it creates a function or procedure, whose body may be `BEGIN ATOMIC … END`.
    creates_routine: bool,
    /// The number of words so far.
    count: usize,
    /// The number of open `BEGIN` and `CASE`.
    depth: usize,
    /// Whether the statement begins with `COPY`.
    copies: bool,
    /// Whether the last word was `FROM`.
    is_after_from: bool,
    /// Whether `STDIN` followed it.
    has_from_stdin: bool,
}

impl StatementWords {
    fn read(&mut self, word: &str) {
        let is = |wanted: &str| word.eq_ignore_ascii_case(wanted);
        match self.count {
            0 => (self.creates, self.copies) = (is("create"), is("copy")),
            1..=3 if self.creates && (is("function") || is("procedure")) => self.creates_routine = true,
            _ if !self.creates_routine => {}
            _ if is("begin") || (is("case") && self.depth > 0) => self.depth += 1,
            _ if is("end") => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.has_from_stdin |= self.is_after_from && is("stdin");
        self.is_after_from = is("from");
        self.count += 1;
    }

    /// Whether rows follow the statement.
    fn reads_rows(&self) -> bool {
        self.copies && self.has_from_stdin
    }
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// The position of the statement's first character outside of comments.
    first_word: Option<usize>,
    parentheses: usize,
    words: StatementWords,
}

impl Scanner<'_> {
    fn begin_statement(&mut self) {
        (self.first_word, self.parentheses, self.words) = (None, 0, StatementWords::default());
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn ends_statement(&self) -> bool {
        self.rest().starts_with(';') && self.parentheses == 0 && self.words.depth == 0
    }

    /// Whether a command of psql begins here, which reaches to the end of the line.
    fn is_psql_command(&self) -> bool {
        self.first_word.is_none() && self.rest().starts_with('\\')
    }

    fn skip_line(&mut self) {
        self.at = self.find('\n').map_or(self.text.len(), |end| end + 1);
    }

    /// Skips the rows that follow `COPY … FROM stdin;` and returns them.
    fn take_rows(&mut self) -> &str {
        self.skip_line();
        let rows = self.at;
        loop {
            let line = self.at;
            self.skip_line();
            let is_end = self.text[line..self.at].trim_end_matches(['\r', '\n']) == "\\.";
            if is_end || self.at == self.text.len() {
                return &self.text[rows..if is_end { line } else { self.at }];
            }
        }
    }

    /// Skips a comment, white space, a quoted text, a word, or one other character.
    fn skip_token(&mut self) {
        let Some(first) = self.rest().chars().next() else { return };
        if self.rest().starts_with("--") {
            self.skip_line();
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
            self.words.read(word);
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

    /// Skips a comment, in which others may be nested. One without an end counts as a statement, which PostgreSQL refuses.
    fn skip_block_comment(&mut self) {
        let (start, mut depth) = (self.at, 0_usize);
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
        self.first_word.get_or_insert(start);
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
    fn comment_without_an_end_is_a_statement() {
        let open = "/* files are in x/*.pdf\n */\nSELECT 2;";
        assert_eq!(split(&format!("SELECT 1;\n{open}")), ["SELECT 1", open]);
        assert_eq!(split_script(&format!("SELECT 1;\n-- a\n{open}"))[1].first_word_line, 3);
        assert_eq!(split("/* files are in x/*.pdf */ */ SELECT 2;"), ["/* files are in x/*.pdf */ */ SELECT 2"]);
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
        let lines: Vec<(usize, usize)> =
            statements.iter().map(|statement| (statement.line, statement.first_word_line)).collect();
        assert_eq!(lines, [(2, 3), (5, 5)]);
    }

    #[test]
    fn commands_of_psql_are_no_statements() {
        let text = "\\restrict abc\nSELECT 1;\n  \\connect db\nSELECT '\\x';\n\\i other.sql\nSELECT 2";
        assert_eq!(split(text), ["SELECT 1", "SELECT '\\x'", "\\i other.sql", "SELECT 2"]);
        assert!(split_script(text)[2].is_psql_command());
        assert_eq!(split_script(text)[2].line, 5);
    }

    #[test]
    fn rows_follow_copy_from_stdin() {
        let text = "-- rows\nCOPY public.t (a, \"b;\") FROM stdin WITH (FORMAT text);\n1\t;'$$\n\\\\.\n\\.\n\nCOPY t FROM STDIN;\n\\.\nSELECT 1;";
        let statements = split_script(text);
        let rows: Vec<Option<&str>> = statements.iter().map(|statement| statement.copied_rows.as_deref()).collect();
        assert_eq!(rows, [Some("1\t;'$$\n\\\\.\n"), Some(""), None]);
        assert_eq!(statements[2].line, 9);
        for other in ["COPY t FROM '/tmp/x'; SELECT 1", "COPY (SELECT a FROM stdin) TO stdout; SELECT 1"] {
            assert!(split_script(other).iter().all(|statement| statement.copied_rows.is_none()), "{other}");
        }
        assert_eq!(split_script("COPY t FROM stdin;\n1")[0].copied_rows.as_deref(), Some("1"));
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
