//! Cells of comma-separated values (RFC 4180).

/// Formats a text as a cell, in which no program for spreadsheets finds a formula.
///
/// An apostrophe precedes a character that begins a formula, at the start of the text and wherever a cell can start for
/// a program that separates cells by semicolons or tabs: such a program does not see the quotes around the text.
/// <https://owasp.org/www-community/attacks/CSV_Injection>
pub fn format_csv_cell(text: &str) -> String {
    let mut cell = String::with_capacity(text.len() + 2);
    if text.starts_with(['\t', '\r']) {
        cell.push('\'');
    }
    let mut is_start = true;
    for character in text.chars() {
        if is_start && begins_formula(character) {
            cell.push('\'');
        }
        let is_ignored = character == '"' || character.is_whitespace();
        is_start = matches!(character, ';' | '\t' | '\r' | '\n') || (is_start && is_ignored);
        cell.push(character);
    }
    if cell == text && !text.contains([',', ';', '"', '\t', '\r', '\n']) {
        return cell;
    }
    format!("\"{}\"", cell.replace('"', "\"\""))
}

/// Returns whether a text that begins with this character is a formula in a spreadsheet.
fn begins_formula(character: char) -> bool {
    matches!(character, '=' | '+' | '-' | '@' | '\u{ff1d}' | '\u{ff0b}' | '\u{ff0d}' | '\u{ff20}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads one line of cells (RFC 4180).
    fn read_cells(line: &str) -> Vec<String> {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes());
        let records: Vec<Vec<String>> = reader.deserialize().collect::<Result<_, _>>().expect("lines of CSV");
        records.concat()
    }

    #[test]
    fn formulas_are_text() {
        for (text, cell) in [
            ("=1+1", "\"'=1+1\""),
            ("-x", "\"'-x\""),
            ("@SUM(A1)", "\"'@SUM(A1)\""),
            ("Hi;=HYPERLINK(A1)", "\"Hi;'=HYPERLINK(A1)\""),
            ("Hi;\"=A1", "\"Hi;\"\"'=A1\""),
            ("a\t+1", "\"a\t'+1\""),
            ("a\n=1", "\"a\n'=1\""),
            ("\tx", "\"'\tx\""),
            ("\u{ff1d}1", "\"'\u{ff1d}1\""),
            ("a=b-c@example.com", "a=b-c@example.com"),
            ("a,b", "\"a,b\""),
            ("a\"b", "\"a\"\"b\""),
            ("ä", "ä"),
            ("", ""),
        ] {
            assert_eq!(format_csv_cell(text), cell);
        }
    }

    proptest! {
        #[test]
        fn cells_are_read_back(texts in proptest::collection::vec("[a-z,;\t\"\n\r' =é]{0,12}", 1..5)) {
            // A line without any text would be no line.
            let texts = [vec!["first".to_owned()], texts].concat();
            let line: Vec<String> = texts.iter().map(|text| format_csv_cell(text)).collect();
            let read = read_cells(&line.join(","));
            let without_guards = |texts: &[String]| texts.iter().map(|text| text.replace('\'', "")).collect::<Vec<_>>();
            prop_assert_eq!(without_guards(&read), without_guards(&texts));
        }

        #[test]
        fn no_cell_of_another_separator_is_a_formula(text in "[a-b;\t\"\n\r =+@,-]{0,12}", after in "\\PC{0,20}") {
            let cell = format_csv_cell(&(text + &after));
            for part in cell.split([';', '\t', '\n', '\r']) {
                prop_assert!(!part.trim_matches(['"', ' ']).starts_with(['=', '+', '-', '@']), "{}", cell);
            }
        }
    }
}
