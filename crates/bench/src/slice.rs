//! One timed slice of a workload on a map that is loaded.

use std::hint::black_box;
use std::iter;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::keys;
use crate::map::{Failure, OrderedMap};
use crate::workload::{self, Distribution, Operation, Stream, Workload};

/// When a slice ends, for each of its threads.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Limit {
    /// After this time in operations.
    Time(Duration),
    /// After this many operations.
    Operations(u64),
}

/// What a slice does.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Slice {
    /// The mix of operations.
    pub workload: Workload,
    /// Which pairs they choose.
    pub distribution: Distribution,
    /// How many threads do it.
    pub threads: usize,
    /// When each of them ends; a fifth more is done before, to warm up, and is not counted.
    pub limit: Limit,
    /// Tells the operations of this slice from those of others.
    pub seed: u64,
}

/// The pairs of a map, by index: 0 to `loaded` - 1 are there, and none from `fresh` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// How many pairs were loaded.
    pub loaded: u64,
    /// The first index that was never inserted.
    pub fresh: u64,
}

impl Slice {
    /// Does it. Operations a second, all threads together.
    pub fn run<M: OrderedMap>(&self, map: &M, extent: &mut Extent) -> Result<f64, Failure> {
        let barrier = Barrier::new(self.threads);
        let stream = |thread: usize| {
            let seed = workload::seed(self.seed, [thread as u64]);
            Stream::new(self.workload, self.distribution, extent.loaded, seed)
                .inserting(extent.fresh + thread as u64, self.threads as u64)
        };
        let streams: Vec<Stream> = (0..self.threads).map(stream).collect();
        let work = |stream| {
            let mut driver = Driver::new(map, stream);
            barrier.wait();
            driver.drive(self.limit.part(5))?;
            let rate = driver.drive(self.limit)?;
            Ok((rate, driver.stream.fresh()))
        };
        let results = in_threads(streams, work)?;
        extent.fresh = results.iter().map(|(_, fresh)| *fresh).max().unwrap_or(extent.fresh);
        Ok(results.iter().map(|(rate, _)| rate).sum())
    }
}

/// Inserts the next `pairs` pairs in index order, which is a random order of keys. Operations a second.
pub fn load<M: OrderedMap>(map: &M, extent: &mut Extent, pairs: u64, threads: usize) -> Result<f64, Failure> {
    let (first, end) = (extent.loaded, extent.loaded + pairs);
    let insert_every = |thread: usize| {
        let indices = (first + thread as u64..end).step_by(threads);
        indices.into_iter().try_for_each(|index| map.insert(&keys::key(index), &keys::value(index, 0)))
    };
    let start = Instant::now();
    in_threads((0..threads).collect(), insert_every)?;
    let rate = pairs as f64 / start.elapsed().as_secs_f64();
    *extent = Extent { loaded: end, fresh: end };
    Ok(rate)
}

/// Calls `work` with each of `inputs` in a thread of its own.
fn in_threads<I: Send, O: Send>(
    inputs: Vec<I>,
    work: impl Fn(I) -> Result<O, Failure> + Sync,
) -> Result<Vec<O>, Failure> {
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> = inputs.into_iter().map(|input| scope.spawn(move || work(input))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err("panicked".into()))).collect()
    })
}

impl Limit {
    fn part(self, divisor: u32) -> Limit {
        match self {
            Limit::Time(time) => Limit::Time(time / divisor),
            Limit::Operations(count) => Limit::Operations(count / u64::from(divisor)),
        }
    }

    fn is_reached(self, operations: u64, time: Duration) -> bool {
        match self {
            Limit::Time(limit) => time >= limit,
            Limit::Operations(limit) => operations >= limit,
        }
    }
}

/// Operations drawn at a time, while the clock stands still: few enough to leave the caches to the map.
const BATCH: usize = 256;

/// One thread's hold on a map.
struct Driver<'m, M: OrderedMap> {
    map: &'m M,
    stream: Stream,
    batch: Vec<Operation>,
    value: Vec<u8>,
    items: M::Items,
}

impl<'m, M: OrderedMap> Driver<'m, M> {
    fn new(map: &'m M, stream: Stream) -> Driver<'m, M> {
        Driver { map, stream, batch: Vec::new(), value: Vec::new(), items: M::Items::default() }
    }

    /// Operations until the limit; how many a second.
    fn drive(&mut self, limit: Limit) -> Result<f64, Failure> {
        let (mut operations, mut time) = (0, Duration::ZERO);
        while !limit.is_reached(operations, time) {
            self.batch.clear();
            self.batch.extend(iter::repeat_with(|| self.stream.draw()).take(BATCH));
            let start = Instant::now();
            for place in 0..BATCH {
                self.step(self.batch[place])?;
            }
            time += start.elapsed();
            operations += BATCH as u64;
        }
        Ok(operations as f64 / time.as_secs_f64())
    }

    /// One operation. All pairs asked for are there: a map that does not find one is broken.
    fn step(&mut self, operation: Operation) -> Result<(), Failure> {
        let found = match operation {
            Operation::Get(index) => self.map.get(&keys::key(index), &mut self.value)?,
            Operation::Update { index, change } => {
                self.map.update(&keys::key(index), &keys::value(index, change))?
            }
            Operation::Insert(index) => {
                self.map.insert(&keys::key(index), &keys::value(index, 0))?;
                true
            }
            Operation::Scan { index, limit } => self.map.scan(&keys::key(index), limit, &mut self.items)? > 0,
        };
        black_box((&self.value, &self.items));
        if found { Ok(()) } else { Err(format!("{operation:?} did not find its pair").into()) }
    }
}
