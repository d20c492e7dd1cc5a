//! The simulated accelerator as a device, behind the driver that all devices share.

use honeycomb_accelerator::{Engine, Engines, Error, HostMemory, Window, check_parameter};
use honeycomb_btree::Version;
use honeycomb_layout as layout;
use honeycomb_layout::request;
use honeycomb_memory::{BusAddress, Lid};

use crate::balance::Balance;
use crate::machine::{COMMANDS_MAX, Command, Machine};
use crate::platform::{LINE_BYTES, Platform};
use crate::request_window::{RequestWindow, word};

/// The parameters of a simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Simulator {
    /// The machine around the accelerator. Default [`Platform::PAPER`].
    pub platform: Platform,
    /// Seed of all random values of that machine. Default 1.
    pub seed: u64,
    /// Most requests in flight as a device: 1 to [`REQUEST_SLOTS`], which is the default.
    pub in_flight: usize,
    /// Cycles of a step, at least 1. A completion ends the step early. Default 256.
    pub cycles_a_step: usize,
    /// Whether interior nodes are cached in on-board memory. Default true.
    pub cache: bool,
    /// How often the number of sets of the cache, [`CACHE_NODES`] / 4, is halved. Default 0.
    pub cache_halvings: u8,
    /// When cached nodes are read from host memory; `None` is never. Default: the bounds for the paper's
    /// platform.
    pub balance: Option<Balance>,
    /// Levels of interior nodes that are kept on chip: 0, 1 (a root) or 2 (and its children). Default 2.
    pub levels_on_chip: u8,
    /// Whether columns of leaves are kept in on-board memory. Default true.
    pub leaf_columns: bool,
}

impl Default for Simulator {
    fn default() -> Self {
        Self {
            platform: Platform::PAPER,
            seed: 1,
            in_flight: REQUEST_SLOTS,
            cycles_a_step: 256,
            cache: true,
            cache_halvings: 0,
            balance: Some(Balance::default()),
            levels_on_chip: 2,
            leaf_columns: true,
        }
    }
}

/// Most requests in flight: `SlotCount` of accelerator_top.
pub const REQUEST_SLOTS: usize = 256;

/// Capacity of the cache in nodes: `CacheSets` and `CacheWays` of memory_system.
pub const CACHE_NODES: u64 = 1024 * 4;

impl Engines for Simulator {
    fn engine(&self, node_bytes: usize) -> Result<Box<dyn Engine>, Error> {
        check_parameter("in_flight", self.in_flight, 1..=REQUEST_SLOTS)?;
        check_parameter("cycles_a_step", self.cycles_a_step, 1..=usize::MAX)?;
        // The upper limit is NodeBytes of range_scan_unit.
        check_parameter("node_bytes", node_bytes, layout::NODE_BYTES_MIN..=layout::NODE_BYTES_DEFAULT)?;
        Ok(Box::new(SimulatedEngine::new(*self, node_bytes)))
    }
}

#[derive(Debug)]
struct SimulatedEngine {
    parameters: Simulator,
    machine: Machine,
    requests: RequestWindow,
}

impl SimulatedEngine {
    fn new(parameters: Simulator, node_bytes: usize) -> Self {
        let machine = parameters.machine(node_bytes);
        Self { parameters, machine, requests: RequestWindow::default() }
    }
}

impl Engine for SimulatedEngine {
    fn set_root(&mut self, table: u16, root: Option<Lid>) {
        self.machine.send(Command::Root { table, lid: root.map_or(0, Lid::get) });
    }

    fn map(&mut self, lid: Lid, address: BusAddress) {
        self.machine.send(Command::Map { lid: lid.get(), address: address.get() });
        // Without this limit, writers could stay ahead of readers forever.
        self.machine.write_commands(COMMANDS_MAX);
    }

    fn publish(&mut self, version: Version) {
        self.machine.send(Command::Publish { version });
    }

    fn submit(&mut self, request: &[u8]) -> bool {
        if self.requests.len() == self.parameters.in_flight {
            return false;
        }
        self.requests.submit(word(request, request::IDENTIFIER_OFFSET));
        self.machine.submit(request);
        true
    }

    fn step(&mut self, memory: &dyn HostMemory, done: &mut dyn FnMut(&[u8])) {
        let Self { parameters, machine, requests } = self;
        let mut read_line = |address, line: &mut [u8; LINE_BYTES]| memory.read(address, line).is_ok();
        let mut is_done = false;
        for cycle in 0.. {
            // A completed request leaves the accelerator's own window some cycles after its completion. A
            // step lasts until then, because a caller that has all completions may never call again.
            let has_left = machine.window().0 >= requests.bounds().0;
            let is_idle = requests.is_empty() && machine.is_idle();
            if has_left && (is_done || is_idle || cycle >= parameters.cycles_a_step) {
                return;
            }
            machine.cycle(&mut read_line, &mut |completion| {
                requests.complete(completion);
                done(completion);
                is_done = true;
            });
        }
    }

