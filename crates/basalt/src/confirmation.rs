//! Questions of commands that delete something.

use std::io::{BufRead, IsTerminal};

use anyhow::bail;

/// Asks the question on the terminal unless `is_confirmed`.
///
/// # Errors
/// The answer is not yes, or there is no terminal. `kept` says what did not happen.
pub(crate) fn confirm(is_confirmed: bool, question: &str, kept: &str) -> anyhow::Result<()> {
    if is_confirmed {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        bail!("{kept}: there is no terminal to ask on; --yes confirms without a question");
    }
    eprint!("{question} [y/N] ");
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    if !matches!(answer.trim(), "y" | "Y" | "yes") {
        bail!("{kept}");
    }
    Ok(())
}
