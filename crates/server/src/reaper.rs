//! Deletes pairs that have expired, and entries of the [index of deadlines](crate::deadlines) that are stale.
//!
//! Any core takes a step, between two turns, when it is time to and no other core is at it. A step takes
//! well under a hundred microseconds, or a part of the time that the turn before it took: so it holds up no
//! client. While there is more to do, the core goes on without waiting for sockets.

pub(crate) mod state;

use std::ops::Bound;

use honeycomb_memory::sync::Ordering;
use honeycomb_store::Scan;

use crate::deadlines::{Deadlines, Due, due_until};
use crate::failure::Failure;
use crate::reaper::state::{DEBT_MIN, Pass, Reaper};
use crate::server_state::ServerState;

/// Entries that are looked at in a step: one takes a microsecond, or two to three if its pair is deleted.
const ENTRIES_A_STEP: u64 = 16;
/// Further ones for each entry that the core has put in its turn. To put it has taken longer.
const ENTRIES_A_PUT: u64 = 3;
/// Further ones for each millisecond of the turn.
const ENTRIES_A_MILLISECOND: u64 = 32;
/// Entries that are looked at in a step, at most.
const ENTRIES_A_STEP_MAX: u64 = 4096;
/// Entries that are read from the index at once.
const ENTRIES_AT_ONCE: u64 = 64;
/// What it costs to delete a pair with a long value, in entries.
const LONG_VALUE: u64 = 12;
/// Milliseconds between two steps if there is nothing more to do.
const INTERVAL: u64 = 10;
/// Entries that are looked at in any case for every interval.
const CHECKS_AN_INTERVAL: u64 = 16;
/// Entries that are looked at for each one that is found stale: where more than a fourth are, it goes on.
const CHECKS_A_STALE: u64 = 4;
/// Pairs of tables that are looked at in a step, in the pass over what was there before.
const PASS_PAIRS: usize = 16;

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

/// Takes a step, if it is time to: whether there is more to do at once.
pub(crate) fn step(shared: &ServerState, now: u64) -> bool {
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
    let is_behind = is_behind || Deadlines::has_found();
    let next = if is_behind { now } else { now + INTERVAL * if failed { 10 } else { 1 } };
    shared.schedule.next.store(next, Ordering::Relaxed);
    is_behind
}

impl Reaper {
    /// Does a bounded part of what there is to do: whether there is more.
    fn step(&mut self, shared: &ServerState, now: u64) -> Result<bool, Failure> {
        let deadlines = &shared.deadlines;
        let mut room =
            room_after_iteration(Deadlines::take_put(), shared.time.milliseconds().saturating_sub(now));
        if now >= self.last + INTERVAL {
            self.last = now;
            deadlines.owe(if deadlines.entries() > 0 { CHECKS_AN_INTERVAL } else { 0 }, 0);
        }
        self.settle_found(shared, now, &mut room)?;
        self.reap(shared, now, &mut room)?;
        let more_due = room == 0;
        self.check(shared, now, &mut room)?;
        self.pass(shared)?;
        Ok(more_due || self.pass.is_some() || deadlines.debt() >= DEBT_MIN)
    }

    /// Deletes pairs that have expired and entries that are stale, as many as there is room for: how many.
    pub(crate) fn make_room(
        &mut self,
        shared: &ServerState,
        now: u64,
        room: &mut u64,
    ) -> Result<u64, Failure> {
        let found = self.settle_found(shared, now, room)?;
        Ok(found + self.reap(shared, now, room)? + self.check(shared, now, room)?)
    }

    /// Deletes the pairs that this core has found expired, and their entries.
    fn settle_found(&mut self, shared: &ServerState, now: u64, room: &mut u64) -> Result<u64, Failure> {
        let mut settled = Vec::new();
        while *room > 0
            && let Some(due) = Deadlines::take_found()
        {
            settled.push(self.settle(shared, &due, None, now, room)?);
        }
        Ok(gone(shared, &settled))
    }

    /// Deletes pairs whose time has come, as many as there is room for: how many.
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

