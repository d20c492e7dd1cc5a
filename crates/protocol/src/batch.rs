//! The batch protocol: a UDP datagram with many operations of any size, and a reply of one or a few
//! datagrams.
//!
//! ```text
//! | header, 24 | operation | operation | ...        | header, 24 | item | item | ...
//! ```
//! As in KV-Direct, two flags shorten datagrams: one repeats the sizes of the previous operation or item, the
//! other its value.
//!
//! A client first requests a [token](Tokens) for its address, and with the token a session. A sender that
//! cannot receive at its source address obtains neither, so the server never sends a datagram that is longer
//! than the request to an address that did not request it. A client repeats a request without a reply under
//! the same identifier. The [`Window`] of the session stores the outcomes of its writes, so the server
//! executes each write once.

mod encoding;
mod header;
mod item;
mod operation;
mod range_function;
mod reply;
mod token;
mod window;

pub use encoding::Malformed;
pub use header::{Header, Kind, Rejection};
pub use item::{Item, Items};
pub use operation::{FunctionForm, Operation, Operations, RequestDatagram};
pub use range_function::{RangeForm, RangeFunction, RangeTerm};
pub use reply::{ReplyWriter, Room};
pub use token::Tokens;
pub use window::{RequestState, Window};
