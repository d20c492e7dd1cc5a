//! Operations of a workload in a closed loop: reads on the accelerator, writes on the CPU beside it.
//!
//! A write keeps a writer for a time, then the tree is changed at once, and the accelerator is told over its
//! registers, where that takes its time. As on a bus, a read that is submitted later goes in only when all
//! that was told before is in force.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Bound;

use honeycomb_accelerator::{Read, Request, Requests};
use honeycomb_btree::Scan;
use honeycomb_layout::{STATUS_ABSENT, STATUS_FOUND, completion, completion_outcome};
use honeycomb_workload::{Distribution, Operation, Stream, Workload};

use crate::engine::{COMMANDS_MAX, Flights, word};
use crate::machine::{Command, Machine};
use crate::measure::Error;
use crate::platform::LINE_BYTES;
use crate::tree::{Tree, Write};

/// What is asked of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traffic {
    /// The mix of operations.
    pub workload: Workload,
    /// Which pairs they choose.
    pub distribution: Distribution,
    /// Operations before those that are measured, so that the cache has what it will have.
    pub warm_up: u64,
    /// Operations that are measured: at least 1.
    pub operations: u64,
    /// Operations in flight: 1 to 128.
    pub in_flight: usize,
    /// CPU cores that write: at least 1.
    pub writers: usize,
    /// Nanoseconds that a write keeps one.
    pub write_nanoseconds: u64,
    /// What is drawn follows from it.
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

/// What came of some operations.
#[derive(Debug, Default)]
pub(crate) struct Served {
    /// Of each operation, from when it was drawn until it was done, in cycles.
    pub(crate) latencies: Vec<u64>,
    pub(crate) writes: u64,
    /// Mappings that writers told.
    pub(crate) mappings: u64,
}

/// Operations that are under way.
pub(crate) struct Run<'r> {
    pub(crate) tree: &'r mut Tree,
    pub(crate) machine: &'r mut Machine,
    pub(crate) flights: &'r mut Flights,
    pub(crate) stream: &'r mut Stream,
    pub(crate) traffic: &'r Traffic,
    /// The operation whose life is written down.
    pub(crate) explained: Option<u64>,
    writers: Writers,
    begun: HashMap<u64, Begun>,
    /// Pairs whose insert was drawn, and which are not there yet.
    coming: HashSet<u64>,
    served: Served,
}

/// An operation that is not done.
struct Begun {
    /// When it was drawn.
    cycle: u64,
    /// What is written once it has read.
    then: Option<Write>,
    /// Whether the pair may not be there yet.
    may_miss: bool,
}

/// The cores that write: one write after the other, in the order in which they were drawn.
#[derive(Default)]
struct Writers {
    waiting: VecDeque<(u64, Write)>,
    /// When each is done, which operation it is, and what it writes.
    working: VecDeque<(u64, u64, Write)>,
}

impl<'r> Run<'r> {
    pub(crate) fn new(
        tree: &'r mut Tree,
        machine: &'r mut Machine,
        flights: &'r mut Flights,
        stream: &'r mut Stream,
        traffic: &'r Traffic,
    ) -> Self {
        let (writers, begun, coming) = (Writers::default(), HashMap::new(), HashSet::new());
        let (explained, served) = (None, Served::default());
        Self { tree, machine, flights, stream, traffic, explained, writers, begun, coming, served }
    }

    /// Runs so many operations until all are done.
    pub(crate) fn serve(mut self, operations: u64) -> Result<Served, Error> {
        let mut drawn = 0;
        while drawn < operations || !self.begun.is_empty() {
            if drawn < operations && self.begun.len() < self.traffic.in_flight {
                self.begin(drawn)?;
                drawn += 1;
            }
            self.write()?;
            self.cycle()?;
        }
        Ok(self.served)
    }

