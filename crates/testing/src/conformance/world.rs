//! A forest with tables, the accelerator under test, and the expected state at each version.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use honeycomb_accelerator::{Accelerator, Backend};
use honeycomb_btree::{BatchOperation, Config, Forest, Operation, Root, Version};
use honeycomb_hashtable::Functions;
use honeycomb_memory::Lease;

use crate::conformance::registered::registered;
use crate::conformance::unordered_model::UnorderedModel;
use crate::random::Random;

/// The pairs of a table at a version.
pub(super) type TableState = BTreeMap<Vec<u8>, Arc<[u8]>>;
/// The tables at a version.
pub(super) type State = BTreeMap<u16, TableState>;

pub(super) struct World {
    pub(super) forest: Arc<Forest>,
    pub(super) functions: Arc<Functions>,
    pub(super) accelerator: Box<dyn Accelerator>,
    pub(super) random: Random,
    pub(super) roots: BTreeMap<u16, Root>,
    /// The newest state.
    pub(super) state: State,
    /// The states at all versions that requests can read.
    pub(super) recorded: BTreeMap<Version, State>,
    pub(super) pinned: BTreeMap<Version, Vec<Arc<Lease>>>,
    pub(super) unordered: UnorderedModel,
    /// Trees without a table.
    hidden: Vec<Root>,
}

/// Number of different keys of a table.
const KEYS: usize = 500;

/// The tables that most checks use, among them the first and the last.
pub(super) const TABLES: [u16; 5] = [0, 1, 2, 3, u16::MAX];

impl World {
    pub(super) fn new(backend: &dyn Backend, config: &Config, seed: u64) -> Self {
        let forest = Arc::new(Forest::new(config.clone()).expect("the configuration is valid"));
        let functions = registered();
        let accelerator = backend.attach(&forest, &functions).expect("the backend can be attached");
        Self {
            forest,
            functions,
            accelerator,
            random: Random::new(seed),
            roots: BTreeMap::new(),
            state: State::new(),
            recorded: BTreeMap::new(),
            pinned: BTreeMap::new(),
            unordered: UnorderedModel::default(),
            hidden: Vec::new(),
        }
    }

    /// Creates a table with an unused number.
    pub(super) fn create_tree(&mut self, table: u16) {
        let root = self.forest.create_tree().expect("there is room");
        self.accelerator.set_root(table, Some(root));
        self.roots.insert(table, root);
        self.state.insert(table, TableState::new());
        self.record();
    }

    /// Removes the root of a table from the accelerator. The tree remains, so requests in flight can read it.
    pub(super) fn remove_root(&mut self, table: u16) {
        self.accelerator.set_root(table, None);
        self.hidden.extend(self.roots.remove(&table));
    }

    /// Removes the root of a table from the accelerator, and drops the tree.
    pub(super) fn drop_tree(&mut self, table: u16) {
        self.accelerator.set_root(table, None);
        let root = self.roots.remove(&table).expect("the table exists");
        self.forest.drop_tree(root).expect("there is room");
        self.forest.memory().reclaim();
    }

    /// Creates tables with random pairs, one of them with values so long that a scan has several completions:
    /// few values, because a simulated accelerator takes a cycle for each line of them.
    pub(super) fn fill(&mut self) {
        for table in TABLES {
            self.create_tree(table);
        }
        for _ in 0..5 * KEYS {
            self.write_one();
        }
        for byte in 0..2 {
            self.put(3, &[byte], &vec![byte; 300_000]);
        }
        self.record();
    }

    pub(super) fn put(&mut self, table: u16, key: &[u8], value: &[u8]) {
        self.forest.write(self.roots[&table], key, Operation::Put(value)).expect("there is room");
        self.table_state(table).insert(key.to_vec(), value.into());
    }

    pub(super) fn delete(&mut self, table: u16, key: &[u8]) {
        self.forest.write(self.roots[&table], key, Operation::Delete).expect("there is room");
        self.table_state(table).remove(key);
    }

    /// Executes random writes.
    pub(super) fn write(&mut self, count: usize) {
        for _ in 0..count {
            match self.random.below(100) {
                0 => self.delete_range(),
                1..6 => self.put_random_batch(),
                _ => self.write_one(),
            }
        }
        self.record();
    }

    fn write_one(&mut self) {
        let table = self.table();
        let key = self.key(table);
        if self.random.chance(30) {
            return self.delete(table, &key);
        }
        let value = self.value();
        self.put(table, &key, &value);
    }

