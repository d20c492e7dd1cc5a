//! Open Compute Storage Messages (OCSM): searches and updates of pairs with keys of 96 bits and values of at
//! most 96 or 352 bits. A UDP datagram has many messages, each at an offset that does not depend on the
//! others.
//!
//! ```text
//! | header, 6 | message, 32 or 64 | message | ...      all of one type and one size
//! ```
//! A client encodes a [`RequestPacket`]. A server decodes it as a [`Packet`] and writes the result of each
//! message into a copy of the packet ([`ReplyPacket`]), so a reply is as long as its request.

mod message;
mod packet;
mod reply_packet;
mod request_packet;

pub use message::{KEY_BYTES, Message, Operation, Status};
pub use packet::{Form, Header, Malformed, MessageType, Packet};
pub use reply_packet::ReplyPacket;
pub use request_packet::{PushError, RequestMessage, RequestPacket};
