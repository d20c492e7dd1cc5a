//! The progress bar of long measurements. It appears only on a terminal.

use indicatif::{ProgressBar, ProgressStyle};

use crate::map::Failure;

/// Returns a bar for a number of steps.
pub(crate) fn bar(steps: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {percent:>3} % {elapsed} {msg}");
    ProgressBar::new(steps as u64).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// Executes a step, and names it meanwhile.
pub(crate) fn step<T>(
    bar: &ProgressBar,
    name: &'static str,
    step: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    bar.set_message(name);
    let result = step()?;
    bar.inc(1);
    Ok(result)
}
