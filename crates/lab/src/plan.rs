//! The steps of a run, and their order.

use std::time::Duration;

use honeycomb_workload::{Distribution, Sizes, Workload, mix};
use serde::{Deserialize, Serialize};

use crate::adapters::{Contents, Peer};
use crate::map::Failure;
use crate::open_loop::{Disturbance, OpenLoop};
use crate::report::Moment;
use crate::slice::{Limit, Slice};

/// The parameters of a run, which measures all their combinations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Numbers of loaded pairs.
    pub pairs: Vec<u64>,
    /// Sizes of keys and values.
    pub sizes: Vec<Sizes>,
    /// The maps.
    pub peers: Vec<Peer>,
    /// The workloads, in addition to the load.
    pub workloads: Vec<Workload>,
    /// The distributions.
    pub distributions: Vec<Distribution>,
    /// Numbers of threads.
    pub threads: Vec<usize>,
    /// Operations of a thread that execute together.
    pub batches: Vec<usize>,
    /// Loads of open loops, in per cent of the maximum rate of a map in an open loop.
    pub open_loads: Vec<u32>,
    /// Disturbances of open loops.
    pub disturbances: Vec<Disturbance>,
    /// Whether to collect access statistics of Honeycombs.
    pub access_stats: bool,
    /// How often each combination is measured.
    pub repetitions: u64,
    /// Duration of a slice.
    pub slice: Duration,
    /// Seed of all random values.
    pub seed: u64,
}

/// Maps that are loaded at the same time, for comparisons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The content of each map.
    pub contents: Contents,
    /// The maps.
    pub peers: Vec<Peer>,
}

/// One step of a run. All maps of a group execute a step before any of them executes the next.
#[derive(Debug, Clone)]
pub enum Step {
    /// Insert the next pairs.
    Load {
        /// Number of pairs.
        pairs: u64,
        /// Number of threads that share them.
        threads: usize,
    },
    /// Measure the memory of the map.
    Memory(Moment),
    /// Run a slice.
    Run(Slice),
    /// Measure the maximum rate of a slice in an open loop.
    Saturate(OpenLoop),
    /// Run a slice in an open loop at a share of that rate.
    Open {
        /// The open loop, without its rate.
        open: OpenLoop,
        /// Load in per cent of the maximum rate.
        load: u32,
    },
}

/// Number of steps of a load. They use the numbers of threads in rotation.
const LOADS: u64 = 20;
/// A slice of a growing workload adds the number of loaded pairs divided by this.
const GROWTH: u64 = 100;
/// Most pairs: the choice of pairs uses 32-bit arithmetic.
const PAIRS_MAX: u64 = 2_000_000_000;
/// Upper bound of inserts per second and thread, to estimate the growth of maps.
const INSERT_RATE_MAX: f64 = 5e6;

impl Plan {
    /// Validates the parameters.
    ///
    /// # Errors
    /// The error names the invalid parameter.
    pub fn check(&self) -> Result<(), Failure> {
        let reject = |what: &str| Err(what.to_string().into());
        let counts = |counts: &[usize]| counts.iter().all(|count| (1..=1024).contains(count));
        match self {
            Plan { pairs, .. } if !pairs.iter().all(|pairs| (1_000..=PAIRS_MAX).contains(pairs)) => {
                reject(&format!("each number of pairs must be 1000 to {PAIRS_MAX}"))
            }
            Plan { repetitions: 0, .. } => reject("0 repetitions; at least 1 is required"),
            Plan { slice, .. } if slice.is_zero() => reject("slices of 0 s; more than 0 s are required"),
            Plan { threads, .. } if !counts(threads) => reject("each number of threads must be 1 to 1024"),
            Plan { batches, .. } if !counts(batches) => reject("each batch must be 1 to 1024 operations"),
            Plan { open_loads, .. } if open_loads.contains(&0) => reject("an open load must be above 0 %"),
            _ => Ok(()),
        }
    }

