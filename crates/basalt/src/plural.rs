//! Numbers of things in texts.

use std::fmt::Display;

/// Formats a number of things: `1 row`, `2 rows`. The plural ends in `s`.
pub(crate) fn format_count(number: impl Display, thing: &str) -> String {
    let number = number.to_string();
    let ending = if number == "1" { "" } else { "s" };
    format!("{number} {thing}{ending}")
}
