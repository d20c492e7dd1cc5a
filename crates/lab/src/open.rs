//! A slice as an open loop: operations are due at times drawn beforehand, whether the map keeps up or not.
//!
//! Each thread draws its own Poisson process from the seed. What is due runs, up to a batch of it together,
//! and its latency counts from when it was due: a map that stops for a while makes all that came due
//! meanwhile late, as it would for clients that do not wait for each other.

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

/// What an open loop does.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Open {
    /// The operations; its limit does not count.
    pub slice: Slice,
    /// Operations due a second, all threads together.
    pub rate: f64,
    /// For how long operations come due; a fifth more comes due before, to warm up, and is not counted.
    pub time: Duration,
    /// What goes on beside.
    pub disturbance: Disturbance,
}

/// Whether one more thread scans [`DISTURBING_SCAN`] pairs at a time, and another inserts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Disturbance {
    /// No
    None,
    /// On whatever cores the operating system gives all of them
    Anywhere,
    /// On the cores that are left when each thread that is measured has one for itself
    Apart,
}

impl Disturbance {
    /// Those that this machine has cores for.
    pub fn possible(threads: usize) -> Result<Vec<Disturbance>, Failure> {
        let mut possible = vec![Disturbance::None, Disturbance::Anywhere];
        possible.extend((cores::available()?.len() > threads).then_some(Disturbance::Apart));
        Ok(possible)
    }

    /// What tables say of it.
    pub fn name(self) -> &'static str {
        match self {
            Disturbance::None => "undisturbed",
            Disturbance::Anywhere => "beside scans and inserts",
            Disturbance::Apart => "beside scans and inserts on other cores",
        }
    }
}

/// Pairs of the scans that disturb.
pub const DISTURBING_SCAN: usize = 10_000;

/// How late operations were.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lateness {
    /// Operations a second that were done.
    pub rate: f64,
    /// Nanoseconds from due to done, each with the number of operations; exact to three digits.
    pub nanoseconds: Vec<(u64, u64)>,
}

impl Lateness {
    /// All of it as a histogram.
    pub fn histogram(&self) -> Result<Histogram<u64>, Failure> {
        let mut histogram = histogram()?;
        for &(nanoseconds, count) in &self.nanoseconds {
            histogram.record_n(nanoseconds, count)?;
        }
        Ok(histogram)
    }
}

/// Nanoseconds to three digits; it grows as far as it must.
pub fn histogram() -> Result<Histogram<u64>, Failure> {
    Ok(Histogram::new(3)?)
}

/// What one thread does: its operations, and whether they are measured or only disturb.
struct Role {
    workload: Workload,
    stream: Stream,
    /// The thread's number among those that are measured.
    measured: Option<u64>,
    /// The cores it stays on; none if it goes wherever it is sent.
    cores: Vec<usize>,
}

/// What came of it.
struct Done {
    fresh: u64,
    rate: f64,
    lateness: Option<Histogram<u64>>,
}

impl Open {
    /// Does it.
    pub fn run<M: OrderedMap>(&self, map: &M, extent: &mut Extent) -> Result<Lateness, Failure> {
        let roles = self.roles(extent)?;
        let (sizes, barrier, goes_on) = (extent.sizes, Barrier::new(roles.len()), AtomicBool::new(true));
        let done = in_threads(roles, |role| {
            let driver = Driver::new(map, sizes, role.workload);
            let placed = if role.cores.is_empty() { Ok(()) } else { cores::stay_on(&role.cores) };
            barrier.wait();
            match role.measured {
                Some(thread) => {
                    let done = placed.and_then(|()| self.measure(driver, role.stream, thread));
                    goes_on.store(false, Ordering::Relaxed);
                    done
                }
                None => placed.and_then(|()| disturb(driver, role.stream, &goes_on)),
            }
        })?;
        extent.fresh = done.iter().map(|one| one.fresh).max().unwrap_or(extent.fresh);
        let mut all = histogram()?;
        for one in done.iter().filter_map(|one| one.lateness.as_ref()) {
            all.add(one)?;
        }
        let nanoseconds = all.iter_recorded().map(|one| (one.value_iterated_to(), one.count_at_value()));
        Ok(Lateness { rate: done.iter().map(|one| one.rate).sum(), nanoseconds: nanoseconds.collect() })
    }

