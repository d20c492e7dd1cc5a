//! One timed slice of a workload on a map that is loaded.

use std::iter;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use honeycomb_workload::{Distribution, Operation, Sizes, Stream, Workload};
use serde::{Deserialize, Serialize};

use crate::counters::{Counters, Counts};
use crate::driver::Driver;
use crate::map::{Failure, OrderedMap};

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
    /// How many operations of a thread run together; 1 is one at a time.
    pub batch: usize,
    /// When each of them ends; a fifth more is done before, to warm up, and is not counted.
    pub limit: Limit,
    /// Tells the operations of this slice from those of others.
    pub seed: u64,
}

/// What a slice measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Operations a second, all threads together.
    pub rate: f64,
    /// What the processor counted, where it can be read.
    pub counts: Option<Counts>,
}

/// The pairs of a map, by index: 0 to `loaded` - 1 are there, and none from `fresh` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// How long keys and values are.
    pub sizes: Sizes,
    /// How many pairs were loaded.
    pub loaded: u64,
    /// The first index that was never inserted.
    pub fresh: u64,
}

impl Slice {
    /// Does it.
    pub fn run<M: OrderedMap>(&self, map: &M, extent: &mut Extent) -> Result<Sample, Failure> {
        let barrier = Barrier::new(self.threads);
        let work = |stream| {
            let driver = Driver::new(map, extent.sizes, self.workload);
            let mut worker = Timed { driver, stream, counters: Counters::open().ok() };
            barrier.wait();
            worker.run(self.batch, self.limit.part(5))?;
            let sample = worker.run(self.batch, self.limit)?;
            Ok((sample, worker.stream.fresh()))
        };
        let results = in_threads(self.streams(extent, 0), work)?;
        extent.fresh = results.iter().map(|(_, fresh)| *fresh).max().unwrap_or(extent.fresh);
        let counts: Vec<Counts> = results.iter().filter_map(|(sample, _)| sample.counts).collect();
        let rate = results.iter().map(|(sample, _)| sample.rate).sum();
        Ok(Sample { rate, counts: Counts::median(&counts) })
    }

    /// The operations of each thread, if `others` threads insert beside them.
    pub fn streams(&self, extent: &Extent, others: usize) -> Vec<Stream> {
        let stream = |thread: usize| {
            let seed = honeycomb_workload::seed(self.seed, [thread as u64]);
            Stream::new(self.workload, self.distribution, extent.loaded, seed)
                .inserting(extent.fresh + thread as u64, (self.threads + others) as u64)
        };
        (0..self.threads).map(stream).collect()
    }
}

/// Inserts the next `pairs` pairs in index order, which is a random order of keys. Operations a second.
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
    *extent = Extent { sizes, loaded: end, fresh: end };
    Ok(rate)
}

/// Calls `work` with each of `inputs` in a thread of its own.
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

/// Operations drawn at a time, while the clock stands still: few enough to leave the caches to the map.
const DRAWN: usize = 256;

/// One thread of a slice.
struct Timed<'m, M: OrderedMap> {
    driver: Driver<'m, M>,
    stream: Stream,
    counters: Option<Counters>,
}

impl<M: OrderedMap> Timed<'_, M> {
    /// Operations until the limit.
    fn run(&mut self, batch: usize, limit: Limit) -> Result<Sample, Failure> {
        let (mut operations, mut time) = (0, Duration::ZERO);
        let mut drawn = Vec::new();
        while !limit.is_reached(operations, time) {
            drawn.clear();
            drawn.extend(iter::repeat_with(|| self.stream.draw()).take(DRAWN.next_multiple_of(batch)));
            self.counters.as_mut().map_or(Ok(()), Counters::start)?;
            let start = Instant::now();
            for together in drawn.chunks(batch) {
                self.driver.run(together)?;
            }
            time += start.elapsed();
            self.counters.as_mut().map_or(Ok(()), Counters::stop)?;
            operations += drawn.len() as u64;
        }
        let counts = self.counters.as_mut().map(|counters| counters.take(operations)).transpose()?;
        Ok(Sample { rate: operations as f64 / time.as_secs_f64(), counts })
    }
}
