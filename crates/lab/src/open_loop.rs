//! Open loops: operations become due at predetermined times, whether or not the map keeps up.
//!
//! Each thread draws a Poisson process from the seed. Due operations execute in batches, and their latency
//! counts from their due time. So while a map stalls, all operations that become due are late, as for clients
//! that do not wait for each other.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use hdrhistogram::Histogram;
use honeycomb_workload::{Distribution, Stream, Workload};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::cores;
use crate::driver::Driver;
use crate::map::{Failure, OrderedMap};
use crate::slice::{Extent, Slice, in_threads};

/// The parameters of an open loop.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OpenLoop {
    /// The operations. Its limit is not used.
    pub slice: Slice,
    /// Operations due per second, over all threads.
    pub rate: f64,
    /// Duration of the measurement. A warm-up of a fifth of it comes first and does not count.
    pub time: Duration,
    /// The concurrent disturbance.
    pub disturbance: Disturbance,
}

/// Disturbance by two additional threads: one scans [`DISTURBING_SCAN`] pairs at a time, one inserts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Disturbance {
    /// No disturbance
    None,
    /// On any core that the operating system selects
    Anywhere,
    /// On the remaining cores, while each measured thread has its own core
    Apart,
}

impl Disturbance {
    /// Returns the disturbances for which this machine has enough cores.
    pub fn possible(threads: usize) -> Result<Vec<Disturbance>, Failure> {
        let mut possible = vec![Disturbance::None, Disturbance::Anywhere];
        possible.extend((cores::available()?.len() > threads).then_some(Disturbance::Apart));
        Ok(possible)
    }

    /// Returns its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Disturbance::None => "undisturbed",
            Disturbance::Anywhere => "during scans and inserts",
            Disturbance::Apart => "during scans and inserts on other cores",
        }
    }
}

/// Pairs of a disturbing scan.
pub const DISTURBING_SCAN: usize = 10_000;

/// The result of an open loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenLoopResult {
    /// Completed operations per second.
    pub rate: f64,
    /// Latencies in nanoseconds, with three significant digits, each with its number of operations.
    pub nanoseconds: Vec<(u64, u64)>,
}

impl OpenLoopResult {
    /// Returns the latencies as a histogram.
    pub fn histogram(&self) -> Result<Histogram<u64>, Failure> {
        let mut histogram = histogram()?;
        for &(nanoseconds, count) in &self.nanoseconds {
            histogram.record_n(nanoseconds, count)?;
        }
        Ok(histogram)
    }
}

/// Returns an empty histogram of nanoseconds with three significant digits.
pub fn histogram() -> Result<Histogram<u64>, Failure> {
    Ok(Histogram::new(3)?)
}

/// The role of a thread: its operations, and whether they are measured or disturb.
struct Role {
    workload: Workload,
    stream: Stream,
    /// Number of the measured thread; `None` for a disturbing thread.
    measured: Option<u64>,
    /// CPU affinity; empty for no affinity.
    cores: Vec<usize>,
}

/// The result of a thread.
struct ThreadResult {
    next_index: u64,
    rate: f64,
    latencies: Option<Histogram<u64>>,
}

impl OpenLoop {
    /// Runs the loop.
    pub fn run<M: OrderedMap>(&self, map: &M, extent: &mut Extent) -> Result<OpenLoopResult, Failure> {
        let roles = self.roles(extent)?;
        let (sizes, barrier, is_running) = (extent.sizes, Barrier::new(roles.len()), AtomicBool::new(true));
        let results = in_threads(roles, |role| {
            let driver = Driver::new(map, sizes, role.workload);
            let affinity = if role.cores.is_empty() { Ok(()) } else { cores::set_affinity(&role.cores) };
            barrier.wait();
            match role.measured {
                Some(thread) => {
                    let result = affinity.and_then(|()| self.measure(driver, role.stream, thread));
                    is_running.store(false, Ordering::Relaxed);
                    result
                }
                None => affinity.and_then(|()| disturb(driver, role.stream, &is_running)),
            }
        })?;
        extent.next_index = results.iter().map(|one| one.next_index).max().unwrap_or(extent.next_index);
        let mut all = histogram()?;
        for one in results.iter().filter_map(|one| one.latencies.as_ref()) {
            all.add(one)?;
        }
        let nanoseconds = all.iter_recorded().map(|one| (one.value_iterated_to(), one.count_at_value()));
        Ok(OpenLoopResult {
            rate: results.iter().map(|one| one.rate).sum(),
            nanoseconds: nanoseconds.collect(),
        })
    }

