//! The parameters of a client and their defaults.

use std::time::Duration;

use honeycomb_protocol::PAYLOAD_BYTES;

/// The parameters of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The number of the table that all operations refer to. Default: 0.
    pub table: u16,
    /// Most bytes of the payload of a datagram, at most those of the server. Default: 1,472.
    pub payload_bytes: usize,
    /// Most requests in flight, 1 to 64. Default: 64.
    pub requests_max: usize,
    /// Longest time that an operation waits for others to share its datagram. Default: 50 microseconds.
    pub delay_max: Duration,
    /// Time after which the client first repeats a request without a reply. It doubles with each repetition.
    /// Default: 20 milliseconds.
    pub timeout: Duration,
    /// Time after which the client gives up a request without a reply. Default: 5 seconds.
    pub reply_deadline: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            table: 0,
            payload_bytes: PAYLOAD_BYTES,
            requests_max: honeycomb_layout::BATCH_WINDOW,
            delay_max: Duration::from_micros(50),
            timeout: Duration::from_millis(20),
            reply_deadline: Duration::from_secs(5),
        }
    }
}