    /// Returns all steps for maps with this number of pairs: the load, the repetitions of steady workloads
    /// and then of growing ones, and the open loops.
    pub fn steps(&self, pairs: u64) -> Vec<Step> {
        let (growing, steady): (Vec<Workload>, Vec<Workload>) =
            self.workloads.iter().partition(|one| one.grows());
        let mut steps = self.loads(pairs);
        steps.push(Step::Memory(Moment::Loaded));
        for workloads in [steady, growing] {
            for repetition in 0..self.repetitions {
                let slices = workloads.iter().flat_map(|workload| self.slices(*workload, pairs, repetition));
                steps.extend(slices.map(Step::Run));
            }
        }
        if !self.open_loads.is_empty() {
            steps.extend(self.open_loops(pairs, 0, 0).map(Step::Saturate));
        }
        for repetition in 0..self.repetitions {
            for &load in &self.open_loads {
                for &disturbance in &self.disturbances {
                    let loops = self.open_loops(pairs, repetition, load);
                    let loops = loops.map(|open| Step::Open { open: OpenLoop { disturbance, ..open }, load });
                    steps.extend(loops);
                }
            }
        }
        steps.push(Step::Memory(Moment::End));
        steps
    }

    /// Returns an upper bound of the pairs in a map after all steps.
    pub fn pairs_max(&self, pairs: u64) -> u64 {
        let in_time = |threads: usize| threads as f64 * self.slice.as_secs_f64() * INSERT_RATE_MAX;
        let inserts = |step: &Step| match step {
            Step::Run(slice) => {
                let share = f64::from(slice.workload.mix().insert) / 100.0;
                match slice.limit {
                    Limit::Time(_) => share * in_time(slice.threads),
                    Limit::Operations(count) => share * (count * slice.threads as u64) as f64,
                }
            }
            Step::Saturate(open) | Step::Open { open, .. } => {
                in_time(open.slice.threads + usize::from(open.disturbance != Disturbance::None))
            }
            _ => 0.0,
        };
        // A warm-up adds a fifth, and a slice ends with a full group of generated operations.
        pairs + pairs / 10 + (self.steps(pairs).iter().map(inserts).sum::<f64>() * 1.3) as u64
    }

    /// Returns groups of maps that fit into `memory_bytes`, for all numbers and sizes of pairs. Each group
    /// contains Honeycomb for comparison. Groups omit maps that do not support the sizes.
    ///
    /// # Errors
    /// Fails if a map does not fit into memory.
    pub fn groups(&self, memory_bytes: u64) -> Result<Vec<Group>, Failure> {
        let mut groups = Vec::new();
        for &pairs in &self.pairs {
            for &sizes in &self.sizes {
                let contents = Contents { pairs, sizes };
                let fitting = self.groups_of(contents, memory_bytes)?;
                groups.extend(fitting.into_iter().map(|peers| Group { contents, peers }));
            }
        }
        Ok(groups)
    }

    fn groups_of(&self, contents: Contents, memory_bytes: u64) -> Result<Vec<Vec<Peer>>, Failure> {
        let bytes = |peer: &Peer| peer.bytes_per_pair(contents.sizes) * contents.pairs;
        let supporting = self.peers.iter().filter(|peer| peer.unsupported(contents.sizes).is_none());
        let (base, others): (Vec<Peer>, Vec<Peer>) = supporting.partition(|peer| **peer == Peer::HONEYCOMB);
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
            Err(too_large(Peer::HONEYCOMB, base_bytes, memory_bytes))
        } else {
            Ok(groups)
        }
    }

    fn loads(&self, pairs: u64) -> Vec<Step> {
        let bound = |part: u64| pairs * part / LOADS;
        let threads = self.threads.iter().copied().cycle();
        let load = |(part, threads)| Step::Load { pairs: bound(part + 1) - bound(part), threads };
        (0..LOADS).zip(threads).map(load).collect()
    }

    fn slices(&self, workload: Workload, pairs: u64, repetition: u64) -> Vec<Slice> {
        let mut slices = Vec::new();
        for &threads in &self.threads {
            for distribution in workload.distributions(&self.distributions) {
                for &batch in &self.batches {
                    let limit = if workload.grows() {
                        let share = u64::from(workload.mix().insert);
                        Limit::Operations(pairs / GROWTH * 100 / share / threads as u64)
                    } else {
                        Limit::Time(self.slice)
                    };
                    let name = workload.to_string().bytes().fold(0, |name, byte| mix(name ^ u64::from(byte)));
                    let parts = [repetition, name, distribution as u64, threads as u64, batch as u64];
                    let seed = honeycomb_workload::seed(self.seed, parts);
                    slices.push(Slice { workload, distribution, threads, batch, limit, seed });
                }
            }
        }
        slices
    }

    fn open_loops(&self, pairs: u64, repetition: u64, load: u32) -> impl Iterator<Item = OpenLoop> {
        let slices =
            self.workloads.iter().flat_map(move |workload| self.slices(*workload, pairs, repetition));
        slices.map(move |slice| {
            let seed = honeycomb_workload::seed(slice.seed, [u64::from(load)]);
            let slice = Slice { seed, ..slice };
            OpenLoop { slice, rate: 0.0, time: self.slice, disturbance: Disturbance::None }
        })
    }
}

