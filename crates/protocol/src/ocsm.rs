//! Open Compute Storage Messages: searches and updates of pairs with keys of 96 bits and values of at most
//! 96 or 352 bits, many in a UDP datagram, each at a place that does not depend on the others.
//!
//! ```text
//! | header, 6 | message, 32 or 64 | message | ...      all of one type and one size
//! ```
//! A client writes [`Requests`]; a server finds the messages of a [`Packet`] and answers each where it
//! stands, in a copy ([`Answers`]); so a reply is as long as its request.

mod answers;
mod message;
mod packet;
mod requests;

pub use answers::Answers;
pub use message::{KEY_BYTES, Message, Operation, Status};
pub use packet::{Form, Header, Malformed, MessageType, Packet};
pub use requests::{NoRoom, Request, Requests};
