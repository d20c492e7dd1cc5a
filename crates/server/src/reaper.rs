//! Deletes pairs that have expired, and entries of the [index of deadlines](crate::deadlines) that are stale.
//!
//! Any core takes a step, between two turns, when it is time to and no other core is at it. A step is
//! bounded, so that it holds up no client; while there is more to do, the core goes on without waiting for
//! sockets.

use std::ops::Bound;

use honeycomb_memory::sync::{AtomicU64, Ordering};
use honeycomb_store::{Pairs, Scan};

use crate::deadlines::{Deadlines, Due, due_until};
use crate::envelope::Envelope;
use crate::failure::Failure;
use crate::shared::Shared;

/// Entries that are looked at in a step for each millisecond since the last one. An entry takes one to three
/// microseconds.
const ENTRIES_A_MILLISECOND: u64 = 64;
/// Milliseconds that count, however many there were.
const MILLISECONDS_MAX: u64 = 32;
/// Entries that are read from the index at once.
const ENTRIES_AT_ONCE: usize = 64;
/// Bytes of a value that are worth an entry, since they are read.
const BYTES_AN_ENTRY: usize = 4 << 10;
/// Milliseconds between two steps if there is nothing more to do.
const INTERVAL: u64 = 10;
/// A debt that is worth a step.
const DEBT_MIN: u64 = 256;
/// Further entries that are looked at in a step since the debt is large.
const CHECKS_MAX: u64 = 192;
/// Entries that are looked at in any case for every interval.
const CHECKS_AN_INTERVAL: u64 = 16;
/// Entries that are looked at for each one that is found stale: where more than a fourth are, it goes on.
const CHECKS_A_STALE: u64 = 4;
/// Pairs of tables that are looked at at once, and their bytes, in the pass over what was there before.
const PASS_PAIRS: usize = 256;
const PASS_BYTES: usize = 256 << 10;

/// When the next step is due.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    next: AtomicU64,
}

/// What steps need, one after the other.
#[derive(Debug)]
pub(crate) struct Reaper {
    /// Of the last step.
    last: u64,
    /// The key of the entry after which stale ones are looked for.
    checked: Vec<u8>,
    /// The pass over pairs that were in the store before the server was, until it is done.
    pass: Option<Pass>,
    entries: Pairs,
    value: Vec<u8>,
}

/// Where the pass is.
#[derive(Debug, Default)]
struct Pass {
    slot: usize,
    /// The key after which it goes on.
    after: Vec<u8>,
}

/// What an entry turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settled {
    /// The pair expires when it says, or is about to be put.
    Right,
    /// It was stale, and is gone.
    Stale,
    /// The pair had expired, and both are gone.
    Expired,
}

impl Schedule {
    /// Whether a core is to take a step.
    #[inline]
    pub(crate) fn is_due(&self, deadlines: &Deadlines, now: u64) -> bool {
        now >= self.next.load(Ordering::Relaxed) || deadlines.debt() >= DEBT_MIN || Deadlines::has_found()
    }
}

/// Takes a step, if it is time to: whether there is more to do at once.
pub(crate) fn step(shared: &Shared, now: u64) -> bool {
    if !shared.schedule.is_due(&shared.deadlines, now) {
        return false;
    }
    let Ok(mut reaper) = shared.reaper.try_lock() else { return false };
    let (is_behind, failed) = match reaper.step(shared, now) {
        Ok(is_behind) => (is_behind, false),
        Err(failure) => {
            tracing::warn!(%failure, "expired pairs were not deleted");
            (false, true)
        }
    };
    let next = if is_behind { now } else { now + INTERVAL * if failed { 10 } else { 1 } };
    shared.schedule.next.store(next, Ordering::Relaxed);
    is_behind
}

impl Reaper {
    /// One for a store, whose pairs it passes over if there are any.
    pub(crate) fn new(deadlines: &Deadlines) -> Self {
        let has_pairs = deadlines.tables().iter().any(|table| table.pair_count() > 0);
        let pass = has_pairs.then(Pass::default);
        Self { last: 0, checked: Vec::new(), pass, entries: Pairs::default(), value: Vec::new() }
    }

    /// Does a bounded part of what there is to do: whether there is more.
    fn step(&mut self, shared: &Shared, now: u64) -> Result<bool, Failure> {
        let milliseconds = now.saturating_sub(self.last).clamp(1, MILLISECONDS_MAX);
        let deadlines = &shared.deadlines;
        let mut room = ENTRIES_A_MILLISECOND * milliseconds + (deadlines.debt() / 64).min(CHECKS_MAX);
        if now >= self.last + INTERVAL && deadlines.entries() > 0 {
            deadlines.owe(CHECKS_AN_INTERVAL, 0);
        }
        self.last = now;
        self.settle_found(shared, now, &mut room)?;
        self.reap(shared, now, &mut room)?;
        let more_due = room == 0;
        self.check(shared, now, &mut room)?;
        self.pass(shared)?;
        Ok(more_due || self.pass.is_some() || deadlines.debt() >= DEBT_MIN)
    }

