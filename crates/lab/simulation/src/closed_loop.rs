//! A closed loop: reads on the accelerator, writes on the CPU.
//!
//! A write occupies a writer for some time. Then the tree changes at once, and its updates go through the
//! registers of the accelerator, which takes simulated time. As on a bus, a read that is submitted later
//! enters the accelerator only after all earlier updates have taken effect.

use std::collections::{HashMap, HashSet, VecDeque};
use std::mem;
use std::ops::Bound;

use honeycomb_accelerator::{Read, Request, Requests};
use honeycomb_btree::Scan;
use honeycomb_layout::{STATUS_ABSENT, STATUS_FOUND, completion, completion_outcome};
use honeycomb_simulator::platform::{LINE_BYTES, Picoseconds};
use honeycomb_simulator::{COMMANDS_MAX, Command, Machine, RequestWindow};
use honeycomb_workload::{Distribution, Operation, Stream, Workload};

use crate::error::Error;
use crate::life::Life;
use crate::tree::{PairWrite, Tree};

/// The operations of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traffic {
    /// The mix of operations.
    pub workload: Workload,
    /// The distribution of the pairs that they choose.
    pub distribution: Distribution,
    /// Operations that end before the measurement, which fill the cache. Reads end before the writes that
    /// started with them, so the loop is stable only after several times `in_flight` operations.
    pub warm_up: u64,
    /// Operations that end during the measurement, at least 1. Operations that end in its last cycle count
    /// as well.
    pub operations: u64,
    /// Operations in flight: 1 to [`REQUEST_SLOTS`](honeycomb_simulator::REQUEST_SLOTS).
    pub in_flight: usize,
    /// CPU cores that execute writes, at least 1.
    pub writers: usize,
    /// Nanoseconds that a write occupies a core.
    pub write_nanoseconds: u64,
    /// Seed of the operations.
    pub seed: u64,
}

impl Default for Traffic {
    fn default() -> Self {
        Self {
            workload: Workload::Get,
            distribution: Distribution::Uniform,
            warm_up: 1_000,
            operations: 5_000,
            in_flight: 128,
            writers: 8,
            write_nanoseconds: 1_000,
            seed: 1,
        }
    }
}

/// Counts of the operations that ended.
#[derive(Debug, Default)]
pub(crate) struct LoopCounts {
    /// Latency of each operation from its generation to its end, in cycles.
    pub(crate) latencies: Vec<u64>,
    pub(crate) writes: u64,
    /// Mappings that writers sent.
    pub(crate) mappings: u64,
}

/// A closed loop in progress.
pub(crate) struct ClosedLoop<'r> {
    tree: &'r mut Tree,
    pub(crate) machine: &'r mut Machine,
    window: &'r mut RequestWindow,
    stream: &'r mut Stream,
    traffic: &'r Traffic,
    /// The life of the explained operation.
    life: Option<Life>,
    writers: Writers,
    /// Number of generated operations, which is the identifier of the next one.
    generated: u64,
    in_flight: HashMap<u64, InFlight>,
    /// Pairs with an insert that was generated but not executed.
    pending_inserts: HashSet<u64>,
    counts: LoopCounts,
}

/// An operation in flight.
struct InFlight {
    /// Cycle of its generation.
    start: u64,
    /// The write that follows its read.
    then: Option<PairWrite>,
    /// Whether the pair may be absent because its insert is pending.
    may_miss: bool,
}

/// The cores that execute writes, one after the other, in the order of their generation.
#[derive(Default)]
struct Writers {
    waiting: VecDeque<(u64, PairWrite)>,
    /// Cycle of its end, number of its operation, and the write.
    working: VecDeque<(u64, u64, PairWrite)>,
}

impl<'r> ClosedLoop<'r> {
    pub(crate) fn new(
        tree: &'r mut Tree,
        machine: &'r mut Machine,
        window: &'r mut RequestWindow,
        stream: &'r mut Stream,
        traffic: &'r Traffic,
    ) -> Self {
        let (writers, in_flight, pending_inserts) = (Writers::default(), HashMap::new(), HashSet::new());
        let (life, generated, counts) = (None, 0, LoopCounts::default());
        Self {
            tree,
            machine,
            window,
            stream,
            traffic,
            life,
            writers,
            generated,
            in_flight,
            pending_inserts,
            counts,
        }
    }

    /// Runs until this number of operations has ended since the last call, and returns their counts. The loop
    /// stays full.
    pub(crate) fn run(&mut self, operations: u64) -> Result<LoopCounts, Error> {
        while (self.counts.latencies.len() as u64) < operations {
            self.step(true)?;
        }
        Ok(mem::take(&mut self.counts))
    }

    /// Records the life of the operation with this number, counted from the next one to be generated.
    pub(crate) fn explain(&mut self, number: u64, cycle: Picoseconds) {
        self.life = Some(Life::new(number, self.generated + number, cycle));
    }

    /// Ends all operations in flight, and returns the life of the explained one, which is generated if it was
    /// not yet.
    pub(crate) fn end(mut self) -> Result<Option<Life>, Error> {
        loop {
            let generates = self.life.as_ref().is_some_and(|life| life.identifier >= self.generated);
            if !generates && self.in_flight.is_empty() {
                break;
            }
            self.step(generates)?;
        }
        if let Some(life) = &mut self.life {
            // The last events may follow the completion.
            life.extend(self.machine.take_events());
            self.machine.record_events(false);
        }
        Ok(self.life)
    }

    /// Runs a cycle. Generates an operation before it if the loop has room.
    fn step(&mut self, generates: bool) -> Result<(), Error> {
        if generates && self.in_flight.len() < self.traffic.in_flight {
            self.generate()?;
        }
        self.write()?;
        self.cycle()
    }

