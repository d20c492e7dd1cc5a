//! The accelerator in SystemVerilog, simulated cycle by cycle behind models of PCIe and on-board memory.
//!
//! ```text
//!   driver ── Engine ──> engine ── requests, registers ──> model of rtl/ (Verilator)
//!                          │                                    │
//!   the arena <── lines ── machine <── tagged reads, AXI4 ──────┘
//!                          platform: how long all that takes
//! ```
//! [`Simulator`] implements [`Engines`](honeycomb_accelerator::Engines) for a
//! [`DeviceBackend`](honeycomb_accelerator::DeviceBackend), so a store executes its reads on it as on any
//! other accelerator.

mod engine;
pub mod event;
pub mod figures;
pub mod life;
mod machine;
pub mod measure;
mod model;
pub mod picture;
pub mod platform;
pub mod report;
mod traffic;
mod tree;

pub use engine::{CACHE_NODES, Simulator};
pub use model::cycles_simulated;
