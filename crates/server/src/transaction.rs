//! Optimistic transactions: a commit validates everything that the commands have read.
//!
//! A transaction reads pairs and keeps its writes private. To commit, it applies one batch. The batch swaps
//! each pair that the transaction has read for its new value, and requires each range that the transaction
//! has read to be unchanged. If anything has changed, the store rejects the whole batch, and the commands
//! execute again. No transaction waits for another.
//!
//! A transaction keeps the values that it has read only while they are few. Beyond [`KEPT_BYTES`], and for
//! ranges, it reads from a snapshot and validates by the version of the snapshot, so its memory does not grow
//! with the values that it reads. A read-only transaction begins with the snapshot and needs no validation.

mod pages;

use std::collections::BTreeMap;
use std::ops::Bound;

use honeycomb_layout::KEY_BYTES_MAX;
use honeycomb_memory::sync::Ordering;
use honeycomb_store::{Batch, BatchOutcome, Snapshot, Store, TableHandle, TableList, TableRef};

use crate::budget::{BYTES_MAX, Budget, PAIRS_MAX};
use crate::databases::Swaps;
use crate::deadlines::Deadlines;
use crate::envelope::{DATA_BYTES_MAX, Envelope};
use crate::failure::Failure;
use crate::memory_limit;
use crate::notifications::events::{Event, EventNames};
use crate::server_state::ServerState;

/// Bytes of values that a transaction keeps for the comparison at its commit.
const KEPT_BYTES: usize = 1 << 20;

/// Bytes of memory of a batch for each entry while the store applies it, in addition to key and value.
const BATCH_ENTRY_BYTES: usize = 500;

/// The pairs that some commands have read and will write.
#[derive(Debug)]
pub(crate) struct OptimisticTransaction {
    pairs: BTreeMap<(usize, Vec<u8>), Pair>,
    tables: TableList,
    /// The snapshot for all reads whose values are not kept.
    snapshot: Option<Snapshot>,
    /// Whether all reads use the snapshot.
    reads_only: bool,
    /// Ranges that were read from the snapshot.
    ranges: Vec<TableRange>,
    /// Ranges to delete, by their tables and numbers. Later writes to them are among the changes.
    deleted: BTreeMap<(usize, usize), TableRange>,
    /// The value of the last read, if it is not kept.
    scratch: Vec<u8>,
    kept_bytes: usize,
    changed_bytes: usize,
    changed_bytes_max: usize,
    /// The number of pairs in the ranges that were read.
    scanned_pairs: usize,
    /// The budget of the current command.
    budget: Budget,
    /// The names of the events of the current command, if clients want them.
    names: Option<EventNames>,
    /// The events that the commit reports.
    events: Vec<Event>,
    /// Bytes of memory of events, and of messages without their texts.
    noted_bytes: usize,
    /// The number of expired pairs that the commit replaces.
    expired: u64,
    /// Channels and contents of the messages that the commit sends.
    messages: Vec<(Vec<u8>, Vec<u8>)>,
    /// Numbers of tables that the commit swaps.
    pub(crate) swaps: Swaps,
}

/// A range of keys of a table. The table is a position in the list of tables.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TableRange {
    table: usize,
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
}

/// The state of a pair in the transaction.
#[derive(Debug, Default)]
struct Pair {
    seen: Option<Seen>,
    change: Option<Change>,
}

/// The value of a pair when the transaction read it.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    /// The value, or `None` for an absent key.
    Value(Option<Vec<u8>>),
    /// The value in the snapshot.
    OfSnapshot,
}

/// The value to write, or `None` to delete the pair.
type Change = Option<Vec<u8>>;

impl Default for OptimisticTransaction {
    fn default() -> Self {
        Self::new(usize::MAX)
    }
}

impl OptimisticTransaction {
    /// Returns a transaction that may write at most `changed_bytes_max` bytes.
    pub(crate) fn new(changed_bytes_max: usize) -> Self {
        Self {
            pairs: BTreeMap::new(),
            tables: TableList::default(),
            snapshot: None,
            reads_only: false,
            ranges: Vec::new(),
            deleted: BTreeMap::new(),
            scratch: Vec::new(),
            kept_bytes: 0,
            changed_bytes: 0,
            changed_bytes_max,
            scanned_pairs: 0,
            budget: Budget::UNLIMITED,
            names: None,
            events: Vec::new(),
            noted_bytes: 0,
            expired: 0,
            messages: Vec::new(),
            swaps: Swaps::default(),
        }
    }

