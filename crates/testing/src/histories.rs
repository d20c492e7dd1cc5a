//! A linearizability checker for concurrent histories of reads on a backend.
//!
//! Writers execute random operations on few keys in tiny nodes. Readers keep many requests in flight in their
//! queues: gets, short scans, and scans of all pairs that take many polls. Some read the newest visible
//! version, others a version that they pin for a while. The checker asserts:
//!
//! 1. Each read shows the state that results from replaying the writes in the order of their versions.
//! 2. A request without a version reads a version that is not older than any version that a thread has
//!    observed before the submission. The version is released when the completion arrives.
//! 3. A request for a pinned version reads that version. It is rejected only after the version was unpinned.

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::{Arc, Barrier};
use std::thread;

use honeycomb_accelerator::{
    Accelerator, Backend, Completion, Completions, Queue, Read, Request, Requests, Status,
};
use honeycomb_btree::{BatchOperation, BatchOutcome, Error, Forest, Operation, Outcome, Root, Scan, Version};
use honeycomb_memory::sync::{AtomicU64, AtomicUsize, Ordering};
use honeycomb_memory::{Lease, MemoryError};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::index::{Keys, MIB, Model, Pairs, expected_scan, forest, key, tiny};

/// An arena with room for everything that a round retires, even if an operation is in flight all the time.
pub const AMPLE: usize = 1024 * MIB;
/// An arena so small that reclaimed memory is reused at once, so that a read of reclaimed memory fails.
pub const SCARCE: usize = 2 * MIB;

/// The parameters of one round.
#[derive(Debug, Clone)]
pub struct Round {
    /// The backend under test.
    pub backend: Arc<dyn Backend>,
    /// Bytes of the arena.
    pub arena_bytes: usize,
    /// Bytes at which a log block is consolidated.
    pub log_bytes: usize,
    /// The pattern of the keys.
    pub keys: Keys,
    /// Number of different keys.
    pub key_count: u64,
    /// Number of writer threads.
    pub writers: u64,
    /// Number of reader threads.
    pub readers: u64,
    /// Number of writes of each writer, and minimum number of reads of each reader.
    pub steps: usize,
}

/// The shared state of the threads of a round.
struct RoundState<'r> {
    round: &'r Round,
    forest: Arc<Forest>,
    accelerator: Box<dyn Accelerator>,
    root: Root,
    /// The newest version that any thread has observed.
    newest_observed: AtomicU64,
    barrier: Barrier,
    writers_left: AtomicUsize,
}

impl RoundState<'_> {
    fn key(&self, rng: &mut StdRng) -> Vec<u8> {
        let number = rng.random_range(0..self.round.key_count);
        key(self.round.keys, number, self.forest.shape().key_bytes_max())
    }

    /// Retries a write until there is room for it: operations in flight prevent memory from being reclaimed.
    fn with_room<T>(&self, write: impl Fn() -> Result<T, Error>) -> T {
        loop {
            match write() {
                Err(Error::Memory(MemoryError::Exhausted { .. })) => thread::yield_now(),
                result => return result.unwrap(),
            }
        }
    }

    fn range(&self, rng: &mut StdRng) -> (Vec<u8>, Vec<u8>) {
        let (a, b) = (self.key(rng), self.key(rng));
        if a < b { (a, b) } else { (b, a) }
    }
}

/// The effect of a write.
enum Change {
    Pairs(Vec<(Vec<u8>, Option<Vec<u8>>)>),
    DeletedRange(Vec<u8>, Vec<u8>),
}

struct Writer<'s> {
    state: &'s RoundState<'s>,
    rng: StdRng,
    number: u64,
    changes: Vec<(Version, Change)>,
}

