//! Runs a plan: a worker for each map, all workers in turn at each step.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use honeycomb_workload::{Distribution, Sizes, Workload};
use indicatif::{ProgressBar, ProgressStyle};

use crate::adapters::{Contents, Nothing, Peer};
use crate::cores::count_threads;
use crate::counters::{Counters, Counts};
use crate::limits::{self, Limits};
use crate::machine::Machine;
use crate::map::Failure;
use crate::open::{self, Disturbance, Open};
use crate::plan::{Group, Plan, Step};
use crate::report::{
    FailedPeer, Latency, Measurement, MemoryUse, Moment, Overhead, Report, Setup, Skipped, Subject,
};
use crate::slice::{Extent, Limit, Sample, Slice};
use crate::summary::{Summary, median};
use crate::touched::{self, AccessStats};
use crate::worker::Worker;

/// Runs a plan with maps of at most about `memory_bytes` loaded at once.
pub fn run(plan: Plan, memory_bytes: u64, revision: Option<String>) -> Result<Report, Failure> {
    plan.check()?;
    let groups = plan.groups(memory_bytes)?;
    let skipped = skipped(&plan);
    let setup = setup(plan, revision)?;
    let mut run = Run::new(&setup.plan, &groups);
    for (number, group) in groups.iter().enumerate() {
        run.limits(group.contents)?;
        run.group(number + 1, group)?;
        run.limits(group.contents)?;
    }
    let touched = if setup.plan.touched { run.touched(&groups)? } else { Vec::new() };
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
        touched,
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
        let reason = peer.refuses(sizes)?.to_string();
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
        machine: Machine::this()?,
    })
}

fn overhead(sizes: Sizes, distribution: Distribution, pairs: u64) -> Result<Overhead, Failure> {
    let limit = Limit::Time(Duration::from_millis(20));
    let slice = Slice { workload: Workload::Get, distribution, threads: 1, batch: 1, limit, seed: 0 };
    let sample = slice.run(&Nothing, &mut Extent { sizes, loaded: pairs, fresh: pairs })?;
    Ok(Overhead { sizes, distribution, nanoseconds: 1e9 / sample.rate })
}

struct Run<'p> {
    plan: &'p Plan,
    progress: ProgressBar,
    samples: BTreeMap<Subject, Vec<Sample>>,
    /// Operations a second that an open loop can do.
    saturated: BTreeMap<Subject, f64>,
    latencies: BTreeMap<Due, Latencies>,
    limits: Vec<Limits>,
    memory: Vec<MemoryUse>,
    failures: Vec<FailedPeer>,
}

/// What operations of an open loop are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    subject: Subject,
    load: u32,
    disturbance: Disturbance,
}

/// How late they were, over all repetitions.
struct Latencies {
    nanoseconds: Histogram<u64>,
    due: Vec<f64>,
    done: Vec<f64>,
}

impl Latencies {
    fn summary(&self, due: Due) -> Latency {
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

impl Run<'_> {
    fn new<'p>(plan: &'p Plan, groups: &[Group]) -> Run<'p> {
        let steps = |group: &Group| group.peers.len() * plan.steps(group.contents.pairs).len();
        let progress = ProgressBar::new(groups.iter().map(steps).sum::<usize>() as u64);
        let style = ProgressStyle::with_template("{bar:40} {percent:>3} % {elapsed} {msg}");
        progress.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        let (samples, saturated, latencies, limits, memory, failures) = Default::default();
        Run { plan, progress, samples, saturated, latencies, limits, memory, failures }
    }

    /// Measures the machine before and after the maps: what disturbs it is seldom there both times.
    fn limits(&mut self, contents: Contents) -> Result<(), Failure> {
        self.progress.set_message("the machine itself");
        let Contents { pairs, sizes } = contents;
        let (threads, time) = (self.plan.threads.clone(), self.plan.slice / 5);
        let request = limits::Request { pairs, sizes, threads, time };
        for new in request.run_apart()? {
            let key = |limits: &Limits| (limits.pairs, limits.sizes, limits.threads);
            match self.limits.iter_mut().find(|known| key(known) == key(&new)) {
                Some(known) => *known = new.better(known),
                None => self.limits.push(new),
            }
        }
        Ok(())
    }

    /// Loads the maps of a group and takes all steps with them, each step with one map after the other, and
    /// each time beginning with the next, so that none always follows the same other.
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
                let done = self.step(number, group.contents, worker, &step);
                self.progress.inc(1);
                let failed = |failure| self.failed(worker_failure(worker.peer, &step.name(), &failure));
                done.map_err(failed).is_ok()
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

    /// An open loop in which twice as much is due as can be done without looking at the clock.
    fn saturate(&mut self, subject: Subject, worker: &mut Worker, open: &Open) -> Result<(), Failure> {
        let rate = 2.0 * self.samples.get(&subject).map_or(0.0, |samples| median(&rates(samples)));
        let done = worker.open(&Open { rate, ..open.clone() })?.rate;
        self.saturated.insert(subject, done);
        Ok(())
    }

    /// An open loop at so many per cent of what it can do.
    fn open(&mut self, subject: Subject, worker: &mut Worker, open: &Open, load: u32) -> Result<(), Failure> {
        let rate = self.saturated.get(&subject).copied().unwrap_or(0.0) * f64::from(load) / 100.0;
        let lateness = worker.open(&Open { rate, ..open.clone() })?;
        let due = Due { subject, load, disturbance: open.disturbance };
        let none = Latencies { nanoseconds: open::histogram()?, due: Vec::new(), done: Vec::new() };
        let latencies = self.latencies.entry(due).or_insert(none);
        latencies.nanoseconds.add(lateness.histogram()?)?;
        latencies.due.push(rate);
        latencies.done.push(lateness.rate);
        Ok(())
    }

    /// What searches touch in each Honeycomb of these groups.
    fn touched(&mut self, groups: &[Group]) -> Result<Vec<AccessStats>, Failure> {
        let of_group = |group: &Group| group.peers.iter().map(|peer| (*peer, group.contents)).collect();
        let mut maps: Vec<(Peer, Contents)> = groups.iter().flat_map::<Vec<_>, _>(of_group).collect();
        maps.sort_unstable();
        maps.dedup();
        self.progress.set_message("what searches touch");
        maps.into_iter().filter_map(|(peer, contents)| touched::count(peer, contents).transpose()).collect()
    }

    fn failed(&mut self, failed: FailedPeer) {
        self.progress.println(format!("{} failed: {}", failed.peer, failed.reason));
        self.failures.push(failed);
    }
}

fn worker_failure(peer: Peer, doing: &str, failure: &Failure) -> FailedPeer {
    FailedPeer { peer, reason: format!("{doing}: {failure}") }
}

impl Step {
    fn name(&self) -> String {
        match self {
            Step::Load { threads, .. } => format!("load, {}", count_threads(*threads)),
            Step::Memory(Moment::Loaded) => "memory when loaded".into(),
            Step::Memory(Moment::End) => "memory at the end".into(),
            Step::Run(slice) => slice.name(),
            Step::Saturate(open) => format!("{} at once", open.slice.name()),
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
