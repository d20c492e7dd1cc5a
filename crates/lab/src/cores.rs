//! CPU affinity, and the number of threads as text.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::map::Failure;

/// Returns the cores that this thread may use.
pub fn available() -> Result<Vec<usize>, Failure> {
    let allowed = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect())
}

/// Sets the CPU affinity of this thread and of the threads that it starts.
pub fn set_affinity(cores: &[usize]) -> Result<(), Failure> {
    let mut set = CpuSet::new();
    cores.iter().for_each(|core| set.set(*core));
    Ok(sched_setaffinity(None, &set)?)
}

/// Returns `1 thread`, `2 threads` and so on.
pub fn count_threads(threads: usize) -> String {
    format!("{threads} thread{}", if threads == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn affinity_applies_to_one_thread() -> Result<(), Failure> {
        let all = available()?;
        let last = all[all.len() - 1..].to_vec();
        let found = thread::scope(|scope| {
            let pinned = || set_affinity(&last).and_then(|()| available());
            scope.spawn(pinned).join().unwrap_or_else(|_| Err("panicked".into()))
        })?;
        assert_eq!(found, last);
        assert_eq!(available()?, all, "the affinity of this thread has not changed");
        Ok(())
    }
}
