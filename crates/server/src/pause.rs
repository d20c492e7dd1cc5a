//! `CLIENT PAUSE`: commands wait until a point in time.

use honeycomb_memory::sync::{AtomicU64, Ordering};

/// The commands that wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paused {
    /// Commands that write pairs or send messages.
    Writes,
    /// All commands.
    All,
}

/// The pause of all cores: its end in milliseconds since 1970, and in the lowest bit whether all commands
/// wait; 0 if there is none. Both are in one word, so that a core that has seen the end of a pause cannot end
/// another one.
#[derive(Debug, Default)]
pub(crate) struct Pause(AtomicU64);

impl Pause {
    /// Begins a pause. As in Redis, it does not shorten or weaken a pause in progress.
    pub(crate) fn begin(&self, paused: Paused, until: u64) {
        let (until, all) = (until.min(u64::MAX >> 1), u64::from(paused == Paused::All));
        let join = |pause: u64| Some((pause >> 1).max(until) << 1 | pause & 1 | all);
        // The function never declines.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, join);
    }

    /// Ends the pause.
    pub(crate) fn end(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Returns the commands that wait at a time.
    #[inline]
    pub(crate) fn at(&self, now: u64) -> Option<Paused> {
        let pause = self.0.load(Ordering::Relaxed);
        if pause == 0 {
            return None;
        }
        if pause >> 1 <= now {
            self.end_expired(pause);
            return None;
        }
        Some(if pause & 1 == 1 { Paused::All } else { Paused::Writes })
    }

    /// Ends an expired pause, because the next one is independent of it. Another core may have begun that
    /// one already.
    fn end_expired(&self, pause: u64) {
        let _ = self.0.compare_exchange(pause, 0, Ordering::Relaxed, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_add_up_until_they_expire() {
        let pause = Pause::default();
        assert_eq!(pause.at(0), None);
        pause.begin(Paused::Writes, 20);
        pause.begin(Paused::All, 10);
        assert_eq!([pause.at(19), pause.at(20)], [Some(Paused::All), None]);
        pause.begin(Paused::Writes, u64::MAX);
        assert_eq!(pause.at(u64::MAX >> 2), Some(Paused::Writes));
        pause.end();
        assert_eq!(pause.at(0), None);
    }

    #[test]
    fn the_end_of_a_pause_ends_no_later_one() {
        let pause = Pause::default();
        pause.begin(Paused::Writes, 10);
        let expired = pause.0.load(Ordering::Relaxed);
        // Another core begins a pause before this one ends the expired one.
        pause.begin(Paused::Writes, 5000);
        pause.end_expired(expired);
        assert_eq!(pause.at(20), Some(Paused::Writes));
    }
}
