//! `MONITOR`: clients that see every executed command.
//!
//! 1. A core that has executed commands appends a line for each to the queue of each monitor, and wakes the
//!    cores of the monitors. All monitors share the text of the lines.
//! 2. The core of a monitor moves lines from the queue to the replies as far as these have space. The server
//!    disconnects a monitor whose queue is full, so no client waits for monitors. It also does so if lines
//!    find the memory of all clients far above its limit.

use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use honeycomb_protocol::resp::{Arguments, Replies};

use crate::arguments::is;
use crate::charge::Charge;
use crate::clients::{Client, ClientLimit, Flag};
use crate::push_queue::PushQueue;
use crate::registry::{Registration, Registry};

/// Maximum bytes of lines in the queue of a monitor. The server disconnects a slower monitor.
pub(crate) const QUEUE_BYTES_MAX: usize = 16 << 20;

/// Maximum number of bytes of an argument that a line shows.
const ARGUMENT_BYTES_SHOWN: usize = 1 << 10;

/// Bytes of memory of a monitor without its queue.
const FEED_BYTES: usize = size_of::<Feed>() + 64;

/// All monitors.
#[derive(Debug, Default)]
pub(crate) struct Monitors(Arc<Registry<Feed>>);

/// The queue of one monitor.
#[derive(Debug)]
struct Feed {
    client: Arc<Client>,
    waiting: Mutex<Waiting>,
}

/// The lines that wait for a monitor.
#[derive(Debug)]
struct Waiting {
    lines: VecDeque<Arc<Lines>>,
    /// Bytes of the first lines that the monitor has received.
    taken: usize,
    /// Bytes of all the others.
    bytes: usize,
    charge: Charge,
}

/// Lines for all monitors.
#[derive(Debug)]
struct Lines {
    text: String,
    _charge: Charge,
}

/// The registration of a client as a monitor. Dropping it ends the registration.
#[derive(Debug)]
pub(crate) struct Monitoring(Registration<Feed>);

impl Monitors {
    /// Returns whether there are monitors.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.0.any()
    }

    /// Makes a client a monitor.
    pub(crate) fn add(&self, client: Arc<Client>, limit: ClientLimit<'_>) -> Monitoring {
        client.set(Flag::Monitor, true);
        let waiting =
            Waiting { lines: VecDeque::new(), taken: 0, bytes: 0, charge: limit.charge(FEED_BYTES) };
        Monitoring(self.0.add(Feed { client, waiting: Mutex::new(waiting) }))
    }

    /// Appends lines to the queues of all monitors. Returns the cores to wake.
    pub(crate) fn show(&self, lines: String, limit: ClientLimit<'_>) -> Vec<usize> {
        let charge = limit.charge(size_of::<Lines>() + lines.capacity());
        let lines = Arc::new(Lines { text: lines, _charge: charge });
        let feeds = self.0.members();
        feeds.iter().for_each(|feed| feed.append(&lines, limit));
        feeds.iter().map(|feed| feed.client.core).collect()
    }
}

impl PushQueue for Monitoring {
    fn take(&self, replies: &mut Replies, bytes_max: usize) {
        let mut waiting = self.0.lock();
        while replies.len() < bytes_max
            && let Some(first) = waiting.lines.front().cloned()
        {
            let line = first.text[waiting.taken..].lines().next().unwrap_or_default();
            replies.simple(line);
            waiting.advance(line.len() + 1, first.text.len());
        }
    }

    fn is_empty(&self) -> bool {
        self.0.lock().lines.is_empty()
    }

    fn memory_bytes(&self) -> usize {
        self.0.lock().charge.bytes()
    }
}

impl Drop for Monitoring {
    fn drop(&mut self) {
        self.0.client.set(Flag::Monitor, false);
    }
}

impl Feed {
    fn append(&self, lines: &Arc<Lines>, limit: ClientLimit<'_>) {
        let mut waiting = self.lock();
        if waiting.bytes + lines.text.len() > QUEUE_BYTES_MAX || limit.is_far_exceeded() {
            (waiting.lines, waiting.taken, waiting.bytes) = (VecDeque::new(), 0, 0);
            self.client.set(Flag::Killed, true);
        } else if !self.client.is(Flag::Killed) {
            waiting.bytes += lines.text.len();
            waiting.lines.push_back(lines.clone());
        }
        waiting.update_charge();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// Removes bytes at the beginning. `first` is the number of bytes of the first lines.
    fn advance(&mut self, bytes: usize, first: usize) {
        self.bytes = self.bytes.saturating_sub(bytes);
        self.taken += bytes;
        if self.taken >= first {
            self.lines.pop_front();
            self.taken = 0;
            self.update_charge();
        }
    }

    fn update_charge(&mut self) {
        if self.lines.is_empty() {
            self.lines = VecDeque::new();
        }
        self.charge.set(FEED_BYTES + self.lines.capacity() * size_of::<Arc<Lines>>());
    }
}

/// Appends the line about a command. `now` is in microseconds since 1970. A line ends early if it disconnects
/// all monitors anyway.
pub(crate) fn write_line(
    lines: &mut String,
    now: u64,
    (database, client): (usize, &Client),
    arguments: &Arguments<'_>,
) {
    let (seconds, rest) = (now / 1_000_000, now % 1_000_000);
    let _ = write!(lines, "{seconds}.{rest:06} [{database} {}]", client.address);
    for (at, argument) in arguments.iter().enumerate() {
        if lines.len() > QUEUE_BYTES_MAX {
            break;
        }
        lines.push_str(" \"");
        if is_secret(arguments, at) {
            lines.push_str("(redacted)");
        } else {
            write_argument(lines, argument);
        }
        lines.push('"');
    }
    lines.push('\n');
}

/// Appends the beginning of an argument, and the number of bytes after it.
fn write_argument(lines: &mut String, argument: &[u8]) {
    let shown = argument.len().min(ARGUMENT_BYTES_SHOWN);
    argument[..shown].iter().for_each(|byte| escape(lines, *byte));
    if argument.len() > shown {
        let _ = write!(lines, "... ({} more bytes)", argument.len() - shown);
    }
}

/// Returns whether an argument is a user or a password.
fn is_secret(arguments: &Arguments<'_>, at: usize) -> bool {
    let name = &arguments[0];
    let follows_auth = |by: usize| at >= by && is(&arguments[at - by], "auth");
    is(name, "auth") && at > 0 || is(name, "hello") && at > 1 && (follows_auth(1) || follows_auth(2))
}

fn escape(lines: &mut String, byte: u8) {
    match byte {
        b'\\' | b'"' => lines.extend(['\\', byte as char]),
        b'\n' => lines.push_str("\\n"),
        b'\r' => lines.push_str("\\r"),
        b'\t' => lines.push_str("\\t"),
        7 => lines.push_str("\\a"),
        8 => lines.push_str("\\b"),
        b' '..=b'~' => lines.push(byte as char),
        _ => drop(write!(lines, "\\x{byte:02x}")),
    }
}
