//! The simulated accelerator as a device: the same driver as for any other.

use std::collections::{HashMap, VecDeque};

use honeycomb_accelerator::{Engine, Engines, Error, HostMemory, Window};
use honeycomb_btree::{Shape, Version};
use honeycomb_layout as layout;
use honeycomb_layout::{completion, completion_outcome, request};
use honeycomb_memory::{BusAddress, Lid};

use crate::machine::{Command, Machine};
use crate::platform::{LINE_BYTES, Platform};

/// The parameters of a simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Simulator {
    /// The machine around the accelerator. Default [`Platform::PAPER`].
    pub platform: Platform,
    /// What is random about that machine follows from it. Default 1.
    pub seed: u64,
    /// Requests that the accelerator is given at one time as a device: 1 to 128, for which it has slots.
    /// Default 128.
    pub in_flight: usize,
    /// Cycles of a step, unless a completion ends it before: at least 1. Default 256.
    pub cycles_a_step: usize,
    /// Whether interior nodes are kept in on-board memory. Default true.
    pub cache: bool,
    /// How often the number of sets of the cache, [`CACHE_NODES`] / 4, is halved. Default 0.
    pub cache_halvings: u8,
    /// Whether some of what is kept there is read from host memory, when that has less to do. Default true.
    pub balance: bool,
    /// Whether the root that was named last is kept on chip. Default true.
    pub root_on_chip: bool,
}

impl Default for Simulator {
    fn default() -> Self {
        Self {
            platform: Platform::PAPER,
            seed: 1,
            in_flight: SLOTS,
            cycles_a_step: 256,
            cache: true,
            cache_halvings: 0,
            balance: true,
            root_on_chip: true,
        }
    }
}

/// Commands that wait at most.
pub(crate) const COMMANDS_MAX: usize = 256;

/// `SlotCount` of accelerator_top.
const SLOTS: usize = 128;

/// Nodes that the cache has room for: `CacheSets` and `CacheWays` of memory_system.
pub const CACHE_NODES: u64 = 1024 * 4;

impl Engines for Simulator {
    fn engine(&self, shape: &Shape) -> Result<Box<dyn Engine>, Error> {
        let refuse = |name, value, allowed| Err(Error::Parameter { name, value, allowed });
        match *self {
            Self { in_flight, .. } if !(1..=SLOTS).contains(&in_flight) => {
                refuse("in_flight", in_flight, "1 to 128")
            }
            Self { cycles_a_step: 0, .. } => refuse("cycles_a_step", 0, "1 and more"),
            // NodeBytes of range_scan_unit.
            _ if shape.node_bytes > layout::NODE_BYTES_DEFAULT => {
                refuse("node_bytes", shape.node_bytes, "1024 to 8192")
            }
            _ => Ok(Box::new(Simulated::new(*self, shape))),
        }
    }
}

#[derive(Debug)]
struct Simulated {
    parameters: Simulator,
    machine: Machine,
    flights: Flights,
}

/// The requests in flight.
#[derive(Debug)]
pub(crate) struct Flights {
    /// Their numbers, by their identifiers.
    numbers: HashMap<u64, u64>,
    /// Whether they are completed, from the oldest in flight on.
    completed: VecDeque<bool>,
    oldest: u64,
}

impl Simulated {
    fn new(parameters: Simulator, shape: &Shape) -> Self {
        let machine = parameters.machine(shape);
        Self { parameters, machine, flights: Flights::new() }
    }
}

impl Engine for Simulated {
    fn set_root(&mut self, table: u16, root: Option<Lid>) {
        self.machine.tell(Command::Root { table, lid: root.map_or(0, Lid::get) });
    }

    fn map(&mut self, lid: Lid, address: BusAddress) {
        self.machine.tell(Command::Map { lid: lid.get(), address: address.get() });
        // Else who writes could be ahead of who reads for ever.
        self.machine.write_commands(COMMANDS_MAX);
    }

