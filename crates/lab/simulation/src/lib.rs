//! Measurements of the simulated accelerator: workloads on a tree, reports, and figures.
//!
//! [`measure`] runs a workload in a closed loop, [`report`] presents its measurements, [`life`] explains one
//! request, and [`figures`] measures all figures about the accelerator.

mod closed_loop;
mod error;
pub mod figures;
pub mod life;
mod life_text;
pub mod measure;
pub mod report;
mod tree;
