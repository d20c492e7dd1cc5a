//! RESP2 and RESP3, the protocol of Redis clients.
//!
//! A client sends [requests](RequestBuffer): arrays of byte strings, or lines of text. A server returns one
//! [reply](Replies) to each, in the order of the requests and in the version of the protocol that the client
//! has selected.

mod chunk_pool;
mod inline;
mod number;
mod replies;
mod reply;
mod request_buffer;
mod short_reply;

pub use chunk_pool::ChunkPool;
pub use number::{format_decimal, parse_decimal};
pub use replies::{OpenArray, Replies, Version};
pub use reply::{MalformedReply, Reply, parse_reply};
pub use request_buffer::{Arguments, Limits, Malformed, ParsedRequest, RequestBuffer, encode};
pub use short_reply::ShortReply;