    /// Deletes pairs that have expired and entries that are stale, as many as there is room for: how many.
    pub(crate) fn make_room(&mut self, shared: &Shared, now: u64, room: &mut u64) -> Result<u64, Failure> {
        let found = self.settle_found(shared, now, room)?;
        Ok(found + self.reap(shared, now, room)? + self.check(shared, now, room)?)
    }

    /// Deletes the pairs that this core has found expired, and their entries.
    fn settle_found(&mut self, shared: &Shared, now: u64, room: &mut u64) -> Result<u64, Failure> {
        let mut settled = Vec::new();
        for due in Deadlines::take_found() {
            settled.push(self.settle(shared, &due, None, now, room)?);
        }
        Ok(gone(shared, &settled))
    }

    /// Deletes pairs whose time has come, as many as there is room for: how many.
    fn reap(&mut self, shared: &Shared, now: u64, room: &mut u64) -> Result<u64, Failure> {
        let (mut expired, until) = (0, due_until(now));
        let mut after = Bound::Unbounded;
        while *room > 0 {
            let range = (after.as_ref().map(|key: &Vec<u8>| &key[..]), Bound::Excluded(&until[..]));
            let (settled, last) = self.settle_all(shared, &Scan::range::<[u8]>(range), now, room)?;
            expired += gone(shared, &settled);
            let Some(last) = last else { break };
            after = Bound::Excluded(last);
        }
        Ok(expired)
    }

    /// Looks for stale entries where it left off, as many as it owes and there is room for: how many there
    /// were.
    fn check(&mut self, shared: &Shared, now: u64, room: &mut u64) -> Result<u64, Failure> {
        let mut all_gone = 0;
        while *room > 0 && shared.deadlines.debt() > 0 {
            let at_once = shared.deadlines.debt().min(*room);
            let after = std::mem::take(&mut self.checked);
            let range = (Bound::Excluded(&after[..]), Bound::Unbounded);
            let scan = Scan::range::<[u8]>(range).limit(at_once as usize);
            let (settled, last) = self.settle_all(shared, &scan, now, room)?;
            let stale = settled.iter().filter(|settled| **settled == Settled::Stale).count() as u64;
            // Where there are fewer entries than it owes all were looked at.
            let paid = if after.is_empty() && last.is_none() { u64::MAX } else { settled.len() as u64 };
            all_gone += gone(shared, &settled);
            shared.deadlines.owe(CHECKS_A_STALE * stale, paid);
            self.checked = last.unwrap_or_default();
        }
        Ok(all_gone)
    }

    /// Settles the entries that a scan finds, as many as there is room for: what they were, and the key of
    /// the last one unless there are no more.
    fn settle_all(
        &mut self,
        shared: &Shared,
        scan: &Scan<'_>,
        now: u64,
        room: &mut u64,
    ) -> Result<(Vec<Settled>, Option<Vec<u8>>), Failure> {
        let mut entries = std::mem::take(&mut self.entries);
        let index = shared.deadlines.index();
        index.scan_into(&scan.clone().limit(ENTRIES_AT_ONCE), &mut entries)?;
        let (mut settled, mut last) = (Vec::with_capacity(entries.len()), None);
        for (key, value) in &entries {
            if *room == 0 {
                break;
            }
            last = Some(key);
            settled.push(match Due::parse(key, value) {
                Some(due) => self.settle(shared, &due, Some((key, value)), now, room)?,
                None => {
                    index.compare_and_delete(key, value)?;
                    Settled::Stale
                }
            });
        }
        let all = !entries.more() && settled.len() == entries.len();
        let last = last.filter(|_| !all).map(<[u8]>::to_vec);
        self.entries = entries;
        Ok((settled, last))
    }

    /// Deletes a pair if it has expired, and its entry unless the pair expires when the entry says. What the
    /// entry is was read before the pair is.
    pub(crate) fn settle(
        &mut self,
        shared: &Shared,
        due: &Due,
        entry: Option<(&[u8], &[u8])>,
        now: u64,
        room: &mut u64,
    ) -> Result<Settled, Failure> {
        let deadlines = &shared.deadlines;
        *room = room.saturating_sub(1);
        let known = match entry {
            Some((key, value)) => Some((key.to_vec(), value.to_vec())),
            None => {
                let key = due.index_key(deadlines.index());
                deadlines.index().get(&key)?.map(|value| (key, value))
            }
        };
        if known.as_ref().is_some_and(|(_, value)| deadlines.is_being_put(value)) {
            return Ok(Settled::Right);
        }
        let mut outcome = Settled::Stale;
        if let Some(table) = deadlines.tables().get(due.slot)
            && table.get_into(&due.key, &mut self.value)?
            && Envelope::open(&self.value).is_some_and(|pair| pair.expires_at == Some(due.deadline))
        {
            *room = room.saturating_sub((self.value.len() / BYTES_AN_ENTRY) as u64);
            // Only what is there still is deleted: it may have been written anew.
            if due.deadline > now || !table.compare_and_delete(&due.key, &self.value)? {
                return Ok(Settled::Right);
            }
            outcome = Settled::Expired;
        }
        if let Some((key, value)) = known {
            deadlines.index().compare_and_delete(&key, &value)?;
        }
        Ok(outcome)
    }