    /// Returns the snapshot of a read-only transaction.
    pub(crate) fn only_snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref().filter(|_| self.reads_only)
    }

    /// Returns a read-only transaction that reads a snapshot.
    pub(crate) fn reading(snapshot: Snapshot) -> Self {
        Self { snapshot: Some(snapshot), reads_only: true, ..Self::new(0) }
    }

    /// Begins a command with a budget.
    pub(crate) fn begin_command(&mut self, budget: Budget) {
        self.budget = budget;
    }

    /// Notes the events of the writes of the command with this name, if clients want them.
    pub(crate) fn begin_events(&mut self, shared: &ServerState, command: &[u8]) {
        self.names = shared.notifies().then(|| EventNames::of(command));
    }

    /// Sends a message at the commit. Its bytes count as those of a change.
    pub(crate) fn send_message(&mut self, channel: &[u8], content: &[u8]) {
        self.changed_bytes += channel.len() + content.len();
        self.noted_bytes += size_of::<(Vec<u8>, Vec<u8>)>();
        self.messages.push((channel.to_vec(), content.to_vec()));
    }

    /// Notes the events of a put to a key of a numbered table.
    pub(crate) fn note_put(&mut self, number: usize, key: &[u8], has_deadline: bool) {
        if let Some(names) = self.names {
            names.put(number, key, has_deadline).for_each(|event| self.add_event(event));
        }
    }

    /// Notes that a put replaces an expired pair. The reaper does not find that pair any more.
    pub(crate) fn note_expired(&mut self, number: usize, key: &[u8]) {
        self.expired += 1;
        if self.names.is_some() {
            self.events.push(Event::expired(number, key));
        }
    }

    /// Notes the events of a put that has already expired, before it deletes the pair.
    pub(crate) fn note_put_expired(&mut self, number: usize, table: &TableHandle, key: &[u8]) {
        match self.names.filter(|names| names.has_set()) {
            Some(names) => {
                self.events.extend(names.put(number, key, true));
                self.events.push(Event::expired(number, key));
            }
            None => self.note_delete(number, table, key),
        }
    }

    /// Notes the event of a deletion before it happens. The deletion of an absent key has no event.
    pub(crate) fn note_delete(&mut self, number: usize, table: &TableHandle, key: &[u8]) {
        let Some(names) = self.names else { return };
        let exists = match self.pair(table, key) {
            Pair { change: Some(change), .. } => change.is_some(),
            Pair { seen: Some(Seen::Value(value)), .. } => value.is_some(),
            // On an error the deletion fails, too.
            _ => table.contains(key).unwrap_or(true),
        };
        if exists {
            self.add_event(names.delete(number, key));
        }
    }

    fn add_event(&mut self, event: Event) {
        self.noted_bytes += size_of::<Event>() + event.key.len();
        self.events.push(event);
    }

    /// Returns an error if the budget of the command does not suffice to build a value.
    pub(crate) fn check_budget(&self, bytes: usize) -> Result<(), Failure> {
        self.budget.check(bytes)
    }

    /// Returns an error if the budget of the command does not suffice to read a number of pairs.
    pub(crate) fn check_pairs(&self, pairs: usize) -> Result<(), Failure> {
        self.budget.check_pairs(pairs)
    }

    /// Returns whether the transaction has read or written more than fits into a budget.
    pub(crate) fn is_long(&self) -> bool {
        let bytes = self.kept_bytes + self.changed_bytes;
        self.pairs.len() > PAIRS_MAX || bytes > BYTES_MAX
    }

    /// Returns whether the commit would delay the other clients of a core: it also validates the ranges that
    /// were read, deletes ranges, swaps tables, and sends messages.
    pub(crate) fn has_long_commit(&self) -> bool {
        let pairs = self.pairs.len() + self.scanned_pairs + self.ranges.len();
        let sent = self.messages.len() + self.events.len();
        let commits = !self.deleted.is_empty() || !self.swaps.is_empty();
        self.is_long() || pairs > PAIRS_MAX || sent > PAIRS_MAX || commits
    }

    /// Returns the bytes of memory in use, including those of the batch that the commit will build from
    /// copies of all values.
    pub(crate) fn memory_bytes(&self) -> usize {
        let pair = size_of::<(usize, Vec<u8>)>() + size_of::<Pair>() + BATCH_ENTRY_BYTES;
        let ranges = (self.ranges.len() + self.deleted.len()) * (size_of::<TableRange>() + 2 * KEY_BYTES_MAX);
        let values = 2 * (self.kept_bytes + self.changed_bytes) + self.scratch.capacity();
        self.pairs.len() * pair + ranges + values + self.noted_bytes
    }

    /// Returns the stored value of a key, with its envelope. Includes the writes of the transaction.
    pub(crate) fn get(&mut self, table: &TableHandle, key: &[u8]) -> Result<Option<&[u8]>, Failure> {
        let place = (self.place(table), key.to_vec());
        let read = match self.pairs.get(&place) {
            Some(Pair { change: Some(_), .. }) => Read::Kept,
            _ if self.is_deleted(&place) => Read::Deleted,
            Some(Pair { seen: Some(Seen::Value(_)), .. }) => Read::Kept,
            _ if self.reads_only => Read::OfSnapshot,
            Some(Pair { seen: Some(Seen::OfSnapshot), .. }) => Read::OfSnapshot,
            _ => self.read(table, &place)?,
        };
        match read {
            Read::Kept => {
                let pair = &self.pairs[&place];
                let seen = match &pair.seen {
                    Some(Seen::Value(value)) => value.as_deref(),
                    _ => None,
                };
                let value = pair.change.as_ref().map_or(seen, Option::as_deref);
                self.budget.spend(1, value.map_or(0, <[u8]>::len))?;
                Ok(value)
            }
            Read::Deleted => Ok(None),
            Read::OfSnapshot => {
                let is_there = table.allows_key(key) && self.read_snapshot(table, key)?;
                self.budget.spend(1, if is_there { self.scratch.len() } else { 0 })?;
                Ok(is_there.then_some(&self.scratch))
            }
        }
    }

    /// Reads a pair for the first time. Returns the place of its value.
    fn read(&mut self, table: &TableHandle, place: &(usize, Vec<u8>)) -> Result<Read, Failure> {
        let mut value = Vec::new();
        let exists = table.get_beginning(&place.1, self.budget.bytes().saturating_add(1), &mut value)?;
        self.budget.check(value.len())?;
        let value = exists.then_some(value);
        let bytes = value.as_ref().map_or(0, Vec::len);
        let fits = self.kept_bytes + bytes <= KEPT_BYTES;
        match table {
            TableHandle::Ordered(table) if !fits && self.begin_snapshot(|| table.snapshot()).is_ok() => {
                self.pairs.entry(place.clone()).or_default().seen = Some(Seen::OfSnapshot);
                return Ok(Read::OfSnapshot);
            }
            TableHandle::Unordered(_) if self.kept_bytes > 0 && self.kept_bytes + bytes > self.kept_max() => {
                return Err(Failure::ReadsTooLong(self.kept_max()));
            }
            _ => {}
        }
        self.kept_bytes += bytes;
        self.pairs.entry(place.clone()).or_default().seen = Some(Seen::Value(value));
        Ok(Read::Kept)
    }

    /// Returns the bytes of values of unordered tables that the transaction keeps at most, besides the first
    /// value.
    fn kept_max(&self) -> usize {
        self.changed_bytes_max.max(KEPT_BYTES)
    }

    /// Reads a value of the snapshot into the scratch buffer. Returns whether the pair exists.
    fn read_snapshot(&mut self, table: &TableHandle, key: &[u8]) -> Result<bool, Failure> {
        let snapshot = self.snapshot.as_ref().ok_or(Failure::NoSnapshot)?;
        let Some(table) = table.ordered() else { return Err(Failure::NoSnapshot) };
        self.scratch.clear();
        let total = snapshot.get_part(table, key, 0, self.budget.bytes(), &mut self.scratch)?;
        self.budget.check(total.unwrap_or(0))?;
        Ok(total.is_some())
    }

    /// Records the value of a pair that was read in a batch. The commit succeeds only if the pair still has
    /// this value.
    pub(crate) fn saw(&mut self, table: &TableHandle, key: &[u8], pair: Option<&[u8]>) {
        self.pair(table, key).seen = Some(Seen::Value(pair.map(<[u8]>::to_vec)));
    }

    /// Writes a pair at the commit. Returns the stored value that it replaces, if this is the first write to
    /// the key and the transaction has read the value.
    pub(crate) fn put(
        &mut self,
        table: &TableHandle,
        key: &[u8],
        envelope: Envelope<'_>,
    ) -> Result<Option<&[u8]>, Failure> {
        if envelope.data.len() > DATA_BYTES_MAX {
            return Err(Failure::TooLong);
        }
        self.budget.spend(1, key.len() + envelope.data.len())?;
        let value = envelope.seal();
        self.changed_bytes = self.check_changed(key.len() + value.len())?;
        let pair = self.pair(table, key);
        let is_first = pair.change.replace(Some(value)).is_none();
        Ok(pair.seen.as_ref().filter(|_| is_first).and_then(Seen::value).flatten())
    }

    /// Returns the bytes of all writes with this number of further ones, or an error if they are too many.
    pub(crate) fn check_changed(&self, bytes: usize) -> Result<usize, Failure> {
        let changed_bytes = self.changed_bytes.saturating_add(bytes);
        let fits = changed_bytes <= self.changed_bytes_max;
        if fits { Ok(changed_bytes) } else { Err(Failure::TransactionTooLong(self.changed_bytes_max)) }
    }

    /// Deletes a pair at the commit.
    pub(crate) fn delete(&mut self, table: &TableHandle, key: &[u8]) {
        self.pair(table, key).change = Some(None);
    }

    /// Adds the transaction to a batch of swaps if it only reads and writes one pair. Returns whether it did.
    pub(crate) fn swap_into(&self, swaps: &mut Batch) -> bool {
        let Some(((table, key), pair)) = self.pairs.first_key_value().filter(|_| self.is_of_one_pair())
        else {
            return false;
        };
        let is_swap = self.events.is_empty()
            && matches!(
                (&pair.seen, &pair.change),
                (Some(Seen::Value(Some(_))), Some(_)) | (Some(Seen::Value(None)), Some(Some(_)))
            )
            && !pair.concerns_deadlines();
        if is_swap {
            let seen = pair.seen.as_ref().and_then(Seen::value);
            let change = pair.change.as_ref().map(Option::as_deref);
            write_into(swaps, &self.tables.handles()[*table], key, seen, change);
        }
        is_swap
    }

    /// Commits: writes all changes at a moment at which all reads are still valid. Returns false if there was
    /// no such moment; then nothing has changed.
    pub(crate) fn commit(&self, shared: &ServerState) -> Result<bool, Failure> {
        let committed = memory_limit::with_retries(shared, || {
            self.attempt(&shared.store, &shared.deadlines, |batch| {
                shared.databases.write_places(&self.swaps, batch);
            })
        })?;
        if committed {
            if self.expired > 0 {
                shared.expired.fetch_add(self.expired, Ordering::Relaxed);
            }
            if !self.events.is_empty() {
                shared.notify(&self.events);
            }
            for (channel, content) in &self.messages {
                shared.send_message(channel, content);
            }
        }
        Ok(committed)
    }

    /// Commits once. `write_places` adds the positions of swapped tables to the batch.
    fn attempt(
        &self,
        store: &Store,
        deadlines: &Deadlines,
        write_places: impl Fn(&mut Batch),
    ) -> Result<bool, Failure> {
        let swaps = !self.swaps.is_empty();
        if !swaps && self.deleted.is_empty() && self.pairs.values().all(|pair| pair.change.is_none()) {
            return self.was_there(store, deadlines);
        }
        if !swaps
            && self.is_of_one_pair()
            && let Some(((table, key), pair)) = self.pairs.first_key_value()
            && pair.seen != Some(Seen::OfSnapshot)
            && !pair.concerns_deadlines()
        {
            return pair.write(&self.tables.handles()[*table], key);
        }
        let mut batch = self.batch(deadlines);
        write_places(&mut batch);
        let BatchOutcome::Applied { version, .. } = store.apply(&batch)? else { return Ok(false) };
        self.swaps.set_version(version);
        Ok(true)
    }

    /// Returns a batch with all reads as conditions, followed by all writes.
    fn batch(&self, deadlines: &Deadlines) -> Batch {
        let mut batch = Batch::default();
        self.expect_unchanged(&mut batch);
        // Pairs in a deleted range must still have the values that were read before the deletion.
        for (place, pair) in self.pairs.iter().filter(|(place, _)| self.is_deleted(place)) {
            let seen = pair.seen.as_ref().and_then(Seen::value);
            write_into(&mut batch, &self.tables.handles()[place.0], &place.1, seen, None);
        }
        for range in self.deleted.values() {
            if let Some(table) = self.tables.handles()[range.table].ordered() {
                batch.delete_range::<[u8]>(table, range.bounds());
            }
        }
        for (place, pair) in &self.pairs {
            let (table, key) = (&self.tables.handles()[place.0], &place.1);
            let change = pair.change.as_ref().map(Option::as_deref);
            let seen = pair.seen.as_ref().and_then(Seen::value).filter(|_| !self.is_deleted(place));
            write_into(&mut batch, table, key, seen, change);
            let (seen, change) = pair.values();
            deadlines.write_into(&mut batch, table, key, seen, change);
        }
        batch
    }

    /// Adds conditions for everything that was read from the snapshot.
    fn expect_unchanged(&self, batch: &mut Batch) {
        let Some(snapshot) = &self.snapshot else { return };
        let since = snapshot.version();
        for range in &self.ranges {
            if let Some(table) = self.tables.handles()[range.table].ordered() {
                batch.unchanged::<[u8]>(table, range.bounds(), since);
            }
        }
        for ((table, key), pair) in &self.pairs {
            if pair.seen == Some(Seen::OfSnapshot)
                && let Some(table) = self.tables.handles()[*table].ordered()
            {
                let this = (Bound::Included(&key[..]), Bound::Included(&key[..]));
                batch.unchanged::<[u8]>(table, this, since);
            }
        }
    }

    /// Returns whether all reads were valid at one moment. Takes a snapshot for the check unless all reads
    /// used one.
    fn was_there(&self, store: &Store, deadlines: &Deadlines) -> Result<bool, Failure> {
        let kept = || self.pairs.iter().filter_map(|(place, pair)| Some((place, pair.seen.as_ref()?)));
        if self.reads_only || self.snapshot.is_none() && kept().count() < 2 {
            return Ok(true);
        }
        if self.tables.handles().iter().any(|table| table.unordered().is_some()) {
            return self.was_there_together(store, deadlines);
        }
        let taken = if self.snapshot.is_none() { Some(store.snapshot()?) } else { None };
        let Some(snapshot) = self.snapshot.as_ref().or(taken.as_ref()) else { return Ok(true) };
        for ((table, key), seen) in kept() {
            if let Seen::Value(seen) = seen
                && let Some(table) = self.tables.handles()[*table].ordered()
                && *seen != snapshot.get(table, key)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns whether all reads, some of them of unordered tables, were valid at one moment. A batch
    /// compares them if some are of a snapshot.
    fn was_there_together(&self, store: &Store, deadlines: &Deadlines) -> Result<bool, Failure> {
        if self.snapshot.is_some() {
            return Ok(matches!(store.apply(&self.batch(deadlines))?, BatchOutcome::Applied { .. }));
        }
        let (mut keys, mut seen) = (Vec::<(TableRef<'_>, &[u8])>::new(), Vec::new());
        for ((table, key), pair) in &self.pairs {
            if let Some(Seen::Value(value)) = &pair.seen {
                keys.push(((&self.tables.handles()[*table]).into(), key));
                seen.push(value);
            }
        }
        Ok(store.get_together(&keys)?.iter().eq(seen))
    }

    /// Takes the snapshot unless the transaction already has one.
    fn begin_snapshot(
        &mut self,
        take: impl FnOnce() -> Result<Snapshot, honeycomb_store::Error>,
    ) -> Result<(), Failure> {
        if self.snapshot.is_none() {
            self.snapshot = Some(take()?);
        }
        Ok(())
    }

    fn is_of_one_pair(&self) -> bool {
        self.pairs.len() == 1 && self.ranges.is_empty() && self.deleted.is_empty()
    }

    fn pair(&mut self, table: &TableHandle, key: &[u8]) -> &mut Pair {
        let table = self.place(table);
        self.pairs.entry((table, key.to_vec())).or_default()
    }

    /// Returns the position of a table in the list of tables.
    fn place<'t>(&mut self, table: impl Into<TableRef<'t>>) -> usize {
        self.tables.place(table)
    }
}

/// The place of a value.
enum Read {
    /// Among the kept pairs.
    Kept,
    Deleted,
    OfSnapshot,
}

impl Pair {
    /// Returns the old value, as far as it is known, and the new value.
    fn values(&self) -> (Option<&[u8]>, Option<&[u8]>) {
        let seen = self.seen.as_ref().and_then(Seen::value).flatten();
        (seen, self.change.as_ref().map_or(seen, Option::as_deref))
    }

    /// Returns whether the write changes the index of deadlines.
    fn concerns_deadlines(&self) -> bool {
        let (seen, change) = self.values();
        Deadlines::concerns(seen, change)
    }

    /// Writes the change if the pair still has the value that was read. Returns whether it had.
    fn write(&self, table: &TableHandle, key: &[u8]) -> Result<bool, Failure> {
        match (&self.seen, &self.change) {
            (_, None) => {}
            (None, Some(Some(value))) => table.put(key, value)?,
            (None, Some(None)) => drop(table.delete(key)?),
            (Some(Seen::OfSnapshot), Some(_)) => return Ok(false),
            (Some(Seen::Value(None)), Some(Some(value))) => return Ok(table.insert(key, value)?),
            (Some(Seen::Value(None)), Some(None)) => return Ok(!table.contains(key)?),
            (Some(Seen::Value(Some(seen))), Some(Some(value))) => {
                return Ok(table.compare_and_swap(key, seen, value)?);
            }
            (Some(Seen::Value(Some(seen))), Some(None)) => return Ok(table.compare_and_delete(key, seen)?),
        }
        Ok(true)
    }
}

impl Seen {
    /// Returns the value, or `None` if it is unknown.
    fn value(&self) -> Option<Option<&[u8]>> {
        match self {
            Self::Value(value) => Some(value.as_deref()),
            Self::OfSnapshot => None,
        }
    }
}

/// Adds a write that is valid only if the pair still has the value that was read.
fn write_into(
    batch: &mut Batch,
    table: &TableHandle,
    key: &[u8],
    seen: Option<Option<&[u8]>>,
    change: Option<Option<&[u8]>>,
) {
    match (seen, change) {
        (None, None) => batch,
        (None, Some(Some(value))) => batch.put(table, key, value),
        (None, Some(None)) => batch.delete(table, key),
        (Some(None), Some(Some(value))) => batch.insert(table, key, value),
        // The key must still be absent: the insert fails otherwise, and the delete reverts it.
        (Some(None), None | Some(None)) => batch.insert(table, key, b"").delete(table, key),
        (Some(Some(seen)), Some(Some(value))) => batch.compare_and_swap(table, key, seen, value),
        (Some(Some(seen)), Some(None)) => batch.compare_and_delete(table, key, seen),
        (Some(Some(seen)), None) => batch.compare_and_swap(table, key, seen, seen),
    };
}

#[cfg(test)]
mod tests {
    use honeycomb_store::Config;

    use super::*;

    /// Commits a transaction that has read a key, and perhaps another one, and writes it. Returns whether the
    /// commit succeeded.
    fn commits(before: Option<&[u8]>, deletes: bool, reads_more: bool, changed: bool) -> bool {
        let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() }).unwrap();
        let table = TableHandle::Ordered(store.table("pairs").unwrap());
        before.iter().for_each(|before| table.put(b"key", before).unwrap());
        let deadlines = Deadlines::open(&store, std::slice::from_ref(&table), 1).unwrap();
        let mut transaction = OptimisticTransaction::default();
        assert_eq!(transaction.get(&table, b"key").unwrap(), before);
        if reads_more {
            transaction.get(&table, b"other").unwrap();
        }
        match deletes {
            true => transaction.delete(&table, b"key"),
            false => {
                let envelope = Envelope { data: b"new", expires_at: None };
                assert_eq!(transaction.put(&table, b"key", envelope).unwrap(), before);
            }
        }
        if changed {
            table.put(b"key", b"meanwhile").unwrap();
        }
        let committed = transaction.attempt(&store, &deadlines, |_| {}).unwrap();
        let meanwhile = table.get(b"key").unwrap().as_deref() == Some(b"meanwhile");
        assert_eq!(meanwhile, changed && !committed);
        committed
    }

    #[test]
    fn a_commit_fails_if_a_read_pair_has_changed() {
        for before in [None, Some(&b"old"[..])] {
            for (deletes, reads_more) in [(false, false), (false, true), (true, false), (true, true)] {
                assert!(commits(before, deletes, reads_more, false));
                assert!(!commits(before, deletes, reads_more, true));
            }
        }
    }
}
