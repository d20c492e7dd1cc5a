//! The machine of a measurement.

use std::{fs, thread};

use serde::{Deserialize, Serialize};

use crate::map::Failure;
use crate::memory::total_bytes;

/// A machine, and its settings that affect measurements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Model of the processor, as the kernel reports it.
    pub processor: String,
    /// Number of threads that can run in parallel.
    pub cores: usize,
    /// Number of NUMA nodes.
    pub numa_nodes: usize,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// The kernel's release.
    pub kernel: String,
    /// Use of huge pages: `always`, `madvise` (on request) or `never`.
    pub huge_pages: String,
    /// Average number of runnable threads in the last minute, before the measurement.
    pub load: f64,
}

impl Machine {
    /// Returns the description of this machine.
    pub fn current() -> Result<Machine, Failure> {
        Ok(Machine {
            processor: processor(),
            cores: thread::available_parallelism()?.get(),
            numa_nodes: count(&read("/sys/devices/system/node/online")).unwrap_or(1),
            memory_bytes: total_bytes()?,
            kernel: read("/proc/sys/kernel/osrelease"),
            huge_pages: active(&read("/sys/kernel/mm/transparent_hugepage/enabled")),
            load: read("/proc/loadavg").split(' ').next().unwrap_or_default().parse()?,
        })
    }
}

fn processor() -> String {
    let text = read("/proc/cpuinfo");
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1));
    model.map_or_else(|| std::env::consts::ARCH.into(), Into::into)
}

/// Returns the word in brackets, which marks the active setting.
fn active(words: &str) -> String {
    words.split(['[', ']']).nth(1).unwrap_or("unknown").into()
}

/// Returns how many numbers a list of the kernel contains, such as `0-3,8`.
fn count(list: &str) -> Option<usize> {
    let length = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        (last.parse::<usize>().ok()? + 1).checked_sub(first.parse().ok()?)
    };
    list.split(',').map(length).sum()
}

fn read(path: &str) -> String {
    fs::read_to_string(path).map_or_else(|_| "unknown".into(), |text| text.trim().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_is_not_empty() -> Result<(), Failure> {
        let machine = Machine::current()?;
        assert!(
            machine.cores > 0
                && machine.numa_nodes > 0
                && machine.memory_bytes > 1 << 20
                && !machine.processor.is_empty()
        );
        Ok(())
    }

    #[test]
    fn numa_nodes_are_counted() {
        let lists = ["0", "0-1", "0,2", "0-3,8,16-23", "unknown", "", "3-1"];
        let counts = [Some(1), Some(2), Some(2), Some(13), None, None, None];
        assert_eq!(lists.map(count), counts);
    }

    #[test]
    fn the_word_in_brackets_is_active() {
        assert_eq!(active("always [madvise] never"), "madvise");
        assert_eq!(active("unknown"), "unknown");
    }
}