    /// Returns the roles, the measured threads first.
    fn roles(&self, extent: &Extent) -> Result<Vec<Role>, Failure> {
        let disturbing = [Workload::Scan(DISTURBING_SCAN), Workload::Insert];
        let disturbing = if self.disturbance == Disturbance::None { &[] } else { &disturbing[..] };
        let (threads, workload) = (self.slice.threads as u64, self.slice.workload);
        let role = |workload, stream, measured| Role { workload, stream, measured, cores: Vec::new() };
        let measured = self.slice.streams(extent, disturbing.len()).into_iter().zip(0..);
        let mut roles: Vec<Role> =
            measured.map(|(stream, thread)| role(workload, stream, Some(thread))).collect();
        roles.extend(disturbing.iter().zip(threads..).map(|(&workload, thread)| {
            let seed = honeycomb_workload::seed(self.slice.seed, [thread]);
            let stream = Stream::new(workload, Distribution::Uniform, extent.loaded, seed)
                .inserting(extent.next_index + thread, threads + disturbing.len() as u64);
            role(workload, stream, None)
        }));
        if self.disturbance == Disturbance::Apart {
            set_apart(&mut roles, self.slice.threads)?;
        }
        Ok(roles)
    }

    /// Executes the operations of one thread when they become due. The first sixth is the warm-up.
    fn measure<M: OrderedMap>(
        &self,
        mut driver: Driver<'_, M>,
        mut stream: Stream,
        thread: u64,
    ) -> Result<ThreadResult, Failure> {
        let (warm_up, mut latencies) = (self.time / 5, histogram()?);
        let (mut arrivals, start) = (self.arrivals(thread), Instant::now());
        let (mut now, mut operations, mut due) = (Duration::ZERO, Vec::new(), Vec::new());
        while arrivals.next < warm_up + self.time {
            // All due operations, or the next one, for which the loop waits.
            operations.clear();
            due.clear();
            while due.is_empty() || (arrivals.next <= now && due.len() < self.slice.batch) {
                due.push(arrivals.draw());
                operations.push(stream.draw());
            }
            while now < due[0] {
                now = start.elapsed();
            }
            driver.run(&operations)?;
            now = start.elapsed();
            for time in due.iter().filter(|due| **due >= warm_up) {
                latencies.record((now - *time).as_nanos() as u64)?;
            }
        }
        let rate = latencies.len() as f64 / (now.max(self.time + warm_up) - warm_up).as_secs_f64();
        Ok(ThreadResult { next_index: stream.next_index(), rate, latencies: Some(latencies) })
    }

    fn arrivals(&self, thread: u64) -> Arrivals {
        let seed = honeycomb_workload::seed(self.slice.seed, [thread, 0]);
        let seconds = self.slice.threads as f64 / self.rate;
        let mut arrivals = Arrivals { random: SmallRng::seed_from_u64(seed), seconds, next: Duration::ZERO };
        arrivals.draw();
        arrivals
    }
}

/// Pins each of the first `measured` threads to its own core, and the others to the remaining cores.
fn set_apart(roles: &mut [Role], measured: usize) -> Result<(), Failure> {
    let cores = cores::available()?;
    if cores.len() <= measured {
        let (needed, count) = (measured + 1, cores.len());
        return Err(format!("disturbance on other cores requires {needed} cores; {count} available").into());
    }
    for (number, role) in roles.iter_mut().enumerate() {
        role.cores = if number < measured { vec![cores[number]] } else { cores[measured..].to_vec() };
    }
    Ok(())
}

/// A Poisson process.
struct Arrivals {
    random: SmallRng,
    /// Mean time between arrivals.
    seconds: f64,
    next: Duration,
}

impl Arrivals {
    /// Returns the next due time.
    fn draw(&mut self) -> Duration {
        let due = self.next;
        // In (0, 1], so that the logarithm is finite.
        let uniform = 1.0 - self.random.random::<f64>();
        self.next += Duration::from_secs_f64(-uniform.ln() * self.seconds);
        due
    }
}

