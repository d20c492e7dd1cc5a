//! What a run does, in which order.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::adapters::Peer;
use crate::map::Failure;
use crate::report::Moment;
use crate::slice::{Limit, Slice};
use crate::workload::{self, Distribution, Workload};

/// The parameters of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// How many pairs are loaded.
    pub pairs: u64,
    /// The maps.
    pub peers: Vec<Peer>,
    /// The workloads, besides the load.
    pub workloads: Vec<Workload>,
    /// The distributions.
    pub distributions: Vec<Distribution>,
    /// The numbers of threads.
    pub threads: Vec<usize>,
    /// How often everything is measured.
    pub repetitions: u64,
    /// How long a slice takes each thread.
    pub slice: Duration,
    /// Where all randomness comes from.
    pub seed: u64,
}

/// One step, which each map of a group takes in turn before any takes the next.
#[derive(Debug, Clone)]
pub enum Step {
    /// Insert the next pairs.
    Load {
        /// How many.
        pairs: u64,
        /// How many threads share them.
        threads: usize,
    },
    /// Ask what memory the map takes.
    Memory(Moment),
    /// Run a slice.
    Run(Slice),
}

/// In how many parts pairs are loaded, the threads in turn.
const LOADS: u64 = 20;
/// A slice of a workload that grows the map adds one in this many of the pairs.
const GROWTH: u64 = 100;
/// Most pairs: they are chosen by 32-bit arithmetic.
const PAIRS_MAX: u64 = 2_000_000_000;

impl Plan {
    /// Refuses what cannot be run.
    pub fn check(&self) -> Result<(), Failure> {
        let refuse = |what: &str| Err(what.to_string().into());
        match self {
            Plan { pairs, .. } if !(1_000..=PAIRS_MAX).contains(pairs) => {
                refuse(&format!("{pairs} pairs: 1000 to {PAIRS_MAX} are allowed"))
            }
            Plan { repetitions: 0, .. } => refuse("0 repetitions: at least 1 is needed"),
            Plan { slice, .. } if slice.is_zero() => refuse("slices of no time: more than 0 s are needed"),
            Plan { threads, .. } if threads.iter().any(|count| !(1..=1024).contains(count)) => {
                refuse("each number of threads must be 1 to 1024")
            }
            _ => Ok(()),
        }
    }

    /// All steps: load, then each repetition, those that grow the map last.
    pub fn steps(&self) -> Vec<Step> {
        let (growing, steady): (Vec<_>, Vec<_>) = self.workloads.iter().partition(|one| one.grows());
        let mut steps = self.loads();
        steps.push(Step::Memory(Moment::Loaded));
        for workloads in [steady, growing] {
            for repetition in 0..self.repetitions {
                steps.extend(workloads.iter().flat_map(|workload| self.slices(*workload, repetition)));
            }
        }
        steps.push(Step::Memory(Moment::End));
        steps
    }

    /// How many pairs a map can come to hold: those loaded, and as many as the workloads may add.
    pub fn pairs_max(&self) -> u64 {
        self.pairs + self.pairs / 2
    }

    /// The peers in groups whose maps fit into `memory_bytes` at once. Honeycomb is in each, to be compared
    /// with.
    pub fn groups(&self, memory_bytes: u64) -> Result<Vec<Vec<Peer>>, Failure> {
        let bytes = |peer: &Peer| peer.bytes_per_pair() * self.pairs;
        let (base, others): (Vec<Peer>, Vec<Peer>) =
            self.peers.iter().partition(|peer| **peer == Peer::Honeycomb);
        let base_bytes: u64 = base.iter().map(bytes).sum();
        let (mut groups, mut group, mut used) = (Vec::new(), base.clone(), base_bytes);
        for peer in others {
            if used + bytes(&peer) > memory_bytes && group.len() > base.len() {
                groups.push(std::mem::replace(&mut group, base.clone()));
                used = base_bytes;
            }
            used += bytes(&peer);
            if used > memory_bytes {
                return Err(too_large(peer, used, memory_bytes));
            }
            group.push(peer);
        }
        groups.push(group);
        if base_bytes > memory_bytes {
            Err(too_large(Peer::Honeycomb, base_bytes, memory_bytes))
        } else {
            Ok(groups)
        }
    }

