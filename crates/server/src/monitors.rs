//! `MONITOR`: clients that see every executed command.
//!
//! 1. A core that has executed commands appends a line for each to the queue of each monitor, and wakes the
//!    cores of the monitors.
//! 2. The core of a monitor moves lines from the queue to the replies as far as these have space. The server
//!    disconnects a monitor whose queue is full, so no client waits for monitors.

use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use honeycomb_protocol::resp::{Arguments, Replies};

use crate::arguments::is;
use crate::clients::{Client, Flag};
use crate::push_queue::PushQueue;
use crate::registry::{Registration, Registry};

/// Maximum bytes of lines in the queue of a monitor. The server disconnects a slower monitor.
pub(crate) const QUEUE_BYTES_MAX: usize = 16 << 20;

/// Maximum number of bytes of an argument that a line shows.
const ARGUMENT_BYTES_SHOWN: usize = 1 << 10;

/// All monitors.
#[derive(Debug, Default)]
pub(crate) struct Monitors(Arc<Registry<Feed>>);

/// The queue of one monitor.
#[derive(Debug)]
struct Feed {
    client: Arc<Client>,
    lines: Mutex<String>,
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
    pub(crate) fn add(&self, client: Arc<Client>) -> Monitoring {
        client.set(Flag::Monitor, true);
        Monitoring(self.0.add(Feed { client, lines: Mutex::default() }))
    }

    /// Appends lines to the queues of all monitors. Returns the cores to wake.
    pub(crate) fn show(&self, lines: &str) -> Vec<usize> {
        let feeds = self.0.members();
        feeds.iter().for_each(|feed| feed.append(lines));
        feeds.iter().map(|feed| feed.client.core).collect()
    }
}

impl PushQueue for Monitoring {
    fn take(&self, replies: &mut Replies) {
        let lines = std::mem::take(&mut *self.0.lock());
        lines.lines().for_each(|line| replies.simple(line));
    }

    fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    fn memory_bytes(&self) -> usize {
        self.0.lock().capacity()
    }
}

impl Drop for Monitoring {
    fn drop(&mut self) {
        self.0.client.set(Flag::Monitor, false);
    }
}

impl Feed {
    fn append(&self, lines: &str) {
        let mut waiting = self.lock();
        if waiting.len() + lines.len() > QUEUE_BYTES_MAX {
            *waiting = String::new();
            self.client.set(Flag::Killed, true);
        } else if !self.client.is(Flag::Killed) {
            waiting.push_str(lines);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
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
