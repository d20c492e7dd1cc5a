//! Ranges in a transaction: pages of its snapshot, merged with its own writes.
//!
//! The transaction records the ranges that it has read, so its commit fails if another client has written
//! there since the snapshot. A new pair is a change like any other.

use std::ops::{Bound, ControlFlow};

use honeycomb_store::{Pairs, Table, TableHandle};

use crate::commands::range::Range;
use crate::failure::Failure;
use crate::transaction::{Change, OptimisticTransaction, Pair, Seen, TableRange};

impl OptimisticTransaction {
    /// Passes the pairs of the next page of a range to `take` in order, with their envelopes, until `take`
    /// breaks. Returns the last key of the page if the range continues after it.
    pub(crate) fn page(
        &mut self,
        table: &Table,
        range: &Range<'_>,
        pairs: &mut Pairs,
        take: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<Option<Vec<u8>>, Failure> {
        self.begin_snapshot(|| table.snapshot())?;
        let place = self.place(table);
        if let Some(snapshot) = &self.snapshot {
            snapshot.scan_into(table, &range.page(), pairs)?;
        }
        self.scanned_pairs += if self.reads_only { 0 } else { pairs.len() };
        let last = pairs.last().filter(|_| pairs.more()).map(|(key, _)| key.to_vec());
        let covered = TableRange::new(place, &last.as_deref().map_or(*range, |last| range.up_to(last)));
        self.note(&covered);
        let _ = self.merge(&covered, range.backward, pairs, take);
        Ok(last)
    }

    /// Deletes the pairs of a range at the commit.
    pub(crate) fn delete_range(&mut self, table: &Table, range: &Range<'_>) {
        let place = self.place(table);
        let range = TableRange::new(place, range);
        let in_range = self.pairs.range_mut(of_table(place)).filter(|((_, key), _)| range.contains(key));
        let mut unread = Vec::new();
        for (place, pair) in in_range {
            pair.change = None;
            if pair.seen.is_none() {
                unread.push(place.clone());
            }
        }
        unread.iter().for_each(|place| drop(self.pairs.remove(place)));
        if (&range.lower, &range.upper) == (&Bound::Unbounded, &Bound::Unbounded) {
            // Every read compares its key with all deleted ranges of its table.
            let covered: Vec<_> = self.deleted_of(place).map(|(at, _)| *at).collect();
            covered.iter().for_each(|at| drop(self.deleted.remove(at)));
        }
        let number = self.deleted_of(place).next_back().map_or(0, |((_, last), _)| last + 1);
        self.deleted.insert((place, number), range);
    }

    /// Returns the difference in the number of pairs between the table in the transaction and the table
    /// outside, or `None` if the transaction has deleted ranges of it.
    pub(crate) fn added_pairs(&mut self, table: &TableHandle) -> Result<Option<i64>, Failure> {
        let place = self.place(table);
        if self.deleted_of(place).next().is_some() {
            return Ok(None);
        }
        let mut added = 0;
        for ((_, key), pair) in self.pairs.range(of_table(place)) {
            let Some(change) = &pair.change else { continue };
            self.budget.spend(1, 0)?;
            let was_there = match &pair.seen {
                Some(Seen::Value(value)) => value.is_some(),
                _ => table.contains(key)?,
            };
            added += i64::from(change.is_some()) - i64::from(was_there);
        }
        Ok(Some(added))
    }

    /// Returns the write of the transaction to a key: the stored value, or `None` for a deleted pair.
    pub(crate) fn change(&mut self, table: &TableHandle, key: &[u8]) -> Option<Option<&[u8]>> {
        let place = (self.place(table), key.to_vec());
        Some(self.pairs.get(&place)?.change.as_ref()?.as_deref())
    }

    /// Returns the keys of a table at which the transaction has put values.
    pub(crate) fn put_keys(&mut self, table: &TableHandle) -> Vec<Vec<u8>> {
        let place = self.place(table);
        let pairs = self.pairs.range(of_table(place));
        let put = pairs.filter(|(_, pair)| matches!(pair.change, Some(Some(_))));
        put.map(|((_, key), _)| key.clone()).collect()
    }

    /// Returns the keys of a table that exist only in the transaction.
    pub(crate) fn added_keys(&mut self, table: &TableHandle) -> Result<Vec<Vec<u8>>, Failure> {
        let (place, mut added) = (self.place(table), Vec::new());
        for ((_, key), pair) in self.pairs.range(of_table(place)) {
            if matches!(pair.change, Some(Some(_))) && !table.contains(key)? {
                added.push(key.clone());
            }
        }
        Ok(added)
    }

    pub(super) fn is_deleted(&self, (table, key): &(usize, Vec<u8>)) -> bool {
        self.deleted_of(*table).any(|(_, range)| range.contains(key))
    }

    /// Returns the deleted ranges of a table. Others cost no time: a transaction may delete the pairs of tens
    /// of thousands of tables.
    fn deleted_of(&self, table: usize) -> impl DoubleEndedIterator<Item = (&(usize, usize), &TableRange)> {
        self.deleted.range((table, 0)..(table + 1, 0))
    }

    fn note(&mut self, covered: &TableRange) {
        if self.reads_only {
            return;
        }
        match self.ranges.last_mut() {
            Some(last) if last.table == covered.table && meets(&last.upper, &covered.lower) => {
                last.upper.clone_from(&covered.upper);
            }
            Some(last) if last.table == covered.table && meets(&covered.upper, &last.lower) => {
                last.lower.clone_from(&covered.lower);
            }
            _ => self.ranges.push(covered.clone()),
        }
    }

    fn merge(
        &self,
        covered: &TableRange,
        backward: bool,
        pairs: &Pairs,
        mut take: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut own = self.changes(covered, backward).into_iter().peekable();
        for (key, value) in pairs {
            let comes_first = |own: &[u8]| if backward { own > key } else { own < key };
            while let Some((own_key, change)) = own.next_if(|(own_key, _)| comes_first(own_key)) {
                change.as_ref().map_or(ControlFlow::Continue(()), |value| take(own_key, value))?;
            }
            match own.next_if(|(own_key, _)| *own_key == key) {
                Some((_, change)) => {
                    change.as_ref().map_or(ControlFlow::Continue(()), |value| take(key, value))?;
                }
                None if self.is_deleted(&(covered.table, key.to_vec())) => {}
                None => take(key, value)?,
            }
        }
        own.try_for_each(|(key, change)| {
            change.as_ref().map_or(ControlFlow::Continue(()), |value| take(key, value))
        })
    }

    /// Returns the writes of the transaction in a range, in the direction of a walk.
    fn changes(&self, range: &TableRange, backward: bool) -> Vec<(&[u8], &Change)> {
        let in_range =
            |((_, key), pair): (&'_ (usize, Vec<u8>), &'_ Pair)| range.contains(key) && pair.change.is_some();
        let from = match &range.lower {
            Bound::Included(key) | Bound::Excluded(key) => (range.table, key.clone()),
            Bound::Unbounded => (range.table, Vec::new()),
        };
        let all = self.pairs.range(from..(range.table + 1, Vec::new()));
        let mut found: Vec<_> = all
            .take_while(|((_, key), _)| !range.ends_before(key))
            .filter(|entry| in_range(*entry))
            .filter_map(|((_, key), pair)| Some((&key[..], pair.change.as_ref()?)))
            .collect();
        if backward {
            found.reverse();
        }
        found
    }
}

/// Returns the range of all pairs of a table.
fn of_table(table: usize) -> std::ops::Range<(usize, Vec<u8>)> {
    (table, Vec::new())..(table + 1, Vec::new())
}

/// Returns whether a range with the bound `upper` continues in a range with the bound `lower`.
fn meets(upper: &Bound<Vec<u8>>, lower: &Bound<Vec<u8>>) -> bool {
    matches!((upper, lower), (Bound::Included(upper), Bound::Excluded(lower)) if upper == lower)
}

impl TableRange {
    fn new(table: usize, range: &Range<'_>) -> Self {
        let owned = |bound: Bound<&[u8]>| bound.map(<[u8]>::to_vec);
        Self { table, lower: owned(range.lower), upper: owned(range.upper) }
    }

