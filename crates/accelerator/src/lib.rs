//! The accelerator seam: the interface between a store and the backend that executes its reads.
//!
//! Each reader has a [`Queue`]. The reader submits requests in batches, as bytes of the layout
//! ([`Requests`]). Completions arrive in any order, also as bytes ([`Completions`]); each contains the
//! identifier of its request. A full queue accepts only a part of a batch, which is the back-pressure.
//!
//! ```text
//!   store ── Requests ──> Queue ── Completions ──> store
//!   store ── roots, pinned versions ──> Accelerator <── the same arena ── writers
//! ```
//!
//! A backend that runs on the reader's CPU also executes reads directly, without these bytes
//! ([`DirectReader`]), and functions over ranges ([`RangePage`]).
//!
//! Requests may also be operations on [unordered tables](UnorderedTable), and then write.
//!
//! There are several backends. [`Software`] executes requests on the CPU, in the thread that polls.
//! [`DeviceBackend`] drives a device, which has its own copies of the state that writers change. Crate
//! `testing` contains the conformance suite that each backend must pass, and a model of a device.
#![forbid(unsafe_code)]

mod accelerator;
mod admission;
mod backend_state;
mod buffer;
mod completion;
mod device;
mod direct_reader;
mod function_progress;
mod limits;
mod long_scan;
mod page_end;
mod pair;
mod pinned_versions;
mod range_function;
mod range_page;
mod range_values;
mod ranking;
mod request;
mod roots;
mod round_robin;
mod scan_lease;
mod scanned_pairs;
mod software;
mod status;
mod unordered_request;
mod unordered_tables;
mod value_view;

pub use accelerator::{Accelerator, Backend, Error, Queue, check_parameter};
pub use completion::{Completion, Completions, Malformed};
pub use device::{DeviceBackend, Engine, Engines, HostMemory, Window};
pub use direct_reader::{DirectReader, DirectScan, Get};
pub use pair::PairsOf;
pub use range_function::{Conditions, OperandsTooLong, RangeForm, RangeFunction, RangeTerm};
pub use range_page::RangePage;
pub use range_values::{Count, Reduction};
pub use ranking::Ranking;
pub use request::{Read, Rejected, Request, Requests, TooLong, parse as parse_request};
pub use scan_lease::LONG_SCAN_LEASES;
pub use scanned_pairs::{Scanned, ScannedPairs};
pub use software::Software;
pub use status::Status;
pub use unordered_tables::UnorderedTable;
pub use value_view::ValueView;