    fn loads(&self) -> Vec<Step> {
        let bound = |part: u64| self.pairs * part / LOADS;
        let threads = self.threads.iter().copied().cycle();
        let load = |(part, threads)| Step::Load { pairs: bound(part + 1) - bound(part), threads };
        (0..LOADS).zip(threads).map(load).collect()
    }

    fn slices(&self, workload: Workload, repetition: u64) -> Vec<Step> {
        let mut slices = Vec::new();
        let distributions =
            if workload.chooses() { self.distributions.as_slice() } else { &[Distribution::Uniform] };
        for (&threads, &distribution) in
            self.threads.iter().flat_map(|threads| distributions.iter().map(move |one| (threads, one)))
        {
            let limit = if workload.grows() {
                Limit::Operations(self.pairs / GROWTH / threads as u64)
            } else {
                Limit::Time(self.slice)
            };
            let parts = [repetition, workload as u64, distribution as u64, threads as u64];
            let seed = workload::seed(self.seed, parts);
            slices.push(Step::Run(Slice { workload, distribution, threads, limit, seed }));
        }
        slices
    }
}

fn too_large(peer: Peer, bytes: u64, memory_bytes: u64) -> Failure {
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    let (name, needed, allowed) = (peer.name(), gib(bytes), gib(memory_bytes));
    let need = format!("{name} needs about {needed:.1} GiB, Honeycomb beside it counted");
    format!("{need}; {allowed:.1} GiB are allowed: try fewer --pairs").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan {
            pairs: 1_010,
            peers: vec![Peer::Masstree, Peer::Honeycomb, Peer::Congee, Peer::BTreeMap],
            workloads: vec![Workload::Insert, Workload::Get],
            distributions: vec![Distribution::Uniform, Distribution::Zipf],
            threads: vec![1, 2],
            repetitions: 2,
            slice: Duration::from_secs(1),
            seed: 1,
        }
    }

    #[test]
    fn all_pairs_are_loaded_by_all_numbers_of_threads() {
        let loads: Vec<(u64, usize)> = plan()
            .steps()
            .iter()
            .filter_map(|step| {
                if let Step::Load { pairs, threads } = step { Some((*pairs, *threads)) } else { None }
            })
            .collect();
        assert_eq!(loads.iter().map(|(pairs, _)| pairs).sum::<u64>(), 1_010);
        assert_eq!(loads.iter().filter(|(_, threads)| *threads == 2).count(), 10);
    }

    #[test]
    fn the_map_grows_last_and_no_seed_comes_twice() {
        let slices: Vec<Slice> = plan()
            .steps()
            .into_iter()
            .filter_map(|step| if let Step::Run(slice) = step { Some(slice) } else { None })
            .collect();
        let workloads: Vec<Workload> = slices.iter().map(|slice| slice.workload).collect();
        assert_eq!(workloads, [[Workload::Get; 8].as_slice(), &[Workload::Insert; 4]].concat());
        let mut seeds: Vec<u64> = slices.iter().map(|slice| slice.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), slices.len());
    }

    #[test]
    fn honeycomb_is_in_every_group() -> Result<(), Failure> {
        let (honeycomb, others) = (Peer::Honeycomb, [Peer::Masstree, Peer::Congee, Peer::BTreeMap]);
        let bytes = |peers: &[Peer]| peers.iter().map(|peer| peer.bytes_per_pair() * 1_010).sum::<u64>();
        let all = bytes(&[&others[..], &[honeycomb]].concat());
        assert_eq!(plan().groups(all)?, [vec![honeycomb, others[0], others[1], others[2]]]);
        let two = plan().groups(all - 1)?;
        assert_eq!(two, [vec![honeycomb, others[0], others[1]], vec![honeycomb, others[2]]]);
        let least = bytes(&[honeycomb, others[0]]);
        assert_eq!(plan().groups(least)?.len(), 3);
        assert!(plan().groups(least - 1).is_err());
        assert!(Plan { peers: vec![honeycomb], ..plan() }.groups(1).is_err());
        Ok(())
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        assert!(plan().check().is_ok());
        assert!(Plan { pairs: 999, ..plan() }.check().is_err());
        assert!(Plan { threads: vec![1, 0], ..plan() }.check().is_err());
        assert!(Plan { repetitions: 0, ..plan() }.check().is_err());
        assert!(Plan { slice: Duration::ZERO, ..plan() }.check().is_err());
    }
}