impl Writer<'_> {
    fn run(mut self) -> Vec<(Version, Change)> {
        self.state.barrier.wait();
        for _ in 0..self.state.round.steps {
            self.step();
        }
        self.state.writers_left.fetch_sub(1, Ordering::SeqCst);
        self.changes
    }

    fn step(&mut self) {
        let written = match self.rng.random_range(0..1000) {
            0..40 => self.batch(),
            40..44 => self.delete_range(),
            _ => self.write_one(),
        };
        if let Some((version, change)) = written {
            self.state.newest_observed.fetch_max(version, Ordering::SeqCst);
            self.changes.push((version, change));
        }
        if self.rng.random_bool(0.02) {
            self.state.forest.memory().reclaim();
        }
    }

    /// Creates a value that no other write has; sometimes an overflow value.
    fn value(&mut self) -> Vec<u8> {
        self.number += 1;
        let mut value = self.number.to_le_bytes().to_vec();
        if self.rng.random_bool(0.05) {
            value.resize(self.state.forest.shape().inline_value_bytes_max() + 9, 7);
        }
        value
    }

    fn write_one(&mut self) -> Option<(Version, Change)> {
        let (key, value) = (self.state.key(&mut self.rng), self.value());
        let (operation, stored) = match self.rng.random_range(0..3) {
            0 => (Operation::Put(&value), Some(value.clone())),
            1 => (Operation::Insert(&value), Some(value.clone())),
            _ => (Operation::Delete, None),
        };
        let RoundState { forest, root, .. } = self.state;
        let (outcome, version): (Outcome, Version) =
            self.state.with_room(|| forest.write_versioned(*root, &key, operation));
        outcome.wrote().then(|| (version, Change::Pairs(vec![(key, stored)])))
    }

    fn batch(&mut self) -> Option<(Version, Change)> {
        let count = self.rng.random_range(2..20);
        let pairs: Vec<_> = (0..count).map(|_| (self.state.key(&mut self.rng), self.value())).collect();
        let put = |(key, value): &'_ (Vec<u8>, Vec<u8>)| (key.clone(), Some(value.clone()));
        let root = self.state.root;
        let operations = pairs.iter().map(|(key, value)| (key, Operation::Put(value)));
        let batch: Vec<_> =
            operations.map(|(key, operation)| BatchOperation { root, key, operation }).collect();
        match self.state.with_room(|| self.state.forest.apply(&batch)) {
            BatchOutcome::Applied { version, .. } => {
                Some((version, Change::Pairs(pairs.iter().map(put).collect())))
            }
            other => panic!("a batch of puts is always applied: {other:?}"),
        }
    }

    fn delete_range(&mut self) -> Option<(Version, Change)> {
        let (lower, upper) = self.state.range(&mut self.rng);
        let bounds = (Bound::Included(&lower[..]), Bound::Excluded(&upper[..]));
        let (forest, root) = (&self.state.forest, self.state.root);
        let delete = || forest.delete_range_versioned(root, bounds.0, bounds.1);
        let (count, version) = self.state.with_room(delete);
        (count > 0).then_some((version, Change::DeletedRange(lower, upper)))
    }
}

/// The operation of a request.
#[derive(Debug, Clone)]
enum ReadOperation {
    Get(Vec<u8>),
    Scan { bounds: Option<(Vec<u8>, Vec<u8>)>, backward: bool, floor_start: bool, limit: usize },
}

impl ReadOperation {
    fn scan(&self) -> Scan<'_> {
        let Self::Scan { bounds, backward, floor_start, limit } = self else {
            unreachable!("only scans call it")
        };
        let (lower, upper) = match bounds {
            Some((lower, upper)) => (Bound::Included(&lower[..]), Bound::Excluded(&upper[..])),
            None => (Bound::Unbounded, Bound::Unbounded),
        };
        let (backward, floor_start, limit) = (*backward, *floor_start, *limit);
        Scan { lower, upper, backward, floor_start, limit, keys_only: false }
    }

    fn read(&self) -> Read<'_> {
        match self {
            Self::Get(key) => Read::Get(key),
            Self::Scan { .. } => Read::Scan { scan: self.scan(), bytes_max: u32::MAX },
        }
    }
}

/// A request and the completions that it has received so far.
#[derive(Debug)]
struct SubmittedRequest {
    operation: ReadOperation,
    /// The version in the request.
    version: Option<Version>,
    /// The newest observed version before the submission.
    since: Version,
    read_version: Option<Version>,
    value: Option<Vec<u8>>,
    pairs: Pairs,
    more: bool,
}

struct Reader<'s> {
    state: &'s RoundState<'s>,
    rng: StdRng,
    queue: Box<dyn Queue>,
    requests: Requests,
    completions: Completions,
    next_identifier: u64,
    in_flight: HashMap<u64, SubmittedRequest>,
    pinned: Option<(Version, Arc<Lease>)>,
    completed: Vec<SubmittedRequest>,
}

