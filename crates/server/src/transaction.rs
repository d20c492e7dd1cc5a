//! Commands that read and write, made atomic: what they have read is checked when they write.
//!
//! A transaction reads pairs and keeps its writes to itself. To commit, it applies one batch in which each
//! pair that was read is swapped for what it was: if any is another now the batch is refused as a whole, and
//! the commands run again. Nobody waits for anybody.

use std::collections::BTreeMap;

use honeycomb_store::{Batch, BatchOutcome, Store, Table};

use crate::deadlines::Deadlines;
use crate::envelope::{DATA_BYTES_MAX, Envelope};
use crate::failure::Failure;
use crate::session::Watched;

/// The pairs that some commands have read and are to write.
#[derive(Debug, Default)]
pub(crate) struct Transaction {
    pairs: BTreeMap<(usize, Vec<u8>), Pair>,
    tables: Vec<Table>,
}

/// One of them, by table and key.
#[derive(Debug, Default)]
struct Pair {
    seen: Option<Seen>,
    change: Option<Change>,
}

/// What was there when it was read: none if the key was absent.
type Seen = Option<Vec<u8>>;

/// What is to be there: none if it is to be deleted.
type Change = Option<Vec<u8>>;

impl Transaction {
    /// The value of a key as the pair holds it, the transaction's own writes included.
    pub(crate) fn get(&mut self, table: &Table, key: &[u8]) -> Result<Option<&[u8]>, Failure> {
        let pair = self.pair(table, key);
        if pair.change.is_none() && pair.seen.is_none() {
            pair.seen = Some(table.get(key)?);
        }
        Ok(pair.change.as_ref().or(pair.seen.as_ref()).and_then(Option::as_deref))
    }

    /// A pair was read before: the transaction commits only if it is still that.
    pub(crate) fn saw(&mut self, table: &Table, key: &[u8], pair: Option<&[u8]>) {
        self.pair(table, key).seen = Some(pair.map(<[u8]>::to_vec));
    }

    /// Has the transaction commit only if a pair is what it was when it was watched.
    pub(crate) fn watch(&mut self, watched: &Watched) {
        self.saw(&watched.table, &watched.key, watched.seen.as_deref());
    }

    /// Writes a pair when the transaction commits.
    pub(crate) fn put(&mut self, table: &Table, key: &[u8], envelope: Envelope<'_>) -> Result<(), Failure> {
        if envelope.data.len() > DATA_BYTES_MAX {
            return Err(Failure::TooLong);
        }
        self.pair(table, key).change = Some(Some(envelope.seal()));
        Ok(())
    }

    /// Deletes a pair when the transaction commits.
    pub(crate) fn delete(&mut self, table: &Table, key: &[u8]) {
        self.pair(table, key).change = Some(None);
    }

    /// Adds the swap that commits it to others, if one does: of a pair that it has read and is to write, and
    /// no other. Whether it has.
    pub(crate) fn swap_into(&self, swaps: &mut Batch) -> bool {
        let Some(((table, key), pair)) = self.pairs.first_key_value().filter(|_| self.pairs.len() == 1)
        else {
            return false;
        };
        let is_swap =
            matches!((&pair.seen, &pair.change), (Some(Some(_)), Some(_)) | (Some(None), Some(Some(_))))
                && !pair.concerns_deadlines();
        if is_swap {
            pair.write_into(swaps, &self.tables[*table], key);
        }
        is_swap
    }

    /// Writes all there is to write, at one moment at which all that was read was there. False if there was
    /// no such moment, and nothing has changed.
    pub(crate) fn commit(&self, store: &Store, deadlines: &Deadlines) -> Result<bool, Failure> {
        if self.pairs.values().all(|pair| pair.change.is_none()) {
            return self.was_there(store);
        }
        if self.pairs.len() == 1
            && let Some(((table, key), pair)) = self.pairs.first_key_value()
            && !pair.concerns_deadlines()
        {
            return pair.write(&self.tables[*table], key);
        }
        let mut batch = Batch::default();
        for ((table, key), pair) in &self.pairs {
            let table = &self.tables[*table];
            pair.write_into(&mut batch, table, key);
            let (seen, change) = pair.values();
            deadlines.write_into(&mut batch, table, key, seen, change);
        }
        Ok(matches!(store.apply(&batch)?, BatchOutcome::Applied { .. }))
    }