    pub(super) fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        let (lower, upper) = (self.lower.as_ref(), self.upper.as_ref());
        (lower.map(Vec::as_slice), upper.map(Vec::as_slice))
    }

    fn contains(&self, key: &[u8]) -> bool {
        let begins = match &self.lower {
            Bound::Included(lower) => key >= &lower[..],
            Bound::Excluded(lower) => key > &lower[..],
            Bound::Unbounded => true,
        };
        begins && !self.ends_before(key)
    }

    fn ends_before(&self, key: &[u8]) -> bool {
        match &self.upper {
            Bound::Included(upper) => key > &upper[..],
            Bound::Excluded(upper) => key >= &upper[..],
            Bound::Unbounded => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use honeycomb_store::{Config, Store};

    use super::*;
    use crate::deadlines::Deadlines;
    use crate::envelope::Envelope;

    /// Commits a transaction that reads the range from `b` to `d` and writes a pair outside of it, while
    /// `meanwhile` writes to the table. Returns whether the commit succeeded.
    fn commits(backward: bool, meanwhile: impl FnOnce(&Table)) -> bool {
        let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() }).unwrap();
        let handle = TableHandle::Ordered(store.table("pairs").unwrap());
        let table = handle.ordered().unwrap().clone();
        for key in [b"a", b"c", b"e"] {
            table.put(key, b"\0old").unwrap();
        }
        let deadlines = Deadlines::open(&store, std::slice::from_ref(&handle), 1).unwrap();
        let mut transaction = OptimisticTransaction::default();
        let mut keys = Vec::new();
        let range =
            Range { lower: Bound::Included(b"b"), upper: Bound::Included(b"d"), backward, ..Range::all() };
        let take = |key: &[u8], _: &[u8]| {
            keys.push(key.to_vec());
            ControlFlow::Continue(())
        };
        assert_eq!(transaction.page(&table, &range, &mut Pairs::default(), take).unwrap(), None);
        assert_eq!(keys, [b"c"]);
        transaction.put(&handle, b"z", Envelope { data: b"new", expires_at: None }).unwrap();
        meanwhile(&table);
        transaction.attempt(&store, &deadlines, |_| {}).unwrap()
    }

