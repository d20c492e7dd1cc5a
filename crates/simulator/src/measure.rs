//! What the accelerator does on a platform: a tree, many requests in flight, and counts of all interfaces.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use honeycomb_accelerator::{Read, Request, Requests};
use honeycomb_btree::{Config, Forest, Operation, Root, Scan, Shape};
use honeycomb_layout::{
    COUNTER_COUNT, COUNTER_DRAM_LINES, COUNTER_HITS, COUNTER_HOST_STALLS, COUNTER_MISSES, COUNTER_NODES,
    COUNTER_ROOT_LINES, COUNTER_SCAN_BUSY, COUNTER_SEARCH_BUSY, COUNTER_TABLE_LINES, completion,
    completion_outcome, request,
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
    /// Bytes of a node: a power of two from 1024 to 8192. Small ones make a small tree high.
    pub node_bytes: usize,
    /// Requests before those that are measured, so that the cache has what it will have.
    pub warm_up: u64,
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
    /// Cycles of range scan units with a request, all of them together.
    pub scan_busy: u64,
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
    fn of(counted: &Counters) -> Self {
        Self {
            cache: counted[COUNTER_DRAM_LINES],
            root: counted[COUNTER_ROOT_LINES],
            page_table: counted[COUNTER_TABLE_LINES],
            hits: counted[COUNTER_HITS],
            misses: counted[COUNTER_MISSES],
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
    let mut random = SmallRng::seed_from_u64(workload.seed);
    let mut requests = |count| {
        let mut one = |identifier| read_of(workload, identifier, random.random_range(0..workload.pairs));
        (0..count).map(&mut one).collect::<VecDeque<_>>()
    };
    let (before, after) = (requests(workload.warm_up), requests(workload.requests));
    Run::default().serve(&tree, &mut machine, before, simulator.in_flight, None)?;
    let counters = counters(&mut machine);
    let (link, on_board, since) = (machine.link_counts(), machine.on_board_counts(), machine.cycles());
    let explained = observed.explained;
    let mut latencies = Run::default().serve(&tree, &mut machine, after, simulator.in_flight, explained)?;
    let (link, on_board) = (machine.link_counts().since(&link), machine.on_board_counts().since(&on_board));
    let cycles = machine.cycles() - since;
    let now = self::counters(&mut machine);
    let counted: Counters = std::array::from_fn(|index| now[index] - counters[index]);
    latencies.sort_unstable();
    Ok(Measured {
        cycles,
        latencies,
        link,
        on_board,
        nodes: counted[COUNTER_NODES],
        search_busy: counted[COUNTER_SEARCH_BUSY],
        scan_busy: counted[COUNTER_SCAN_BUSY],
        host_stalls: counted[COUNTER_HOST_STALLS],
        lines: Lines::of(&counted),
        life: machine.take_life(),
    })
}

type Counters = [u64; COUNTER_COUNT];

/// All that the accelerator has counted since its reset. Nothing is to be in flight.
fn counters(machine: &mut Machine) -> Counters {
    std::array::from_fn(|index| machine.counter(index))
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
#[derive(Default)]
struct Run {
    /// The cycle in which a request was submitted.
    begun: HashMap<u64, u64>,
    latencies: Vec<u64>,
    /// The first request with another status than found, and that.
    refused: Option<(u64, u64)>,
}

impl Run {
    /// Sends requests, so many in flight at most, until all are answered. Returns their latencies. The life
    /// of one may be written down.
    fn serve(
        mut self,
        tree: &Tree,
        machine: &mut Machine,
        mut requests: VecDeque<Requests>,
        in_flight: usize,
        explained: Option<u64>,
    ) -> Result<Vec<u64>, Error> {
        while self.refused.is_none() && !(requests.is_empty() && self.begun.is_empty()) {
            if self.begun.len() < in_flight
                && let Some(request) = requests.pop_front()
            {
                let identifier = word(request.bytes(), request::IDENTIFIER_OFFSET);
                if explained == Some(identifier) {
                    machine.explain(identifier);
                }
                machine.submit(request.bytes());
                self.begun.insert(identifier, machine.cycles());
            }
            let now = machine.cycles();
            let mut read = |address, line: &mut [u8; LINE_BYTES]| tree.read(address, line);
            machine.cycle(&mut read, &mut |answer| self.take(answer, now));
        }
        match self.refused {
            Some((identifier, status)) => Err(Error::Status { identifier, status }),
            None => Ok(self.latencies),
        }
    }

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
        let shape = Shape { node_bytes: workload.node_bytes, ..Shape::default() };
        let forest = Forest::new(Config { memory, shape, ..Config::default() })?;
        let told = Arc::new(Told::default());
        forest.register(told.clone())?;
        let mut device = forest.memory().device()?;
        let root = forest.plant()?;
        for number in 0..workload.pairs {
            forest.write(root, &key(number), Operation::Put(&[number as u8; 16]))?;
        }
        // All requests at once: nobody writes any more, so nothing is reclaimed anyway.
        device.publish_window(1, workload.warm_up + workload.requests);
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

fn read_of(workload: &Workload, identifier: u64, number: u64) -> Requests {
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
