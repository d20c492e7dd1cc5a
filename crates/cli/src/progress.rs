//! The progress of a long phase, on standard error: a bar on a terminal, otherwise a line every few seconds.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use honeycomb_file_index::{Phase, PhaseProgress, Unit as IndexUnit};
use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};

const LINE_INTERVAL: Duration = Duration::from_secs(5);

/// The progress of one phase. Threads share it. Dropping it removes the bar.
pub(crate) struct Progress {
    bar: ProgressBar,
    phase: &'static str,
    unit: Unit,
    /// The time of the last line. A terminal shows a bar instead of lines.
    last_line: Option<Mutex<Instant>>,
}

/// The unit of the work of a phase.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    /// Bytes.
    Bytes,
    /// Items with this name in the plural.
    Items(&'static str),
}

impl Progress {
    /// Starts a phase. `total` is the amount of work, if it is known in advance.
    pub(crate) fn new(phase: &'static str, total: Option<u64>, unit: Unit) -> Progress {
        let template = match (total, unit) {
            (Some(_), Unit::Bytes) => {
                "{prefix} {bar:32} {bytes} of {total_bytes}  {binary_bytes_per_sec}  {eta} left"
            }
            (Some(_), Unit::Items(_)) => {
                "{prefix} {bar:32} {human_pos} of {human_len} {msg}  {per_sec}  {eta} left"
            }
            (None, Unit::Bytes) => "{prefix} {spinner} {bytes}",
            (None, Unit::Items(_)) => "{prefix} {spinner} {human_pos} {msg}",
        };
        // The templates are valid constants; the default style is only a fallback.
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        let bar = bar.with_style(style).with_prefix(phase);
        if let Unit::Items(name) = unit {
            bar.set_message(name);
        }
        let is_terminal = std::io::stderr().is_terminal();
        if is_terminal {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        Progress { bar, phase, unit, last_line: (!is_terminal).then(|| Mutex::new(Instant::now())) }
    }

    /// Adds `amount` to the completed work.
    pub(crate) fn advance(&self, amount: u64) {
        self.bar.inc(amount);
        let Some(Ok(mut last)) = self.last_line.as_ref().map(Mutex::try_lock) else { return };
        if last.elapsed() >= LINE_INTERVAL {
            *last = Instant::now();
            eprintln!("{}", self.line());
        }
    }

    fn line(&self) -> String {
        let amount = |amount| match self.unit {
            Unit::Bytes => HumanBytes(amount).to_string(),
            Unit::Items(name) => format!("{} {name}", HumanCount(amount)),
        };
        let total = self.bar.length().map(|total| format!(" of {}", amount(total)));
        format!("{}: {}{}", self.phase, amount(self.bar.position()), total.unwrap_or_default())
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Starts a phase of an index run.
pub(crate) fn start_phase(phase: Phase) -> Box<dyn PhaseProgress> {
    let unit = match phase.unit {
        IndexUnit::Bytes => Unit::Bytes,
        IndexUnit::Items(name) => Unit::Items(name),
    };
    Box::new(Progress::new(phase.name, phase.total, unit))
}

impl PhaseProgress for Progress {
    fn advance(&self, amount: u64) {
        Progress::advance(self, amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_the_completed_and_the_total_work() {
        let progress = Progress::new("reading", Some(4096), Unit::Bytes);
        progress.advance(1024);
        assert_eq!(progress.line(), "reading: 1.00 KiB of 4.00 KiB");
        let progress = Progress::new("walking", None, Unit::Items("entries"));
        progress.advance(7);
        assert_eq!(progress.line(), "walking: 7 entries");
    }
}
