//! A small run of the whole benchmark, whose results can be read and compared.

use std::process::{Command, Output};

use honeycomb_lab::adapters::Peer;
use honeycomb_lab::figures::{FIGURES, Shape};
use honeycomb_lab::map::Failure;
use honeycomb_lab::open_loop::Disturbance;
use honeycomb_lab::report::Report;
use honeycomb_workload::Workload;

fn bench(arguments: &[&str]) -> Result<Output, Failure> {
    Ok(Command::new(env!("CARGO_BIN_EXE_honeycomb-bench")).args(arguments).output()?)
}

/// Runs a command that must succeed. Returns its standard output.
fn printed(arguments: &[&str]) -> Result<String, Failure> {
    let output = bench(arguments)?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

#[test]
fn a_small_run_measures_everything() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let out = folder.path().to_str().ok_or("path")?;
    let table = printed(&["run", "--smoke", "--out", out, "--revision", "abc"])?;
    let report = Report::read(&folder.path().join("bench.json"))?;

    let peers = Peer::DEFAULT;
    // Load and insert do not depend on the distribution. All others have two, and all have two numbers of
    // threads.
    let numbers = peers.len() * 2 * (1 + 1 + 2 * (Workload::DEFAULT.len() - 1));
    assert_eq!(report.measurements.len(), numbers);
    let of_limit = |one| report.of_limit(one).is_some_and(|part| part > 0.0);
    assert!(report.limits.len() == 2 && report.measurements.iter().all(of_limit));
    assert!(report.measurements.iter().all(|one| one.summary.min > 0.0));
    assert_eq!((report.memory.len(), report.failures.len()), (2 * peers.len(), 0));
    assert_eq!(report.setup.revision.as_deref(), Some("abc"));
    assert!(peers.iter().all(|peer| table.contains(&peer.to_string())), "{table}");

    let csv = std::fs::read_to_string(folder.path().join("bench.csv"))?;
    assert_eq!(csv.lines().count(), 1 + numbers);

    let json = format!("{out}/bench.json");
    let text = printed(&["--compare", &json, &json])?;
    assert_eq!(text, format!("{numbers} of {numbers} numbers did not change beyond noise.\n"));
    let changes: Vec<serde_json::Value> =
        serde_json::from_str(&printed(&["--json", "--compare", &json, &json])?)?;
    assert_eq!(changes.len(), numbers);
    Ok(())
}

/// Runs a small measurement and returns its report.
fn measured(arguments: &[&str]) -> Result<Report, Failure> {
    let few = ["run", "--smoke", "--json", "--threads", "2", "--distributions", "uniform"];
    Ok(serde_json::from_str(&printed(&[&few, arguments].concat())?)?)
}

#[test]
fn all_workloads_run_one_at_a_time_and_in_batches() -> Result<(), Failure> {
    let workloads = "get,update,insert,scan1,scan100,ycsb-a,ycsb-b,ycsb-c,ycsb-d,ycsb-e,ycsb-f,\
        cloud0,cloud50,cloud100,hot-leaf";
    let peers = ["--peers", "honeycomb,congee", "--distributions", "uniform,zipf,latest"];
    let report = measured(&[&["--workloads", workloads, "--batches", "1,100"], &peers[..]].concat())?;
    assert_eq!(report.failures, []);
    // Three do not depend on the distribution, one has only two of them, and the load has neither
    // distributions nor batches.
    assert_eq!(report.measurements.len(), 2 * (1 + 2 * (3 + 2 + 11 * 3)));
    Ok(())
}

#[test]
fn numbers_and_sizes_of_pairs_are_measured_in_groups() -> Result<(), Failure> {
    let sizes = ["--sizes", "8+8,300+100,mixed", "--pairs", "2000,5000", "--workloads", "get,scan4"];
    let report = measured(&[&sizes[..], &["--peers", "honeycomb,masstree,b-tree-map"]].concat())?;
    assert_eq!((report.failures.len(), report.skipped.len(), report.limits.len()), (0, 2, 6));
    let maps: usize = [3, 2, 2].iter().sum();
    assert_eq!(report.measurements.len(), 2 * maps * 3);
    Ok(())
}

