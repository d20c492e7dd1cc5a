//! The setup of a seed: a forest, and the accelerators that read it.

use std::fmt;
use std::sync::Arc;

use honeycomb_accelerator::{Accelerator, Backend, DeviceBackend, Software};
use honeycomb_btree::{Forest, Root, Shape};
use honeycomb_simulator::platform::Platform;
use honeycomb_simulator::{Balance, Simulator};
use honeycomb_testing::DeviceModel;
use honeycomb_testing::index::{self, Keys, MIB, pick, tiny};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// The tables with a tree.
pub(crate) const TABLES: [u16; 2] = [3, 700];

/// The accelerators. The first one is the reference of comparisons.
pub(crate) const BACKENDS: [&str; 3] = ["software", "model", "simulator"];

/// Kind and number of keys, and whether nodes are tiny. All setups have leaves with long and short logs, with
/// and without fingerprints.
const KEYS: [(Keys, u64, bool); 6] = [
    (Keys::Random, 300, true),
    (Keys::Paths, 400, true),
    (Keys::AnyLength, 300, true),
    (Keys::EqualHeads, 60, true),
    (Keys::Counting, 2000, true),
    (Keys::AnyLength, 2000, false),
];
const LOG_BYTES: [usize; 4] = [128, 512, 200, 0];

/// The share of gets, and the number of requests in a round, which exceeds the number of slots of the
/// accelerator.
pub(crate) struct Mix {
    pub(crate) gets: f64,
    pub(crate) round: u64,
}

pub(crate) struct Setup {
    seed: u64,
    pub(crate) mix: Mix,
    keys: Keys,
    key_count: u64,
    simulator: Simulator,
    pub(crate) forest: Arc<Forest>,
    pub(crate) roots: [Root; TABLES.len()],
    pub(crate) accelerators: Vec<Box<dyn Accelerator>>,
}

impl Setup {
    /// Returns the relative number of requests of a seed, so that all seeds take about the same time. Gets
    /// are fast. Requests take longer on the platform of the paper, and with few requests in flight.
    pub(crate) fn share(seed: u64) -> u64 {
        match (has_paper_platform(seed) || in_flight(seed) < 100, has_mostly_gets(seed)) {
            (true, _) => 1,
            (false, false) => 8,
            (false, true) => 16,
        }
    }

    pub(crate) fn of_seed(seed: u64) -> Self {
        let (keys, key_count, is_tiny) = KEYS[(seed % KEYS.len() as u64) as usize];
        let rng = &mut StdRng::seed_from_u64(seed);
        let log_bytes = *pick(rng, &LOG_BYTES);
        let shape = if is_tiny { tiny(log_bytes) } else { Shape::default() };
        let forest = Arc::new(index::forest(shape, 256 * MIB, true));
        let simulator = simulator(seed, rng);
        let device = DeviceBackend { engines: simulator, ..DeviceBackend::default() };
        let backends: [&dyn Backend; BACKENDS.len()] =
            [&Software::default(), &DeviceBackend::<DeviceModel>::default(), &device];
        let accelerators: Vec<_> = backends
            .map(|backend| backend.attach(&forest, &Arc::default()).expect("the backend accepts the forest"))
            .into();
        let roots = TABLES.map(|_| forest.create_tree().expect("the arena has space"));
        for accelerator in &accelerators {
            TABLES.iter().zip(roots).for_each(|(&table, root)| accelerator.set_root(table, Some(root)));
        }
        let mostly_gets = Mix { gets: 0.95, round: 1600 };
        let mix = if has_mostly_gets(seed) { mostly_gets } else { Mix { gets: 0.5, round: 400 } };
        Self { seed, mix, keys, key_count, simulator, forest, roots, accelerators }
    }

    pub(crate) fn key(&self, rng: &mut StdRng) -> Vec<u8> {
        let number = rng.random_range(0..self.key_count);
        index::key(self.keys, number, self.forest.shape().key_bytes_max())
    }
}

fn has_paper_platform(seed: u64) -> bool {
    seed % 8 == 2
}

fn in_flight(seed: u64) -> usize {
    [128, 128, 128, 100, 128, 128, 20, 3][(seed / 8 % 8) as usize]
}

fn has_mostly_gets(seed: u64) -> bool {
    seed % 2 == 1
}

/// Returns a simulator that mostly has memory without latency, and mostly has all switches on.
fn simulator(seed: u64, rng: &mut StdRng) -> Simulator {
    let platform = if has_paper_platform(seed) { Platform::PAPER } else { Platform::IDEAL };
    let in_flight = in_flight(seed);
    let [cache, balance, has_second, leaf_columns] = [0.8; 4].map(|share| rng.random_bool(share));
    let levels_on_chip = if has_second { 2 } else { rng.random_range(0..2) };
    let [on_board_lines, host_lines] = [0; 2].map(|_| rng.random_range(0..32));
    let balance = balance.then_some(Balance { on_board_lines, host_lines });
    let switched = Simulator { cache, balance, levels_on_chip, leaf_columns, ..Simulator::default() };
    Simulator { platform, seed, in_flight, ..switched }
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, keys, key_count, simulator, .. } = self;
        let Simulator { platform, in_flight, cache, balance, levels_on_chip, leaf_columns, .. } = simulator;
        let shape = self.forest.shape();
        let (node, log) = (shape.node_bytes, shape.log_threshold_bytes);
        write!(f, "seed {seed}: {key_count} keys {keys:?}, nodes of {node} bytes, logs of {log}; ")?;
        write!(f, "{:.0} % gets, {}, {in_flight} in flight, ", 100.0 * self.mix.gets, platform.name)?;
        write!(f, "cache {cache}, {balance:?}, {levels_on_chip} levels on chip, ")?;
        write!(f, "leaf columns {leaf_columns}, {} unknown values", Simulator::UNKNOWNS)
    }
}
