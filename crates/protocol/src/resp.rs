//! RESP2 and RESP3, the protocol of Redis clients.
//!
//! A client sends [requests](Requests): arrays of byte strings, or lines as a person types them. A server
//! answers each with one [reply](Replies), in the order of the requests, in the version of the protocol that
//! the client has asked for.

mod answer;
mod chunk_pool;
mod inline;
mod number;
mod replies;
mod request;

pub use answer::{Answer, MalformedAnswer, parse_answer};
pub use chunk_pool::ChunkPool;
pub use number::{decimal, parse_decimal};
pub use replies::{OpenArray, Replies, Version};
pub use request::{Arguments, Found, Limits, Malformed, Requests, encode};
