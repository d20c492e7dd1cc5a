//! Executes a plan with a worker process for each map. All workers execute a step before the next step
//! begins.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use honeycomb_workload::{Distribution, Sizes, Workload};
use indicatif::ProgressBar;

use crate::access_stats::{self, AccessStats};
use crate::adapters::{Contents, Nothing, Peer};
use crate::cores::count_threads;
use crate::counters::{Counters, Counts};
use crate::limits::{self, Limits};
use crate::machine::Machine;
use crate::map::Failure;
use crate::open_loop::{self, Disturbance, OpenLoop};
use crate::plan::{Group, Plan, Step};
use crate::progress;
use crate::report::{
    FailedPeer, Latency, Measurement, MemoryUse, Moment, Overhead, Report, Setup, Skipped, Subject,
};
use crate::slice::{Extent, Limit, Sample, Slice};
use crate::summary::{Summary, median};
use crate::worker::Worker;

/// Executes a plan. Limits the memory of all loaded maps to approximately `memory_bytes`.
pub fn run(plan: Plan, memory_bytes: u64, revision: Option<String>) -> Result<Report, Failure> {
    plan.check()?;
    let groups = plan.groups(memory_bytes)?;
    let skipped = skipped(&plan);
    let setup = setup(plan, revision)?;
    let mut run = PlanRun::new(&setup.plan, &groups);
    for (number, group) in groups.iter().enumerate() {
        run.limits(group.contents)?;
        run.group(number + 1, group)?;
        run.limits(group.contents)?;
    }
    let access_stats = if setup.plan.access_stats { run.access_stats(&groups)? } else { Vec::new() };
    run.progress.finish_and_clear();
    run.memory.sort_by_key(|one| (one.group, one.peer, one.moment));
    let measurements = run.samples.into_iter().map(|(subject, samples)| {
        let counts = samples.iter().filter_map(|sample| sample.counts).collect::<Vec<_>>();
        let samples = rates(&samples);
        let summary = Summary::of(&samples);
        Measurement { subject, summary, counts: Counts::median(&counts), samples }
    });
    Ok(Report {
        measurements: measurements.collect(),
        latencies: run.latencies.into_iter().map(|(due, latencies)| latencies.summary(due)).collect(),
        limits: run.limits,
        memory: run.memory,
        access_stats,
        skipped,
        failures: run.failures,
        setup,
    })
}

fn rates(samples: &[Sample]) -> Vec<f64> {
    samples.iter().map(|sample| sample.rate).collect()
}

fn skipped(plan: &Plan) -> Vec<Skipped> {
    let pairs = plan.sizes.iter().flat_map(|sizes| plan.peers.iter().map(move |peer| (*peer, *sizes)));
    let skipped = |(peer, sizes): (Peer, Sizes)| -> Option<Skipped> {
        let reason = peer.unsupported(sizes)?.to_string();
        Some(Skipped { peer, sizes, reason })
    };
    pairs.filter_map(skipped).collect()
}

fn setup(plan: Plan, revision: Option<String>) -> Result<Setup, Failure> {
    let mut overheads = Vec::new();
    for &sizes in &plan.sizes {
        for &distribution in &plan.distributions {
            overheads.push(overhead(sizes, distribution, plan.pairs[0])?);
        }
    }
    Ok(Setup {
        date: jiff::Timestamp::now().to_string(),
        revision,
        overhead: overheads,
        no_counters: Counters::open().err().map(|failure| failure.to_string()),
        plan,
        machine: Machine::current()?,
    })
}

fn overhead(sizes: Sizes, distribution: Distribution, pairs: u64) -> Result<Overhead, Failure> {
    let limit = Limit::Time(Duration::from_millis(20));
    let slice = Slice { workload: Workload::Get, distribution, threads: 1, batch: 1, limit, seed: 0 };
    let sample = slice.run(&Nothing, &mut Extent { sizes, loaded: pairs, next_index: pairs })?;
    Ok(Overhead { sizes, distribution, nanoseconds: 1e9 / sample.rate })
}

