//! The accelerator seam: the interface between a store and the backend that executes its reads.
//!
//! Each reader has a [`Queue`]. The reader submits requests in batches, as bytes of the layout
//! ([`Requests`]). Completions arrive in any order, also as bytes ([`Completions`]); each carries the
//! identifier of its request. A full queue accepts a part of a batch, which is the back-pressure.
//!
//! ```text
//!   store ── Requests ──> Queue ── Completions ──> store
//!   store ── roots, held versions ──> Accelerator <── the same arena ── writers
//! ```
//!
//! There are several backends. [`Software`] executes requests on the CPU, in the thread that polls.
//! [`DeviceBackend`] drives a device, which has its own copies of the state that writers change. Crate
//! `testing` has the conformance suite that each backend must pass.
#![forbid(unsafe_code)]

mod accelerator;
mod admission;
mod buffer;
mod completion;
mod device;
mod held;
mod known;
mod long_scan;
mod own_lease;
mod request;
mod roots;
mod software;
mod status;
mod turns;

pub use accelerator::{Accelerator, Backend, Error, Queue};
pub use completion::{Completion, Completions, Malformed, PairsOf};
pub use device::{DeviceBackend, Engine, Engines, HostMemory, Model, Window};
pub use own_lease::LONG_SCAN_LEASES;
pub use request::{KeyTooLong, Read, Rejected, Request, Requests, parse as parse_request};
pub use software::Software;
pub use status::Status;
