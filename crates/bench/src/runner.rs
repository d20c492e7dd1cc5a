//! Runs a plan: a worker for each map, all workers in turn at each step.

use std::collections::BTreeMap;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::adapters::{Nothing, Peer};
use crate::keys::{KEY_BYTES, VALUE_BYTES};
use crate::machine::Machine;
use crate::map::Failure;
use crate::plan::{Plan, Step};
use crate::report::{FailedPeer, Measurement, MemoryUse, Moment, Overhead, Report, Setup, Subject};
use crate::slice::{Extent, Limit, Slice};
use crate::summary::Summary;
use crate::table::count_threads;
use crate::worker::Worker;
use crate::workload::{Distribution, Workload};

/// Runs a plan with maps of at most about `memory_bytes` loaded at once.
pub fn run(plan: Plan, memory_bytes: u64, revision: Option<String>) -> Result<Report, Failure> {
    plan.check()?;
    let groups = plan.groups(memory_bytes)?;
    let setup = setup(plan, revision)?;
    let mut run = Run::new(&setup.plan, &groups);
    for (number, group) in groups.iter().enumerate() {
        run.group(number + 1, group)?;
    }
    run.progress.finish_and_clear();
    let measurement = |(subject, samples): (Subject, Vec<f64>)| {
        let summary = Summary::of(&samples);
        Measurement { subject, summary, samples }
    };
    let measurements = run.samples.into_iter().map(measurement).collect();
    run.memory.sort_by_key(|one| (one.group, one.peer, one.moment));
    Ok(Report { setup, measurements, memory: run.memory, failures: run.failures })
}

fn setup(plan: Plan, revision: Option<String>) -> Result<Setup, Failure> {
    let overhead = |distribution: &Distribution| overhead(*distribution, plan.pairs);
    Ok(Setup {
        date: jiff::Timestamp::now().to_string(),
        revision,
        key_bytes: KEY_BYTES,
        value_bytes: VALUE_BYTES,
        overhead: plan.distributions.iter().map(overhead).collect::<Result<_, _>>()?,
        plan,
        machine: Machine::this()?,
    })
}

fn overhead(distribution: Distribution, pairs: u64) -> Result<Overhead, Failure> {
    let limit = Limit::Time(Duration::from_millis(20));
    let slice = Slice { workload: Workload::Get, distribution, threads: 1, limit, seed: 0 };
    let rate = slice.run(&Nothing, &mut Extent { loaded: pairs, fresh: pairs })?;
    Ok(Overhead { distribution, nanoseconds: 1e9 / rate })
}

struct Run {
    pairs_max: u64,
    steps: Vec<Step>,
    progress: ProgressBar,
    samples: BTreeMap<Subject, Vec<f64>>,
    memory: Vec<MemoryUse>,
    failures: Vec<FailedPeer>,
}

impl Run {
    fn new(plan: &Plan, groups: &[Vec<Peer>]) -> Run {
        let steps = plan.steps();
        let length = groups.iter().flatten().count() * steps.len();
        let progress = ProgressBar::new(length as u64);
        let style = ProgressStyle::with_template("{bar:40} {percent:>3} % {elapsed} {msg}");
        progress.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        let (samples, memory, failures) = Default::default();
        Run { pairs_max: plan.pairs_max(), steps, progress, samples, memory, failures }
    }

    /// Loads the maps of a group and takes all steps with them, each step with one map after the other, and
    /// each time beginning with the next, so that none always follows the same other.
    fn group(&mut self, number: usize, peers: &[Peer]) -> Result<(), Failure> {
        let mut workers = Vec::new();
        for peer in peers {
            match Worker::start(*peer, self.pairs_max) {
                Ok(worker) => workers.push(worker),
                Err(failure) => self.failed(*peer, "start", &failure),
            }
        }
        for step in self.steps.clone() {
            workers.retain_mut(|worker| {
                self.progress.set_message(format!("{}: {}", worker.peer.name(), step.name()));
                let done = self.step(number, worker, &step);
                self.progress.inc(1);
                done.map_err(|failure| self.failed(worker.peer, &step.name(), &failure)).is_ok()
            });
            let first = 1.min(workers.len());
            workers.rotate_left(first);
        }
        if workers.is_empty() { Err("all maps failed".into()) } else { Ok(()) }
    }

    fn step(&mut self, group: usize, worker: &mut Worker, step: &Step) -> Result<(), Failure> {
        let peer = worker.peer;
        let (workload, distribution, threads, rate) = match step {
            Step::Load { pairs, threads } => {
                (Workload::Load, Distribution::Uniform, *threads, worker.load(*pairs, *threads)?)
            }
            Step::Run(slice) => (slice.workload, slice.distribution, slice.threads, worker.run(slice)?),
            Step::Memory(moment) => {
                self.memory.push(MemoryUse { group, peer, moment: *moment, memory: worker.memory()? });
                return Ok(());
            }
        };
        let subject = Subject { group, threads, distribution, workload, peer };
        self.samples.entry(subject).or_default().push(rate);
        Ok(())
    }

    fn failed(&mut self, peer: Peer, doing: &str, failure: &Failure) {
        let reason = format!("{doing}: {failure}");
        self.progress.println(format!("{} failed: {reason}", peer.name()));
        self.failures.push(FailedPeer { peer, reason });
    }
}

impl Step {
    fn name(&self) -> String {
        match self {
            Step::Load { threads, .. } => format!("load, {}", count_threads(*threads)),
            Step::Memory(Moment::Loaded) => "memory when loaded".into(),
            Step::Memory(Moment::End) => "memory at the end".into(),
            Step::Run(slice) => {
                let Slice { workload, distribution, threads, .. } = slice;
                let (workload, distribution) = (workload.name(), distribution.name());
                format!("{workload}, {distribution}, {}", count_threads(*threads))
            }
        }
    }
}