    /// Draws an operation.
    fn begin(&mut self, number: u64) -> Result<(), Error> {
        let operation = self.stream.draw();
        let cycle = self.machine.cycles();
        let (read, write) = match operation {
            Operation::Get(index) => (Some((index, None)), None),
            Operation::Scan { index, limit } => (Some((index, Some(limit))), None),
            Operation::Insert(index) => (None, Some(Write { index, change: None })),
            Operation::Update { index, change } => (None, Some(Write { index, change: Some(change) })),
            Operation::Modify { index, change } => {
                (Some((index, None)), Some(Write { index, change: Some(change) }))
            }
        };
        if let Some(write) = write.filter(|write| write.change.is_none()) {
            self.coming.insert(write.index);
        }
        let may_miss = read.is_some_and(|(index, _)| self.coming.contains(&index));
        let then = write.filter(|_| read.is_some());
        self.begun.insert(number, Begun { cycle, then, may_miss });
        match (read, write) {
            (Some((index, limit)), _) => self.submit(number, index, limit),
            (None, Some(_)) if self.explained == Some(number) => Err(Error::IsWrite { number }),
            (None, Some(write)) => {
                self.writers.waiting.push_back((number, write));
                Ok(())
            }
            (None, None) => Ok(()),
        }
    }

    /// Submits a read: a get, or a scan of so many pairs.
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
        if self.explained == Some(identifier) {
            self.machine.explain(identifier);
        }
        self.flights.begin(identifier);
        self.publish_window();
        self.machine.submit(requests.bytes());
        Ok(())
    }

    /// Goes on with the writes.
    fn write(&mut self) -> Result<(), Error> {
        let now = self.machine.cycles();
        while let Some(&(due, number, write)) = self.writers.working.front()
            && due <= now
        {
            self.writers.working.pop_front();
            self.tree.write(write)?;
            self.tell();
            self.coming.remove(&write.index);
            self.served.writes += 1;
            self.end(number, now);
        }
        // As in a device: who writes waits while too much is to be told.
        let has_room = self.machine.control.waiting() <= COMMANDS_MAX;
        while has_room
            && self.writers.working.len() < self.traffic.writers
            && let Some((number, write)) = self.writers.waiting.pop_front()
        {
            let due = now + self.machine.cycles_in(self.traffic.write_nanoseconds * 1_000);
            self.writers.working.push_back((due, number, write));
        }
        Ok(())
    }

    fn tell(&mut self) {
        for command in self.tree.take_told() {
            self.served.mappings += u64::from(matches!(command, Command::Map { .. }));
            self.machine.tell(command);
        }
    }

    fn cycle(&mut self) -> Result<(), Error> {
        let now = self.machine.cycles();
        let mut answers = Vec::new();
        let tree = &*self.tree;
        let mut read = |address, line: &mut [u8; LINE_BYTES]| tree.read(address, line);
        self.machine.cycle(&mut read, &mut |answer| answers.push(answer.to_vec()));
        answers.iter().try_for_each(|answer| self.take(answer, now))
    }

    /// Takes an answer, or a part of one.
    fn take(&mut self, answer: &[u8], now: u64) -> Result<(), Error> {
        let identifier = word(answer, completion::IDENTIFIER_OFFSET);
        let outcome = word(answer, completion::BYTES_OFFSET) >> 32;
        let status = completion_outcome::status(outcome);
        let Some(begun) = self.begun.get_mut(&identifier) else { return Ok(()) };
        let is_right = status == STATUS_FOUND as u64 || (begun.may_miss && status == STATUS_ABSENT as u64);
        if !is_right {
            return Err(Error::Status { identifier, status });
        }
        self.flights.end(answer);
        if completion_outcome::continued(outcome) == 0 {
            match begun.then.take() {
                Some(write) => self.writers.waiting.push_back((identifier, write)),
                None => self.end(identifier, now),
            }
            self.publish_window();
        }
        Ok(())
    }

    fn end(&mut self, number: u64, now: u64) {
        let begun = self.begun.remove(&number);
        self.served.latencies.extend(begun.map(|begun| now - begun.cycle));
    }

    /// What was completed leaves the accelerator's own window some cycles later.
    fn publish_window(&mut self) {
        let (oldest, newest) = self.flights.window();
        self.tree.device.publish_window(oldest.min(self.machine.window().0), newest);
    }
}
