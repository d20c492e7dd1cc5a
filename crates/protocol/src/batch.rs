//! The batch datagram: many operations of any size in a UDP datagram, their results in one or a few.
//!
//! ```text
//! | header, 24 | operation | operation | ...        | header, 24 | item | item | ...
//! ```
//! KV-Direct's two savings make them short: a flag says that sizes are as before, another that the value is.
//!
//! A client first gets a [token](Tokens) for its address and with that a session; whoever cannot receive at
//! an address gets neither, so nothing that is longer than a request is ever sent to an address that did
//! not ask. A request that was lost, or its reply, is sent again under its identifier; the [`Window`] of
//! the session knows what came of its writes and has them carried out once.

mod header;
mod item;
mod operation;
mod reply;
mod savings;
mod token;
mod window;

pub use header::{Header, Kind, Refusal};
pub use item::{Item, Items};
pub use operation::{Operation, Operations, Requests};
pub use reply::{Reply, Room};
pub use savings::Malformed;
pub use token::Tokens;
pub use window::{Known, Window};
