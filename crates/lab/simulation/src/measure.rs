//! Measurements of the accelerator on a platform: a tree, a workload, and counts of all interfaces.

use std::path::{Path, PathBuf};
use std::time::Instant;

use honeycomb_layout::{
    COUNTER_CHIP_LINES, COUNTER_COLUMN_LINES, COUNTER_COUNT, COUNTER_DESCENTS, COUNTER_DRAM_LINES,
    COUNTER_HITS, COUNTER_HOST_STALLS, COUNTER_MISSES, COUNTER_NODES, COUNTER_SCAN_BUSY,
    COUNTER_SCAN_REQUESTS, COUNTER_SEARCH_BUSY, COUNTER_TABLE_LINES, COUNTER_VERSION_STEPS,
};
use honeycomb_simulator::platform::{LinkCounts, OnBoardCounts, Picoseconds};
use honeycomb_simulator::{Machine, RequestWindow, Simulator, UpdateCounts};
use honeycomb_workload::Stream;

pub use crate::closed_loop::Traffic;
use crate::closed_loop::{ClosedLoop, LoopCounts};
pub use crate::error::Error;
use crate::life::Life;
pub use crate::tree::Dataset;
use crate::tree::Tree;

/// The measurements of a run.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Length of the measurement in cycles: from the end of an operation to the end of another one.
    pub cycles: u64,
    /// Latency of each operation that ended during it, from its generation to its end, in cycles, in
    /// ascending order.
    pub latencies: Vec<u64>,
    /// Number of writes, including those that follow a read.
    pub writes: u64,
    /// Mappings that writers sent.
    pub mappings: u64,
    /// Cycles that the updates of writers took.
    pub updates: UpdateCounts,
    /// Traffic of the links to host memory.
    pub link: LinkCounts,
    /// Traffic of on-board memory.
    pub on_board: OnBoardCounts,
    /// Searched interior nodes.
    pub nodes: u64,
    /// Steps to previous versions during descents.
    pub version_steps: u64,
    /// Cycles in which key search units search a node, summed over all units.
    pub search_busy: u64,
    /// Cycles of descents in key search units, summed over all descents.
    pub descents: u64,
    /// Cycles in which range scan units work on a request, summed over all units.
    pub scan_busy: u64,
    /// Cycles of requests in range scan units, summed over all requests.
    pub scan_requests: u64,
    /// Cycles in which host memory did not accept a read.
    pub host_stalls: u64,
    /// Lines from other memories.
    pub lines: LineCounts,
    /// The life of the explained operation.
    pub life: Option<Life>,
    /// Duration of the simulation in seconds.
    pub seconds: f64,
}

/// Lines of 64 bytes that did not come from host memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineCounts {
    /// From the cache of nodes in on-board memory.
    pub cache: u64,
    /// From columns of leaves in on-board memory.
    pub columns: u64,
    /// From nodes on chip.
    pub chip: u64,
    /// From the page table in on-board memory.
    pub page_table: u64,
    /// Bursts of interior nodes that were in the cache, without those of nodes on chip.
    pub hits: u64,
    /// Bursts of interior nodes that were not in the cache.
    pub misses: u64,
}

/// Additional outputs of a run.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    /// The operation whose life is recorded, counted from 0.
    pub explained: Option<u64>,
    /// The file of a waveform in the format FST. Requires the feature `trace`.
    pub waveform: Option<PathBuf>,
}

/// A tree, and a simulated accelerator that reads it.
pub struct Simulation {
    tree: Tree,
    machine: Machine,
    window: RequestWindow,
    cycle: Picoseconds,
    pairs: u64,
    /// Index of the next pair to insert.
    next_pair: u64,
}