/// Executes operations while other threads are measured.
fn disturb<M: OrderedMap>(
    mut driver: Driver<'_, M>,
    mut stream: Stream,
    is_running: &AtomicBool,
) -> Result<ThreadResult, Failure> {
    while is_running.load(Ordering::Relaxed) {
        driver.one(stream.draw())?;
    }
    Ok(ThreadResult { next_index: stream.next_index(), rate: 0.0, latencies: None })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;
    use std::thread;

    use honeycomb_workload::Sizes;

    use super::*;
    use crate::map::Copied;
    use crate::slice::Limit;

    const TIME: Duration = Duration::from_millis(500);
    /// Operations per second. The warm-up of 100 ms contains 1,000 of them.
    const RATE: f64 = 10_000.0;
    const EXTENT: Extent = Extent { sizes: Sizes::DEFAULT, loaded: 1_000, next_index: 1_000 };

    fn open() -> OpenLoop {
        let (workload, distribution, limit) = (Workload::Get, Distribution::Uniform, Limit::Time(TIME));
        let slice = Slice { workload, distribution, threads: 1, batch: 1, limit, seed: 1 };
        OpenLoop { slice, rate: RATE, time: TIME, disturbance: Disturbance::None }
    }

    /// A map that stalls for 50 ms in its get number 3,000.
    struct StallingMap(AtomicU64);

    impl OrderedMap for StallingMap {
        type Items = Copied;

        fn insert(&self, _key: &[u8], _value: &[u8]) -> Result<(), Failure> {
            Err("no inserts expected".into())
        }

        fn update(&self, _key: &[u8], _value: &[u8]) -> Result<bool, Failure> {
            Err("no updates expected".into())
        }

        fn get(&self, _key: &[u8], _value: &mut Vec<u8>) -> Result<bool, Failure> {
            if self.0.fetch_add(1, Ordering::Relaxed) == 3_000 {
                thread::sleep(Duration::from_millis(50));
            }
            Ok(true)
        }

        fn scan(&self, _from: &[u8], _limit: usize, _items: &mut Copied) -> Result<usize, Failure> {
            Err("no scans expected".into())
        }
    }

    #[test]
    fn operations_that_become_due_during_a_stall_are_late() -> Result<(), Failure> {
        let mut extent = EXTENT;
        let latencies = open().run(&StallingMap(AtomicU64::new(0)), &mut extent)?.histogram()?;
        // 500 operations became due in that time. A closed loop would see one late operation.
        let late = latencies.len() - latencies.count_between(0, 1_000_000);
        assert!(late > 400, "{late}");
        assert!(latencies.max() >= 50_000_000);
        assert!((4_500..5_500).contains(&latencies.len()), "{}", latencies.len());
        assert_eq!(extent, EXTENT);
        Ok(())
    }

    #[test]
    fn disturbing_threads_run_on_other_cores() -> Result<(), Failure> {
        let apart = OpenLoop { disturbance: Disturbance::Apart, ..open() };
        let all = cores::available()?;
        if all.len() < 2 {
            let error = apart.roles(&EXTENT).map_or_else(|error| error.to_string(), |_| String::new());
            assert_eq!(error, "disturbance on other cores requires 2 cores; 1 available");
            return Ok(());
        }
        let cores: Vec<Vec<usize>> = apart.roles(&EXTENT)?.into_iter().map(|role| role.cores).collect();
        assert_eq!(cores, [all[..1].to_vec(), all[1..].to_vec(), all[1..].to_vec()]);
        let anywhere = OpenLoop { disturbance: Disturbance::Anywhere, ..open() };
        let roles = anywhere.roles(&EXTENT)?;
        assert!(roles.len() == 3 && roles.iter().all(|role| role.cores.is_empty()));
        Ok(())
    }

    #[test]
    fn arrivals_are_a_poisson_process() {
        let mut arrivals = open().arrivals(0);
        let mut counts = vec![0_u32; 10_000];
        while arrivals.next < Duration::from_secs(10) {
            counts[(arrivals.draw().as_secs_f64() * 1_000.0) as usize] += 1;
        }
        // Ten per millisecond. The variance equals the mean.
        let mean = f64::from(counts.iter().sum::<u32>()) / 10_000.0;
        let square = |count: &u32| (f64::from(*count) - mean).powi(2);
        let variance = counts.iter().map(square).sum::<f64>() / 10_000.0;
        assert!((mean - 10.0).abs() < 0.2 && (variance - 10.0).abs() < 0.7, "{mean} {variance}");
    }
}
