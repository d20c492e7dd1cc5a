//! A linearizability checker: concurrent histories of reads in flight on a backend, and their check.
//!
//! Writers execute random operations on few keys in tiny nodes. Readers keep many requests in flight in their
//! queues: gets, short scans, and scans of all pairs that take many polls. Some read the newest visible
//! version, others a version that they pin for a while. The checker asserts:
//!
//! 1. Each answer shows the state that results from replaying the writes in the order of their versions.
//! 2. A request for "now" reads a version no older than any version answered before its submission, and one
//!    that is released when the answer arrives.
//! 3. A request for a pinned version reads that version. It is refused only after the version was unpinned.

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::{Arc, Barrier};
use std::thread;

use honeycomb_accelerator::{
    Accelerator, Backend, Completion, Completions, Queue, Read, Request, Requests, Status,
};
use honeycomb_btree::{
    BatchOperation, BatchOutcome, Error, Forest, Operation, Outcome, Root, Scan, Shape, Version,
};
use honeycomb_memory::sync::{AtomicU64, AtomicUsize, Ordering};
use honeycomb_memory::{Lease, MemoryError};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::index::{Keys, MIB, Model, Pairs, expected_scan, forest, key, some_directory, tiny};

/// An arena that holds everything a round retires, even if one operation stays in flight throughout.
pub const AMPLE: usize = 1024 * MIB;
/// An arena so small that reclaimed memory is reused at once, so that a read that comes too late fails.
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
    /// The kind of keys.
    pub keys: Keys,
    /// How many different keys there are.
    pub key_count: u64,
    /// Writer threads.
    pub writers: u64,
    /// Reader threads.
    pub readers: u64,
    /// Writes of each writer, and reads of each reader.
    pub steps: usize,
}

/// What the threads of a round share.
struct Scene<'r> {
    round: &'r Round,
    forest: Arc<Forest>,
    accelerator: Box<dyn Accelerator>,
    root: Root,
    /// The newest version that anybody was answered with.
    answered: AtomicU64,
    barrier: Barrier,
    writers_left: AtomicUsize,
}

impl Scene<'_> {
    fn key(&self, rng: &mut StdRng) -> Vec<u8> {
        let number = rng.random_range(0..self.round.key_count);
        key(self.round.keys, number, self.forest.shape().key_bytes_max())
    }

    /// What comes of a write once there is room for it: operations in flight hold memory back.
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

/// What was written at a version.
enum Change {
    Pairs(Vec<(Vec<u8>, Option<Vec<u8>>)>),
    DeletedRange(Vec<u8>, Vec<u8>),
}

struct Writer<'s> {
    scene: &'s Scene<'s>,
    rng: StdRng,
    number: u64,
    changes: Vec<(Version, Change)>,
}

impl Writer<'_> {
    fn run(mut self) -> Vec<(Version, Change)> {
        self.scene.barrier.wait();
        for _ in 0..self.scene.round.steps {
            self.step();
        }
        self.scene.writers_left.fetch_sub(1, Ordering::SeqCst);
        self.changes
    }

    fn step(&mut self) {
        let written = match self.rng.random_range(0..1000) {
            0..40 => self.batch(),
            40..44 => self.delete_range(),
            _ => self.write_one(),
        };
        if let Some((version, change)) = written {
            self.scene.answered.fetch_max(version, Ordering::SeqCst);
            self.changes.push((version, change));
        }
        if self.rng.random_bool(0.02) {
            self.scene.forest.memory().reclaim();
        }
    }

    /// A value nobody else writes; at times one that is out of line.
    fn value(&mut self) -> Vec<u8> {
        self.number += 1;
        let mut value = self.number.to_le_bytes().to_vec();
        if self.rng.random_bool(0.05) {
            value.resize(self.scene.forest.shape().inline_value_bytes_max() + 9, 7);
        }
        value
    }

    fn write_one(&mut self) -> Option<(Version, Change)> {
        let (key, value) = (self.scene.key(&mut self.rng), self.value());
        let (operation, stored) = match self.rng.random_range(0..3) {
            0 => (Operation::Put(&value), Some(value.clone())),
            1 => (Operation::Insert(&value), Some(value.clone())),
            _ => (Operation::Delete, None),
        };
        let Scene { forest, root, .. } = self.scene;
        let (outcome, version): (Outcome, Version) =
            self.scene.with_room(|| forest.write_versioned(*root, &key, operation));
        outcome.wrote().then(|| (version, Change::Pairs(vec![(key, stored)])))
    }

    fn batch(&mut self) -> Option<(Version, Change)> {
        let count = self.rng.random_range(2..20);
        let pairs: Vec<_> = (0..count).map(|_| (self.scene.key(&mut self.rng), self.value())).collect();
        let put = |(key, value): &'_ (Vec<u8>, Vec<u8>)| (key.clone(), Some(value.clone()));
        let root = self.scene.root;
        let operations = pairs.iter().map(|(key, value)| (key, Operation::Put(value)));
        let batch: Vec<_> =
            operations.map(|(key, operation)| BatchOperation { root, key, operation }).collect();
        match self.scene.with_room(|| self.scene.forest.apply(&batch)) {
            BatchOutcome::Applied { version, .. } => {
                Some((version, Change::Pairs(pairs.iter().map(put).collect())))
            }
            refused => panic!("a put is never refused: {refused:?}"),
        }
    }

    fn delete_range(&mut self) -> Option<(Version, Change)> {
        let (lower, upper) = self.scene.range(&mut self.rng);
        let bounds = (Bound::Included(&lower[..]), Bound::Excluded(&upper[..]));
        let (forest, root) = (&self.scene.forest, self.scene.root);
        let delete = || forest.delete_range_versioned(root, bounds.0, bounds.1);
        let (count, version) = self.scene.with_room(delete);
        (count > 0).then_some((version, Change::DeletedRange(lower, upper)))
    }
}

