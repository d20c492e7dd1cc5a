//! What the accelerator does on a platform: a tree, many requests in flight, and counts of all interfaces.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use honeycomb_accelerator::{Read, Request, Requests};
use honeycomb_btree::{Config, Forest, Operation, Root, Scan, Shape};
use honeycomb_layout::{
    COUNTER_DRAM_LINES, COUNTER_HITS, COUNTER_HOST_STALLS, COUNTER_LOOKUPS, COUNTER_MISSES, COUNTER_NODES,
    COUNTER_ROOT_LINES, COUNTER_SEARCH_BUSY, completion, completion_outcome,
};
use honeycomb_memory::{BusAddress, Control, Device, Lid, MemoryConfig};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::engine::{Simulator, word};
use crate::life::Life;
use crate::machine::{Command, Machine};
use crate::platform::{LINE_BYTES, LinkCounts, OnBoardCounts};

/// What is asked: reads of random pairs of 16 + 16 bytes, as many in flight as the simulator allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Workload {
    /// Pairs in the tree: at least 1.
    pub pairs: u64,
    /// Requests: at least 1.
    pub requests: u64,
    /// Pairs of a scan; none for gets.
    pub scan_pairs: Option<usize>,
    /// Keys and their order follow from it.
    pub seed: u64,
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Cycles from the first request to the last completion.
    pub cycles: u64,
    /// Of each request, from its submission to its last completion, in ascending order, in cycles.
    pub latencies: Vec<u64>,
    /// The links to host memory meanwhile.
    pub link: LinkCounts,
    /// On-board memory meanwhile.
    pub on_board: OnBoardCounts,
    /// Interior nodes that were searched.
    pub nodes: u64,
    /// Cycles of key search units with a descent, all of them together.
    pub search_busy: u64,
    /// Cycles in which host memory did not take a read.
    pub host_stalls: u64,
    /// What was read elsewhere.
    pub lines: Lines,
    /// The life of the request that was to be explained.
    pub life: Option<Life>,
}

/// Lines of 64 bytes that did not come from host memory, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lines {
    /// From the cache of nodes in on-board memory.
    pub cache: u64,
    /// From the root on chip.
    pub root: u64,
    /// From the page table in on-board memory.
    pub page_table: u64,
    /// Pieces of interior nodes, without those of the root if it is on chip, that were in the cache.
    pub hits: u64,
    /// Those that were not.
    pub misses: u64,
}

impl Lines {
    /// What the accelerator has counted since its reset.
    fn read(machine: &mut Machine) -> Self {
        Self {
            cache: machine.counter(COUNTER_DRAM_LINES),
            root: machine.counter(COUNTER_ROOT_LINES),
            page_table: machine.counter(COUNTER_LOOKUPS),
            hits: machine.counter(COUNTER_HITS),
            misses: machine.counter(COUNTER_MISSES),
        }
    }
}