    #[test]
    fn a_commit_fails_if_a_range_that_was_read_has_changed() {
        for backward in [false, true] {
            assert!(commits(backward, |_| ()));
            assert!(commits(backward, |table| table.put(b"a", b"\0meanwhile").unwrap()));
            assert!(!commits(backward, |table| table.put(b"c", b"\0meanwhile").unwrap()));
            assert!(!commits(backward, |table| table.put(b"b2", b"\0meanwhile").unwrap()));
            assert!(!commits(backward, |table| assert!(table.delete(b"c").unwrap())));
        }
    }

    /// The second deletion of everything replaces the first one, and changes nothing in other tables.
    #[test]
    fn each_table_has_its_own_deleted_ranges() {
        let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() }).unwrap();
        let names = ["0", "1", "2"];
        let [first, second, third] = names.map(|name| TableHandle::Ordered(store.table(name).unwrap()));
        let mut transaction = OptimisticTransaction::default();
        let part = Range { lower: Bound::Included(b"b"), upper: Bound::Included(b"d"), ..Range::all() };
        for (table, range) in [(&first, &part), (&first, &part), (&third, &part), (&first, &Range::all())] {
            transaction.delete_range(table.ordered().unwrap(), range);
            transaction.put(table, b"c", Envelope { data: b"new", expires_at: None }).unwrap();
        }
        transaction.delete_range(third.ordered().unwrap(), &part);
        for (table, count) in [(&first, 1), (&second, 0), (&third, 2)] {
            let place = transaction.place(table);
            assert_eq!(transaction.deleted_of(place).count(), count);
            let is_deleted = |key: &[u8]| transaction.is_deleted(&(place, key.to_vec()));
            assert_eq!([&b"a"[..], b"c"].map(is_deleted), [count == 1, count > 0]);
        }
        assert_eq!(transaction.get(&first, b"c").unwrap(), Some(&b"\0new"[..]));
        assert_eq!(transaction.get(&third, b"c").unwrap(), None);
    }
}