    /// Adds the entries of some more pairs that were there before.
    fn pass(&mut self, shared: &Shared) -> Result<(), Failure> {
        let Some(pass) = &mut self.pass else { return Ok(()) };
        let Some(table) = shared.deadlines.tables().get(pass.slot) else {
            self.pass = None;
            return Ok(());
        };
        let range = (Bound::Excluded(&pass.after[..]), Bound::Unbounded);
        let scan = Scan::range::<[u8]>(range).limit(PASS_PAIRS).bytes_max(PASS_BYTES);
        table.scan_into(&scan, &mut self.entries)?;
        for (key, value) in &self.entries {
            shared.deadlines.add(pass.slot, key, value)?;
        }
        match self.entries.last() {
            Some((key, _)) if self.entries.more() => pass.after = key.to_vec(),
            _ => *pass = Pass { slot: pass.slot + 1, after: Vec::new() },
        }
        Ok(())
    }
}

/// Counts those that have expired: how many are gone, stale ones included.
fn gone(shared: &Shared, settled: &[Settled]) -> u64 {
    let count = |which| settled.iter().filter(|settled| **settled == which).count() as u64;
    let expired = count(Settled::Expired);
    if expired > 0 {
        shared.expired.fetch_add(expired, Ordering::Relaxed);
    }
    expired + count(Settled::Stale)
}

#[cfg(test)]
mod tests {
    use honeycomb_protocol::batch::Tokens;

    use super::*;
    use crate::{Config, SystemTime};

    fn sealed(expires_at: Option<u64>) -> Vec<u8> {
        Envelope { data: b"value", expires_at }.seal()
    }

    fn shared() -> Shared {
        let config = Config { memory_bytes: 16 << 20, cores: 1, ..Config::default() };
        let store = config.open_store().unwrap();
        Shared::new(config, store, Box::new(SystemTime), Tokens::new(&[0; 16])).unwrap()
    }

    #[test]
    fn an_entry_whose_pair_is_about_to_be_put_stays() {
        let shared = shared();
        let (index, due) = (shared.deadlines.index().clone(), Due::of(0, b"key", 100).unwrap());
        let settle = |window: Option<u32>| {
            let (key, value) = (due.index_key(&index), due.index_value(&index, 7));
            index.put(&key, &value).unwrap();
            let _window = window.map(|first| shared.deadlines.open_window(0, first));
            let mut reaper = shared.reaper.lock().unwrap();
            let settled = reaper.settle(&shared, &due, Some((&key, &value)), 100, &mut 1).unwrap();
            (settled, index.pair_count())
        };
        assert_eq!(settle(Some(7)), (Settled::Right, 1));
        assert_eq!(settle(Some(3)), (Settled::Right, 1));
        assert_eq!(settle(Some(8)), (Settled::Stale, 0));
        assert_eq!(settle(None), (Settled::Stale, 0));
    }

    #[test]
    fn an_entry_that_was_put_again_stays() {
        let shared = shared();
        let (index, due) = (shared.deadlines.index().clone(), Due::of(0, b"key", 100).unwrap());
        let (key, value) = (due.index_key(&index), due.index_value(&index, 7));
        let settle = |seen: Option<&[u8]>, is_put_again: bool| {
            index.put(&key, &value).unwrap();
            shared.table(0).delete(b"key").unwrap();
            seen.iter().for_each(|pair| shared.table(0).put(b"key", pair).unwrap());
            if is_put_again {
                index.put(&key, &due.index_value(&index, 8)).unwrap();
            }
            let mut reaper = shared.reaper.lock().unwrap();
            let settled = reaper.settle(&shared, &due, Some((&key, &value)), 100, &mut 1).unwrap();
            (settled, shared.table(0).pair_count(), index.pair_count())
        };
        assert_eq!(settle(None, false), (Settled::Stale, 0, 0));
        assert_eq!(settle(None, true), (Settled::Stale, 0, 1));
        assert_eq!(settle(Some(&sealed(None)), false), (Settled::Stale, 1, 0));
        assert_eq!(settle(Some(&sealed(Some(99))), false), (Settled::Stale, 1, 0));
        assert_eq!(settle(Some(&sealed(Some(100))), false), (Settled::Expired, 0, 0));
        assert_eq!(settle(Some(&sealed(Some(100))), true), (Settled::Expired, 0, 1));
    }
}
