//! A client for the batch datagrams of a Honeycomb server: many operations in a datagram, and many datagrams
//! in flight.
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
//! client.call(&gets, |index, outcome| match outcome {
//!     Outcome::Value(value) => println!("{} is {}", keys[index], String::from_utf8_lossy(value)),
//!     other => println!("{}: {other:?}", keys[index]),
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | task | API |
//! |---|---|
//! | one operation | [`Client::get`], [`Client::put`], [`Client::insert`], ... |
//! | many operations, waiting for all outcomes | [`Client::call`] |
//! | many operations, without waiting | [`Client::submit`], [`Client::poll`] |
//! | a socket of the program | [`Exchange`], the client without sockets and clocks |
//!
//! The client repeats requests whose reply does not arrive in time. The server still executes each write at
//! most once. If no reply to a write arrives, or the server has discarded the session meanwhile, the outcome
//! is [`Outcome::Unanswered`]: the server executed the write once or not at all.
#![forbid(unsafe_code)]

mod client;
mod config;
mod exchange;
mod in_flight;
mod outcome;

pub use honeycomb_protocol::batch::{
    FunctionForm, Operation, RangeForm, RangeFunction, RangeTerm, Rejection,
};

pub use client::{Client, Error};
pub use config::Config;
pub use exchange::{Exchange, Ticket};
pub use outcome::Outcome;
