//! Which core of the machine a thread of the server runs on.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// A core of the machine for each of so many threads, if these are all that the process may use; else none:
/// on a part of the machine the system knows better which ones others leave free.
pub(crate) fn one_each(threads: usize) -> io::Result<Vec<usize>> {
    let allowed = sched_getaffinity(None)?;
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect();
    Ok(if cores.len() == threads { cores } else { Vec::new() })
}

/// Keeps this thread on a core.
pub(crate) fn stay_on(core: usize) -> io::Result<()> {
    let mut chosen = CpuSet::new();
    chosen.set(core);
    Ok(sched_setaffinity(None, &chosen)?)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn threads_get_a_core_each_if_they_are_as_many() {
        let all = thread::available_parallelism().unwrap().get();
        let cores = one_each(all).unwrap();
        assert_eq!(cores.len(), all);
        assert!(one_each(all + 1).unwrap().is_empty());
        let last = cores[all - 1];
        let stays = move || stay_on(last).and_then(|()| one_each(1)).unwrap();
        assert_eq!(thread::spawn(stays).join().unwrap(), [last]);
        assert_eq!(one_each(all).unwrap(), cores, "no other thread is moved");
    }
}