fn too_large(peer: Peer, bytes: u64, memory_bytes: u64) -> Failure {
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    let (needed, allowed) = (gib(bytes), gib(memory_bytes));
    let need = format!("{peer} and Honeycomb need about {needed:.1} GiB");
    format!("{need}, but only {allowed:.1} GiB are allowed; try fewer --pairs").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan {
            pairs: vec![1_010],
            sizes: vec![Sizes::DEFAULT],
            peers: vec![Peer::Masstree, Peer::HONEYCOMB, Peer::Congee, Peer::BTreeMap],
            workloads: vec![Workload::Insert, Workload::Get],
            distributions: vec![Distribution::Uniform, Distribution::Zipf],
            threads: vec![1, 2],
            batches: vec![1],
            open_loads: Vec::new(),
            disturbances: vec![Disturbance::None],
            access_stats: false,
            repetitions: 2,
            slice: Duration::from_secs(1),
            seed: 1,
        }
    }

    #[test]
    fn all_pairs_are_loaded_by_all_numbers_of_threads() {
        let loads: Vec<(u64, usize)> = plan()
            .steps(1_010)
            .iter()
            .filter_map(|step| {
                if let Step::Load { pairs, threads } = step { Some((*pairs, *threads)) } else { None }
            })
            .collect();
        assert_eq!(loads.iter().map(|(pairs, _)| pairs).sum::<u64>(), 1_010);
        assert_eq!(loads.iter().filter(|(_, threads)| *threads == 2).count(), 10);
    }

    #[test]
    fn growing_workloads_are_last_and_all_seeds_differ() {
        let slices: Vec<Slice> = plan()
            .steps(1_010)
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
        let (honeycomb, others) = (Peer::HONEYCOMB, [Peer::Masstree, Peer::Congee, Peer::BTreeMap]);
        let bytes_per_pair = |peer: &Peer| peer.bytes_per_pair(Sizes::DEFAULT);
        let bytes = |peers: &[Peer]| peers.iter().map(|peer| bytes_per_pair(peer) * 1_010).sum::<u64>();
        let groups = |bytes| -> Result<Vec<Vec<Peer>>, Failure> {
            Ok(plan().groups(bytes)?.into_iter().map(|group| group.peers).collect())
        };
        let all = bytes(&[&others[..], &[honeycomb]].concat());
        assert_eq!(groups(all)?, [vec![honeycomb, others[0], others[1], others[2]]]);
        let two = groups(all - 1)?;
        assert_eq!(two, [vec![honeycomb, others[0], others[1]], vec![honeycomb, others[2]]]);
        let least = bytes(&[honeycomb, others[0]]);
        assert_eq!(plan().groups(least)?.len(), 3);
        assert!(plan().groups(least - 1).is_err());
        assert!(Plan { peers: vec![honeycomb], ..plan() }.groups(1).is_err());
        Ok(())
    }

    #[test]
    fn invalid_parameters_are_rejected() {
        assert!(plan().check().is_ok());
        assert!(Plan { pairs: vec![1_000, 999], ..plan() }.check().is_err());
        assert!(Plan { threads: vec![1, 0], ..plan() }.check().is_err());
        assert!(Plan { batches: vec![0], ..plan() }.check().is_err());
        assert!(Plan { open_loads: vec![0], ..plan() }.check().is_err());
        assert!(Plan { repetitions: 0, ..plan() }.check().is_err());
        assert!(Plan { slice: Duration::ZERO, ..plan() }.check().is_err());
    }

    #[test]
    fn groups_omit_maps_that_do_not_support_the_sizes() -> Result<(), Failure> {
        let sizes = vec![Sizes::DEFAULT, Sizes::Fixed { key: 300, value: 8 }];
        let groups = Plan { sizes, ..plan() }.groups(u64::MAX)?;
        let has_masstree: Vec<bool> =
            groups.iter().map(|group| group.peers.contains(&Peer::Masstree)).collect();
        assert_eq!(has_masstree, [true, false]);
        Ok(())
    }

    #[test]
    fn the_upper_bound_includes_inserts() {
        let plan = Plan { repetitions: 100, ..plan() };
        // Each slice inserts a hundredth of the pairs, and a repetition has four growing slices.
        assert!(plan.pairs_max(1_010) > 1_010 + 2 * 100 * 10);
    }
}
