//! Workloads of the suite on the simulated accelerator. The counts match the operations.
#![allow(missing_docs)]

use honeycomb_simulation::measure::{Dataset, Error, Measured, Recording, Simulation, Traffic};
use honeycomb_simulator::Simulator;
use honeycomb_workload::{Distribution, Sizes, Workload};

const OPERATIONS: u64 = 300;
const DATASET: Dataset = Dataset {
    pairs: 2_000,
    sizes: Sizes::Fixed { key: 16, value: 16 },
    node_bytes: 1024,
    log_bytes: 128,
    mvcc: true,
};

fn run(simulator: &Simulator, dataset: &Dataset, traffic: &Traffic) -> Result<Measured, Error> {
    let traffic = Traffic { warm_up: OPERATIONS / 2, operations: OPERATIONS, in_flight: 32, ..*traffic };
    Simulation::new(simulator, dataset)?.measure(&traffic, &Recording::default())
}

fn of(workload: Workload, distribution: Distribution) -> Measured {
    let traffic = Traffic { workload, distribution, ..Traffic::default() };
    run(&Simulator::default(), &DATASET, &traffic).expect("the workload runs")
}

/// Writers replace and split nodes while reads are in flight.
#[test]
fn all_workloads_run() {
    use Workload::{Cloud, Get, Insert, Update, YcsbA, YcsbB, YcsbC, YcsbD, YcsbE, YcsbF};
    for workload in [Get, YcsbA, YcsbB, YcsbC, YcsbD, YcsbE, YcsbF, Cloud(95), Cloud(50), Update, Insert] {
        for distribution in workload.distributions(&Distribution::DEFAULT) {
            let measured = of(workload, distribution);
            // Writes that end in the last cycle count as well.
            let ended = OPERATIONS..OPERATIONS + 8;
            assert!(ended.contains(&(measured.latencies.len() as u64)), "{workload}");
            let (mix, writes) = (workload.mix(), 100 * measured.writes / OPERATIONS);
            let share = u64::from(mix.insert + mix.update + mix.modify);
            assert!(writes.abs_diff(share) <= 8, "{workload}: {writes} % writes, not {share}");
            assert_eq!(measured.link.bytes > 0, share < 100 || mix.modify > 0, "{workload}");
        }
    }
}

#[test]
fn the_same_seed_measures_the_same() {
    let [first, second] = [(); 2].map(|()| of(Workload::Cloud(95), Distribution::Zipf));
    assert_eq!((first.latencies, first.cycles), (second.latencies, second.cycles));
}

#[test]
fn without_a_log_block_each_write_sends_a_mapping() {
    let dataset = Dataset { log_bytes: 0, ..DATASET };
    let traffic = Traffic { workload: Workload::Update, ..Traffic::default() };
    let measured = run(&Simulator::default(), &dataset, &traffic).expect("the workload runs");
    assert!(measured.mappings >= measured.writes, "{} of {}", measured.mappings, measured.writes);
    let less = of(Workload::Update, Distribution::Uniform);
    assert!(less.mappings < less.writes && less.updates.busy < measured.updates.busy);
}

#[test]
fn a_small_cache_has_fewer_hits() {
    let hits = |cache_halvings| {
        let simulator = Simulator { cache_halvings, levels_on_chip: 0, ..Simulator::default() };
        let traffic = Traffic { workload: Workload::Scan(1), ..Traffic::default() };
        let dataset = Dataset { pairs: 8_000, ..DATASET };
        let lines = run(&simulator, &dataset, &traffic).expect("the workload runs").lines;
        lines.hits as f64 / (lines.hits + lines.misses) as f64
    };
    let (large, small) = (hits(0), hits(10));
    assert!(small < large - 0.2, "hit share {small} of a small cache, {large} of a large one");
}

#[test]
fn without_versions_writes_send_fewer_updates() {
    let dataset = Dataset { mvcc: false, ..DATASET };
    let traffic = Traffic { workload: Workload::Update, ..Traffic::default() };
    let measured = run(&Simulator::default(), &dataset, &traffic).expect("the workload runs");
    assert!(measured.updates.busy < of(Workload::Update, Distribution::Uniform).updates.busy);
}

#[test]
fn a_tree_that_exceeds_the_page_table_is_rejected() {
    let dataset = Dataset { pairs: 600_000, sizes: Sizes::Fixed { key: 70, value: 8 }, ..DATASET };
    let error = Simulation::new(&Simulator::default(), &dataset).err().expect("the tree is too large");
    assert!(matches!(error, Error::TooManyNodes { max: 65_535, .. }), "{error}");
}
