//! What a core's thread counts where it has no path to the core's [`Counts`]: lookups of keys, and error
//! replies by the first word of their message.
//!
//! To count a lookup takes a load and a store of the thread. The end of a turn adds the numbers to the counts
//! of the core, where others read them; `INFO` and `CONFIG RESETSTAT` do so for their own core before they
//! read.

use std::cell::Cell;

use crate::counts::Counts;

/// The first words of all messages. Redis bounds how many it counts, since scripts invent them; here there
/// are no others.
pub(crate) const PREFIXES: [&str; 7] =
    ["BUSYKEY", "ERR", "EXECABORT", "NOAUTH", "NOPROTO", "OOM", "WRONGPASS"];

/// Lookups that found nothing, and lookups that found a pair.
pub(crate) type Lookups = [u64; 2];

thread_local! {
    static LOOKUPS: [Cell<u64>; 2] = const { [Cell::new(0), Cell::new(0)] };
    static ERRORS: [Cell<u64>; PREFIXES.len()] = const { [const { Cell::new(0) }; PREFIXES.len()] };
}

/// A command that reads has looked a key up.
#[inline]
pub(crate) fn looked_up(is_there: bool) {
    LOOKUPS.with(|lookups| {
        let lookups = &lookups[usize::from(is_there)];
        lookups.set(lookups.get() + 1);
    });
}

/// The lookups since the last turn.
#[inline]
pub(crate) fn lookups() -> Lookups {
    LOOKUPS.with(|lookups| [lookups[0].get(), lookups[1].get()])
}

/// Forgets the lookups since an earlier moment of the same turn: the command runs again.
#[cold]
pub(crate) fn forget_since(before: Lookups) {
    LOOKUPS.with(|lookups| lookups.iter().zip(before).for_each(|(lookups, before)| lookups.set(before)));
}

/// A client gets an error reply.
pub(crate) fn failed(message: &str) {
    let prefix = message.split(' ').next().unwrap_or_default();
    let known = PREFIXES.iter().position(|known| *known == prefix);
    debug_assert!(known.is_some(), "an error of an unknown kind: {message}");
    if let Some(known) = known {
        ERRORS.with(|errors| errors[known].set(errors[known].get() + 1));
    }
}

/// Adds the numbers of this thread to the counts of its core.
pub(crate) fn add_to(counts: &Counts) {
    let lookups = LOOKUPS.with(|lookups| [lookups[0].take(), lookups[1].take()]);
    counts.keyspace_misses.add(lookups[0]);
    counts.keyspace_hits.add(lookups[1]);
    ERRORS.with(|errors| {
        counts.errors.iter().zip(errors).for_each(|(counter, errors)| counter.add(errors.take()));
    });
}
