//! Hardware counters of the processor, where the machine permits access to them.

use perf_event::events::{Cache, CacheOp, CacheResult, Event, Hardware, WhichCache};
use perf_event::{Builder, Counter, Group};
use serde::{Deserialize, Serialize};

use crate::map::Failure;
use crate::summary::median;

/// Average counts for one operation, including the key generation of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Instructions.
    pub instructions: f64,
    /// Lines of 64 bytes that missed the first-level cache.
    pub lines: f64,
    /// Lines that missed all caches.
    pub memory_lines: f64,
}

impl Counts {
    /// Returns the median of each count, or `None` without samples.
    pub fn median(samples: &[Counts]) -> Option<Counts> {
        let of = |count: fn(&Counts) -> f64| median(&samples.iter().map(count).collect::<Vec<_>>());
        (!samples.is_empty()).then(|| Counts {
            instructions: of(|one| one.instructions),
            lines: of(|one| one.lines),
            memory_lines: of(|one| one.memory_lines),
        })
    }
}

/// The counters of one thread.
pub struct Counters {
    group: Group,
    instructions: Counter,
    lines: Counter,
    memory_lines: Counter,
}

impl Counters {
    /// Returns stopped counters of the calling thread.
    ///
    /// # Errors
    /// Fails if the kernel or a hypervisor denies access.
    pub fn open() -> Result<Counters, Failure> {
        let (which, operation, result) = (WhichCache::L1D, CacheOp::READ, CacheResult::MISS);
        let mut group = Group::new().map_err(|error| format!("perf_event_open: {error}"))?;
        let mut add = |event: Event| {
            let counter = Builder::new().group(&mut group).kind(event).build();
            counter.map_err(|error| format!("perf_event_open: {error}"))
        };
        let instructions = add(Hardware::INSTRUCTIONS.into())?;
        let lines = add(Cache { which, operation, result }.into())?;
        let memory_lines = add(Hardware::CACHE_MISSES.into())?;
        Ok(Counters { group, instructions, lines, memory_lines })
    }

    /// Starts the counters.
    pub fn start(&mut self) -> Result<(), Failure> {
        Ok(self.group.enable()?)
    }

    /// Stops the counters.
    pub fn stop(&mut self) -> Result<(), Failure> {
        Ok(self.group.disable()?)
    }

    /// Returns the counts per operation, and resets the counters.
    pub fn read_and_reset(&mut self, operations: u64) -> Result<Counts, Failure> {
        let counts = self.group.read()?;
        self.group.reset()?;
        let of = |counter: &Counter| counts[counter] as f64 / operations as f64;
        let instructions = of(&self.instructions);
        Ok(Counts { instructions, lines: of(&self.lines), memory_lines: of(&self.memory_lines) })
    }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[test]
    fn counters_count_or_report_why_not() -> Result<(), Failure> {
        let mut counters = match Counters::open() {
            Ok(counters) => counters,
            Err(failure) => {
                assert!(failure.to_string().starts_with("perf_event_open: "), "{failure}");
                return Ok(());
            }
        };
        counters.start()?;
        (0..1_000_000_u64).for_each(|number| _ = black_box(number));
        counters.stop()?;
        let counted = counters.read_and_reset(1_000_000)?;
        assert!((1.0..100.0).contains(&counted.instructions), "{counted:?}");
        assert!(counters.read_and_reset(1)?.instructions < 1_000.0);
        Ok(())
    }

    #[test]
    fn each_count_has_its_own_median() {
        let counts = |instructions, lines| Counts { instructions, lines, memory_lines: 0.0 };
        let median = Counts::median(&[counts(1.0, 9.0), counts(3.0, 7.0), counts(2.0, 8.0)]);
        assert_eq!(median, Some(counts(2.0, 8.0)));
        assert_eq!(Counts::median(&[]), None);
    }
}