    /// Whether all that was read was there at one moment: in a snapshot that is taken for it.
    fn was_there(&self, store: &Store) -> Result<bool, Failure> {
        if self.pairs.len() < 2 {
            return Ok(true);
        }
        let snapshot = store.snapshot()?;
        for ((table, key), pair) in &self.pairs {
            if pair.seen.as_ref() != Some(&snapshot.get(&self.tables[*table], key)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn pair(&mut self, table: &Table, key: &[u8]) -> &mut Pair {
        let known = self.tables.iter().position(|known| known.name() == table.name());
        let table = known.unwrap_or_else(|| {
            self.tables.push(table.clone());
            self.tables.len() - 1
        });
        self.pairs.entry((table, key.to_vec())).or_default()
    }
}

impl Pair {
    /// What was there, as far as it is known, and what is to be there.
    fn values(&self) -> (Option<&[u8]>, Option<&[u8]>) {
        let seen = self.seen.as_ref().and_then(Option::as_deref);
        (seen, self.change.as_ref().map_or(seen, Option::as_deref))
    }

    /// Whether the write changes the index of deadlines.
    fn concerns_deadlines(&self) -> bool {
        let (seen, change) = self.values();
        Deadlines::concerns(seen, change)
    }

    /// Makes the pair what it is to be, if it is what was seen: whether it was.
    fn write(&self, table: &Table, key: &[u8]) -> Result<bool, Failure> {
        match (&self.seen, &self.change) {
            (_, None) => {}
            (None, Some(Some(value))) => table.put(key, value)?,
            (None, Some(None)) => drop(table.delete(key)?),
            (Some(None), Some(Some(value))) => return Ok(table.insert(key, value)?),
            (Some(None), Some(None)) => return Ok(!table.contains(key)?),
            (Some(Some(seen)), Some(Some(value))) => {
                return Ok(table.compare_and_swap(key, seen, value)?.swapped());
            }
            (Some(Some(seen)), Some(None)) => return Ok(table.compare_and_delete(key, seen)?),
        }
        Ok(true)
    }

    /// The writes that are refused unless the pair is what was seen, and make it what it is to be.
    fn write_into(&self, batch: &mut Batch, table: &Table, key: &[u8]) {
        match (&self.seen, &self.change) {
            (None, None) => {}
            (None, Some(Some(value))) => drop(batch.put(table, key, value)),
            (None, Some(None)) => drop(batch.delete(table, key)),
            (Some(None), Some(Some(value))) => drop(batch.insert(table, key, value)),
            // Nothing may have come meanwhile: the insert is refused then, and else taken back.
            (Some(None), None | Some(None)) => drop(batch.insert(table, key, b"").delete(table, key)),
            (Some(Some(seen)), Some(Some(value))) => drop(batch.compare_and_swap(table, key, seen, value)),
            (Some(Some(seen)), Some(None)) => drop(batch.compare_and_delete(table, key, seen)),
            (Some(Some(seen)), None) => drop(batch.compare_and_swap(table, key, seen, seen)),
        }
    }
}

#[cfg(test)]
mod tests {
    use honeycomb_store::Config;

    use super::*;

    /// Commits a transaction that has read a key, and perhaps another one, and writes it: whether it could.
    fn commits(before: Option<&[u8]>, deletes: bool, reads_more: bool, changed: bool) -> bool {
        let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() }).unwrap();
        let table = store.table("pairs").unwrap();
        before.iter().for_each(|before| table.put(b"key", before).unwrap());
        let deadlines = Deadlines::open(&store, std::slice::from_ref(&table)).unwrap();
        let mut transaction = Transaction::default();
        assert_eq!(transaction.get(&table, b"key").unwrap(), before);
        if reads_more {
            transaction.get(&table, b"other").unwrap();
        }
        match deletes {
            true => transaction.delete(&table, b"key"),
            false => transaction.put(&table, b"key", Envelope { data: b"new", expires_at: None }).unwrap(),
        }
        if changed {
            table.put(b"key", b"meanwhile").unwrap();
        }
        let committed = transaction.commit(&store, &deadlines).unwrap();
        let meanwhile = table.get(b"key").unwrap().as_deref() == Some(b"meanwhile");
        assert_eq!(meanwhile, changed && !committed);
        committed
    }

    #[test]
    fn what_has_changed_since_it_was_read_refuses_the_commit() {
        for before in [None, Some(&b"old"[..])] {
            for (deletes, reads_more) in [(false, false), (false, true), (true, false), (true, true)] {
                assert!(commits(before, deletes, reads_more, false));
                assert!(!commits(before, deletes, reads_more, true));
            }
        }
    }
}
