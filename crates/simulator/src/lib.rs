//! The accelerator in SystemVerilog, simulated cycle by cycle behind models of PCIe and on-board memory.
//!
//! ```text
//!   driver ── Engine ──> engine ── requests, registers ──> model of rtl/ (Verilator)
//!                          │                                    │
//!   the arena <── lines ── machine <── tagged reads, AXI4 ──────┘
//!                          platform: latency and bandwidth
//! ```
//! [`Simulator`] implements [`Engines`](honeycomb_accelerator::Engines) for a
//! [`DeviceBackend`](honeycomb_accelerator::DeviceBackend), so a store executes its reads on it as on any
//! other accelerator. Measurements drive a [`Machine`] directly, without the driver.

mod balance;
mod engine;
mod event;
mod machine;
mod model;
pub mod platform;
mod request_window;

pub use balance::Balance;
pub use engine::{CACHE_NODES, REQUEST_SLOTS, Simulator};
pub use event::Event;
pub use machine::{COMMANDS_MAX, Command, Machine, ReadLine, UpdateCounts};
pub use model::cycles_simulated;
pub use request_window::RequestWindow;