/// What a request asks for.
#[derive(Debug, Clone)]
enum Question {
    Get(Vec<u8>),
    Scan { bounds: Option<(Vec<u8>, Vec<u8>)>, backward: bool, floor_start: bool, limit: usize },
}

impl Question {
    fn scan(&self) -> Scan<'_> {
        let Self::Scan { bounds, backward, floor_start, limit } = self else {
            unreachable!("only scans are asked for their scan")
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

/// A request in flight, and what has come of it so far.
#[derive(Debug)]
struct SubmittedRequest {
    question: Question,
    /// The version that it names.
    version: Option<Version>,
    /// The newest version that anybody was answered with before it was submitted.
    since: Version,
    read_version: Option<Version>,
    value: Option<Vec<u8>>,
    pairs: Pairs,
    more: bool,
}

struct Reader<'s> {
    scene: &'s Scene<'s>,
    rng: StdRng,
    queue: Box<dyn Queue>,
    requests: Requests,
    completions: Completions,
    next_identifier: u64,
    in_flight: HashMap<u64, SubmittedRequest>,
    held: Option<(Version, Arc<Lease>)>,
    answered: Vec<SubmittedRequest>,
}

/// Requests that a reader has in flight at once.
const IN_FLIGHT: usize = 100;

impl Reader<'_> {
    /// Reads as long as somebody writes, and at least so many steps.
    fn run(mut self) -> Vec<SubmittedRequest> {
        self.scene.barrier.wait();
        while self.answered.len() < self.scene.round.steps
            || self.scene.writers_left.load(Ordering::SeqCst) > 0
        {
            if self.rng.random_bool(0.1) {
                self.exchange_held();
            }
            self.submit();
            self.poll();
        }
        while self.poll() > 0 {}
        assert!(self.in_flight.is_empty(), "never answered: {:?}", self.in_flight);
        self.answered
    }

    fn exchange_held(&mut self) {
        if let Some((version, lease)) = self.held.take() {
            if self.rng.random() {
                lease.revoke();
            }
            self.scene.accelerator.unpin_version(version, &lease);
            return;
        }
        // Long scans may have all leases.
        let Ok(lease) = self.scene.forest.memory().lease() else { return };
        let lease = Arc::new(lease);
        let version = self.scene.forest.read_version();
        self.scene.accelerator.pin_version(version, &lease);
        // Version 0 cannot be named.
        self.held = (version > 0).then_some((version, lease));
    }

    fn submit(&mut self) {
        self.requests.clear();
        for _ in self.in_flight.len()..self.rng.random_range(1..IN_FLIGHT) {
            let question = self.question();
            let held = self.held.as_ref().map(|(version, _)| *version);
            let version = held.filter(|_| self.rng.random_bool(0.3));
            let identifier = self.next_identifier;
            let request = Request { identifier, table: 5, version, read: question.read() };
            self.requests.push(&request).unwrap();
            self.next_identifier += 1;
            let since = self.scene.answered.load(Ordering::SeqCst);
            let (read_version, value, pairs) = (None, None, Pairs::new());
            let asked =
                SubmittedRequest { question, version, since, read_version, value, pairs, more: false };
            self.in_flight.insert(identifier, asked);
        }
        let bytes = self.requests.bytes();
        assert_eq!(self.queue.submit(bytes), bytes.len(), "there is room for so few");
    }

    fn question(&mut self) -> Question {
        match self.rng.random_range(0..100) {
            0..70 => Question::Get(self.scene.key(&mut self.rng)),
            70..95 => {
                let bounds = Some(self.scene.range(&mut self.rng));
                let backward = self.rng.random_bool(0.4);
                let floor_start = !backward && self.rng.random_bool(0.4);
                Question::Scan { bounds, backward, floor_start, limit: self.rng.random_range(0..20) }
            }
            _ => {
                let (backward, limit) = (self.rng.random(), u32::MAX as usize);
                Question::Scan { bounds: None, backward, floor_start: false, limit }
            }
        }
    }

