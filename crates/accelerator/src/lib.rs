//! The accelerator seam: what runs a store's reads, and how it is asked.
//!
//! Whoever reads has a [`Queue`]. Requests go in by the batch, as bytes of the layout ([`Requests`]);
//! completions come out in any order, as bytes too ([`Completions`]), and are told apart by the identifiers
//! in them. A queue that is full takes a part of a batch: that is the back-pressure.
//!
//! ```text
//!   store ── Requests ──> Queue ── Completions ──> store
//!   store ── roots, held versions ──> Accelerator <── the same arena ── writers
//! ```
//!
//! There are several backends: [`Software`] executes requests on the CPU of the thread that polls; [`Card`]
//! drives a device, which has copies of what writers change. Crate `testing` has the conformance suite that
//! each backend must pass.
#![forbid(unsafe_code)]

mod accelerator;
mod admission;
mod buffer;
mod card;
mod completion;
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
pub use card::{Card, Engine, Engines, HostMemory, Model, Window};
pub use completion::{Completion, Completions, Malformed, PairsOf};
pub use own_lease::LONG_SCAN_LEASES;
pub use request::{KeyTooLong, Read, Rejected, Request, Requests, parse as parse_request};
pub use software::Software;
pub use status::Status;
