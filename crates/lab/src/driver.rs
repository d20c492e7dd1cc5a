//! Executes operations on a map: converts indices of pairs to keys and values.

use std::hint::black_box;

use honeycomb_workload::{Operation, Sizes, Workload};

use crate::map::{Buffers, Failure, OrderedMap, Scans, Strings, Writes};

/// Executes the operations of one thread, one at a time or in batches. All pairs of reads and updates exist,
/// so a missing pair is an error, unless the map is known to miss pairs during their update.
pub struct Driver<'m, M: OrderedMap> {
    map: &'m M,
    sizes: Sizes,
    from_floor: bool,
    key: Vec<u8>,
    value: Vec<u8>,
    buffers: Buffers<M::Items>,
    batch: Batch,
}

/// The operations of a batch, by kind.
#[derive(Default)]
struct Batch {
    gets: Strings,
    scans: Scans,
    writes: Writes,
    /// The writes that follow a get.
    modifies: Writes,
}

impl<'m, M: OrderedMap> Driver<'m, M> {
    /// Returns a driver for a workload on pairs of these sizes.
    pub fn new(map: &'m M, sizes: Sizes, workload: Workload) -> Self {
        let from_floor = workload.mix().from_floor;
        let mut batch = Batch::default();
        batch.scans.from_floor = from_floor;
        let (key, value, buffers) = Default::default();
        Driver { map, sizes, from_floor, key, value, buffers, batch }
    }

    /// Executes operations as a batch. A single operation does not use the batch interface.
    pub fn run(&mut self, operations: &[Operation]) -> Result<(), Failure> {
        match operations {
            [operation] => self.one(*operation),
            _ => self.batch(operations),
        }
    }

    /// Executes one operation.
    pub fn one(&mut self, operation: Operation) -> Result<(), Failure> {
        let found = match operation {
            Operation::Get(index) => self.get(index)?,
            Operation::Update { index, change } => self.update(index, change)?,
            Operation::Modify { index, change } => self.get(index)? & self.update(index, change)?,
            Operation::Insert(index) => {
                self.make(index, 0);
                self.map.insert(&self.key, &self.value)?;
                true
            }
            Operation::Scan { index, limit } => self.scan(index, limit)? > 0,
        };
        black_box(&self.buffers);
        if found || M::MISSES_UPDATED {
            Ok(())
        } else {
            Err(format!("{operation:?} did not find its pair").into())
        }
    }

    fn get(&mut self, index: u64) -> Result<bool, Failure> {
        self.make_key(index);
        self.map.get(&self.key, &mut self.buffers.value)
    }

    fn update(&mut self, index: u64, change: u64) -> Result<bool, Failure> {
        self.make(index, change);
        self.map.update(&self.key, &self.value)
    }

    fn scan(&mut self, index: u64, limit: usize) -> Result<usize, Failure> {
        self.make_key(index);
        if self.from_floor {
            self.map.scan_from_floor(&self.key, limit, &mut self.buffers.items)
        } else {
            self.map.scan(&self.key, limit, &mut self.buffers.items)
        }
    }

    fn make_key(&mut self, index: u64) {
        self.key.clear();
        self.sizes.key(index, &mut self.key);
    }

    fn make(&mut self, index: u64, change: u64) {
        self.make_key(index);
        self.value.clear();
        self.sizes.value(index, change, &mut self.value);
    }

    /// Executes writes first, so that gets find the pairs inserted before them, then reads, then the writes
    /// that follow a get.
    fn batch(&mut self, operations: &[Operation]) -> Result<(), Failure> {
        let Driver { map, sizes, buffers, batch, .. } = self;
        batch.fill(*sizes, operations);
        let mut found = 0;
        found += batch.writes.run(*map, buffers)?;
        if !batch.gets.is_empty() {
            map.get_many(&batch.gets, buffers, |_, value| {
                black_box(value);
                found += 1;
            })?;
        }
        if !batch.scans.from.is_empty() {
            map.scan_many(&batch.scans, buffers, |_, pairs| found += usize::from(pairs.next().is_some()))?;
        }
        found += batch.modifies.run(*map, buffers)?;
        let missing = operations.len() + batch.modifies.keys.len() - found;
        if missing == 0 || M::MISSES_UPDATED {
            Ok(())
        } else {
            Err(format!("{missing} operations of a batch did not find their pair").into())
        }
    }
}

impl Batch {
    fn fill(&mut self, sizes: Sizes, operations: &[Operation]) {
        self.gets.clear();
        self.scans.from.clear();
        self.scans.limits.clear();
        self.writes.clear();
        self.modifies.clear();
        for operation in operations {
            match *operation {
                Operation::Get(index) => self.gets.push_with(|key| sizes.key(index, key)),
                Operation::Update { index, change } => self.writes.push(sizes, index, change, false),
                Operation::Insert(index) => self.writes.push(sizes, index, 0, true),
                Operation::Modify { index, change } => {
                    self.gets.push_with(|key| sizes.key(index, key));
                    self.modifies.push(sizes, index, change, false);
                }
                Operation::Scan { index, limit } => {
                    self.scans.from.push_with(|key| sizes.key(index, key));
                    self.scans.limits.push(limit);
                }
            }
        }
    }
}

impl Writes {
    fn clear(&mut self) {
        self.keys.clear();
        self.values.clear();
        self.inserts.clear();
    }

    fn push(&mut self, sizes: Sizes, index: u64, change: u64, is_insert: bool) {
        self.keys.push_with(|key| sizes.key(index, key));
        self.values.push_with(|value| sizes.value(index, change, value));
        self.inserts.push(is_insert);
    }

    /// Executes the writes. Returns how many of them changed the map.
    fn run<M: OrderedMap>(&self, map: &M, buffers: &mut Buffers<M::Items>) -> Result<usize, Failure> {
        if self.keys.is_empty() { Ok(0) } else { map.write_many(self, buffers) }
    }
}
