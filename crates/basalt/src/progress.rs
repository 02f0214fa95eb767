//! Progress bars of long operations, drawn on terminals only.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Creates a bar of `steps` steps on standard error.
pub(crate) fn progress_bar(steps: u64, of_bytes: bool) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr_with_hz(10));
    let measure = if of_bytes { "{bytes} of {total_bytes}" } else { "{human_pos} of {human_len}" };
    let style = ProgressStyle::with_template(&["{bar:30} {percent:>3} %  ", measure, "  {eta} left  {msg}"].concat())
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style);
    bar
}
