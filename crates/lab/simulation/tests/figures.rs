//! Small runs of all figures of the accelerator. The page shows their measurements.
#![allow(missing_docs)]

use honeycomb_simulation::figures::{self, Scale};
use honeycomb_workload::Failure;

#[test]
fn all_figures_are_measured_and_shown() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let folder = folder.path();
    figures::run("all", Scale::Smoke, folder)?;
    let page = std::fs::read_to_string(folder.join("rtl-figures.md"))?;
    assert!(!page.contains("not measured yet") && page.contains("scan units busy"), "{page}");
    let table = std::fs::read_to_string(folder.join("figure-17/figure.csv"))?;
    assert_eq!(table.lines().count(), 12, "a row of names, nine of switches and two of another platform");
    // A repeated measurement replaces the rows.
    figures::run("17", Scale::Smoke, folder)?;
    assert_eq!(std::fs::read_to_string(folder.join("figure-17/figure.csv"))?.lines().count(), 12);
    let error =
        figures::run("11", Scale::Smoke, folder).expect_err("figure 11 does not concern the accelerator");
    assert!(error.to_string().starts_with("unknown figure 11; expected workloads, 12,"), "{error}");
    Ok(())
}