    fn put_random_batch(&mut self) {
        let table = self.table();
        let pairs: Vec<_> = (0..10).map(|_| (self.key(table), self.value())).collect();
        self.put_all(table, &pairs);
    }

    /// Puts all pairs at one version.
    pub(super) fn put_all(&mut self, table: u16, pairs: &[(Vec<u8>, Vec<u8>)]) {
        let root = self.roots[&table];
        let operations = pairs.iter().map(|(key, value)| (key, Operation::Put(value)));
        let batch: Vec<_> =
            operations.map(|(key, operation)| BatchOperation { root, key, operation }).collect();
        self.forest.apply(&batch).expect("there is room");
        let stored = pairs.iter().map(|(key, value)| (key.clone(), value.as_slice().into()));
        self.table_state(table).extend(stored);
    }

    fn delete_range(&mut self) {
        let table = self.table();
        let (lower, upper) = (self.key(table), self.key(table));
        let range = (Bound::Included(&lower[..]), Bound::Excluded(&upper[..]));
        self.forest.delete_range(self.roots[&table], range.0, range.1).expect("there is room");
        self.table_state(table).retain(|key, _| *key < lower || *key >= upper);
    }

    /// Picks one of the tables that `fill` creates.
    pub(super) fn table(&mut self) -> u16 {
        self.random.pick(&TABLES)
    }

    /// Picks one of the keys of a table, which may be absent.
    pub(super) fn key(&mut self, table: u16) -> Vec<u8> {
        key(table, self.random.below(KEYS) as u64, self.forest.shape().key_bytes_max())
    }

    /// Creates a value: mostly short, sometimes an overflow value, seldom up to 300 KB.
    fn value(&mut self) -> Vec<u8> {
        let length = match self.random.below(400) {
            0 => self.random.below(300_000),
            1..20 => self.random.below(2_000),
            _ => self.random.below(40),
        };
        vec![self.random.next() as u8; length]
    }

    fn table_state(&mut self, table: u16) -> &mut TableState {
        self.state.get_mut(&table).expect("the table exists")
    }

    /// Records the state at the newest visible version.
    pub(super) fn record(&mut self) {
        self.recorded.insert(self.forest.read_version(), self.state.clone());
    }

    /// Removes the states at versions that requests can no longer read.
    pub(super) fn forget(&mut self) {
        let now = self.forest.read_version();
        self.recorded.retain(|version, _| *version == now || self.pinned.contains_key(version));
    }

    /// Pins the newest visible version. Returns `None` if no lease is available.
    pub(super) fn pin_version(&mut self) -> Option<Version> {
        let lease = Arc::new(self.forest.memory().lease().ok()?);
        let version = self.forest.read_version();
        self.accelerator.pin_version(version, &lease);
        self.pinned.entry(version).or_default().push(lease);
        Some(version)
    }

    /// Unpins a version with each of its leases.
    pub(super) fn unpin_version(&mut self, version: Version) {
        for lease in self.pinned.remove(&version).into_iter().flatten() {
            self.accelerator.unpin_version(version, &lease);
        }
    }

    /// Drops the accelerator, and checks that the tables are correct and all retired memory can be reclaimed.
    pub(super) fn finish(self) {
        let Self { mut forest, accelerator, roots, hidden, pinned, state, .. } = self;
        drop((accelerator, pinned));
        let forest = Arc::get_mut(&mut forest).expect("a dropped backend does not refer to the forest");
        forest.memory().reclaim();
        let pairs = state.values().map(|table| table.len() as u64).sum::<u64>();
        let all: Vec<Root> = roots.into_values().chain(hidden).collect();
        let verified = forest.verify(&all).unwrap_or_else(|violation| panic!("{violation}"));
        assert_eq!(verified.pairs, pairs, "reads change nothing");
        let accounting = forest.memory().accounting();
        let retired = (accounting.retired_nodes, accounting.retired_values);
        assert_eq!(retired, (0, 0), "all retired memory is reclaimed");
    }
}

/// Returns a key. The keys of a table have the same pattern; those of other tables have another one.
fn key(table: u16, number: u64, max: usize) -> Vec<u8> {
    let mixed = Random::new(number).next();
    match table % 4 {
        0 => mixed.to_be_bytes().to_vec(),
        1 => format!("/usr/share/{}/{}/file-{number}", mixed % 5, (mixed >> 8) % 17).into_bytes(),
        2 => mixed.to_le_bytes().into_iter().cycle().take(1 + (mixed >> 32) as usize % max).collect(),
        _ => [b"same-head-".to_vec(), mixed.to_be_bytes()[..2 + (mixed % 6) as usize].to_vec()].concat(),
    }
}