    /// Those that are measured come first.
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
                .inserting(extent.fresh + thread, threads + disturbing.len() as u64);
            role(workload, stream, None)
        }));
        if self.disturbance == Disturbance::Apart {
            set_apart(&mut roles, self.slice.threads)?;
        }
        Ok(roles)
    }

    /// The operations of one thread as they come due; those of the first sixth warm up.
    fn measure<M: OrderedMap>(
        &self,
        mut driver: Driver<'_, M>,
        mut stream: Stream,
        thread: u64,
    ) -> Result<Done, Failure> {
        let (warm_up, mut lateness) = (self.time / 5, histogram()?);
        let (mut arrivals, start) = (self.arrivals(thread), Instant::now());
        let (mut now, mut drawn, mut due) = (Duration::ZERO, Vec::new(), Vec::new());
        while arrivals.next < warm_up + self.time {
            // What is due, but at least the next, which is waited for.
            drawn.clear();
            due.clear();
            while due.is_empty() || (arrivals.next <= now && due.len() < self.slice.batch) {
                due.push(arrivals.draw());
                drawn.push(stream.draw());
            }
            while now < due[0] {
                now = start.elapsed();
            }
            driver.run(&drawn)?;
            now = start.elapsed();
            for time in due.iter().filter(|due| **due >= warm_up) {
                lateness.record((now - *time).as_nanos() as u64)?;
            }
        }
        let rate = lateness.len() as f64 / (now.max(self.time + warm_up) - warm_up).as_secs_f64();
        Ok(Done { fresh: stream.fresh(), rate, lateness: Some(lateness) })
    }

    fn arrivals(&self, thread: u64) -> Arrivals {
        let seed = honeycomb_workload::seed(self.slice.seed, [thread, 0]);
        let seconds = self.slice.threads as f64 / self.rate;
        let mut arrivals = Arrivals { random: SmallRng::seed_from_u64(seed), seconds, next: Duration::ZERO };
        arrivals.draw();
        arrivals
    }
}

/// Gives each of the first `measured` threads a core for itself, and the others those that are left.
fn set_apart(roles: &mut [Role], measured: usize) -> Result<(), Failure> {
    let cores = cores::available()?;
    if cores.len() <= measured {
        let (needed, count) = (measured + 1, cores.len());
        return Err(format!("to be disturbed apart takes {needed} cores, and there are {count}").into());
    }
    for (number, role) in roles.iter_mut().enumerate() {
        role.cores = if number < measured { vec![cores[number]] } else { cores[measured..].to_vec() };
    }
    Ok(())
}

/// A Poisson process.
struct Arrivals {
    random: SmallRng,
    /// Mean time from one to the next.
    seconds: f64,
    next: Duration,
}

impl Arrivals {
    /// When the next is due.
    fn draw(&mut self) -> Duration {
        let due = self.next;
        // In (0, 1], so that the logarithm is finite.
        let even = 1.0 - self.random.random::<f64>();
        self.next += Duration::from_secs_f64(-even.ln() * self.seconds);
        due
    }
}

/// Operations one after the other for as long as others are measured.
fn disturb<M: OrderedMap>(
    mut driver: Driver<'_, M>,
    mut stream: Stream,
    goes_on: &AtomicBool,
) -> Result<Done, Failure> {
    while goes_on.load(Ordering::Relaxed) {
        driver.one(stream.draw())?;
    }
    Ok(Done { fresh: stream.fresh(), rate: 0.0, lateness: None })
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
    /// Operations a second: a fifth of a thousand milliseconds warms up, so 1,000 do not count.
    const RATE: f64 = 10_000.0;
    const EXTENT: Extent = Extent { sizes: Sizes::DEFAULT, loaded: 1_000, fresh: 1_000 };

    fn open() -> Open {
        let (workload, distribution, limit) = (Workload::Get, Distribution::Uniform, Limit::Time(TIME));
        let slice = Slice { workload, distribution, threads: 1, batch: 1, limit, seed: 1 };
        Open { slice, rate: RATE, time: TIME, disturbance: Disturbance::None }
    }

    /// Stops for 50 ms in its get number 3,000.
    struct Stops(AtomicU64);

    impl OrderedMap for Stops {
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
    fn what_came_due_while_the_map_stopped_is_late() -> Result<(), Failure> {
        let mut extent = EXTENT;
        let lateness = open().run(&Stops(AtomicU64::new(0)), &mut extent)?.histogram()?;
        // 500 came due in that time; a closed loop would see one late operation.
        let late = lateness.len() - lateness.count_between(0, 1_000_000);
        assert!(late > 400, "{late}");
        assert!(lateness.max() >= 50_000_000);
        assert!((4_500..5_500).contains(&lateness.len()), "{}", lateness.len());
        assert_eq!(extent, EXTENT);
        Ok(())
    }

    #[test]
    fn those_that_disturb_apart_are_on_other_cores() -> Result<(), Failure> {
        let apart = Open { disturbance: Disturbance::Apart, ..open() };
        let all = cores::available()?;
        if all.len() < 2 {
            let refused = apart.roles(&EXTENT).map_or_else(|error| error.to_string(), |_| String::new());
            assert_eq!(refused, "to be disturbed apart takes 2 cores, and there are 1");
            return Ok(());
        }
        let cores: Vec<Vec<usize>> = apart.roles(&EXTENT)?.into_iter().map(|role| role.cores).collect();
        assert_eq!(cores, [all[..1].to_vec(), all[1..].to_vec(), all[1..].to_vec()]);
        let anywhere = Open { disturbance: Disturbance::Anywhere, ..open() };
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
        // Ten a millisecond, and as large a variance.
        let mean = f64::from(counts.iter().sum::<u32>()) / 10_000.0;
        let square = |count: &u32| (f64::from(*count) - mean).powi(2);
        let variance = counts.iter().map(square).sum::<f64>() / 10_000.0;
        assert!((mean - 10.0).abs() < 0.2 && (variance - 10.0).abs() < 0.7, "{mean} {variance}");
    }
}
