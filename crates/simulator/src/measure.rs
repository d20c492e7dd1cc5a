//! What the accelerator does on a platform: a tree, a workload, and counts of all interfaces.

use std::path::{Path, PathBuf};
use std::time::Instant;

use honeycomb_accelerator::KeyTooLong;
use honeycomb_layout::{
    COUNTER_COUNT, COUNTER_DESCENTS, COUNTER_DRAM_LINES, COUNTER_HITS, COUNTER_HOST_STALLS, COUNTER_MISSES,
    COUNTER_NODES, COUNTER_ROOT_LINES, COUNTER_SCAN_BUSY, COUNTER_SCAN_REQUESTS, COUNTER_SEARCH_BUSY,
    COUNTER_TABLE_LINES, COUNTER_VERSION_STEPS,
};
use honeycomb_workload::Stream;

use crate::engine::{Flights, Simulator};
use crate::life::Life;
use crate::machine::{Machine, ToldCounts};
use crate::platform::{LinkCounts, OnBoardCounts};
pub use crate::traffic::Traffic;
use crate::traffic::{Run, Served};
pub use crate::tree::Data;
use crate::tree::Tree;

/// What came of it.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Cycles from the first operation to the end of the last.
    pub cycles: u64,
    /// Of each operation, from when it was drawn until it was done, in ascending order, in cycles.
    pub latencies: Vec<u64>,
    /// Writes among them, those that follow a read too.
    pub writes: u64,
    /// Mappings that writers told.
    pub mappings: u64,
    /// What writers told, as it took time.
    pub told: ToldCounts,
    /// The links to host memory meanwhile.
    pub link: LinkCounts,
    /// On-board memory meanwhile.
    pub on_board: OnBoardCounts,
    /// Interior nodes that were searched.
    pub nodes: u64,
    /// Steps to previous versions on the way down.
    pub version_steps: u64,
    /// Cycles of key search units in which they search a node, all of them together.
    pub search_busy: u64,
    /// Cycles of descents in key search units, all of them together.
    pub descents: u64,
    /// Cycles of range scan units in which they work on a request, all of them together.
    pub scan_busy: u64,
    /// Cycles of requests in range scan units, all of them together.
    pub scan_requests: u64,
    /// Cycles in which host memory did not take a read.
    pub host_stalls: u64,
    /// What was read elsewhere.
    pub lines: Lines,
    /// The life of the operation that was to be explained.
    pub life: Option<Life>,
    /// Seconds that the simulation of it took.
    pub seconds: f64,
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

