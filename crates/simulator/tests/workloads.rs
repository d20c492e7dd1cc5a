//! Workloads of the suite on the simulated accelerator: what is counted is what was asked for.
#![allow(missing_docs)]

use honeycomb_simulator::Simulator;
use honeycomb_simulator::measure::{Data, Error, Measured, Observed, Scene, Traffic};
use honeycomb_workload::{Distribution, Sizes, Workload};

const OPERATIONS: u64 = 300;
const DATA: Data = Data {
    pairs: 2_000,
    sizes: Sizes::Fixed { key: 16, value: 16 },
    node_bytes: 1024,
    log_bytes: 128,
    mvcc: true,
};

fn run(simulator: &Simulator, data: &Data, traffic: &Traffic) -> Result<Measured, Error> {
    let traffic = Traffic { warm_up: 50, operations: OPERATIONS, ..*traffic };
    Scene::new(simulator, data)?.measure(&traffic, &Observed::default())
}

fn of(workload: Workload, distribution: Distribution) -> Measured {
    let traffic = Traffic { workload, distribution, ..Traffic::default() };
    run(&Simulator::default(), &DATA, &traffic).expect("the workload runs")
}

/// Writers change the tree below the reads, replace nodes and split them.
#[test]
fn all_workloads_run() {
    use Workload::{Cloud, Get, Insert, Update, YcsbA, YcsbB, YcsbC, YcsbD, YcsbE, YcsbF};
    for workload in [Get, YcsbA, YcsbB, YcsbC, YcsbD, YcsbE, YcsbF, Cloud(95), Cloud(50), Update, Insert] {
        for distribution in workload.distributions(&Distribution::DEFAULT) {
            let measured = of(workload, distribution);
            assert_eq!(measured.latencies.len() as u64, OPERATIONS, "{workload}");
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
fn without_a_log_block_each_write_tells_a_mapping() {
    let data = Data { log_bytes: 0, ..DATA };
    let traffic = Traffic { workload: Workload::Update, ..Traffic::default() };
    let measured = run(&Simulator::default(), &data, &traffic).expect("the workload runs");
    assert!(measured.mappings >= measured.writes, "{} of {}", measured.mappings, measured.writes);
    let less = of(Workload::Update, Distribution::Uniform);
    assert!(less.mappings < less.writes && less.told.busy < measured.told.busy);
}

#[test]
fn a_small_cache_has_less_of_the_tree() {
    let hits = |cache_halvings| {
        let simulator = Simulator { cache_halvings, root_on_chip: false, ..Simulator::default() };
        let traffic = Traffic { workload: Workload::Scan(1), ..Traffic::default() };
        let data = Data { pairs: 8_000, ..DATA };
        let lines = run(&simulator, &data, &traffic).expect("the workload runs").lines;
        lines.hits as f64 / (lines.hits + lines.misses) as f64
    };
    let (all, few) = (hits(0), hits(10));
    assert!(few < all - 0.2, "{few} of few nodes, {all} of all");
}

#[test]
fn without_versions_there_is_none_to_tell() {
    let data = Data { mvcc: false, ..DATA };
    let traffic = Traffic { workload: Workload::Update, ..Traffic::default() };
    let measured = run(&Simulator::default(), &data, &traffic).expect("the workload runs");
    assert!(measured.told.busy < of(Workload::Update, Distribution::Uniform).told.busy);
}

#[test]
fn a_tree_that_the_page_table_has_no_room_for_is_refused() {
    let data = Data { pairs: 400_000, sizes: Sizes::Fixed { key: 70, value: 8 }, ..DATA };
    let refused = Scene::new(&Simulator::default(), &data).err().expect("it is too large");
    assert!(matches!(refused, Error::TooManyNodes { max: 65_535, .. }), "{refused}");
}