/// Maximum number of requests that a reader has in flight.
const IN_FLIGHT: usize = 100;

impl Reader<'_> {
    /// Reads until all writers have ended, and at least the steps of the round.
    fn run(mut self) -> Vec<SubmittedRequest> {
        self.state.barrier.wait();
        while self.completed.len() < self.state.round.steps
            || self.state.writers_left.load(Ordering::SeqCst) > 0
        {
            if self.rng.random_bool(0.1) {
                self.exchange_pinned_version();
            }
            self.submit();
            self.poll();
        }
        while self.poll() > 0 {}
        assert!(self.in_flight.is_empty(), "requests without completion: {:?}", self.in_flight);
        self.completed
    }

    fn exchange_pinned_version(&mut self) {
        if let Some((version, lease)) = self.pinned.take() {
            if self.rng.random() {
                lease.revoke();
            }
            self.state.accelerator.unpin_version(version, &lease);
            return;
        }
        // Long scans can use all leases.
        let Ok(lease) = self.state.forest.memory().lease() else { return };
        let lease = Arc::new(lease);
        let version = self.state.forest.read_version();
        self.state.accelerator.pin_version(version, &lease);
        // A request cannot name version 0.
        self.pinned = (version > 0).then_some((version, lease));
    }

    fn submit(&mut self) {
        self.requests.clear();
        for _ in self.in_flight.len()..self.rng.random_range(1..IN_FLIGHT) {
            let operation = self.operation();
            let pinned = self.pinned.as_ref().map(|(version, _)| *version);
            let version = pinned.filter(|_| self.rng.random_bool(0.3));
            let identifier = self.next_identifier;
            let request = Request { identifier, table: 5, version, read: operation.read() };
            self.requests.push(&request).unwrap();
            self.next_identifier += 1;
            let since = self.state.newest_observed.load(Ordering::SeqCst);
            let (read_version, value, pairs) = (None, None, Pairs::new());
            let request =
                SubmittedRequest { operation, version, since, read_version, value, pairs, more: false };
            self.in_flight.insert(identifier, request);
        }
        let bytes = self.requests.bytes();
        assert_eq!(self.queue.submit(bytes), bytes.len(), "the queue has room");
    }

    fn operation(&mut self) -> ReadOperation {
        match self.rng.random_range(0..100) {
            0..70 => ReadOperation::Get(self.state.key(&mut self.rng)),
            70..95 => {
                let bounds = Some(self.state.range(&mut self.rng));
                let backward = self.rng.random_bool(0.4);
                let floor_start = !backward && self.rng.random_bool(0.4);
                ReadOperation::Scan { bounds, backward, floor_start, limit: self.rng.random_range(0..20) }
            }
            _ => {
                let (backward, limit) = (self.rng.random(), u32::MAX as usize);
                ReadOperation::Scan { bounds: None, backward, floor_start: false, limit }
            }
        }
    }

    fn poll(&mut self) -> usize {
        self.completions.clear();
        let in_flight = self.queue.poll(&mut self.completions);
        let released = self.state.forest.read_version();
        let completions = std::mem::take(&mut self.completions);
        for completion in &completions {
            assert!(completion.read_version <= released, "{completion:?} with {released} released");
            self.receive(&completion);
        }
        self.completions = completions;
        assert_eq!(in_flight, self.in_flight.len());
        in_flight
    }

    fn receive(&mut self, completion: &Completion<'_>) {
        let mut request = self.in_flight.remove(&completion.identifier).expect("a request in flight");
        if completion.status == Status::VersionNotPinned {
            let pinned = self.pinned.as_ref().map(|(version, _)| *version);
            let is_unpinned = request.version.is_some() && request.version != pinned;
            assert!(is_unpinned, "{request:?} while {pinned:?} is pinned");
            return;
        }
        request.receive(completion);
        if completion.continued {
            self.in_flight.insert(completion.identifier, request);
            return;
        }
        self.state.newest_observed.fetch_max(completion.read_version, Ordering::SeqCst);
        self.completed.push(request);
    }
}

