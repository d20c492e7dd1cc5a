//! What the numbers were measured on.

use std::fs;
use std::thread;

use serde::{Deserialize, Serialize};

use crate::map::Failure;
use crate::memory::total_bytes;

/// A machine and the settings of it that matter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Model of the processor, as the kernel names it.
    pub processor: String,
    /// How many threads run at once.
    pub cores: usize,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// The kernel's release.
    pub kernel: String,
    /// When memory comes in huge pages: `always`, `madvise` (when asked for) or `never`.
    pub huge_pages: String,
    /// How many threads of other programs wanted to run in the last minute, on average.
    pub load: f64,
}

impl Machine {
    /// This one.
    pub fn this() -> Result<Machine, Failure> {
        Ok(Machine {
            processor: processor(),
            cores: thread::available_parallelism()?.get(),
            memory_bytes: total_bytes()?,
            kernel: read("/proc/sys/kernel/osrelease"),
            huge_pages: chosen(&read("/sys/kernel/mm/transparent_hugepage/enabled")),
            load: read("/proc/loadavg").split(' ').next().unwrap_or_default().parse()?,
        })
    }
}

fn processor() -> String {
    let text = read("/proc/cpuinfo");
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1));
    model.map_or_else(|| std::env::consts::ARCH.into(), Into::into)
}

/// The word in brackets of a line of words.
fn chosen(words: &str) -> String {
    words.split(['[', ']']).nth(1).unwrap_or("unknown").into()
}

fn read(path: &str) -> String {
    fs::read_to_string(path).map_or_else(|_| "unknown".into(), |text| text.trim().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_something() -> Result<(), Failure> {
        let machine = Machine::this()?;
        assert!(machine.cores > 0 && machine.memory_bytes > 1 << 20 && !machine.processor.is_empty());
        Ok(())
    }

    #[test]
    fn the_word_in_brackets_is_chosen() {
        assert_eq!(chosen("always [madvise] never"), "madvise");
        assert_eq!(chosen("unknown"), "unknown");
    }
}
