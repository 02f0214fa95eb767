//! Progress on long work: a bar where somebody watches, nothing where nobody does.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar towards so many steps, on standard error. It draws itself only on a terminal.
pub fn bar(steps: u64, of_bytes: bool) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr_with_hz(10));
    let measure = if of_bytes { "{bytes} of {total_bytes}" } else { "{human_pos} of {human_len}" };
    let style = ProgressStyle::with_template(&["{bar:30} {percent:>3} %  ", measure, "  {eta} left  {msg}"].concat())
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style);
    bar
}
