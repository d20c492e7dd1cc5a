//! Deletes expired pairs, and stale entries of the [index of deadlines](crate::deadlines).
//!
//! Any core executes a step between two iterations, if a step is due and no other core executes one. A step
//! takes well below a hundred microseconds, or a fraction of the duration of the last iteration, so it delays
//! no client. While more work remains, the core does not wait for sockets.

pub(crate) mod state;

use std::ops::Bound;
use std::sync::PoisonError;

use honeycomb_memory::sync::Ordering;
use honeycomb_store::unordered::WalkedPairs;
use honeycomb_store::{Scan, TableHandle, UnorderedTable};

use crate::deadlines::{Deadlines, Due, due_until};
use crate::envelope::{Envelope, HEADER_BYTES_MAX};
use crate::failure::Failure;
use crate::notifications::events::{Event, Notify};
use crate::reaper::state::{DEBT_MIN, Pass, Reaper};
use crate::server_state::ServerState;

/// Entries that a step checks. A check takes a microsecond, or two to three if it deletes a pair.
const STEP_ENTRIES: u64 = 16;
/// Additional entries for each entry that the core wrote in its last iteration. Writing one took longer.
const ENTRIES_PER_WRITE: u64 = 3;
/// Additional entries for each millisecond of the last iteration.
const ENTRIES_PER_MILLISECOND: u64 = 32;
/// Maximum number of entries that a step checks.
const STEP_ENTRIES_MAX: u64 = 4096;
/// Maximum number of entries that are checked before a command counts pairs.
const CATCH_UP_ENTRIES: u64 = 512;
/// Entries that one scan reads from the index.
const SCAN_ENTRIES: u64 = 64;
/// The cost of deleting a pair with a long value, in entries.
const LONG_VALUE: u64 = 12;
/// Milliseconds between two steps when no work remains.
const INTERVAL: u64 = 10;
/// Entries that the reaper checks in each interval, even without a debt.
const CHECKS_PER_INTERVAL: u64 = 16;
/// Additional checks for each stale entry. While more than a quarter of the entries are stale, the checks
/// continue.
const CHECKS_PER_STALE: u64 = 4;
/// Pairs that a step examines in the pass over the pairs that existed before the start.
const PASS_PAIRS: usize = 16;

/// The outcome of a check of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settled {
    /// The entry agrees with its pair, or the pair is not written yet.
    Valid,
    /// The entry was stale and was removed.
    Stale,
    /// The pair had expired; pair and entry were deleted.
    Expired,
}

/// Executes a step if one is due. Returns whether more work remains.
pub(crate) fn step(shared: &ServerState, now: u64) -> bool {
    // A log that refuses writes would reject the deletions.
    if !shared.schedule.is_due(&shared.deadlines, now) || shared.store.check_writable().is_err() {
        return false;
    }
    let Ok(mut reaper) = shared.reaper.try_lock() else { return false };
    let (is_behind, failed) = match reaper.step(shared, now) {
        Ok(is_behind) => (is_behind, false),
        Err(failure) => {
            tracing::warn!(%failure, "cannot delete expired pairs");
            (false, true)
        }
    };
    let is_behind = is_behind || Deadlines::has_recorded();
    let next = if is_behind { now } else { now + INTERVAL * if failed { 10 } else { 1 } };
    shared.schedule.next.store(next, Ordering::Relaxed);
    is_behind
}

/// Deletes pairs that are due, for a command that counts the pairs that it deletes.
pub(crate) fn catch_up(shared: &ServerState, now: u64) -> Result<(), Failure> {
    let mut reaper = shared.reaper.lock().unwrap_or_else(PoisonError::into_inner);
    reaper.reap(shared, now, &mut { CATCH_UP_ENTRIES }).map(drop)
}

impl Reaper {
    /// Executes a bounded part of the work. Returns whether more remains.
    fn step(&mut self, shared: &ServerState, now: u64) -> Result<bool, Failure> {
        let deadlines = &shared.deadlines;
        let mut room = room_after_iteration(
            Deadlines::take_write_count(),
            shared.time.milliseconds().saturating_sub(now),
        );
        if now >= self.last + INTERVAL {
            self.last = now;
            deadlines.owe(if deadlines.entries() > 0 { CHECKS_PER_INTERVAL } else { 0 }, 0);
        }
        self.settle_recorded(shared, now, &mut room)?;
        self.reap(shared, now, &mut room)?;
        let more_due = room == 0;
        self.check(shared, now, &mut room)?;
        self.pass(shared)?;
        Ok(more_due || self.pass.is_some() || deadlines.debt() >= DEBT_MIN)
    }

