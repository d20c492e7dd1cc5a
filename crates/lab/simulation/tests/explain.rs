//! The life of a request, from the events of the model.
#![allow(missing_docs)]

use honeycomb_layout as layout;
use honeycomb_simulation::life::{Life, STAGES};
use honeycomb_simulation::measure::{Dataset, Error, Measured, Recording, Simulation, Traffic};
use honeycomb_simulator::Simulator;
use honeycomb_simulator::platform::Platform;
use honeycomb_workload::Workload;

const REQUESTS: u64 = 12;

fn run(workload: Workload, recording: &Recording) -> Result<Measured, Error> {
    let simulator = Simulator { platform: Platform::IDEAL, ..Simulator::default() };
    let traffic = Traffic { workload, warm_up: 5, operations: REQUESTS, ..Traffic::default() };
    Simulation::new(&simulator, &Dataset { pairs: 3000, ..Dataset::default() })?.measure(&traffic, recording)
}

fn explained(number: u64) -> Recording {
    Recording { explained: Some(number), waveform: None }
}

fn life(workload: Workload) -> Life {
    let measured = run(workload, &explained(7)).expect("the workload runs");
    measured.life.expect("the run recorded the request")
}

fn count(life: &Life, kind: usize) -> usize {
    life.events.iter().filter(|event| event.kind == kind).count()
}

#[test]
fn a_get_descends_and_reads_a_leaf() {
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
    // A search reads the header and one segment of each node.
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
fn the_json_contains_all_stages_and_spans() {
    let life = life(Workload::Get);
    let json = life.json();
    assert_eq!(json["stages"].as_array().map(Vec::len), Some(STAGES.len()));
    let spans = json["spans"].as_array().expect("spans are an array");
    assert_eq!(spans.len(), life.spans().len());
    assert!(spans.iter().all(|span| span["start"].as_f64() <= span["end"].as_f64()), "{json}");
    let comparisons = json["comparisons"].as_array().map(Vec::len);
    assert_eq!(comparisons, Some(count(&life, layout::EVENT_COMPARED)));
}

#[test]
fn an_operation_that_does_not_exist_cannot_be_explained() {
    let error = run(Workload::Get, &explained(REQUESTS)).expect_err("the operation does not exist");
    assert_eq!(error.to_string(), "no operation 12 to explain; expected 0 to 11");
}

#[test]
fn a_write_cannot_be_explained() {
    let error = run(Workload::Insert, &explained(3)).expect_err("the operation is a write");
    assert_eq!(error.to_string(), "operation 3 is a write; the accelerator receives only its mappings");
}

#[cfg(feature = "trace")]
#[test]
fn a_waveform_is_written() {
    let path = std::env::temp_dir().join(format!("honeycomb-{}.fst", std::process::id()));
    let recording = Recording { explained: None, waveform: Some(path.clone()) };
    run(Workload::Get, &recording).expect("the workload runs");
    let bytes = std::fs::read(&path).expect("the waveform exists");
    std::fs::remove_file(&path).expect("the file can be removed");
    // Each file starts with a header block of 329 bytes.
    assert_eq!(bytes[..9], [0, 0, 0, 0, 0, 0, 0, 1, 73]);
}
