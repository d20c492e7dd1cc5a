//! The figures of the accelerator, small: all of them run, and the page shows what was measured.
#![allow(missing_docs)]

use honeycomb_simulator::figures::{self, Scale};
use honeycomb_workload::Failure;

#[test]
fn all_figures_are_measured_and_shown() -> Result<(), Failure> {
    let folder = std::env::temp_dir().join(format!("honeycomb-figures-{}", std::process::id()));
    figures::run("all", Scale::Smoke, &folder)?;
    let page = std::fs::read_to_string(folder.join("rtl-figures.md"))?;
    assert!(!page.contains("not measured yet") && page.contains("scan units busy"), "{page}");
    let table = std::fs::read_to_string(folder.join("figure-17/figure.csv"))?;
    assert_eq!(table.lines().count(), 7, "names, and what can be on");
    // Measured again, the rows take the place of those before.
    figures::run("17", Scale::Smoke, &folder)?;
    assert_eq!(std::fs::read_to_string(folder.join("figure-17/figure.csv"))?.lines().count(), 7);
    let refused = figures::run("11", Scale::Smoke, &folder).expect_err("it is not about the accelerator");
    assert!(refused.to_string().starts_with("no figure 11: there are workloads, 12,"), "{refused}");
    Ok(std::fs::remove_dir_all(&folder)?)
}
