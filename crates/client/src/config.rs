//! How a client goes about it.

use std::time::Duration;

use honeycomb_protocol::PAYLOAD_BYTES;

/// The parameters of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The number of the table of all operations. Default: 0.
    pub table: u16,
    /// Bytes of the longest payload of a datagram; no more than the server's. Default: 1,472.
    pub payload_bytes: usize,
    /// Requests that wait for their replies, at most; 1 to 64. Default: 64.
    pub requests_max: usize,
    /// How long an operation waits for others to go with it, at most. Default: 50 microseconds.
    pub delay_max: Duration,
    /// When a request is sent again that was not answered; each time after twice as long. Default: 20
    /// milliseconds.
    pub timeout: Duration,
    /// When it is given up. Default: 5 seconds.
    pub patience: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            table: 0,
            payload_bytes: PAYLOAD_BYTES,
            requests_max: honeycomb_layout::BATCH_WINDOW,
            delay_max: Duration::from_micros(50),
            timeout: Duration::from_millis(20),
            patience: Duration::from_secs(5),
        }
    }
}