    /// Deletes expired pairs and stale entries, at most as many as the budget `room` allows. Returns their
    /// number.
    pub(crate) fn make_room(
        &mut self,
        shared: &ServerState,
        now: u64,
        room: &mut u64,
    ) -> Result<u64, Failure> {
        let found = self.settle_recorded(shared, now, room)?;
        Ok(found + self.reap(shared, now, room)? + self.check(shared, now, room)?)
    }

    /// Deletes the expired pairs that this core has recorded, and their entries.
    fn settle_recorded(&mut self, shared: &ServerState, now: u64, room: &mut u64) -> Result<u64, Failure> {
        let mut settled = Vec::new();
        while *room > 0
            && let Some(due) = Deadlines::take_recorded()
        {
            settled.push(self.settle(shared, &due, None, now, room)?);
        }
        Ok(gone(shared, &settled))
    }

    /// Deletes pairs that are due, at most as many as the budget allows. Returns their number.
    fn reap(&mut self, shared: &ServerState, now: u64, room: &mut u64) -> Result<u64, Failure> {
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

    /// Continues the search for stale entries, as far as the debt and the budget require. Returns their
    /// number.
    fn check(&mut self, shared: &ServerState, now: u64, room: &mut u64) -> Result<u64, Failure> {
        let mut all_gone = 0;
        while *room > 0 && shared.deadlines.debt() > 0 {
            let at_once = shared.deadlines.debt().min(*room);
            let after = std::mem::take(&mut self.checked);
            let range = (Bound::Excluded(&after[..]), Bound::Unbounded);
            let mut part = at_once;
            let (settled, last) = self.settle_all(shared, &Scan::range::<[u8]>(range), now, &mut part)?;
            *room = room.saturating_sub(at_once - part);
            let stale = settled.iter().filter(|settled| **settled == Settled::Stale).count() as u64;
            // If the index has fewer entries than the debt, the scan has checked all entries.
            let paid = if after.is_empty() && last.is_none() { u64::MAX } else { settled.len() as u64 };
            all_gone += gone(shared, &settled);
            shared.deadlines.owe(CHECKS_PER_STALE * stale, paid);
            self.checked = last.unwrap_or_default();
        }
        Ok(all_gone)
    }

    /// Settles the entries of a scan, at most as many as the budget allows. Returns their outcomes, and the
    /// last key if more entries follow.
    fn settle_all(
        &mut self,
        shared: &ServerState,
        scan: &Scan<'_>,
        now: u64,
        room: &mut u64,
    ) -> Result<(Vec<Settled>, Option<Vec<u8>>), Failure> {
        let mut entries = std::mem::take(&mut self.entries);
        let index = shared.deadlines.index();
        let limit = SCAN_ENTRIES.min(*room) as usize;
        index.scan_into(&scan.clone().limit(limit), &mut entries)?;
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

    /// Checks an entry: deletes its pair if it has expired, and removes the entry unless it agrees with its
    /// pair. The caller must have read the entry before this reads the pair.
    pub(crate) fn settle(
        &mut self,
        shared: &ServerState,
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
        if known.as_ref().is_some_and(|(_, value)| deadlines.is_pending(value)) {
            return Ok(Settled::Valid);
        }
        let mut outcome = Settled::Stale;
        if let Some(table) = deadlines.tables().get(due.slot)
            && self.glimpse.read(table, &due.key)? == Some(Some(due.deadline))
        {
            *room = room.saturating_sub(if self.glimpse.is_long() { LONG_VALUE } else { 0 });
            // The deletion fails if another core has written the pair since.
            if due.deadline > now || !self.glimpse.delete(&shared.store, table, &due.key)? {
                return Ok(Settled::Valid);
            }
            outcome = Settled::Expired;
            let has_expired = due.deadline <= shared.time.milliseconds();
            notify(shared, if has_expired { EXPIRED } else { EVICTED }, (due.slot, &due.key));
        }
        if let Some((key, value)) = known {
            deadlines.index().compare_and_delete(&key, &value)?;
        }
        Ok(outcome)
    }

    /// Adds the entries of some pairs that existed before the server started.
    fn pass(&mut self, shared: &ServerState) -> Result<(), Failure> {
        let Some(pass) = &mut self.pass else { return Ok(()) };
        let Some(handle) = shared.deadlines.tables().get(pass.slot) else {
            self.pass = None;
            return Ok(());
        };
        let table = match handle {
            TableHandle::Ordered(table) => table,
            TableHandle::Unordered(table) => return self.pass_unordered(shared, table),
        };
        let range = (Bound::Excluded(&pass.after[..]), Bound::Unbounded);
        let scan = Scan::range::<[u8]>(range).keys_only().limit(PASS_PAIRS);
        table.scan_into(&scan, &mut self.entries)?;
        for (key, _) in &self.entries {
            if let Some(Some(deadline)) = self.glimpse.read(handle, key)? {
                shared.deadlines.add(pass.slot, key, deadline)?;
            }
        }
        match self.entries.last() {
            Some((key, _)) if self.entries.more() => pass.after = key.to_vec(),
            _ => *pass = Pass { slot: pass.slot + 1, ..Pass::default() },
        }
        Ok(())
    }

    /// The same for an unordered table.
    fn pass_unordered(&mut self, shared: &ServerState, table: &UnorderedTable) -> Result<(), Failure> {
        let Some(pass) = &mut self.pass else { return Ok(()) };
        let mut walked = WalkedPairs::default();
        pass.cursor = table.walk_beginnings(pass.cursor, PASS_PAIRS, HEADER_BYTES_MAX, &mut walked);
        for (key, value) in walked.iter() {
            if let Some(deadline) = Envelope::open(value).and_then(|envelope| envelope.expires_at) {
                shared.deadlines.add(pass.slot, key, deadline)?;
            }
        }
        if pass.cursor == 0 {
            *pass = Pass { slot: pass.slot + 1, ..Pass::default() };
        }
        Ok(())
    }
}

/// The events of pairs that the server deletes.
const EXPIRED: (Notify, &str) = (Notify::EXPIRED, "expired");
pub(crate) const EVICTED: (Notify, &str) = (Notify::EVICTED, "evicted");

/// Reports the deletion of a pair of the table in a slot.
pub(crate) fn notify(
    shared: &ServerState,
    (class, name): (Notify, &'static str),
    (slot, key): (usize, &[u8]),
) {
    if shared.notifies() {
        let database = shared.databases.number_of(slot);
        shared.notify(&[Event { class, name, database, key: key.to_vec() }]);
    }
}

/// Returns the budget of a step after an iteration that wrote `put` entries and took some milliseconds.
fn room_after_iteration(put: u64, milliseconds: u64) -> u64 {
    // The last millisecond may have just begun.
    let for_time = ENTRIES_PER_MILLISECOND.saturating_mul(milliseconds.saturating_sub(1));
    let for_puts = ENTRIES_PER_WRITE.saturating_mul(put);
    STEP_ENTRIES.saturating_add(for_time).saturating_add(for_puts).min(STEP_ENTRIES_MAX)
}

/// Counts expired pairs in the statistics. Returns the number of removed entries, including stale ones.
fn gone(shared: &ServerState, settled: &[Settled]) -> u64 {
    let count = |which| settled.iter().filter(|settled| **settled == which).count() as u64;
    let expired = count(Settled::Expired);
    if expired > 0 {
        shared.expired.fetch_add(expired, Ordering::Relaxed);
    }
    expired + count(Settled::Stale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::Envelope;
    use crate::server_state::tests::state;

    fn sealed(expires_at: Option<u64>) -> Vec<u8> {
        Envelope { data: b"value", expires_at }.seal()
    }

    /// Puts pairs that are due, with values of a given length, and their entries.
    fn put_due(shared: &ServerState, count: u64, length: usize) {
        let value = Envelope { data: &vec![b'v'; length], expires_at: Some(100) }.seal();
        for number in 0..count {
            shared.tables()[0].put(&number.to_be_bytes(), &value).unwrap();
            shared.deadlines.add(0, &number.to_be_bytes(), 100).unwrap();
        }
    }

    #[test]
    fn a_step_is_short_even_if_much_is_due() {
        let shared = state();
        put_due(&shared, 1000, 10);
        let now = shared.time.milliseconds();
        let step = |shared: &ServerState| {
            let before = shared.tables()[0].pair_count();
            let more = shared.reaper.lock().unwrap().step(shared, now).unwrap();
            (before - shared.tables()[0].pair_count(), more)
        };
        assert!(matches!(step(&shared), (1..=STEP_ENTRIES, true)));
        // The budget also covers expired pairs that a command has found.
        (0..200_u64)
            .for_each(|number| Deadlines::record_expired(&shared.tables()[0], &number.to_be_bytes(), 100));
        assert!(matches!(step(&shared), (0..=STEP_ENTRIES, true)));
        assert_eq!(room_after_iteration(0, 0), STEP_ENTRIES);
        assert_eq!(
            room_after_iteration(10, 5),
            STEP_ENTRIES + 10 * ENTRIES_PER_WRITE + 4 * ENTRIES_PER_MILLISECOND
        );
        assert_eq!(room_after_iteration(u64::MAX, u64::MAX), STEP_ENTRIES_MAX);
    }

    #[test]
    fn long_values_are_deleted_without_being_read() {
        let shared = state();
        put_due(&shared, 3, 3 << 20);
        let mut reaper = shared.reaper.lock().unwrap();
        assert_eq!(reaper.reap(&shared, 99, &mut 100).unwrap(), 0);
        assert_eq!(reaper.reap(&shared, 100, &mut 100).unwrap(), 3);
        assert_eq!((shared.tables()[0].pair_count(), shared.deadlines.entries()), (0, 0));
        assert!(reaper.glimpse.room() < 4 << 10, "{} bytes", reaper.glimpse.room());
    }

    #[test]
    fn an_entry_whose_pair_is_not_written_yet_stays() {
        let shared = state();
        let (index, due) = (shared.deadlines.index().clone(), Due::of(0, b"key", 100).unwrap());
        let settle = |window: Option<u32>| {
            let (key, value) = (due.index_key(&index), due.index_value(&index, 7));
            index.put(&key, &value).unwrap();
            let _window = window.map(|first| shared.deadlines.open_window(0, first));
            let mut reaper = shared.reaper.lock().unwrap();
            let settled = reaper.settle(&shared, &due, Some((&key, &value)), 100, &mut 1).unwrap();
            (settled, index.pair_count())
        };
        assert_eq!(settle(Some(7)), (Settled::Valid, 1));
        assert_eq!(settle(Some(3)), (Settled::Valid, 1));
        assert_eq!(settle(Some(8)), (Settled::Stale, 0));
        assert_eq!(settle(None), (Settled::Stale, 0));
    }

    #[test]
    fn a_renewed_entry_stays() {
        let shared = state();
        let (index, due) = (shared.deadlines.index().clone(), Due::of(0, b"key", 100).unwrap());
        let (key, value) = (due.index_key(&index), due.index_value(&index, 7));
        let settle = |seen: Option<&[u8]>, is_put_again: bool| {
            index.put(&key, &value).unwrap();
            shared.tables()[0].delete(b"key").unwrap();
            seen.iter().for_each(|pair| shared.tables()[0].put(b"key", pair).unwrap());
            if is_put_again {
                index.put(&key, &due.index_value(&index, 8)).unwrap();
            }
            let mut reaper = shared.reaper.lock().unwrap();
            let settled = reaper.settle(&shared, &due, Some((&key, &value)), 100, &mut 1).unwrap();
            (settled, shared.tables()[0].pair_count(), index.pair_count())
        };
        assert_eq!(settle(None, false), (Settled::Stale, 0, 0));
        assert_eq!(settle(None, true), (Settled::Stale, 0, 1));
        assert_eq!(settle(Some(&sealed(None)), false), (Settled::Stale, 1, 0));
        assert_eq!(settle(Some(&sealed(Some(99))), false), (Settled::Stale, 1, 0));
        assert_eq!(settle(Some(&sealed(Some(100))), false), (Settled::Expired, 0, 0));
        assert_eq!(settle(Some(&sealed(Some(100))), true), (Settled::Expired, 0, 1));
    }
}
