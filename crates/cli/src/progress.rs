//! How far a long job has come, on standard error: a bar on a terminal, otherwise a line every few seconds.

use crate::units;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{
    io::IsTerminal,
    sync::Mutex,
    time::{Duration, Instant},
};

const LINE_EVERY: Duration = Duration::from_secs(5);

/// The progress of one job; drop it when the job ends. Threads share it.
pub(crate) struct Progress {
    bar: ProgressBar,
    job: &'static str,
    unit: Unit,
    /// When the last line was printed; `None` where a bar is drawn.
    line: Option<Mutex<Instant>>,
}

/// What a job counts.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    /// Bytes.
    Bytes,
    /// Things of this name.
    Things(&'static str),
}

impl Progress {
    /// The progress of `job` towards `total`.
    pub(crate) fn towards(job: &'static str, total: u64, unit: Unit) -> Progress {
        let template = match unit {
            Unit::Bytes => "{prefix} {bar:32} {bytes} of {total_bytes}  {binary_bytes_per_sec}  {eta} left",
            Unit::Things(_) => "{prefix} {bar:32} {human_pos} of {human_len} {msg}  {per_sec}  {eta} left",
        };
        Progress::new(job, Some(total), unit, template)
    }

    /// The progress of `job`, whose end nobody knows.
    pub(crate) fn onwards(job: &'static str, unit: Unit) -> Progress {
        let template = match unit {
            Unit::Bytes => "{prefix} {spinner} {bytes}",
            Unit::Things(_) => "{prefix} {spinner} {human_pos} {msg}",
        };
        Progress::new(job, None, unit, template)
    }

    /// Counts `amount` more as done.
    pub(crate) fn advance(&self, amount: u64) {
        self.bar.inc(amount);
        let Some(Ok(mut last)) = self.line.as_ref().map(Mutex::try_lock) else { return };
        if last.elapsed() >= LINE_EVERY {
            *last = Instant::now();
            eprintln!("{}", self.line());
        }
    }

    fn new(job: &'static str, total: Option<u64>, unit: Unit, template: &str) -> Progress {
        let terminal = std::io::stderr().is_terminal();
        // The templates are ours and constant; should one be wrong, indicatif's own style serves.
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        let bar = bar.with_style(style).with_prefix(job);
        if let Unit::Things(name) = unit {
            bar.set_message(name);
        }
        if terminal {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        Progress { bar, job, unit, line: (!terminal).then(|| Mutex::new(Instant::now())) }
    }

    fn line(&self) -> String {
        let show = |amount| match self.unit {
            Unit::Bytes => units::bytes(amount),
            Unit::Things(name) => format!("{} {name}", units::count(amount)),
        };
        match self.bar.length() {
            Some(total) => format!("{}: {} of {}", self.job, show(self.bar.position()), show(total)),
            None => format!("{}: {}", self.job, show(self.bar.position())),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far() {
        let progress = Progress::towards("reading", 4096, Unit::Bytes);
        progress.advance(1024);
        assert_eq!(progress.line(), "reading: 1.00 KiB of 4.00 KiB");
        let progress = Progress::onwards("walking", Unit::Things("entries"));
        progress.advance(7);
        assert_eq!(progress.line(), "walking: 7 entries");
    }
}