    /// Generates an operation and starts it.
    fn generate(&mut self) -> Result<(), Error> {
        let number = self.generated;
        self.generated += 1;
        let operation = self.stream.draw();
        let start = self.machine.cycles();
        let (read, write) = match operation {
            Operation::Get(index) => (Some((index, None)), None),
            Operation::Scan { index, limit } => (Some((index, Some(limit))), None),
            Operation::Insert(index) => (None, Some(PairWrite { index, change: None })),
            Operation::Update { index, change } => (None, Some(PairWrite { index, change: Some(change) })),
            Operation::Modify { index, change } => {
                (Some((index, None)), Some(PairWrite { index, change: Some(change) }))
            }
        };
        if let Some(write) = write.filter(|write| write.change.is_none()) {
            self.pending_inserts.insert(write.index);
        }
        let may_miss = read.is_some_and(|(index, _)| self.pending_inserts.contains(&index));
        let then = write.filter(|_| read.is_some());
        self.in_flight.insert(number, InFlight { start, then, may_miss });
        match (read, write) {
            (Some((index, limit)), _) => self.submit(number, index, limit),
            (None, Some(write)) => {
                self.writers.waiting.push_back((number, write));
                let explained = self.life.as_ref().filter(|life| life.identifier == number);
                explained.map_or(Ok(()), |life| Err(Error::IsWrite { number: life.number }))
            }
            (None, None) => Ok(()),
        }
    }

    /// Submits a read: a scan of up to `limit` pairs, or a get.
    fn submit(&mut self, identifier: u64, index: u64, limit: Option<usize>) -> Result<(), Error> {
        let key = self.tree.key(index);
        let read = match limit {
            None => Read::Get(&key),
            Some(limit) => {
                let floor_start = self.traffic.workload.mix().from_floor;
                let scan = Scan { lower: Bound::Included(&key), floor_start, limit, ..Scan::default() };
                Read::Scan { scan, bytes_max: u32::MAX }
            }
        };
        let mut requests = Requests::default();
        requests.push(&Request { identifier, table: 0, version: None, read })?;
        if let Some(life) = self.life.as_mut().filter(|life| life.identifier == identifier) {
            life.submitted = self.machine.cycles();
            self.machine.record_events(true);
        }
        self.window.submit(identifier);
        self.publish_window();
        self.machine.submit(requests.bytes());
        Ok(())
    }

    /// Ends the writes that are due, and starts those that wait for a core.
    fn write(&mut self) -> Result<(), Error> {
        let now = self.machine.cycles();
        while let Some(&(due, number, write)) = self.writers.working.front()
            && due <= now
        {
            self.writers.working.pop_front();
            self.tree.write(write)?;
            self.send_commands();
            self.pending_inserts.remove(&write.index);
            self.counts.writes += 1;
            self.complete_operation(number, now);
        }
        // As in a device, writers wait while too many commands are queued.
        let may_start = self.machine.commands_waiting() <= COMMANDS_MAX;
        while may_start
            && self.writers.working.len() < self.traffic.writers
            && let Some((number, write)) = self.writers.waiting.pop_front()
        {
            let due = now + self.machine.cycles_in(self.traffic.write_nanoseconds * 1_000);
            self.writers.working.push_back((due, number, write));
        }
        Ok(())
    }

    fn send_commands(&mut self) {
        for command in self.tree.take_commands() {
            self.counts.mappings += u64::from(matches!(command, Command::Map { .. }));
            self.machine.send(command);
        }
    }

    fn cycle(&mut self) -> Result<(), Error> {
        let now = self.machine.cycles();
        let mut completions = Vec::new();
        let tree = &*self.tree;
        let mut read = |address, line: &mut [u8; LINE_BYTES]| tree.read(address, line);
        self.machine.cycle(&mut read, &mut |completion| completions.push(completion.to_vec()));
        if let Some(life) = &mut self.life {
            life.extend(self.machine.take_events());
        }
        completions.iter().try_for_each(|completion| self.complete(completion, now))
    }

    /// Processes a completion, which may be continued by another one.
    fn complete(&mut self, completion: &[u8], now: u64) -> Result<(), Error> {
        let identifier = word(completion, completion::IDENTIFIER_OFFSET);
        let outcome = word(completion, completion::BYTES_OFFSET) >> 32;
        let status = completion_outcome::status(outcome);
        let Some(operation) = self.in_flight.get_mut(&identifier) else { return Ok(()) };
        let is_expected =
            status == STATUS_FOUND as u64 || (operation.may_miss && status == STATUS_ABSENT as u64);
        if !is_expected {
            return Err(Error::Status { identifier, status });
        }
        self.window.complete(completion);
        if completion_outcome::continued(outcome) == 0 {
            match operation.then.take() {
                Some(write) => self.writers.waiting.push_back((identifier, write)),
                None => self.complete_operation(identifier, now),
            }
            self.publish_window();
        }
        Ok(())
    }

    fn complete_operation(&mut self, number: u64, now: u64) {
        let operation = self.in_flight.remove(&number);
        self.counts.latencies.extend(operation.map(|operation| now - operation.start));
    }

    /// Publishes the window. A completed request leaves the accelerator's own window some cycles later.
    fn publish_window(&mut self) {
        let (oldest, newest) = self.window.bounds();
        self.tree.device.publish_window(oldest.min(self.machine.window().0), newest);
    }
}

/// Returns the word at a byte offset of a completion.
fn word(bytes: &[u8], offset: usize) -> u64 {
    bytes[offset..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}
