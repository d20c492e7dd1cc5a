//! Counters of a thread, for code without access to the [`Counts`] of the core: lookups of keys, and error
//! replies by the first word of their message.
//!
//! Counting a lookup takes a load and a store. The end of an iteration adds the numbers to the counts of the
//! core, where other threads read them. `INFO` and `CONFIG RESETSTAT` do this for their own core before they
//! read.

use std::cell::Cell;

use crate::counts::Counts;

/// The first words of all error messages. Redis limits the number of words that it counts, because scripts
/// invent words. This server has only these.
pub(crate) const PREFIXES: [&str; 8] =
    ["BUSYKEY", "ERR", "EXECABORT", "MISCONF", "NOAUTH", "NOPROTO", "OOM", "WRONGPASS"];

/// The number of lookups of absent keys, and of existing keys.
pub(crate) type Lookups = [u64; 2];

thread_local! {
    static LOOKUPS: [Cell<u64>; 2] = const { [Cell::new(0), Cell::new(0)] };
    static ERRORS: [Cell<u64>; PREFIXES.len()] = const { [const { Cell::new(0) }; PREFIXES.len()] };
}

/// Counts the lookup of a key by a command that reads.
#[inline]
pub(crate) fn looked_up(is_there: bool) {
    LOOKUPS.with(|lookups| {
        let lookups = &lookups[usize::from(is_there)];
        lookups.set(lookups.get() + 1);
    });
}

/// Returns the lookups since the last iteration.
#[inline]
pub(crate) fn lookups() -> Lookups {
    LOOKUPS.with(|lookups| [lookups[0].get(), lookups[1].get()])
}

/// Removes the lookups since an earlier point of the same iteration, because the command executes again.
#[cold]
pub(crate) fn forget_since(before: Lookups) {
    LOOKUPS.with(|lookups| lookups.iter().zip(before).for_each(|(lookups, before)| lookups.set(before)));
}

/// Counts an error reply.
pub(crate) fn failed(message: &str) {
    let prefix = message.split(' ').next().unwrap_or_default();
    let known = PREFIXES.iter().position(|known| *known == prefix);
    debug_assert!(known.is_some(), "an error of an unknown kind: {message}");
    if let Some(known) = known {
        ERRORS.with(|errors| errors[known].set(errors[known].get() + 1));
    }
}

/// The numbers of another thread than that of a core.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    lookups: Lookups,
    errors: [u64; PREFIXES.len()],
}

impl Tally {
    /// Adds other numbers.
    pub(crate) fn add(&mut self, other: &Self) {
        let add = |numbers: &mut [u64], others: &[u64]| {
            numbers.iter_mut().zip(others).for_each(|(number, other)| *number += other);
        };
        add(&mut self.lookups, &other.lookups);
        add(&mut self.errors, &other.errors);
    }
}

/// Removes and returns the numbers of this thread.
pub(crate) fn take() -> Tally {
    let lookups = LOOKUPS.with(|lookups| [lookups[0].take(), lookups[1].take()]);
    Tally { lookups, errors: ERRORS.with(|errors| std::array::from_fn(|at| errors[at].take())) }
}

/// Adds the numbers of another thread to those of this thread.
pub(crate) fn give(tally: &Tally) {
    let add = |cells: &[Cell<u64>], numbers: &[u64]| {
        cells.iter().zip(numbers).for_each(|(cell, number)| cell.set(cell.get() + number));
    };
    LOOKUPS.with(|lookups| add(lookups, &tally.lookups));
    ERRORS.with(|errors| add(errors, &tally.errors));
}

/// Adds the numbers of this thread to the counts of its core.
pub(crate) fn add_to(counts: &Counts) {
    let Tally { lookups, errors } = take();
    counts.keyspace_misses.add(lookups[0]);
    counts.keyspace_hits.add(lookups[1]);
    counts.errors.iter().zip(errors).for_each(|(counter, errors)| counter.add(errors));
}
