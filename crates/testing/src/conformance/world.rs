//! A forest with tables, the accelerator that is checked, and what each version holds.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use honeycomb_accelerator::{Accelerator, Backend};
use honeycomb_btree::{BatchOperation, Config, Forest, Operation, Root, Version};
use honeycomb_memory::Lease;

use crate::random::Random;

pub(super) type Model = BTreeMap<Vec<u8>, Arc<[u8]>>;
/// What the tables hold at a version.
pub(super) type State = BTreeMap<u16, Model>;

pub(super) struct World {
    pub(super) forest: Arc<Forest>,
    pub(super) accelerator: Box<dyn Accelerator>,
    pub(super) random: Random,
    pub(super) roots: BTreeMap<u16, Root>,
    /// What the tables hold now.
    pub(super) state: State,
    /// What they held at versions at which requests may have been read.
    pub(super) noted: BTreeMap<Version, State>,
    pub(super) held: BTreeMap<Version, Vec<Arc<Lease>>>,
    /// Trees that no table leads to any more.
    hidden: Vec<Root>,
}

/// Keys that a table may have.
const KEYS: usize = 500;

/// The tables that most checks use, among them the first and the last.
pub(super) const TABLES: [u16; 5] = [0, 1, 2, 3, u16::MAX];

impl World {
    pub(super) fn new(backend: &dyn Backend, config: &Config, seed: u64) -> Self {
        let forest = Arc::new(Forest::new(config.clone()).expect("the forest is as a test wants it"));
        let accelerator = backend.attach(&forest).expect("the backend is attached");
        Self {
            forest,
            accelerator,
            random: Random::new(seed),
            roots: BTreeMap::new(),
            state: State::new(),
            noted: BTreeMap::new(),
            held: BTreeMap::new(),
            hidden: Vec::new(),
        }
    }

    /// A new table of a number that none has.
    pub(super) fn create_tree(&mut self, table: u16) {
        let root = self.forest.create_tree().expect("there is room");
        self.accelerator.set_root(table, Some(root));
        self.roots.insert(table, root);
        self.state.insert(table, Model::new());
        self.note();
    }

    /// Takes a table's root from the accelerator. The tree stays for who has begun to read it.
    pub(super) fn uproot(&mut self, table: u16) {
        self.accelerator.set_root(table, None);
        self.hidden.extend(self.roots.remove(&table));
    }

    /// Takes a table's root away, and the tree with it.
    pub(super) fn drop_tree(&mut self, table: u16) {
        self.accelerator.set_root(table, None);
        let root = self.roots.remove(&table).expect("the table was planted");
        self.forest.drop_tree(root).expect("there is room");
        self.forest.memory().reclaim();
    }

    /// Some tables with random pairs, one of them with values so large that a scan needs several completions.
    pub(super) fn fill(&mut self) {
        for table in TABLES {
            self.create_tree(table);
        }
        for _ in 0..5 * KEYS {
            self.write_one();
        }
        for byte in 0..8 {
            self.put(3, &[byte], &vec![byte; 300_000]);
        }
        self.note();
    }

    pub(super) fn put(&mut self, table: u16, key: &[u8], value: &[u8]) {
        self.forest.write(self.roots[&table], key, Operation::Put(value)).expect("there is room");
        self.model(table).insert(key.to_vec(), value.into());
    }

    pub(super) fn delete(&mut self, table: u16, key: &[u8]) {
        self.forest.write(self.roots[&table], key, Operation::Delete).expect("there is room");
        self.model(table).remove(key);
    }

    /// Some random writes.
    pub(super) fn write(&mut self, count: usize) {
        for _ in 0..count {
            match self.random.below(100) {
                0 => self.delete_range(),
                1..6 => self.put_some_at_once(),
                _ => self.write_one(),
            }
        }
        self.note();
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

    fn put_some_at_once(&mut self) {
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
        self.model(table).extend(stored);
    }

    fn delete_range(&mut self) {
        let table = self.table();
        let (lower, upper) = (self.key(table), self.key(table));
        let range = (Bound::Included(&lower[..]), Bound::Excluded(&upper[..]));
        self.forest.delete_range(self.roots[&table], range.0, range.1).expect("there is room");
        self.model(table).retain(|key, _| *key < lower || *key >= upper);
    }

    /// One of the tables that `fill` made.
    pub(super) fn table(&mut self) -> u16 {
        self.random.pick(&TABLES)
    }

    /// A key that a table may have.
    pub(super) fn key(&mut self, table: u16) -> Vec<u8> {
        key(table, self.random.below(KEYS) as u64, self.forest.shape().key_bytes_max())
    }

    /// A value: mostly short, at times out of line, seldom some hundred KB.
    fn value(&mut self) -> Vec<u8> {
        let length = match self.random.below(400) {
            0 => self.random.below(300_000),
            1..20 => self.random.below(2_000),
            _ => self.random.below(40),
        };
        vec![self.random.next() as u8; length]
    }

    fn model(&mut self, table: u16) -> &mut Model {
        self.state.get_mut(&table).expect("the table was planted")
    }

    /// Notes what the tables hold at the version that is visible now.
    pub(super) fn note(&mut self) {
        self.noted.insert(self.forest.read_version(), self.state.clone());
    }

    /// Forgets what they held at versions that are over.
    pub(super) fn forget(&mut self) {
        let now = self.forest.read_version();
        self.noted.retain(|version, _| *version == now || self.held.contains_key(version));
    }

    /// Holds the version that is visible now, if there is a lease left.
    pub(super) fn hold(&mut self) -> Option<Version> {
        let lease = Arc::new(self.forest.memory().lease().ok()?);
        let version = self.forest.read_version();
        self.accelerator.pin_version(version, &lease);
        self.held.entry(version).or_default().push(lease);
        Some(version)
    }

    /// Lets go of a version, one of its leases after the other.
    pub(super) fn let_go(&mut self, version: Version) {
        for lease in self.held.remove(&version).into_iter().flatten() {
            self.accelerator.unpin_version(version, &lease);
        }
    }

    /// Ends: the tables are what they should be, and the backend holds back nothing that was retired.
    pub(super) fn finish(self) {
        let Self { mut forest, accelerator, roots, hidden, held, state, .. } = self;
        drop((accelerator, held));
        let forest = Arc::get_mut(&mut forest).expect("a backend that is gone keeps no forest");
        forest.memory().reclaim();
        let pairs = state.values().map(|model| model.len() as u64).sum::<u64>();
        let all: Vec<Root> = roots.into_values().chain(hidden).collect();
        let verified = forest.verify(&all).unwrap_or_else(|violation| panic!("{violation}"));
        assert_eq!(verified.pairs, pairs, "reads change nothing");
        let accounting = forest.memory().accounting();
        assert_eq!((accounting.retired_nodes, accounting.retired_values), (0, 0), "nothing is held back");
    }
}

/// Keys of a table look alike, and unlike those of other tables.
fn key(table: u16, number: u64, max: usize) -> Vec<u8> {
    let mixed = Random::new(number).next();
    match table % 4 {
        0 => mixed.to_be_bytes().to_vec(),
        1 => format!("/usr/share/{}/{}/file-{number}", mixed % 5, (mixed >> 8) % 17).into_bytes(),
        2 => mixed.to_le_bytes().into_iter().cycle().take(1 + (mixed >> 32) as usize % max).collect(),
        _ => [b"same-head-".to_vec(), mixed.to_be_bytes()[..2 + (mixed % 6) as usize].to_vec()].concat(),
    }
}