/// What else is wanted of a run.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// The operation whose life is written down, counted from 0.
    pub explained: Option<u64>,
    /// Where a waveform goes, in the format FST: needs the feature `trace`.
    pub waveform: Option<PathBuf>,
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The tree was not made or changed.
    #[error(transparent)]
    Tree(#[from] honeycomb_btree::Error),
    /// Nothing reads the arena.
    #[error(transparent)]
    Memory(#[from] honeycomb_memory::MemoryError),
    /// A key is longer than the accelerator takes.
    #[error(transparent)]
    Key(#[from] KeyTooLong),
    /// The tree has more nodes than the accelerator's page table.
    #[error("the tree has {nodes} nodes, the accelerator's page table room for {max}")]
    TooManyNodes {
        /// How many.
        nodes: u64,
        /// How many are allowed.
        max: u64,
    },
    /// A write changed nothing.
    #[error("the write of pair {index} changed nothing")]
    NotWritten {
        /// The pair.
        index: u64,
    },
    /// A request was answered with something else than what it asked for.
    #[error("request {identifier} was answered with status {status}")]
    Status {
        /// Its number.
        identifier: u64,
        /// The status.
        status: u64,
    },
    /// An operation was to be explained that there is none of.
    #[error("there is no request {number} to explain: they are 0 to {last}")]
    NoSuchRequest {
        /// Its number.
        number: u64,
        /// The greatest there is.
        last: u64,
    },
    /// An operation was to be explained that the accelerator does not see.
    #[error("operation {number} is a write, of which the accelerator is told no more than mappings")]
    IsWrite {
        /// Its number.
        number: u64,
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

/// A tree, and an accelerator that was told of it.
pub struct Scene {
    tree: Tree,
    machine: Machine,
    flights: Flights,
    pairs: u64,
    /// The first pair that was never inserted.
    fresh: u64,
}

impl Scene {
    /// Grows a tree, and tells the accelerator.
    ///
    /// # Errors
    /// [`Error`] says why there is none.
    pub fn new(simulator: &Simulator, data: &Data) -> Result<Self, Error> {
        let tree = Tree::grow(data)?;
        let machine = tree.machine(simulator)?;
        Ok(Self { tree, machine, flights: Flights::new(), pairs: data.pairs, fresh: data.pairs })
    }

    /// Turns the switches as a simulator has them.
    pub fn switch(&mut self, simulator: &Simulator) {
        self.machine.tell(simulator.switches());
        self.machine.settle();
    }

    /// Runs a workload, on what those before have left.
    ///
    /// # Errors
    /// [`Error`] says why nothing was measured.
    pub fn measure(&mut self, traffic: &Traffic, observed: &Observed) -> Result<Measured, Error> {
        if let Some(number) = observed.explained.filter(|&number| number >= traffic.operations) {
            return Err(Error::NoSuchRequest { number, last: traffic.operations - 1 });
        }
        if let Some(path) = &observed.waveform {
            write_waveform(&mut self.machine, path)?;
        }
        let Self { tree, machine, flights, pairs, fresh } = self;
        let stream = Stream::new(traffic.workload, traffic.distribution, *pairs, traffic.seed);
        let mut stream = stream.inserting(*fresh, 1);
        Run::new(tree, machine, flights, &mut stream, traffic).serve(traffic.warm_up)?;
        let before = Counts::of(machine);
        let begun = Instant::now();
        let mut run = Run::new(tree, machine, flights, &mut stream, traffic);
        run.explained = observed.explained;
        let served = run.serve(traffic.operations)?;
        let seconds = begun.elapsed().as_secs_f64();
        *fresh = stream.fresh();
        let counts = Counts::of(machine).since(&before);
        Ok(Measured { life: machine.take_life(), seconds, ..counts.measured(served) })
    }
}

/// What was counted up to a cycle. Nothing is to be in flight.
struct Counts {
    /// By the accelerator.
    own: [u64; COUNTER_COUNT],
    cycles: u64,
    told: ToldCounts,
    link: LinkCounts,
    on_board: OnBoardCounts,
}

impl Counts {
    fn of(machine: &mut Machine) -> Self {
        let (cycles, told) = (machine.cycles(), machine.told_counts());
        let (link, on_board) = (machine.link_counts(), machine.on_board_counts());
        Self { own: std::array::from_fn(|index| machine.counter(index)), cycles, told, link, on_board }
    }

    fn since(&self, earlier: &Self) -> Self {
        Self {
            own: std::array::from_fn(|index| self.own[index] - earlier.own[index]),
            cycles: self.cycles - earlier.cycles,
            told: self.told.since(&earlier.told),
            link: self.link.since(&earlier.link),
            on_board: self.on_board.since(&earlier.on_board),
        }
    }

    fn measured(self, mut served: Served) -> Measured {
        served.latencies.sort_unstable();
        let Served { latencies, writes, mappings } = served;
        let Self { own, cycles, told, link, on_board } = self;
        Measured {
            cycles,
            latencies,
            writes,
            mappings,
            told,
            link,
            on_board,
            nodes: own[COUNTER_NODES],
            version_steps: own[COUNTER_VERSION_STEPS],
            search_busy: own[COUNTER_SEARCH_BUSY],
            descents: own[COUNTER_DESCENTS],
            scan_busy: own[COUNTER_SCAN_BUSY],
            scan_requests: own[COUNTER_SCAN_REQUESTS],
            host_stalls: own[COUNTER_HOST_STALLS],
            lines: Lines {
                cache: own[COUNTER_DRAM_LINES],
                root: own[COUNTER_ROOT_LINES],
                page_table: own[COUNTER_TABLE_LINES],
                hits: own[COUNTER_HITS],
                misses: own[COUNTER_MISSES],
            },
            life: None,
            seconds: 0.0,
        }
    }
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
