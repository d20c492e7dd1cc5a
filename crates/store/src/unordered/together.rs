//! Reads of several keys of any tables at one moment.
//!
//! The reader watches the stripes of all keys of unordered tables, takes a read version, reads, and checks
//! that no stripe has changed meanwhile. Then the values of unordered tables are those of every moment since
//! the watch began, and one of these moments is that of the read version. A batch over both kinds releases
//! its version while it holds its stripes, so such a reader sees all of it or nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use honeycomb_btree::{Reader, Root};
use honeycomb_hashtable::Session;
use honeycomb_memory::Pin;

use super::entry::UnorderedEntry;
use crate::error::Error;
use crate::store::Store;
use crate::store_state::StoreState;
use crate::table_handle::TableRef;

/// Attempts before the reader locks the stripes, so that writers cannot delay it for ever.
const ATTEMPTS: usize = 16;

/// Values up to this length are copied as a whole.
const SHORT_BYTES_MAX: usize = 512;

type Values = Vec<Option<Vec<u8>>>;

impl Store {
    /// Returns the values of keys of any tables at one moment; `None` for an absent key. It sees every
    /// [`Batch`](crate::Batch) as a whole or not at all.
    ///
    /// ```
    /// use honeycomb_store::{Batch, Config, Store, UnorderedConfig};
    ///
    /// let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() })?;
    /// let orders = store.table("orders")?;
    /// let stock = store.unordered_table("stock", UnorderedConfig::default())?;
    /// let mut batch = Batch::default();
    /// batch.put(&orders, b"1", b"3 apples").put(&stock, b"apples", b"9");
    /// store.apply(&batch)?;
    /// let values = store.get_together(&[((&orders).into(), b"1"), ((&stock).into(), b"apples")])?;
    /// assert_eq!(values, [Some(b"3 apples".to_vec()), Some(b"9".to_vec())]);
    /// # Ok::<(), honeycomb_store::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::ForeignTable`]; [`Error::MvccOff`] if a key of several is of an ordered
    /// table and the store has no versions.
    pub fn get_together(&self, keys: &[(TableRef<'_>, &[u8])]) -> Result<Values, Error> {
        self.get_beginnings_together(keys, usize::MAX)
    }

    /// As [`Store::get_together`], but copies at most the first `value_bytes_max` bytes of values that are
    /// too long for a slab. So it shows which keys exist, however long their values are.
    ///
    /// # Errors
    /// The same as for [`Store::get_together`].
    pub fn get_beginnings_together(
        &self,
        keys: &[(TableRef<'_>, &[u8])],
        value_bytes_max: usize,
    ) -> Result<Values, Error> {
        let state = self.state();
        for (table, key) in keys {
            table.check_store(state)?;
            if let TableRef::Ordered(_) = table {
                state.check_key(key)?;
                if keys.len() > 1 && !state.forest.mvcc() {
                    return Err(Error::MvccOff);
                }
            }
        }
        let plan = Plan { value_bytes_max, ..Plan::of(keys) };
        for _ in 0..ATTEMPTS {
            if let Some(values) = plan.try_read(state)? {
                state.catch_up();
                return Ok(values);
            }
        }
        let values = plan.read_locked(state)?;
        state.catch_up();
        Ok(values)
    }
}

/// The keys by table.
struct Plan<'k> {
    count: usize,
    /// Bytes of values longer than [`SHORT_BYTES_MAX`] that it copies.
    value_bytes_max: usize,
    /// The unordered tables by their identifiers, each with the positions of its keys.
    unordered: BTreeMap<u64, TableKeys<'k>>,
    ordered: Vec<(usize, Root, &'k [u8])>,
}

struct TableKeys<'k> {
    entry: &'k Arc<UnorderedEntry>,
    keys: Vec<&'k [u8]>,
    positions: Vec<usize>,
}

impl<'k> Plan<'k> {
    fn of(keys: &'k [(TableRef<'k>, &'k [u8])]) -> Self {
        let (unordered, ordered) = (BTreeMap::new(), Vec::new());
        let mut plan = Self { count: keys.len(), value_bytes_max: usize::MAX, unordered, ordered };
        for (position, (table, key)) in keys.iter().enumerate() {
            match table {
                TableRef::Ordered(table) => plan.ordered.push((position, table.root(), key)),
                TableRef::Unordered(table) => {
                    let entry = table.entry();
                    let new = || TableKeys { entry, keys: Vec::new(), positions: Vec::new() };
                    let table = plan.unordered.entry(entry.tree).or_insert_with(new);
                    table.keys.push(key);
                    table.positions.push(position);
                }
            }
        }
        plan
    }

    /// Begins a session of each table, all under one pin: a thread with a pin must not wait for another one.
    fn sessions<'s>(&'s self, pin: &'s Pin<'s>) -> Vec<Session<'s>> {
        self.unordered.values().map(|table| table.entry.table.session_under(pin)).collect()
    }

    /// Reads all keys. `None` if a writer has interfered.
    fn try_read(&self, state: &StoreState) -> Result<Option<Values>, Error> {
        let pin = state.forest.memory().pin();
        let sessions = self.sessions(&pin);
        let mut watches = Vec::new();
        for (session, table) in sessions.iter().zip(self.unordered.values()) {
            for key in &table.keys {
                watches.push(session.watch(key)?);
            }
        }
        let mut values = vec![None; self.count];
        self.read_ordered(&state.forest.reader_under(&pin), &mut values);
        for (session, table) in sessions.iter().zip(self.unordered.values()) {
            for (key, &position) in table.keys.iter().zip(&table.positions) {
                let mut value = Vec::new();
                let exists = session.get_beginning(key, self.value_bytes_max, &mut value)?;
                values[position] = exists.then_some(value);
            }
        }
        let mut watches = watches.iter();
        let is_unchanged = sessions.iter().zip(self.unordered.values()).all(|(session, table)| {
            watches.by_ref().take(table.keys.len()).all(|watch| session.is_unchanged(watch))
        });
        Ok(is_unchanged.then_some(values))
    }

    /// Reads all keys while no other thread can change them.
    fn read_locked(&self, state: &StoreState) -> Result<Values, Error> {
        let pin = state.forest.memory().pin();
        let sessions = self.sessions(&pin);
        let mut locked = Vec::new();
        for (session, table) in sessions.iter().zip(self.unordered.values()) {
            locked.push((session.lock_keys(&table.keys)?, &table.positions));
        }
        let mut values = vec![None; self.count];
        self.read_ordered(&state.forest.reader_under(&pin), &mut values);
        for (locked, positions) in &locked {
            for (key, &position) in positions.iter().enumerate() {
                let mut value = Vec::new();
                values[position] =
                    locked.get_beginning(key, self.value_bytes_max, &mut value).then_some(value);
            }
        }
        Ok(values)
    }

    /// Returns the part of a value that it copies.
    fn beginning<'v>(&self, value: &'v [u8]) -> &'v [u8] {
        if value.len() <= SHORT_BYTES_MAX { value } else { &value[..value.len().min(self.value_bytes_max)] }
    }

    fn read_ordered(&self, reader: &Reader<'_>, values: &mut Values) {
        for &(position, root, key) in &self.ordered {
            values[position] = reader.get(root, key).map(|found| self.beginning(found.value).to_vec());
        }
    }
}
