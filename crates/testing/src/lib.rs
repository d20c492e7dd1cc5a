//! Test support for several crates. Product crates have it as a development dependency only.
//!
//! - [`conformance`] is the suite that every backend of the accelerator must pass.
//! - [`DeviceModel`] is the reference model of a device.
//! - [`ExampleKeys`] are those of the examples that count instructions.
//! - A [`Gate`] stops threads, and [`within`] finds calls that hang.
//! - [`histories`] runs concurrent histories of reads in flight and checks that each answer is linearizable.
//! - [`index`] creates forests, keys and values, and models a tree as a sorted map.
//! - [`linearizability`] checks histories of concurrent clients.
//! - [`log_writer`] starts a log without a store.
//! - [`SimulatedDisk`] loses, reorders and tears writes that are not durable, and fails on request.
//!   A test can delay calls of an [`ObservedDisk`].
//! - [`nodes`] creates memories and nodes without a tree.
//! - [`Random`], [`seed`], [`seed_or`], [`soak`] and [`each_crash`] make random tests repeatable;
//!   [`number`] is a parameter of a longer run.
#![forbid(unsafe_code)]

pub mod conformance;
mod device_model;
mod example_keys;
mod gate;
pub mod histories;
pub mod index;
pub mod linearizability;
mod log_writer;
pub mod nodes;
mod observed_disk;
mod random;
mod seeds;
mod simulated_disk;

pub use device_model::DeviceModel;
pub use example_keys::{ExampleKeys, example_value};
pub use gate::{Gate, within};
pub use log_writer::log_writer;
pub use observed_disk::{DiskCall, ObservedDisk};
pub use random::Random;
pub use seeds::{each_crash, number, seed, seed_or, soak};
pub use simulated_disk::{DiskFault, Kept, SimulatedDisk};
