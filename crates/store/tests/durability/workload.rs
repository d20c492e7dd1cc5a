//! A random workload on a durable store, and its history.

use std::collections::BTreeMap;
use std::sync::Arc;

use honeycomb_store::unordered::{Answers, Operation, Request, WalkedPairs};
use honeycomb_store::{
    Batch, BatchOutcome, Config, DurabilityConfig, Error, Store, SyncPolicy, Table, TableKind, TableRef,
    UnorderedConfig, UnorderedTable,
};
use honeycomb_testing::{Random, SimulatedDisk};

use crate::history::{History, Model};

/// A writer of a store on a simulated disk, with tables of its own, and every state that they have had.
pub(crate) struct Workload {
    store: Store,
    /// Begins the names of its tables.
    writer: char,
    tables: Vec<AnyTable>,
    random: Random,
    policy: SyncPolicy,
    pub(crate) history: History,
}

#[derive(Clone)]
enum AnyTable {
    Ordered(Table),
    Unordered(UnorderedTable),
}

impl AnyTable {
    fn name(&self) -> &str {
        match self {
            Self::Ordered(table) => table.name(),
            Self::Unordered(table) => table.name(),
        }
    }

    fn as_ref(&self) -> TableRef<'_> {
        match self {
            Self::Ordered(table) => table.into(),
            Self::Unordered(table) => table.into(),
        }
    }
}

/// The files have four blocks, so that workloads use many of them.
pub(crate) fn config(disk: &SimulatedDisk, policy: SyncPolicy) -> Config {
    let durability = DurabilityConfig {
        policy,
        log_file_bytes: 4 * 4096,
        ..DurabilityConfig::with_storage(Arc::new(disk.clone()))
    };
    Config {
        memory_bytes: 4 << 20,
        node_bytes: 1024,
        log_threshold_bytes: 256,
        huge_pages: false,
        durability: Some(durability),
        ..Config::default()
    }
}

/// Returns all pairs of a store.
pub(crate) fn contents(store: &Store) -> Model {
    let pairs = |name: &String| {
        if store.table_kind(name) == Some(TableKind::Unordered) {
            return walk(&store.unordered_table(name, UnorderedConfig::default()).expect("the table exists"));
        }
        let table = store.table(name).expect("the table exists");
        table.iter().expect("room").map(|pair| pair.expect("no lease is lost")).collect()
    };
    store.tables().iter().map(|name| (name.clone(), pairs(name))).collect()
}

/// Returns all pairs of an unordered table.
fn walk(table: &UnorderedTable) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let (mut walked, mut cursor, mut all) = (WalkedPairs::default(), 0, BTreeMap::new());
    loop {
        cursor = table.walk(cursor, 10, &mut walked);
        all.extend(walked.iter().map(|(key, value)| (key.to_vec(), value.to_vec())));
        if cursor == 0 {
            return all;
        }
    }
}

impl Workload {
    pub(crate) fn new(store: &Store, writer: char, policy: SyncPolicy, seed: u64) -> Self {
        // The seeds of writers differ.
        let random = Random::new(seed ^ u64::from(writer) << 32);
        let (store, tables, mut history) = (store.clone(), Vec::new(), History::default());
        history.end(store.read_version());
        Self { store, writer, tables, random, policy, history }
    }

