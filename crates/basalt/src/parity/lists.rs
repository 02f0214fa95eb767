//! Lists with titles, in the text of the report.

use std::io::{self, Write};

/// Writes a list with a title, or nothing.
pub(super) fn write_list(out: &mut dyn Write, title: &str, lines: &[String]) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{title}")?;
    lines.iter().try_for_each(|line| writeln!(out, "  {line}"))
}

/// Marks lines that are to be looked at before switching.
pub(super) fn mark(lines: &[String]) -> Vec<String> {
    lines.iter().map(|line| format!("! {line}")).collect()
}