    /// Looks for stale entries where it left off, as many as it owes and there is room for: how many there
    /// were.
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
        shared: &ServerState,
        scan: &Scan<'_>,
        now: u64,
        room: &mut u64,
    ) -> Result<(Vec<Settled>, Option<Vec<u8>>), Failure> {
        let mut entries = std::mem::take(&mut self.entries);
        let index = shared.deadlines.index();
        let limit = ENTRIES_AT_ONCE.min(*room) as usize;
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

    /// Deletes a pair if it has expired, and its entry unless the pair expires when the entry says. What the
    /// entry is was read before the pair is.
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
        if known.as_ref().is_some_and(|(_, value)| deadlines.is_being_put(value)) {
            return Ok(Settled::Right);
        }
        let mut outcome = Settled::Stale;
        if let Some(table) = deadlines.tables().get(due.slot)
            && self.glimpse.look(table, &due.key)? == Some(Some(due.deadline))
        {
            *room = room.saturating_sub(if self.glimpse.is_long() { LONG_VALUE } else { 0 });
            // Only what is there still is deleted: it may have been written anew.
            if due.deadline > now || !self.glimpse.delete(&shared.store, table, &due.key)? {
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
    fn pass(&mut self, shared: &ServerState) -> Result<(), Failure> {
        let Some(pass) = &mut self.pass else { return Ok(()) };
        let Some(table) = shared.deadlines.tables().get(pass.slot) else {
            self.pass = None;
            return Ok(());
        };
        let range = (Bound::Excluded(&pass.after[..]), Bound::Unbounded);
        let scan = Scan::range::<[u8]>(range).keys_only().limit(PASS_PAIRS);
        table.scan_into(&scan, &mut self.entries)?;
        for (key, _) in &self.entries {
            if let Some(Some(deadline)) = self.glimpse.look(table, key)? {
                shared.deadlines.add(pass.slot, key, deadline)?;
            }
        }
        match self.entries.last() {
            Some((key, _)) if self.entries.more() => pass.after = key.to_vec(),
            _ => *pass = Pass { slot: pass.slot + 1, after: Vec::new() },
        }
        Ok(())
    }
}

/// Entries that a step may look at, after a turn that has put some and has taken some milliseconds.
fn room_after_iteration(put: u64, milliseconds: u64) -> u64 {
    // A millisecond may have just begun.
    let for_time = ENTRIES_A_MILLISECOND.saturating_mul(milliseconds.saturating_sub(1));
    let for_puts = ENTRIES_A_PUT.saturating_mul(put);
    ENTRIES_A_STEP.saturating_add(for_time).saturating_add(for_puts).min(ENTRIES_A_STEP_MAX)
}

/// Counts those that have expired: how many are gone, stale ones included.
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
    use honeycomb_protocol::batch::Tokens;

    use super::*;
    use crate::commands;
    use crate::envelope::Envelope;
    use crate::{Config, SystemTime};

    fn sealed(expires_at: Option<u64>) -> Vec<u8> {
        Envelope { data: b"value", expires_at }.seal()
    }

    fn shared() -> ServerState {
        let config = Config { memory_bytes: 16 << 20, cores: 1, ..Config::default() };
        let store = config.open_store().unwrap();
        ServerState::new(config, store, Box::new(SystemTime), Tokens::new(&[0; 16]), commands::table())
            .unwrap()
    }

    /// Puts pairs that are due, with values of some length, and their entries.
    fn put_due(shared: &ServerState, count: u64, length: usize) {
        let value = Envelope { data: &vec![b'v'; length], expires_at: Some(100) }.seal();
        for number in 0..count {
            shared.table(0).put(&number.to_be_bytes(), &value).unwrap();
            shared.deadlines.add(0, &number.to_be_bytes(), 100).unwrap();
        }
    }

    #[test]
    fn a_step_is_short_whatever_is_due() {
        let shared = shared();
        put_due(&shared, 1000, 10);
        let now = shared.time.milliseconds();
        let step = |shared: &ServerState| {
            let before = shared.table(0).pair_count();
            let more = shared.reaper.lock().unwrap().step(shared, now).unwrap();
            (before - shared.table(0).pair_count(), more)
        };
        assert!(matches!(step(&shared), (1..=ENTRIES_A_STEP, true)));
        // Pairs that a command has found expired are no exception.
        (0..200_u64).for_each(|number| Deadlines::found_expired(shared.table(0), &number.to_be_bytes(), 100));
        assert!(matches!(step(&shared), (0..=ENTRIES_A_STEP, true)));
        assert_eq!(room_after_iteration(0, 0), ENTRIES_A_STEP);
        assert_eq!(
            room_after_iteration(10, 5),
            ENTRIES_A_STEP + 10 * ENTRIES_A_PUT + 4 * ENTRIES_A_MILLISECOND
        );
        assert_eq!(room_after_iteration(u64::MAX, u64::MAX), ENTRIES_A_STEP_MAX);
    }

    #[test]
    fn long_values_are_deleted_without_being_read() {
        let shared = shared();
        put_due(&shared, 3, 3 << 20);
        let mut reaper = shared.reaper.lock().unwrap();
        assert_eq!(reaper.reap(&shared, 99, &mut 100).unwrap(), 0);
        assert_eq!(reaper.reap(&shared, 100, &mut 100).unwrap(), 3);
        assert_eq!((shared.table(0).pair_count(), shared.deadlines.entries()), (0, 0));
        assert!(reaper.glimpse.room() < 4 << 10, "{} bytes", reaper.glimpse.room());
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