/// What else is wanted of a run.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// The request whose life is written down, counted from 0.
    pub explained: Option<u64>,
    /// Where a waveform goes, in the format FST: needs the feature `trace`.
    pub waveform: Option<PathBuf>,
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The tree was not made.
    #[error(transparent)]
    Tree(#[from] honeycomb_btree::Error),
    /// Nothing reads the arena.
    #[error(transparent)]
    Memory(#[from] honeycomb_memory::MemoryError),
    /// A request was answered with something else than what it asked for.
    #[error("request {identifier} was answered with status {status}")]
    Status {
        /// Its number.
        identifier: u64,
        /// The status.
        status: u64,
    },
    /// A request was to be explained that there is none of.
    #[error("there is no request {number} to explain: they are 0 to {last}")]
    NoSuchRequest {
        /// Its number.
        number: u64,
        /// The greatest there is.
        last: u64,
    },
    /// The file of a waveform could not be made.
    #[error("no waveform can be written to {}", path.display())]
    Waveform {
        /// The file.
        path: PathBuf,
    },
    /// The model was built for speed.
    #[error("this build writes no waveforms: build it with --features trace")]
    NoWaveforms,
}

/// Runs a workload.
///
/// # Errors
/// [`Error`] says why nothing was measured.
pub fn measure(simulator: &Simulator, workload: &Workload, observed: &Observed) -> Result<Measured, Error> {
    if let Some(number) = observed.explained.filter(|&number| number >= workload.requests) {
        return Err(Error::NoSuchRequest { number, last: workload.requests - 1 });
    }
    let tree = Tree::grow(workload)?;
    let mut machine = tree.machine(simulator);
    if let Some(path) = &observed.waveform {
        write_waveform(&mut machine, path)?;
    }
    let (link, on_board) = (machine.link_counts(), machine.on_board_counts());
    let mut run = Run { begun: HashMap::new(), latencies: Vec::new(), refused: None };
    let since = machine.cycles();
    let mut random = SmallRng::seed_from_u64(workload.seed);
    let mut next = 0;
    while run.refused.is_none() && (next < workload.requests || !run.begun.is_empty()) {
        if next < workload.requests && run.begun.len() < simulator.in_flight {
            if observed.explained == Some(next) {
                machine.explain(next);
            }
            machine.submit(request(workload, next, random.random_range(0..workload.pairs)).bytes());
            run.begun.insert(next, machine.cycles());
            next += 1;
        }
        let now = machine.cycles();
        let mut read = |address, line: &mut [u8; LINE_BYTES]| tree.read(address, line);
        machine.cycle(&mut read, &mut |answer| run.take(answer, now));
    }
    if let Some((identifier, status)) = run.refused {
        return Err(Error::Status { identifier, status });
    }
    run.latencies.sort_unstable();
    Ok(Measured {
        cycles: machine.cycles() - since,
        latencies: run.latencies,
        link: machine.link_counts().since(&link),
        on_board: machine.on_board_counts().since(&on_board),
        // The accelerator counts since its reset, and before the first request there was nothing to count.
        nodes: machine.counter(COUNTER_NODES),
        search_busy: machine.counter(COUNTER_SEARCH_BUSY),
        host_stalls: machine.counter(COUNTER_HOST_STALLS),
        lines: Lines::read(&mut machine),
        life: machine.take_life(),
    })
}

#[cfg(feature = "trace")]
fn write_waveform(machine: &mut Machine, path: &Path) -> Result<(), Error> {
    let name = std::ffi::CString::new(path.as_os_str().as_encoded_bytes());
    let is_written = name.is_ok_and(|name| machine.trace(&name));
    if is_written { Ok(()) } else { Err(Error::Waveform { path: path.into() }) }
}

#[cfg(not(feature = "trace"))]
fn write_waveform(_machine: &mut Machine, _path: &Path) -> Result<(), Error> {
    Err(Error::NoWaveforms)
}

/// The requests in flight, and what came of the others.
struct Run {
    /// The cycle in which a request was submitted.
    begun: HashMap<u64, u64>,
    latencies: Vec<u64>,
    /// The first request with another status than found, and that.
    refused: Option<(u64, u64)>,
}

impl Run {
    fn take(&mut self, answer: &[u8], now: u64) {
        let identifier = word(answer, completion::IDENTIFIER_OFFSET);
        let outcome = word(answer, completion::BYTES_OFFSET) >> 32;
        let status = completion_outcome::status(outcome);
        if status != honeycomb_layout::STATUS_FOUND as u64 {
            self.refused = self.refused.or(Some((identifier, status)));
        }
        if completion_outcome::continued(outcome) == 0 {
            let begun = self.begun.remove(&identifier).unwrap_or(now);
            self.latencies.push(now - begun);
        }
    }
}

/// A tree, and what its writers told.
struct Tree {
    forest: Forest,
    device: Device,
    root: Root,
    told: Arc<Told>,
}

/// Where the nodes are.
#[derive(Debug, Default)]
struct Told(Mutex<BTreeMap<Lid, BusAddress>>);

impl Control for Told {
    fn map(&self, lid: Lid, address: BusAddress) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(lid, address);
    }

    fn publish(&self, _version: u64) {}
}

impl Tree {
    fn grow(workload: &Workload) -> Result<Self, Error> {
        let arena_bytes = (workload.pairs as usize * 128).next_multiple_of(1 << 20) + (64 << 20);
        let memory = MemoryConfig { arena_bytes, huge_pages: false, ..MemoryConfig::default() };
        let forest = Forest::new(Config { memory, shape: Shape::default(), ..Config::default() })?;
        let told = Arc::new(Told::default());
        forest.register(told.clone())?;
        let mut device = forest.memory().device()?;
        let root = forest.plant()?;
        for number in 0..workload.pairs {
            forest.write(root, &key(number), Operation::Put(&[number as u8; 16]))?;
        }
        // All requests at once: nobody writes any more, so nothing is reclaimed anyway.
        device.publish_window(1, workload.requests);
        Ok(Self { forest, device, root, told })
    }

    /// A machine that was told of the tree.
    fn machine(&self, simulator: &Simulator) -> Machine {
        let mut machine = simulator.machine(self.forest.shape());
        for (lid, address) in self.told.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            machine.tell(Command::Map { lid: lid.get(), address: address.get() });
        }
        machine.tell(Command::Root { table: 0, lid: self.root.lid().get() });
        machine.tell(Command::Publish { version: self.forest.read_version() });
        machine.settle();
        machine
    }

    fn read(&self, address: u64, line: &mut [u8; LINE_BYTES]) -> bool {
        self.forest.memory().read(&self.device, address, line).is_ok()
    }
}

/// Keys that do not come in order.
fn key(number: u64) -> [u8; 16] {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (u128::from(mixed) << 64 | u128::from(number)).to_be_bytes()
}

fn request(workload: &Workload, identifier: u64, number: u64) -> Requests {
    let key = key(number);
    let read = match workload.scan_pairs {
        None => Read::Get(&key),
        Some(limit) => {
            let scan = Scan { lower: Bound::Included(&key), limit, ..Scan::default() };
            Read::Scan { scan, bytes_max: u32::MAX }
        }
    };
    let mut requests = Requests::default();
    requests
        .push(&Request { identifier, table: 0, version: None, read })
        .expect("a key of 16 bytes is short");
    requests
}