impl Simulation {
    /// Builds a tree and loads the accelerator.
    ///
    /// # Errors
    /// Fails if the tree does not fit into memory or into the accelerator's page table.
    pub fn new(simulator: &Simulator, dataset: &Dataset) -> Result<Self, Error> {
        let tree = Tree::build(dataset)?;
        let machine = tree.machine(simulator)?;
        let (window, cycle, pairs) = (RequestWindow::default(), simulator.platform.cycle, dataset.pairs);
        Ok(Self { tree, machine, window, cycle, pairs, next_pair: pairs })
    }

    /// Sets the switches.
    pub fn switch(&mut self, simulator: &Simulator) {
        self.machine.send(simulator.switches());
        self.machine.settle();
    }

    /// Runs a workload, and measures it while the closed loop is full: operations start before the
    /// measurement and end after it. Earlier runs have changed the tree and filled the cache.
    ///
    /// # Errors
    /// Fails if an operation fails, or if the recording is impossible.
    pub fn measure(&mut self, traffic: &Traffic, recording: &Recording) -> Result<Measured, Error> {
        if let Some(number) = recording.explained.filter(|&number| number >= traffic.operations) {
            return Err(Error::NoSuchOperation { number, last: traffic.operations - 1 });
        }
        if let Some(path) = &recording.waveform {
            write_waveform(&mut self.machine, path)?;
        }
        let Self { tree, machine, window, cycle, pairs, next_pair } = self;
        let stream = Stream::new(traffic.workload, traffic.distribution, *pairs, traffic.seed);
        let mut stream = stream.inserting(*next_pair, 1);
        let mut run = ClosedLoop::new(tree, machine, window, &mut stream, traffic);
        run.run(traffic.warm_up)?;
        if let Some(number) = recording.explained {
            run.explain(number, *cycle);
        }
        let (before, start) = (Counts::of(run.machine), Instant::now());
        let loop_counts = run.run(traffic.operations)?;
        let (counts, seconds) = (Counts::of(run.machine).since(&before), start.elapsed().as_secs_f64());
        let life = run.end()?;
        *next_pair = stream.next_index();
        Ok(Measured { life, seconds, ..counts.measured(loop_counts) })
    }
}

/// All counts up to a cycle.
struct Counts {
    /// Counters of the accelerator.
    own: [u64; COUNTER_COUNT],
    cycles: u64,
    updates: UpdateCounts,
    link: LinkCounts,
    on_board: OnBoardCounts,
}

impl Counts {
    fn of(machine: &Machine) -> Self {
        let (cycles, updates) = (machine.cycles(), machine.update_counts());
        let (link, on_board) = (machine.link_counts(), machine.on_board_counts());
        Self { own: machine.counters(), cycles, updates, link, on_board }
    }

    fn since(&self, earlier: &Self) -> Self {
        Self {
            own: std::array::from_fn(|index| self.own[index] - earlier.own[index]),
            cycles: self.cycles - earlier.cycles,
            updates: self.updates.since(&earlier.updates),
            link: self.link.since(&earlier.link),
            on_board: self.on_board.since(&earlier.on_board),
        }
    }

    fn measured(self, mut counts: LoopCounts) -> Measured {
        counts.latencies.sort_unstable();
        let LoopCounts { latencies, writes, mappings } = counts;
        let Self { own, cycles, updates, link, on_board } = self;
        Measured {
            cycles,
            latencies,
            writes,
            mappings,
            updates,
            link,
            on_board,
            nodes: own[COUNTER_NODES],
            version_steps: own[COUNTER_VERSION_STEPS],
            search_busy: own[COUNTER_SEARCH_BUSY],
            descents: own[COUNTER_DESCENTS],
            scan_busy: own[COUNTER_SCAN_BUSY],
            scan_requests: own[COUNTER_SCAN_REQUESTS],
            host_stalls: own[COUNTER_HOST_STALLS],
            lines: LineCounts {
                // All lines are counted when they arrive, but those of columns when they are requested.
                cache: own[COUNTER_DRAM_LINES].saturating_sub(own[COUNTER_COLUMN_LINES]),
                columns: own[COUNTER_COLUMN_LINES],
                chip: own[COUNTER_CHIP_LINES],
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
