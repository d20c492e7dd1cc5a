//! The slow log: slow commands and the reasons for their duration.

use std::collections::VecDeque;
use std::ops::Sub;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use honeycomb_store::Store;

/// The newest slow commands.
#[derive(Debug, Default)]
pub(crate) struct SlowLog {
    noted: Mutex<Noted>,
}

#[derive(Debug, Default)]
struct Noted {
    next: u64,
    entries: VecDeque<Entry>,
}

/// A slow command, or several slow commands that executed together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Entry {
    pub(crate) id: u64,
    /// Time in seconds since 1970.
    pub(crate) at: u64,
    pub(crate) took: Duration,
    /// The arguments of the command with the longest request and reply.
    pub(crate) arguments: Vec<Vec<u8>>,
    pub(crate) address: String,
    pub(crate) name: Vec<u8>,
    /// The number of commands that executed together.
    pub(crate) together: usize,
    /// Bytes of its request and of its reply.
    pub(crate) request_bytes: usize,
    pub(crate) reply_bytes: usize,
    /// Memory accesses of the accelerator in the meantime.
    pub(crate) touched: ReaderAccesses,
}

/// Memory accesses of readers so far, on all cores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ReaderAccesses {
    /// Steps from a node to its previous version.
    pub(crate) chain_steps: u64,
    /// The accesses that the accelerator counts, if it does.
    pub(crate) memory: Option<MemoryAccesses>,
}

/// Memory accesses of an accelerator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct MemoryAccesses {
    pub(crate) nodes: u64,
    pub(crate) bytes: u64,
    pub(crate) lines: u64,
}

/// Maximum number of arguments in an entry, and of bytes of each.
const ARGUMENTS_SHOWN: usize = 32;
const ARGUMENT_BYTES_SHOWN: usize = 128;

impl SlowLog {
    /// Adds an entry, and removes the oldest ones above `entries_max`.
    pub(crate) fn note(&self, entry: Entry, entries_max: usize) {
        let mut noted = self.lock();
        let id = noted.next;
        noted.next += 1;
        noted.entries.push_front(Entry { id, ..entry });
        noted.entries.truncate(entries_max);
    }

    /// Returns the newest entries, newest first.
    pub(crate) fn newest(&self, count: usize) -> Vec<Entry> {
        self.lock().entries.iter().take(count).cloned().collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().entries.len()
    }

    pub(crate) fn clear(&self) {
        self.lock().entries.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the arguments for an entry: truncated, and without passwords.
pub(crate) fn shown(arguments: &[&[u8]]) -> Vec<Vec<u8>> {
    let holds_secrets =
        |name: &&[u8]| ["auth", "hello", "config"].iter().any(|one| crate::arguments::is(name, one));
    if arguments.len() > 1 && arguments.first().is_some_and(holds_secrets) {
        return vec![arguments[0].to_vec(), b"(not shown)".to_vec()];
    }
    let fits = arguments.len() <= ARGUMENTS_SHOWN;
    let kept = if fits { arguments.len() } else { ARGUMENTS_SHOWN - 1 };
    let mut shown: Vec<_> = arguments[..kept].iter().map(|argument| shortened(argument)).collect();
    if !fits {
        shown.push(format!("... ({} more arguments)", arguments.len() - kept).into_bytes());
    }
    shown
}

fn shortened(argument: &[u8]) -> Vec<u8> {
    let kept = argument.len().min(ARGUMENT_BYTES_SHOWN);
    let mut shown = argument[..kept].to_vec();
    if kept < argument.len() {
        shown.extend_from_slice(format!("... ({} more bytes)", argument.len() - kept).as_bytes());
    }
    shown
}

impl ReaderAccesses {
    /// Returns the accesses so far.
    pub(crate) fn of(store: &Store, with_memory: bool) -> Self {
        let counts = if with_memory { store.access_counts() } else { None };
        let memory = counts.map(|counts| {
            let mut memory = MemoryAccesses::default();
            for level in &counts.levels {
                memory.nodes += level.nodes;
                for part in [level.header, level.columns, level.items, level.log] {
                    memory.bytes += part.bytes;
                    memory.lines += part.lines;
                }
            }
            memory
        });
        Self { chain_steps: store.versions().chain_steps, memory }
    }
}

impl Sub for ReaderAccesses {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        let memory = self.memory.zip(before.memory).map(|(now, before)| MemoryAccesses {
            nodes: now.nodes - before.nodes,
            bytes: now.bytes - before.bytes,
            lines: now.lines - before.lines,
        });
        Self { chain_steps: self.chain_steps - before.chain_steps, memory }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_entries_stay_and_identifiers_continue() {
        let log = SlowLog::default();
        (0..5).for_each(|_| log.note(Entry::default(), 3));
        assert_eq!(log.newest(2).iter().map(|entry| entry.id).collect::<Vec<_>>(), [4, 3]);
        assert_eq!(log.len(), 3);
        log.clear();
        log.note(Entry::default(), 0);
        assert_eq!(log.len(), 0);
        log.note(Entry::default(), 1);
        assert_eq!(log.newest(9)[0].id, 6);
    }

    #[test]
    fn entries_truncate_arguments() {
        let many = vec![&b"a"[..]; 33];
        assert_eq!(shown(&many).len(), 32);
        assert_eq!(shown(&many)[31], b"... (2 more arguments)");
        assert_eq!(shown(&many[..32])[31], b"a");
        let long = [b'x'; 129];
        assert_eq!(shown(&[&long])[0], [&long[..128], b"... (1 more bytes)"].concat());
        assert_eq!(shown(&[&long[..128]])[0], &long[..128]);
        assert_eq!(shown(&[b"AUTH", b"secret"]), [&b"AUTH"[..], b"(not shown)"]);
    }
}
