//! Numbers of threads, and the cores that they run on.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::map::Failure;

/// The cores that this process may use.
pub fn available() -> Result<Vec<usize>, Failure> {
    let allowed = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect())
}

/// Keeps this thread, and those that it starts, on some cores.
pub fn stay_on(cores: &[usize]) -> Result<(), Failure> {
    let mut chosen = CpuSet::new();
    cores.iter().for_each(|core| chosen.set(*core));
    Ok(sched_setaffinity(None, &chosen)?)
}

/// `1 thread`, `2 threads`.
pub fn count_threads(threads: usize) -> String {
    format!("{threads} thread{}", if threads == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_thread_stays_where_it_is_put() -> Result<(), Failure> {
        let all = available()?;
        let last = all[all.len() - 1..].to_vec();
        let found = thread::scope(|scope| {
            let stay = || stay_on(&last).and_then(|()| available());
            scope.spawn(stay).join().unwrap_or_else(|_| Err("panicked".into()))
        })?;
        assert_eq!(found, last);
        assert_eq!(available()?, all, "no other thread is moved");
        Ok(())
    }
}