    fn publish(&mut self, version: Version) {
        self.machine.tell(Command::Publish { version });
    }

    fn submit(&mut self, request: &[u8]) -> bool {
        if self.flights.numbers.len() == self.parameters.in_flight {
            return false;
        }
        self.flights.begin(word(request, request::IDENTIFIER_OFFSET));
        self.machine.submit(request);
        true
    }

    fn step(&mut self, memory: &dyn HostMemory, done: &mut dyn FnMut(&[u8])) {
        let Self { parameters, machine, flights } = self;
        let mut read_line = |address, line: &mut [u8; LINE_BYTES]| memory.read(address, line).is_ok();
        let mut is_done = false;
        for _ in 0..parameters.cycles_a_step {
            // What was completed leaves the accelerator's own window some cycles after its completion.
            let has_left = machine.window().0 >= flights.oldest;
            if has_left && (is_done || (flights.numbers.is_empty() && machine.control.is_idle())) {
                return;
            }
            machine.cycle(&mut read_line, &mut |answer| {
                flights.end(answer);
                done(answer);
                is_done = true;
            });
        }
    }

    fn window(&self) -> Window {
        let (oldest_in_flight, newest_started) = self.flights.window();
        let (oldest, newest) = self.machine.window();
        debug_assert!(newest <= newest_started, "{newest} was not submitted, but {newest_started}");
        Window { oldest_in_flight: oldest_in_flight.min(oldest), newest_started }
    }
}

impl Flights {
    pub(crate) fn new() -> Self {
        Self { numbers: HashMap::new(), completed: VecDeque::new(), oldest: 1 }
    }

    pub(crate) fn window(&self) -> (u64, u64) {
        (self.oldest, self.oldest + self.completed.len() as u64 - 1)
    }

    pub(crate) fn begin(&mut self, identifier: u64) {
        self.completed.push_back(false);
        self.numbers.insert(identifier, self.window().1);
    }

    /// Notes what is completed, if nothing continues it.
    pub(crate) fn end(&mut self, answer: &[u8]) {
        let outcome = word(answer, completion::BYTES_OFFSET) >> 32;
        if completion_outcome::continued(outcome) != 0 {
            return;
        }
        let identifier = word(answer, completion::IDENTIFIER_OFFSET);
        let number = self.numbers.remove(&identifier).expect("what is completed was in flight");
        self.completed[(number - self.oldest) as usize] = true;
        while self.completed.front() == Some(&true) {
            self.completed.pop_front();
            self.oldest += 1;
        }
    }
}

impl Simulator {
    /// Key search units of this build.
    pub const SEARCH_UNITS: usize = number(env!("HONEYCOMB_RTL_SearchUnits"));
    /// Descents that a key search unit of this build works on at a time.
    pub const SEARCH_DESCENTS: usize = number(env!("HONEYCOMB_RTL_SearchDescents"));
    /// Range scan units of this build.
    pub const SCAN_UNITS: usize = number(env!("HONEYCOMB_RTL_ScanUnits"));
    /// Requests that a range scan unit of this build has at a time.
    pub const SCAN_SLOTS: usize = number(env!("HONEYCOMB_RTL_ScanSlots"));
    /// Nodes that this build has a page table for.
    pub const NODES: usize = number(env!("HONEYCOMB_RTL_LidCount"));

    /// This build, by its units and the requests that its range scan units have at a time.
    pub(crate) fn units() -> String {
        units(Self::SEARCH_UNITS, Self::SCAN_UNITS, Self::SCAN_UNITS * Self::SCAN_SLOTS)
    }

    /// A machine for trees of nodes of this shape, which knows nothing else yet.
    pub(crate) fn machine(&self, shape: &Shape) -> Machine {
        let mut machine = Machine::new(&self.platform, self.seed);
        machine.tell(self.switches());
        machine.tell(geometry(shape, self.cache_halvings));
        machine
    }

