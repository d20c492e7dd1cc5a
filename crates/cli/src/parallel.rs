//! One job for every index, on all cores.

use std::{
    num::NonZero,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
};

/// How many threads [`for_each_index`] runs.
pub(crate) fn threads() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Runs `job` once for every index below `count`; indices are taken in ascending order, one at a time. Each
/// thread works with its own state, made by `start`.
///
/// # Errors
/// An error of the job; no further index is taken then.
pub(crate) fn for_each_index<S, E: Send>(
    count: usize,
    start: impl Fn() -> S + Sync,
    job: impl Fn(&mut S, usize) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let work = || {
        let mut state = start();
        while !failed.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                break;
            }
            job(&mut state, index).inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let handles: Vec<_> = (0..threads()).map(|_| scope.spawn(work)).collect();
        handles.into_iter().try_for_each(|handle| match handle.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn every_index_is_done_once() {
        let sum = AtomicU64::new(0);
        let add = |_: &mut (), index: usize| -> Result<(), ()> {
            sum.fetch_add(index as u64, Ordering::Relaxed);
            Ok(())
        };
        assert_eq!(for_each_index(1000, || (), add), Ok(()));
        assert_eq!(sum.into_inner(), 999 * 1000 / 2);
    }

    #[test]
    fn an_error_stops_it() {
        let fail = |_: &mut (), index: usize| if index < 5 { Ok(()) } else { Err(index) };
        assert!(matches!(for_each_index(usize::MAX, || (), fail), Err(5..)));
    }
}
