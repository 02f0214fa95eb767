//! The text of `docs/errors.md`.

use std::fmt::Write as _;

use super::code::ErrorCode;

const INTRODUCTION: &str = "\
# Errors

<!-- Generated from the table of error codes. To update: UPDATE_DOCS=1 cargo test -p gotrue-rs errors -->

An error response has a stable code: `error_code` next to `code` (the status) and `msg`, or, with the header
`X-Supabase-Api-Version: 2024-01-01`, `code` next to `message`; the header `x-sb-error-code` repeats it. OAuth endpoints
respond with `error` and `error_description` instead. An error that a database trigger of the operator raises has its
SQLSTATE as `code`. The message is for developers; the internal cause is in the log, under the request id.

The status in the tables is the usual one; some routes respond with another.
";

/// Renders the Markdown document.
pub fn render_document() -> String {
    let mut text = INTRODUCTION.to_owned();
    for section in ErrorCode::SECTIONS {
        let title = section.title;
        let _ = write!(text, "\n## {title}\n\n| code | status | cause | resolution |\n|---|---|---|---|\n");
        for code in section.codes {
            let _ = writeln!(text, "| `{code}` | {} | {} | {} |", code.status(), code.cause(), code.cure());
        }
    }
    text
}