    /// Executes steps until one of them fails.
    pub(crate) fn run(&mut self, steps: usize) -> Result<(), Error> {
        for _ in 0..steps {
            self.step()?;
            self.end_operation();
            if self.policy == SyncPolicy::Always {
                self.history.keep();
            } else if self.random.chance(15) {
                self.store.wait_durable(self.store.read_version())?;
                self.history.keep();
            }
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), Error> {
        if self.tables.is_empty() {
            return self.create();
        }
        match self.random.below(22) {
            0 => self.create(),
            1 => self.drop_one(),
            2 => self.load(),
            3 => self.store.checkpoint().map(drop),
            4..=6 => self.batch(),
            7 => self.each(),
            _ => self.single(),
        }
    }

    fn single(&mut self) -> Result<(), Error> {
        let table = self.tables[self.random.below(self.tables.len())].clone();
        match self.random.below(14) {
            0 => {
                let table = match table {
                    AnyTable::Ordered(table) => table,
                    AnyTable::Unordered(table) if self.random.chance(30) => return self.clear(&table),
                    unordered => return self.execute(&unordered),
                };
                let (low, high) = (self.key(), self.key());
                let name = table.name().to_owned();
                self.change(|model| pairs(model, &name).retain(|key, _| !(low <= *key && *key < high)));
                table.delete_range(&low[..]..&high[..]).map(drop)
            }
            1 | 2 => self.delete(&table),
            3 => self.add(&table),
            _ => self.put(&table),
        }
    }

    fn end_operation(&mut self) {
        self.history.end(self.store.read_version());
    }

    /// Adds the state after a change. It is added before the change, which may fail but be durable.
    fn change(&mut self, change: impl FnOnce(&mut Model)) {
        let mut next = self.history.last().clone();
        change(&mut next);
        self.history.push(next);
    }

    fn create(&mut self) -> Result<(), Error> {
        let is_unordered = self.random.chance(50);
        let kind = if is_unordered { "unordered" } else { "table" };
        let name = format!("{} {kind} {}", self.writer, self.random.below(3));
        if !self.tables.iter().any(|table| table.name() == name) {
            self.change(|model| {
                model.entry(name.clone()).or_default();
            });
            self.tables.push(if is_unordered {
                let config = UnorderedConfig { buckets: 4, ..UnorderedConfig::default() };
                AnyTable::Unordered(self.store.unordered_table(&name, config)?)
            } else {
                AnyTable::Ordered(self.store.table(&name)?)
            });
        }
        Ok(())
    }

    fn drop_one(&mut self) -> Result<(), Error> {
        let table = self.tables.swap_remove(self.random.below(self.tables.len()));
        let name = table.name().to_owned();
        drop(table);
        self.change(|model| drop(model.remove(&name)));
        self.store.drop_table(&name).map(drop)
    }

    /// A bulk load into a new table: first the table, then all its pairs.
    fn load(&mut self) -> Result<(), Error> {
        let name = format!("{} loaded {}", self.writer, self.random.below(3));
        if self.history.last().contains_key(&name) {
            return Ok(());
        }
        self.change(|model| drop(model.insert(name.clone(), BTreeMap::new())));
        let table = self.store.table(&name)?;
        self.end_operation();
        let count = self.random.below(400);
        let pairs: BTreeMap<_, _> = (0..count).map(|_| (self.key(), self.value())).collect();
        self.change(|model| drop(model.insert(name.clone(), pairs.clone())));
        table.load_sorted(pairs).map(drop)
    }

    fn batch(&mut self) -> Result<(), Error> {
        let mut batch = Batch::default();
        let mut next = self.history.last().clone();
        for _ in 0..1 + self.random.below(8) {
            let table = self.tables[self.random.below(self.tables.len())].clone();
            let key = self.key();
            if self.random.chance(20) {
                pairs(&mut next, table.name()).remove(&key);
                batch.delete(table.as_ref(), &key);
            } else {
                let value = self.value();
                pairs(&mut next, table.name()).insert(key.clone(), value.clone());
                batch.put(table.as_ref(), &key, &value);
            }
        }
        self.history.push(next);
        let outcome = self.store.apply(&batch)?;
        assert!(matches!(outcome, BatchOutcome::Applied { .. }));
        Ok(())
    }

    /// Independent writes: each is a state of its own.
    fn each(&mut self) -> Result<(), Error> {
        let mut batch = Batch::default();
        for _ in 0..1 + self.random.below(40) {
            let table = self.tables[self.random.below(self.tables.len())].clone();
            let (key, value) = (self.key(), self.value());
            self.change(|model| drop(pairs(model, table.name()).insert(key.clone(), value.clone())));
            batch.put(table.as_ref(), &key, &value);
        }
        let mut refused = None;
        self.store.apply_each(&batch, |_, outcome| refused = outcome.err())?;
        refused.map_or(Ok(()), Err)
    }

    /// A batch of operations on different keys of an unordered table, which executes them in any order.
    fn execute(&mut self, table: &AnyTable) -> Result<(), Error> {
        let AnyTable::Unordered(unordered) = table else { return Ok(()) };
        let keys: Vec<_> = (0..20).map(|number| format!("key {number:02}").into_bytes()).collect();
        let values: Vec<_> = keys.iter().map(|_| self.random.chance(70).then(|| self.value())).collect();
        let mut requests = Vec::new();
        for (key, value) in keys.iter().zip(&values) {
            let operation = value.as_deref().map_or(Operation::Delete, Operation::Put);
            requests.push(Request { key, operation });
            self.change(|model| match value {
                Some(value) => drop(pairs(model, table.name()).insert(key.clone(), value.clone())),
                None => drop(pairs(model, table.name()).remove(key)),
            });
        }
        self.history.interleave();
        unordered.execute(&requests, &mut Answers::default())
    }

    fn clear(&mut self, table: &UnorderedTable) -> Result<(), Error> {
        self.change(|model| pairs(model, table.name()).clear());
        table.clear()
    }

    fn put(&mut self, table: &AnyTable) -> Result<(), Error> {
        let (key, value) = (self.key(), self.value());
        self.change(|model| drop(pairs(model, table.name()).insert(key.clone(), value.clone())));
        match table {
            AnyTable::Ordered(table) => table.put(&key, &value),
            AnyTable::Unordered(table) => table.put(&key, &value),
        }
    }

    fn delete(&mut self, table: &AnyTable) -> Result<(), Error> {
        let key = self.key();
        self.change(|model| drop(pairs(model, table.name()).remove(&key)));
        match table {
            AnyTable::Ordered(table) => table.delete(&key).map(drop),
            AnyTable::Unordered(table) => table.delete(&key).map(drop),
        }
    }

    fn add(&mut self, table: &AnyTable) -> Result<(), Error> {
        let delta = self.random.below(1000) as u64;
        self.change(|model| {
            let counter = pairs(model, table.name()).entry(b"counter".to_vec()).or_insert(vec![0; 8]);
            let sum = u64::from_le_bytes(counter[..].try_into().expect("eight bytes")) + delta;
            *counter = sum.to_le_bytes().to_vec();
        });
        match table {
            AnyTable::Ordered(table) => table.add(b"counter", delta as i64).map(drop),
            AnyTable::Unordered(table) => table.add(b"counter", delta as i64).map(drop),
        }
    }

    fn key(&mut self) -> Vec<u8> {
        format!("key {:02}", self.random.below(60)).into_bytes()
    }

    fn value(&mut self) -> Vec<u8> {
        let length = if self.random.chance(3) { 6000 } else { self.random.below(120) };
        self.random.bytes(length)
    }
}

fn pairs<'m>(model: &'m mut Model, table: &str) -> &'m mut BTreeMap<Vec<u8>, Vec<u8>> {
    model.get_mut(table).expect("the table exists")
}
