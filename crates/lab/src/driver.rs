//! One thread's hold on a map: turns operations on indices into calls with keys.

use std::hint::black_box;

use honeycomb_workload::{Operation, Sizes, Workload};

use crate::map::{Failure, OrderedMap, Room, Scans, Strings, Writes};

/// Runs operations, one at a time or together. All pairs asked for are there: a map that does not find one is
/// broken, unless it is known to miss those that are being updated.
pub struct Driver<'m, M: OrderedMap> {
    map: &'m M,
    sizes: Sizes,
    from_floor: bool,
    key: Vec<u8>,
    value: Vec<u8>,
    room: Room<M::Items>,
    batch: Batch,
}

/// What runs together, by kind.
#[derive(Default)]
struct Batch {
    gets: Strings,
    scans: Scans,
    writes: Writes,
    /// The writes that follow a get.
    modifies: Writes,
}

impl<'m, M: OrderedMap> Driver<'m, M> {
    /// For operations of a workload on pairs of these sizes.
    pub fn new(map: &'m M, sizes: Sizes, workload: Workload) -> Self {
        let from_floor = workload.mix().from_floor;
        let mut batch = Batch::default();
        batch.scans.from_floor = from_floor;
        let (key, value, room) = Default::default();
        Driver { map, sizes, from_floor, key, value, room, batch }
    }

    /// Runs operations together; one alone goes the shorter way.
    pub fn run(&mut self, operations: &[Operation]) -> Result<(), Failure> {
        match operations {
            [operation] => self.one(*operation),
            _ => self.together(operations),
        }
    }

    /// Runs one operation.
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
        black_box(&self.room);
        if found || M::MISSES_UPDATED {
            Ok(())
        } else {
            Err(format!("{operation:?} did not find its pair").into())
        }
    }

    fn get(&mut self, index: u64) -> Result<bool, Failure> {
        self.make_key(index);
        self.map.get(&self.key, &mut self.room.value)
    }

    fn update(&mut self, index: u64, change: u64) -> Result<bool, Failure> {
        self.make(index, change);
        self.map.update(&self.key, &self.value)
    }

    fn scan(&mut self, index: u64, limit: usize) -> Result<usize, Failure> {
        self.make_key(index);
        if self.from_floor {
            self.map.scan_from_floor(&self.key, limit, &mut self.room.items)
        } else {
            self.map.scan(&self.key, limit, &mut self.room.items)
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

    /// Writes first, so that gets find what was inserted just before them; then what reads; then the writes
    /// that follow a get.
    fn together(&mut self, operations: &[Operation]) -> Result<(), Failure> {
        let Driver { map, sizes, room, batch, .. } = self;
        batch.fill(*sizes, operations);
        let mut found = 0;
        found += batch.writes.run(*map, room)?;
        if !batch.gets.is_empty() {
            map.get_many(&batch.gets, room, |_, value| {
                black_box(value);
                found += 1;
            })?;
        }
        if !batch.scans.from.is_empty() {
            map.scan_many(&batch.scans, room, |_, pairs| found += usize::from(pairs.next().is_some()))?;
        }
        found += batch.modifies.run(*map, room)?;
        let missing = operations.len() + batch.modifies.keys.len() - found;
        if missing == 0 || M::MISSES_UPDATED {
            Ok(())
        } else {
            Err(format!("{missing} of a batch did not find their pair").into())
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

    /// How many were done.
    fn run<M: OrderedMap>(&self, map: &M, room: &mut Room<M::Items>) -> Result<usize, Failure> {
        if self.keys.is_empty() { Ok(0) } else { map.write_many(self, room) }
    }
}