    /// What is on.
    pub(crate) fn switches(&self) -> Command {
        let Self { cache, balance, root_on_chip, .. } = *self;
        Command::Switches { cache, balance, root_on_chip }
    }
}

/// A build, as figures name it.
pub(crate) fn units(search_units: usize, scan_units: usize, scan_slots: usize) -> String {
    format!("{search_units} + {scan_units} units, {scan_slots} slots")
}

/// What the accelerator is told of a shape.
fn geometry(shape: &Shape, cache_halvings: u8) -> Command {
    Command::Geometry {
        // Of leaves: the fences of interior nodes are not looked at.
        sorted_start: (layout::node_header::SIZE + shape.shortcut_block_bytes + shape.tag_directory_bytes)
            as u64,
        // A count of shortcuts is one byte.
        shortcut_capacity: (shape.shortcut_block_bytes / layout::SHORTCUT_BYTES).min(255) as u64,
        cache_halvings: cache_halvings.into(),
    }
}

/// A number that the build was told.
const fn number(text: &str) -> usize {
    match usize::from_str_radix(text, 10) {
        Ok(number) => number,
        Err(_) => panic!("parameters of the build are numbers"),
    }
}

/// The word at an offset of a request or completion.
pub(crate) fn word(bytes: &[u8], offset: usize) -> u64 {
    bytes[offset..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use honeycomb_accelerator::{Read, Request, Requests};
    use honeycomb_memory::MemoryError;

    use super::*;

    /// Memory in which there is nothing.
    struct Zeros;

    impl HostMemory for Zeros {
        fn read(&self, _address: u64, into: &mut [u8]) -> Result<(), MemoryError> {
            into.fill(0);
            Ok(())
        }
    }

    /// While a writer waits until there is room for its commands nobody reads host memory for the
    /// accelerator, which has many requests in flight.
    #[test]
    fn a_writer_that_waits_does_not_wait_for_reads() {
        let simulator = Simulator { platform: Platform::IDEAL, ..Simulator::default() };
        let mut engine = simulator.engine(&Shape::default()).expect("the shape is allowed");
        let lid = Lid::new(1).expect("a LID");
        let address = |at: usize| BusAddress::new(8192 * (1 + at as u64)).expect("an address");
        engine.map(lid, address(0));
        engine.set_root(0, Some(lid));
        let mut requests = Requests::default();
        let read = Read::Get(b"key");
        requests.push(&Request { identifier: 0, table: 0, version: None, read }).expect("a short key");
        let mut request = requests.bytes().to_vec();
        for identifier in 0..SLOTS as u64 {
            request[..8].copy_from_slice(&identifier.to_le_bytes());
            assert!(engine.submit(&request));
        }
        let mut completed = 0;
        while completed == 0 {
            engine.step(&Zeros, &mut |_| completed += 1);
        }
        (0..2 * COMMANDS_MAX).for_each(|at| engine.map(lid, address(at)));
        while completed < SLOTS {
            engine.step(&Zeros, &mut |_| completed += 1);
        }
        assert_eq!(engine.window().oldest_in_flight, SLOTS as u64 + 1);
    }

    fn completed(identifier: u64, is_continued: bool) -> Vec<u8> {
        let outcome = completion_outcome::with_continued(0, u64::from(is_continued));
        [identifier, 0, 0, outcome << 32].map(u64::to_le_bytes).concat()
    }

    #[test]
    fn the_window_begins_at_what_is_not_completed() {
        let mut flights = Flights::new();
        assert_eq!(flights.window(), (1, 0));
        (10..14).for_each(|identifier| flights.begin(identifier));
        assert_eq!(flights.window(), (1, 4));
        flights.end(&completed(11, false));
        flights.end(&completed(10, true));
        assert_eq!(flights.window(), (1, 4));
        flights.end(&completed(10, false));
        assert_eq!(flights.window(), (3, 4));
        flights.end(&completed(13, false));
        flights.end(&completed(12, false));
        assert_eq!(flights.window(), (5, 4));
    }
}
