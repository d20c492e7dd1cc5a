//! A timed slice of a workload on a loaded map.

use std::sync::Barrier;
use std::time::{Duration, Instant};
use std::{iter, thread};

use honeycomb_workload::{Distribution, Operation, Sizes, Stream, Workload};
use serde::{Deserialize, Serialize};

use crate::counters::{Counters, Counts};
use crate::driver::Driver;
use crate::map::{Failure, OrderedMap};

/// The end of a slice, for each of its threads.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Limit {
    /// After this time in operations, without their generation.
    Time(Duration),
    /// After this many operations.
    Operations(u64),
}

/// The parameters of a slice.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Slice {
    /// The mix of operations.
    pub workload: Workload,
    /// The distribution of the pairs that they choose.
    pub distribution: Distribution,
    /// Number of threads.
    pub threads: usize,
    /// Operations of a thread that execute together; 1 for single operations.
    pub batch: usize,
    /// The end of each thread. A warm-up of a fifth of the limit comes first and does not count.
    pub limit: Limit,
    /// Seed of the operations.
    pub seed: u64,
}

/// The result of a slice.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Operations per second, over all threads.
    pub rate: f64,
    /// Hardware counts, where available.
    pub counts: Option<Counts>,
}

/// The pairs of a map, by index. The pairs 0 to `loaded` - 1 exist, and the pairs from `next_index` on do
/// not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Sizes of keys and values.
    pub sizes: Sizes,
    /// Number of loaded pairs.
    pub loaded: u64,
    /// Index of the next pair to insert.
    pub next_index: u64,
}

impl Slice {
    /// Executes the slice.
    pub fn run<M: OrderedMap>(&self, map: &M, extent: &mut Extent) -> Result<Sample, Failure> {
        let barrier = Barrier::new(self.threads);
        let work = |stream| {
            let driver = Driver::new(map, extent.sizes, self.workload);
            let mut worker = SliceThread { driver, stream, counters: Counters::open().ok() };
            barrier.wait();
            worker.run(self.batch, self.limit.part(5))?;
            let sample = worker.run(self.batch, self.limit)?;
            Ok((sample, worker.stream.next_index()))
        };
        let results = in_threads(self.streams(extent, 0), work)?;
        extent.next_index = results.iter().map(|(_, next)| *next).max().unwrap_or(extent.next_index);
        let counts: Vec<Counts> = results.iter().filter_map(|(sample, _)| sample.counts).collect();
        let rate = results.iter().map(|(sample, _)| sample.rate).sum();
        Ok(Sample { rate, counts: Counts::median(&counts) })
    }

    /// Returns the operations of each thread, while `others` more threads insert.
    pub fn streams(&self, extent: &Extent, others: usize) -> Vec<Stream> {
        let stream = |thread: usize| {
            let seed = honeycomb_workload::seed(self.seed, [thread as u64]);
            Stream::new(self.workload, self.distribution, extent.loaded, seed)
                .inserting(extent.next_index + thread as u64, (self.threads + others) as u64)
        };
        (0..self.threads).map(stream).collect()
    }
}

/// Inserts the next `pairs` pairs in index order, which is a random order of keys. Returns the operations per
/// second.
pub fn load<M: OrderedMap>(map: &M, extent: &mut Extent, pairs: u64, threads: usize) -> Result<f64, Failure> {
    let (sizes, first, end) = (extent.sizes, extent.loaded, extent.loaded + pairs);
    let insert_every = |thread: usize| {
        let mut driver = Driver::new(map, sizes, Workload::Load);
        let mut indices = (first + thread as u64..end).step_by(threads);
        indices.try_for_each(|index| driver.one(Operation::Insert(index)))
    };
    let start = Instant::now();
    in_threads((0..threads).collect(), insert_every)?;
    let rate = pairs as f64 / start.elapsed().as_secs_f64();
    *extent = Extent { sizes, loaded: end, next_index: end };
    Ok(rate)
}

/// Calls `work` for each input in a separate thread.
pub fn in_threads<I: Send, O: Send>(
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

/// Operations that are generated together, while the clock is stopped. They are few, so that they do not
/// displace the map from the caches.
const GENERATED: usize = 256;

/// One thread of a slice.
struct SliceThread<'m, M: OrderedMap> {
    driver: Driver<'m, M>,
    stream: Stream,
    counters: Option<Counters>,
}

impl<M: OrderedMap> SliceThread<'_, M> {
    /// Executes operations until the limit.
    fn run(&mut self, batch: usize, limit: Limit) -> Result<Sample, Failure> {
        let (mut count, mut time) = (0, Duration::ZERO);
        let mut operations = Vec::new();
        while !limit.is_reached(count, time) {
            operations.clear();
            operations
                .extend(iter::repeat_with(|| self.stream.draw()).take(GENERATED.next_multiple_of(batch)));
            self.counters.as_mut().map_or(Ok(()), Counters::start)?;
            let start = Instant::now();
            for together in operations.chunks(batch) {
                self.driver.run(together)?;
            }
            time += start.elapsed();
            self.counters.as_mut().map_or(Ok(()), Counters::stop)?;
            count += operations.len() as u64;
        }
        let counts = self.counters.as_mut().map(|counters| counters.read_and_reset(count)).transpose()?;
        Ok(Sample { rate: count as f64 / time.as_secs_f64(), counts })
    }
}