#[test]
fn open_loops_measure_latency_from_the_due_time() -> Result<(), Failure> {
    let loads = ["--open-loads", "10,50", "--disturbances", "none,anywhere", "--seconds-per-slice", "0.02"];
    let folder = tempfile::tempdir()?;
    let out = ["--peers", "honeycomb,masstree", "--workloads", "get", "--out"];
    let report = measured(&[&loads[..], &out, &[folder.path().to_str().ok_or("path")?]].concat())?;
    assert_eq!((report.latencies.len(), report.failures.len()), (8, 0));
    for one in &report.latencies {
        let ascending = [1, one.p50, one.p90, one.p99, one.p999, one.max];
        assert!(one.count > 0 && ascending.is_sorted(), "{one:?}");
    }
    let disturbed = report.latencies.iter().filter(|one| one.disturbance == Disturbance::Anywhere);
    assert_eq!(disturbed.count(), 4);
    assert!(report.latencies[0].due < report.latencies[2].due);
    let csv = std::fs::read_to_string(folder.path().join("latency.csv"))?;
    assert_eq!(csv.lines().count(), 9);
    Ok(())
}

#[test]
fn json_goes_to_standard_output() -> Result<(), Failure> {
    let few = ["--peers", "b-tree-map", "--workloads", "get", "--threads", "1", "--distributions", "zipf"];
    let json = printed(&[&["run", "--smoke", "--json"], &few[..]].concat())?;
    let report: Report = serde_json::from_str(&json)?;
    assert_eq!(report.measurements.len(), 2);
    Ok(())
}

#[test]
fn maps_that_do_not_fit_together_are_measured_in_groups() -> Result<(), Failure> {
    let few = ["--peers", "honeycomb,masstree,congee", "--workloads", "get", "--threads", "1"];
    let json = printed(&[&["run", "--smoke", "--json", "--memory", "0.005"], &few[..]].concat())?;
    let report: Report = serde_json::from_str(&json)?;
    let mut maps: Vec<_> =
        report.measurements.iter().map(|one| (one.subject.group, one.subject.peer)).collect();
    maps.sort_unstable();
    maps.dedup();
    let expected = [(1, Peer::HONEYCOMB), (1, Peer::Masstree), (2, Peer::HONEYCOMB), (2, Peer::Congee)];
    assert_eq!(maps, expected);
    assert!(report.measurements.iter().all(|one| report.ratio(&one.subject).is_some()));
    Ok(())
}

#[test]
fn every_figure_is_measured_or_explains_why_not() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let out = folder.path().to_str().ok_or("path")?;
    let few = ["--smoke", "--peers", "honeycomb,masstree", "--out", out];
    let page = || std::fs::read_to_string(folder.path().join("figures.md"));
    printed(&[&["figure", "15"], &few[..]].concat())?;
    assert_eq!(page()?.matches("not measured yet").count(), 7);
    let printed = printed(&[&["figure", "all"], &few[..]].concat())?;
    let page = page()?;
    for figure in FIGURES {
        let is_measured = folder.path().join(figure.text.stem()).join("figure.json").exists();
        assert_eq!(is_measured, figure.shape != Shape::Elsewhere);
        assert!(page.contains(&format!("## {}", figure.text.heading())) && page.contains(figure.text.claim));
        assert!(printed.contains(&figure.text.heading()));
    }
    assert!(page.contains("| `quantum=1024` | "));
    for disturbance in Disturbance::possible(1)? {
        assert_eq!(page.matches(&format!("| {} | ", disturbance.name())).count(), 4);
    }
    // The table has a row for each workload and distribution, such as scans of 24 pairs.
    assert_eq!(page.matches("| scan24, ").count(), 2);
    assert_eq!(page.matches("not measured yet").count(), 0);
    Ok(())
}

#[test]
fn errors_name_the_invalid_argument() -> Result<(), Failure> {
    for (arguments, reason) in [
        (["run", "--pairs", "10"], "each number of pairs must be 1000 to"),
        (["run", "--memory", "0.001"], "try fewer --pairs"),
        (["run", "--threads", "0"], "number of threads"),
        (["run", "--sizes", "7+16"], "bytes from 8 to 460"),
        (["run", "--workloads", "scan0"], "unknown workload scan0; expected get"),
        (["run", "--peers", "redis"], "unknown map redis; expected honeycomb"),
        (["figure", "18", "--smoke"], "unknown figure 18; expected 10, 11, 12"),
        (["run", "--batches", "0"], "each batch"),
        (["run", "--seconds-per-slice", "inf"], "--seconds-per-slice"),
        (["run", "--repetitions", "0"], "0 repetitions"),
        (["--compare", "/nowhere", "/nowhere"], "/nowhere"),
        (["--compare", "/nowhere", "--json"], "2 values required"),
        (["run", "--peers", "honeycomb:log=5000"], "log threshold of 5000 bytes must be at most 4096"),
    ] {
        let output = bench(&arguments)?;
        let errors = String::from_utf8(output.stderr)?;
        assert!(!output.status.success() && errors.contains(reason), "{arguments:?}: {errors}");
    }
    Ok(())
}