impl SubmittedRequest {
    fn receive(&mut self, part: &Completion<'_>) {
        let version = part.read_version;
        assert!(matches!(part.status, Status::Found | Status::Absent), "{part:?} of {self:?}");
        assert_eq!(self.version.unwrap_or(version), version, "{part:?} of {self:?}");
        assert_eq!(self.read_version.unwrap_or(version), version, "{part:?} of {self:?}");
        assert!(self.version.is_some() || version >= self.since, "{part:?} of {self:?}");
        self.read_version = Some(version);
        self.value = part.value().map(<[u8]>::to_vec);
        self.pairs.extend(part.pairs().map(|(key, value)| (key.to_vec(), value.to_vec())));
        self.more = part.more;
    }

    /// Compares the completions with the state at the read version.
    fn check(&self, model: &Model) {
        if let ReadOperation::Get(key) = &self.operation {
            assert_eq!(self.value.as_ref(), model.get(key), "{self:?}");
            return;
        }
        let scan = self.operation.scan();
        let mut expected = expected_scan(model, &Scan { limit: usize::MAX, ..scan });
        assert_eq!(self.more, expected.len() > scan.limit, "{self:?}");
        expected.truncate(scan.limit);
        assert_eq!(self.pairs, expected, "{self:?}");
    }
}

/// Replays all writes, and compares each read with the state at its version.
fn check(mut changes: Vec<(Version, Change)>, mut reads: Vec<SubmittedRequest>) {
    changes.sort_by_key(|(version, _)| *version);
    assert!(changes.is_sorted_by(|(a, _), (b, _)| a < b), "every write has a version of its own");
    reads.sort_by_key(|request| request.read_version);
    let (mut model, mut reads) = (Model::new(), reads.into_iter().peekable());
    for (version, change) in changes {
        while let Some(request) = reads.next_if(|request| request.read_version < Some(version)) {
            request.check(&model);
        }
        replay(&mut model, change);
    }
    reads.for_each(|request| request.check(&model));
}

fn replay(model: &mut Model, change: Change) {
    match change {
        Change::DeletedRange(lower, upper) => model.retain(|key, _| *key < lower || *key >= upper),
        Change::Pairs(pairs) => {
            for (key, value) in pairs {
                match value {
                    Some(value) => drop(model.insert(key, value)),
                    None => drop(model.remove(&key)),
                }
            }
        }
    }
}

/// Runs one round, checks its history and verifies the forest. Returns the number of checked operations.
///
/// # Panics
/// If a read is not linearizable or the forest is damaged.
pub fn run(round: &Round, seed: u64) -> usize {
    let shape = tiny(round.log_bytes);
    let forest = Arc::new(forest(shape, round.arena_bytes, true));
    let accelerator = round.backend.attach(&forest, &Arc::default()).unwrap();
    let root = forest.create_tree().unwrap();
    accelerator.set_root(5, Some(root));
    let state = RoundState {
        round,
        forest,
        accelerator,
        root,
        newest_observed: AtomicU64::new(0),
        barrier: Barrier::new((round.writers + round.readers) as usize),
        writers_left: AtomicUsize::new(round.writers as usize),
    };
    let (changes, reads) = run_threads(&state, seed);
    let RoundState { mut forest, accelerator, .. } = state;
    drop(accelerator);
    let operations = changes.len() + reads.len();
    check(changes, reads);
    Arc::get_mut(&mut forest).unwrap().verify(&[root]).unwrap();
    operations
}

fn run_threads(state: &RoundState<'_>, seed: u64) -> (Vec<(Version, Change)>, Vec<SubmittedRequest>) {
    let rng = |thread: u64| StdRng::seed_from_u64(seed.wrapping_mul(31).wrapping_add(thread));
    thread::scope(|scope| {
        let writers = (0..state.round.writers).map(|thread| {
            let writer = Writer { state, rng: rng(thread), number: thread << 40, changes: Vec::new() };
            scope.spawn(move || writer.run())
        });
        let readers = (0..state.round.readers).map(|thread| {
            let reader = Reader {
                state,
                rng: rng(1_000 + thread),
                queue: state.accelerator.queue(),
                requests: Requests::default(),
                completions: Completions::default(),
                next_identifier: 0,
                in_flight: HashMap::new(),
                pinned: None,
                completed: Vec::new(),
            };
            scope.spawn(move || reader.run())
        });
        let (writers, readers): (Vec<_>, Vec<_>) = (writers.collect(), readers.collect());
        let changes = writers.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        let reads = readers.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        (changes, reads)
    })
}