struct PlanRun<'p> {
    plan: &'p Plan,
    progress: ProgressBar,
    samples: BTreeMap<Subject, Vec<Sample>>,
    /// Maximum operations per second in an open loop.
    saturated: BTreeMap<Subject, f64>,
    latencies: BTreeMap<OpenSubject, Latencies>,
    limits: Vec<Limits>,
    memory: Vec<MemoryUse>,
    failures: Vec<FailedPeer>,
}

/// Identifies the operations of an open loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct OpenSubject {
    subject: Subject,
    load: u32,
    disturbance: Disturbance,
}

/// Latencies of an open loop over all repetitions.
struct Latencies {
    nanoseconds: Histogram<u64>,
    due: Vec<f64>,
    done: Vec<f64>,
}

impl Latencies {
    fn summary(&self, due: OpenSubject) -> Latency {
        let at = |quantile| self.nanoseconds.value_at_quantile(quantile);
        Latency {
            subject: due.subject,
            load: due.load,
            disturbance: due.disturbance,
            due: median(&self.due),
            done: median(&self.done),
            count: self.nanoseconds.len(),
            mean: self.nanoseconds.mean(),
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: self.nanoseconds.max(),
        }
    }
}

impl PlanRun<'_> {
    fn new<'p>(plan: &'p Plan, groups: &[Group]) -> PlanRun<'p> {
        let steps = |group: &Group| group.peers.len() * plan.steps(group.contents.pairs).len();
        let progress = progress::bar(groups.iter().map(steps).sum());
        let (samples, saturated, latencies, limits, memory, failures) = Default::default();
        PlanRun { plan, progress, samples, saturated, latencies, limits, memory, failures }
    }

    /// Measures the machine. This happens before and after the maps, because a disturbance rarely affects
    /// both measurements.
    fn limits(&mut self, contents: Contents) -> Result<(), Failure> {
        self.progress.set_message("limits of the machine");
        let Contents { pairs, sizes } = contents;
        let (threads, time) = (self.plan.threads.clone(), self.plan.slice / 5);
        let request = limits::Request { pairs, sizes, threads, time };
        for new in request.run_in_process()? {
            let key = |limits: &Limits| (limits.pairs, limits.sizes, limits.threads);
            match self.limits.iter_mut().find(|known| key(known) == key(&new)) {
                Some(known) => *known = new.better(known),
                None => self.limits.push(new),
            }
        }
        Ok(())
    }

    /// Loads the maps of a group and executes all steps. Each step rotates the order of the maps, so that the
    /// first map changes.
    fn group(&mut self, number: usize, group: &Group) -> Result<(), Failure> {
        let Contents { pairs, sizes } = group.contents;
        let contents = Contents { pairs: self.plan.pairs_max(pairs), sizes };
        let mut workers = Vec::new();
        for peer in &group.peers {
            match Worker::start(*peer, contents) {
                Ok(worker) => workers.push(worker),
                Err(failure) => self.failed(worker_failure(*peer, "start", &failure)),
            }
        }
        for step in self.plan.steps(pairs) {
            workers.retain_mut(|worker| {
                self.progress.set_message(format!("{}: {}", worker.peer, step.name()));
                let result = self.step(number, group.contents, worker, &step);
                self.progress.inc(1);
                let failed = |failure| self.failed(worker_failure(worker.peer, &step.name(), &failure));
                result.map_err(failed).is_ok()
            });
            let first = 1.min(workers.len());
            workers.rotate_left(first);
        }
        if workers.is_empty() { Err("all maps failed".into()) } else { Ok(()) }
    }

    fn step(
        &mut self,
        group: usize,
        contents: Contents,
        worker: &mut Worker,
        step: &Step,
    ) -> Result<(), Failure> {
        let peer = worker.peer;
        let Contents { pairs, sizes } = contents;
        let subject = |slice: &Slice| {
            let Slice { workload, distribution, threads, batch, .. } = *slice;
            Subject { group, pairs, sizes, threads, batch, distribution, workload, peer }
        };
        match step {
            Step::Load { pairs: next, threads } => {
                let (distribution, workload) = (Distribution::Uniform, Workload::Load);
                let subject = Subject {
                    group,
                    pairs,
                    sizes,
                    threads: *threads,
                    batch: 1,
                    distribution,
                    workload,
                    peer,
                };
                let sample = worker.load(*next, *threads)?;
                self.samples.entry(subject).or_default().push(sample);
            }
            Step::Run(slice) => {
                let sample = worker.run(slice)?;
                self.samples.entry(subject(slice)).or_default().push(sample);
            }
            Step::Saturate(open) => self.saturate(subject(&open.slice), worker, open)?,
            Step::Open { open, load } => self.open(subject(&open.slice), worker, open, *load)?,
            Step::Memory(moment) => {
                self.memory.push(MemoryUse { group, peer, moment: *moment, memory: worker.memory()? });
            }
        }
        Ok(())
    }

    /// Measures the maximum rate in an open loop, at twice the rate of the closed loop.
    fn saturate(&mut self, subject: Subject, worker: &mut Worker, open: &OpenLoop) -> Result<(), Failure> {
        let rate = 2.0 * self.samples.get(&subject).map_or(0.0, |samples| median(&rates(samples)));
        let rate = worker.open(&OpenLoop { rate, ..open.clone() })?.rate;
        self.saturated.insert(subject, rate);
        Ok(())
    }

    /// Runs an open loop at a share of its maximum rate.
    fn open(
        &mut self,
        subject: Subject,
        worker: &mut Worker,
        open: &OpenLoop,
        load: u32,
    ) -> Result<(), Failure> {
        let rate = self.saturated.get(&subject).copied().unwrap_or(0.0) * f64::from(load) / 100.0;
        let result = worker.open(&OpenLoop { rate, ..open.clone() })?;
        let due = OpenSubject { subject, load, disturbance: open.disturbance };
        let none = Latencies { nanoseconds: open_loop::histogram()?, due: Vec::new(), done: Vec::new() };
        let latencies = self.latencies.entry(due).or_insert(none);
        latencies.nanoseconds.add(result.histogram()?)?;
        latencies.due.push(rate);
        latencies.done.push(result.rate);
        Ok(())
    }

    /// Collects the access statistics of all Honeycombs of these groups.
    fn access_stats(&mut self, groups: &[Group]) -> Result<Vec<AccessStats>, Failure> {
        let of_group = |group: &Group| group.peers.iter().map(|peer| (*peer, group.contents)).collect();
        let mut maps: Vec<(Peer, Contents)> = groups.iter().flat_map::<Vec<_>, _>(of_group).collect();
        maps.sort_unstable();
        maps.dedup();
        self.progress.set_message("access statistics");
        maps.into_iter()
            .filter_map(|(peer, contents)| access_stats::collect(peer, contents).transpose())
            .collect()
    }

    fn failed(&mut self, failed: FailedPeer) {
        self.progress.println(format!("{} failed: {}", failed.peer, failed.reason));
        self.failures.push(failed);
    }
}

fn worker_failure(peer: Peer, step: &str, failure: &Failure) -> FailedPeer {
    FailedPeer { peer, reason: format!("{step}: {failure}") }
}

impl Step {
    fn name(&self) -> String {
        match self {
            Step::Load { threads, .. } => format!("load, {}", count_threads(*threads)),
            Step::Memory(Moment::Loaded) => "memory when loaded".into(),
            Step::Memory(Moment::End) => "memory at the end".into(),
            Step::Run(slice) => slice.name(),
            Step::Saturate(open) => format!("{} at the maximum rate", open.slice.name()),
            Step::Open { open, load } => format!("{} at {load} %", open.slice.name()),
        }
    }
}

impl Slice {
    fn name(&self) -> String {
        let Slice { workload, distribution, threads, batch, .. } = self;
        format!("{workload}, {}, {}, batch {batch}", distribution.name(), count_threads(*threads))
    }
}
