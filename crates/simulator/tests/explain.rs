//! The life of a request, as the model tells it.
#![allow(missing_docs)]

use honeycomb_layout as layout;
use honeycomb_simulator::Simulator;
use honeycomb_simulator::life::{Life, PLACES};
use honeycomb_simulator::measure::{Data, Error, Measured, Observed, Scene, Traffic};
use honeycomb_simulator::picture::svg;
use honeycomb_simulator::platform::Platform;
use honeycomb_workload::Workload;

const REQUESTS: u64 = 12;

fn run(workload: Workload, observed: &Observed) -> Result<Measured, Error> {
    let simulator = Simulator { platform: Platform::IDEAL, ..Simulator::default() };
    let traffic = Traffic { workload, warm_up: 5, operations: REQUESTS, ..Traffic::default() };
    Scene::new(&simulator, &Data { pairs: 3000, ..Data::default() })?.measure(&traffic, observed)
}

fn explained(number: u64) -> Observed {
    Observed { explained: Some(number), waveform: None }
}

fn life(workload: Workload) -> Life {
    let measured = run(workload, &explained(7)).expect("the workload runs");
    measured.life.expect("the request was explained")
}

fn count(life: &Life, kind: usize) -> usize {
    life.events.iter().filter(|event| event.kind == kind).count()
}

#[test]
fn a_get_goes_down_and_reads_a_leaf() {
    let life = life(Workload::Get);
    let kinds: Vec<usize> = life.events.iter().map(|event| event.kind).collect();
    let once = [
        layout::EVENT_BEGUN,
        layout::EVENT_PARSED,
        layout::EVENT_STARTED,
        layout::EVENT_DESCENT,
        layout::EVENT_LEAF,
        layout::EVENT_LEAF_ACCEPTED,
        layout::EVENT_LEAF_OPEN,
        layout::EVENT_GRANT,
        layout::EVENT_EMITTED,
        layout::EVENT_ANSWERED,
        layout::EVENT_DONE,
    ];
    assert!(once.iter().all(|&kind| count(&life, kind) == 1), "{life}");
    let order = kinds.iter().filter(|kind| once.contains(kind));
    assert!(order.eq(&once), "{life}");
    // Of each node its header and its segment.
    assert_eq!(count(&life, layout::EVENT_HEADER), count(&life, layout::EVENT_CHILD));
    assert!(count(&life, layout::EVENT_READ) > 2 * count(&life, layout::EVENT_HEADER));
    assert_eq!(count(&life, layout::EVENT_READ), count(&life, layout::EVENT_LINES));
    assert_eq!(count(&life, layout::EVENT_HOST_READ), count(&life, layout::EVENT_HOST_LINES));
    assert!(life.events.is_sorted_by_key(|event| event.cycle));
    assert!(life.to_string().contains("equal"), "{life}");
}

#[test]
fn a_scan_emits_its_pairs() {
    let life = life(Workload::Scan(3));
    assert_eq!(count(&life, layout::EVENT_EMITTED), 3, "{life}");
}

#[test]
fn a_picture_has_a_row_for_each_place_and_a_bar_for_each_stay() {
    let life = life(Workload::Get);
    let picture = svg(&life);
    assert!(PLACES.iter().all(|(name, ..)| picture.contains(name)));
    assert_eq!(picture.matches("<rect x=").count(), life.spans().len());
}

#[test]
fn only_requests_that_there_are_can_be_explained() {
    let refused = run(Workload::Get, &explained(REQUESTS)).expect_err("there is no such request");
    assert_eq!(refused.to_string(), "there is no request 12 to explain: they are 0 to 11");
}

#[test]
fn a_write_is_not_explained() {
    let refused = run(Workload::Insert, &explained(3)).expect_err("the accelerator sees no inserts");
    assert_eq!(
        refused.to_string(),
        "operation 3 is a write, of which the accelerator is told no more than mappings"
    );
}

#[cfg(feature = "trace")]
#[test]
fn a_waveform_is_written() {
    let path = std::env::temp_dir().join(format!("honeycomb-{}.fst", std::process::id()));
    let observed = Observed { explained: None, waveform: Some(path.clone()) };
    run(Workload::Get, &observed).expect("the workload runs");
    let bytes = std::fs::read(&path).expect("the waveform is there");
    std::fs::remove_file(&path).expect("it can be removed");
    // A header block of 329 bytes begins each.
    assert_eq!(bytes[..9], [0, 0, 0, 0, 0, 0, 0, 1, 73]);
}