    fn window(&self) -> Window {
        let (oldest_in_flight, newest_started) = self.requests.bounds();
        let (oldest, newest) = self.machine.window();
        debug_assert!(newest <= newest_started, "the accelerator started {newest} of {newest_started}");
        Window { oldest_in_flight: oldest_in_flight.min(oldest), newest_started }
    }
}

impl Simulator {
    /// Key search units of this build.
    pub const SEARCH_UNITS: usize = number(env!("HONEYCOMB_RTL_SearchUnits"));
    /// Concurrent descents of a key search unit of this build.
    pub const SEARCH_DESCENTS: usize = number(env!("HONEYCOMB_RTL_SearchDescents"));
    /// Range scan units of this build.
    pub const SCAN_UNITS: usize = number(env!("HONEYCOMB_RTL_ScanUnits"));
    /// Slots of a range scan unit of this build.
    pub const SCAN_SLOTS: usize = number(env!("HONEYCOMB_RTL_ScanSlots"));
    /// Capacity of the page table of this build, in nodes.
    pub const NODES: usize = number(env!("HONEYCOMB_RTL_LidCount"));
    /// Kind of unknown values of this build: `fast` or `unique`.
    pub const UNKNOWNS: &str = env!("HONEYCOMB_RTL_Unknowns");

    /// Returns a machine for trees with nodes of this number of bytes, without roots and mappings.
    pub fn machine(&self, node_bytes: usize) -> Machine {
        let mut machine = Machine::new(&self.platform, self.seed);
        machine.send(self.switches());
        machine.send(Command::Geometry {
            node_bytes: node_bytes as u64,
            cache_halvings: self.cache_halvings.into(),
        });
        machine
    }

    /// Returns the command that sets all switches.
    pub fn switches(&self) -> Command {
        let Self { cache, balance, levels_on_chip, leaf_columns, .. } = *self;
        Command::Switches { cache, balance, levels_on_chip, leaf_columns }
    }
}

/// Parses a number that the build script set.
const fn number(text: &str) -> usize {
    match usize::from_str_radix(text, 10) {
        Ok(number) => number,
        Err(_) => panic!("build parameters must be numbers"),
    }
}

#[cfg(test)]
mod tests {
    use honeycomb_accelerator::{Read, Request, Requests};
    use honeycomb_memory::MemoryError;

    use super::*;

    /// Host memory filled with zeros.
    struct Zeros;

    impl HostMemory for Zeros {
        fn read(&self, _address: u64, into: &mut [u8]) -> Result<(), MemoryError> {
            into.fill(0);
            Ok(())
        }
    }

    /// Returns an engine with an empty tree, and with as many gets in flight as it has slots.
    fn engine_with_gets(simulator: Simulator) -> Box<dyn Engine> {
        let mut engine = simulator.engine(layout::NODE_BYTES_DEFAULT).expect("the shape is allowed");
        engine.map(LID, address(0));
        engine.set_root(0, Some(LID));
        let mut requests = Requests::default();
        let read = Read::Get(b"key");
        requests.push(&Request { identifier: 0, table: 0, version: None, read }).expect("the key is short");
        let mut request = requests.bytes().to_vec();
        for identifier in 0..REQUEST_SLOTS as u64 {
            request[..8].copy_from_slice(&identifier.to_le_bytes());
            assert!(engine.submit(&request));
        }
        engine
    }

    /// Steps until all gets have completed, of which some had before, and checks that none is in flight.
    fn complete_all(engine: &mut dyn Engine, mut completed: usize) {
        while completed < REQUEST_SLOTS {
            engine.step(&Zeros, &mut |_| completed += 1);
        }
        assert_eq!(engine.window().oldest_in_flight, REQUEST_SLOTS as u64 + 1);
    }

    const LID: Lid = Lid::new(1).expect("1 is a LID");

    fn address(at: usize) -> BusAddress {
        BusAddress::new(8192 * (1 + at as u64)).expect("the address is aligned")
    }

    /// While a writer waits for space in the command queue, nothing reads host memory for the accelerator,
    /// which has many requests in flight.
    #[test]
    fn a_waiting_writer_does_not_depend_on_reads() {
        let mut engine = engine_with_gets(Simulator { platform: Platform::IDEAL, ..Simulator::default() });
        let mut completed = 0;
        while completed == 0 {
            engine.step(&Zeros, &mut |_| completed += 1);
        }
        (0..2 * COMMANDS_MAX).for_each(|at| engine.map(LID, address(at)));
        complete_all(&mut *engine, completed);
    }

    /// The step that returns the last completion also ends the window: the caller has no reason for another
    /// one, and memory is not reclaimed before.
    #[test]
    fn completed_requests_leave_the_window_in_the_same_step() {
        let mut engine = engine_with_gets(Simulator {
            platform: Platform::IDEAL,
            cycles_a_step: 1,
            ..Simulator::default()
        });
        complete_all(&mut *engine, 0);
    }
}
