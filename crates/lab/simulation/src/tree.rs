//! A tree in host memory, its writes, and their updates of the accelerator.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use honeycomb_btree::{Config, Forest, Operation, Root, Shape};
use honeycomb_memory::{BusAddress, Control, Device, Lid, MemoryConfig};
use honeycomb_simulator::platform::LINE_BYTES;
use honeycomb_simulator::{Command, Machine, Simulator};
use honeycomb_workload::Sizes;

use crate::error::Error;

/// The content of the tree and the shape of its nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dataset {
    /// Number of pairs, at least 1.
    pub pairs: u64,
    /// Sizes of keys and values.
    pub sizes: Sizes,
    /// Bytes of a node: a power of two from 1024 to 8192. Small nodes make a small tree high.
    pub node_bytes: usize,
    /// Most bytes of a log block.
    pub log_bytes: usize,
    /// Whether writes have versions.
    pub mvcc: bool,
}

impl Default for Dataset {
    fn default() -> Self {
        let shape = Shape::default();
        let (node_bytes, log_bytes) = (shape.node_bytes, shape.log_threshold_bytes);
        Self { pairs: 20_000, sizes: Sizes::DEFAULT, node_bytes, log_bytes, mvcc: true }
    }
}

/// A write of one pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PairWrite {
    pub(crate) index: u64,
    /// The number of the change; `None` for an insert.
    pub(crate) change: Option<u64>,
}

/// A tree, and the commands that its writes have produced.
pub(crate) struct Tree {
    forest: Forest,
    pub(crate) device: Device,
    root: Root,
    commands: Arc<CommandLog>,
    sizes: Sizes,
}

/// Space in the arena for inserts and for buffers that wait for reclamation.
const ROOM_BYTES: usize = 128 << 20;

impl Tree {
    /// Builds a tree by inserting its pairs one by one, in random key order.
    pub(crate) fn build(dataset: &Dataset) -> Result<Self, Error> {
        let pair_bytes = dataset.sizes.pair_bytes() as usize * 4 + 64;
        let arena_bytes = (dataset.pairs as usize * pair_bytes).next_multiple_of(1 << 20) + ROOM_BYTES;
        let memory = MemoryConfig { arena_bytes, huge_pages: false, ..MemoryConfig::default() };
        let (node_bytes, log_threshold_bytes) = (dataset.node_bytes, dataset.log_bytes);
        let shape = Shape { node_bytes, log_threshold_bytes, ..Shape::default() };
        let forest = Forest::new(Config { memory, shape, mvcc: dataset.mvcc })?;
        let commands = Arc::new(CommandLog::default());
        forest.register(commands.clone())?;
        let device = forest.memory().device()?;
        let root = forest.create_tree()?;
        let tree = Self { forest, device, root, commands, sizes: dataset.sizes };
        (0..dataset.pairs).try_for_each(|index| tree.write(PairWrite { index, change: None }))?;
        Ok(tree)
    }

    /// Returns a machine that has the state of this tree.
    pub(crate) fn machine(&self, simulator: &Simulator) -> Result<Machine, Error> {
        let mut machine = simulator.machine(self.forest.shape().node_bytes);
        let mut newest = BTreeMap::new();
        for command in self.take_commands() {
            if let Command::Map { lid, address } = command {
                newest.insert(lid, address);
            }
        }
        let max = Simulator::NODES as u64 - 1;
        if let Some((&nodes, _)) = newest.last_key_value().filter(|(lid, _)| **lid > max) {
            return Err(Error::TooManyNodes { nodes, max });
        }
        machine.load(&newest);
        machine.send(Command::Root { table: 0, lid: self.root.lid().get() });
        machine.send(Command::Publish { version: self.forest.read_version() });
        machine.settle();
        Ok(machine)
    }

    /// Executes a write like a writer on the CPU. The caller must send the resulting commands.
    pub(crate) fn write(&self, write: PairWrite) -> Result<(), Error> {
        let (mut key, mut value) = (Vec::new(), Vec::new());
        self.sizes.key(write.index, &mut key);
        self.sizes.value(write.index, write.change.unwrap_or(0), &mut value);
        let operation =
            if write.change.is_some() { Operation::Update(&value) } else { Operation::Insert(&value) };
        let wrote = self.forest.write(self.root, &key, operation)?.wrote();
        if wrote { Ok(()) } else { Err(Error::NotWritten { index: write.index }) }
    }

    /// Removes and returns all commands since the last call.
    pub(crate) fn take_commands(&self) -> Vec<Command> {
        std::mem::take(&mut self.commands.lock())
    }

    /// Returns the key of a pair.
    pub(crate) fn key(&self, index: u64) -> Vec<u8> {
        let mut key = Vec::new();
        self.sizes.key(index, &mut key);
        key
    }

    /// Reads a line of host memory. Returns false if no memory exists at the address.
    pub(crate) fn read(&self, address: u64, line: &mut [u8; LINE_BYTES]) -> bool {
        self.forest.memory().read(&self.device, address, line).is_ok()
    }
}

/// Commands in the order in which writers produced them.
#[derive(Debug, Default)]
struct CommandLog(Mutex<Vec<Command>>);

impl CommandLog {
    fn lock(&self) -> MutexGuard<'_, Vec<Command>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Control for CommandLog {
    fn map(&self, lid: Lid, address: BusAddress) {
        self.lock().push(Command::Map { lid: lid.get(), address: address.get() });
    }

    fn publish(&self, version: u64) {
        let mut commands = self.lock();
        // The last of several consecutive versions is sufficient.
        match commands.last_mut() {
            Some(Command::Publish { version: previous }) => *previous = version,
            _ => commands.push(Command::Publish { version }),
        }
    }
}
