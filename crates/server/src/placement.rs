//! The CPUs of the threads of the server.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Returns one CPU per thread if there are as many threads as CPUs that the process may use, otherwise an
/// empty list: the system knows better which CPUs of a part other processes leave idle.
pub(crate) fn one_each(threads: usize) -> io::Result<Vec<usize>> {
    let allowed = sched_getaffinity(None)?;
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect();
    Ok(if cores.len() == threads { cores } else { Vec::new() })
}

/// Pins this thread to a CPU.
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
    fn as_many_threads_as_cpus_get_one_each() {
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
