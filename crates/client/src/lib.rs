//! A client of a Honeycomb server's batch datagrams: many operations in a packet, many packets in flight.
//!
//! ```no_run
//! use honeycomb_client::{Client, Config, Operation, Outcome};
//!
//! let mut client = Client::connect("127.0.0.1:6380".parse()?, Config::default())?;
//! client.put(b"apple", b"red")?;
//! assert_eq!(client.get(b"apple")?.as_deref(), Some(&b"red"[..]));
//!
//! let keys = ["apple", "pear", "plum"];
//! let gets: Vec<Operation<'_>> = keys.iter().map(|key| Operation::Get(key.as_bytes())).collect();
//! client.call(&gets, |place, outcome| match outcome {
//!     Outcome::Value(value) => println!("{} is {}", keys[place], String::from_utf8_lossy(value)),
//!     other => println!("{}: {other:?}", keys[place]),
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | to | use |
//! |---|---|
//! | one operation | [`Client::get`], [`Client::put`], [`Client::insert`], ... |
//! | many, and wait for all | [`Client::call`] |
//! | many, and do other things meanwhile | [`Client::submit`], [`Client::poll`] |
//! | a socket of one's own | [`Exchange`], which does all but send and receive |
//!
//! Requests that are not answered in time are sent again; writes are carried out once all the same. If a
//! write was not answered at all, or the server has forgotten the session meanwhile, its outcome is
//! [`Outcome::Unanswered`]: it was carried out once or not.
#![forbid(unsafe_code)]

mod client;
mod config;
mod exchange;
mod flight;
mod outcome;

pub use client::{Client, Error};
pub use config::Config;
pub use exchange::{Exchange, Ticket};
pub use honeycomb_protocol::batch::{Operation, Refusal};
pub use outcome::Outcome;