    fn poll(&mut self) -> usize {
        self.completions.clear();
        let in_flight = self.queue.poll(&mut self.completions);
        let released = self.scene.forest.read_version();
        let completions = std::mem::take(&mut self.completions);
        for completion in &completions {
            assert!(completion.read_version <= released, "{completion:?} with {released} released");
            self.take(&completion);
        }
        self.completions = completions;
        assert_eq!(in_flight, self.in_flight.len());
        in_flight
    }

    fn take(&mut self, completion: &Completion<'_>) {
        let mut asked = self.in_flight.remove(&completion.identifier).expect("asked and not answered");
        if completion.status == Status::VersionNotHeld {
            let held = self.held.as_ref().map(|(version, _)| *version);
            assert!(asked.version.is_some() && asked.version != held, "{asked:?} with {held:?} held");
            return;
        }
        asked.take(completion);
        if completion.continued {
            self.in_flight.insert(completion.identifier, asked);
            return;
        }
        self.scene.answered.fetch_max(completion.read_version, Ordering::SeqCst);
        self.answered.push(asked);
    }
}

impl SubmittedRequest {
    fn take(&mut self, part: &Completion<'_>) {
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

    /// Compares with the state at the version that was read.
    fn check(&self, model: &Model) {
        if let Question::Get(key) = &self.question {
            assert_eq!(self.value.as_ref(), model.get(key), "{self:?}");
            return;
        }
        let scan = self.question.scan();
        let mut expected = expected_scan(model, &Scan { limit: usize::MAX, ..scan });
        assert_eq!(self.more, expected.len() > scan.limit, "{self:?}");
        expected.truncate(scan.limit);
        assert_eq!(self.pairs, expected, "{self:?}");
    }
}

/// Replays what was written and compares each answer with the state at its version.
fn check(mut changes: Vec<(Version, Change)>, mut answers: Vec<SubmittedRequest>) {
    changes.sort_by_key(|(version, _)| *version);
    assert!(changes.is_sorted_by(|(a, _), (b, _)| a < b), "no two writes have one version");
    answers.sort_by_key(|asked| asked.read_version);
    let (mut model, mut answers) = (Model::new(), answers.into_iter().peekable());
    for (version, change) in changes {
        while let Some(asked) = answers.next_if(|asked| asked.read_version < Some(version)) {
            asked.check(&model);
        }
        replay(&mut model, change);
    }
    answers.for_each(|asked| asked.check(&model));
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

/// Runs one round, checks its history and verifies the forest. Returns how many operations it checked.
///
/// # Panics
/// If an answer is not linearizable or the forest is damaged.
pub fn run(round: &Round, seed: u64) -> usize {
    let tag_directory_bytes = some_directory(seed);
    let shape = Shape { tag_directory_bytes, ..tiny(round.log_bytes) };
    let forest = Arc::new(forest(shape, round.arena_bytes, true));
    let accelerator = round.backend.attach(&forest).unwrap();
    let root = forest.create_tree().unwrap();
    accelerator.set_root(5, Some(root));
    let scene = Scene {
        round,
        forest,
        accelerator,
        root,
        answered: AtomicU64::new(0),
        barrier: Barrier::new((round.writers + round.readers) as usize),
        writers_left: AtomicUsize::new(round.writers as usize),
    };
    let (changes, answers) = play(&scene, seed);
    let Scene { mut forest, accelerator, .. } = scene;
    drop(accelerator);
    let operations = changes.len() + answers.len();
    check(changes, answers);
    Arc::get_mut(&mut forest).unwrap().verify(&[root]).unwrap();
    operations
}

fn play(scene: &Scene<'_>, seed: u64) -> (Vec<(Version, Change)>, Vec<SubmittedRequest>) {
    let rng = |thread: u64| StdRng::seed_from_u64(seed.wrapping_mul(31).wrapping_add(thread));
    thread::scope(|scope| {
        let writers = (0..scene.round.writers).map(|thread| {
            let writer = Writer { scene, rng: rng(thread), number: thread << 40, changes: Vec::new() };
            scope.spawn(move || writer.run())
        });
        let readers = (0..scene.round.readers).map(|thread| {
            let reader = Reader {
                scene,
                rng: rng(1_000 + thread),
                queue: scene.accelerator.queue(),
                requests: Requests::default(),
                completions: Completions::default(),
                next_identifier: 0,
                in_flight: HashMap::new(),
                held: None,
                answered: Vec::new(),
            };
            scope.spawn(move || reader.run())
        });
        let (writers, readers): (Vec<_>, Vec<_>) = (writers.collect(), readers.collect());
        let changes = writers.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        let answers = readers.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        (changes, answers)
    })
}
