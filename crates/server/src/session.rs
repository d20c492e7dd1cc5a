//! The state of a client that its commands read and change.

use std::ops::Bound;
use std::sync::Arc;

use honeycomb_protocol::resp::{ParsedRequest, RequestBuffer};

use crate::arguments::Arguments;
use crate::charge::Charge;
use crate::clients::{Client, Flag};
use crate::commands::range::bound_bytes;
use crate::failure::Failure;
use crate::monitors::Monitoring;
use crate::notifications::Subscriber;
use crate::push_queue::PushQueue;
use crate::server_state::ServerState;
use crate::task::away::AwayTask;
use crate::watches::Watching;

/// The session of a connection.
#[derive(Debug)]
pub(crate) struct Session {
    /// The part of the state that other cores may read.
    pub(crate) client: Arc<Client>,
    pub(crate) database: usize,
    pub(crate) authenticated: bool,
    /// Commands since `MULTI`.
    pub(crate) queue: Option<Queue>,
    pub(crate) watched: Watched,
    /// The connection closes when its replies are sent.
    pub(crate) closing: bool,
    pub(crate) replying: Replying,
    /// Whether its lookups count as uses of pairs. `CLIENT NO-TOUCH ON` clears it.
    pub(crate) touches: bool,
    /// The monitor state after `MONITOR`.
    pub(crate) monitoring: Option<Monitoring>,
    /// The watch after `RI.WATCH`.
    pub(crate) watching: Option<Watching>,
    /// Its subscriptions, if there are any.
    pub(crate) subscriber: Option<Subscriber>,
    /// The task in the background that uses this copy of the state.
    pub(crate) away: Option<Arc<AwayTask>>,
}

/// Bytes of a request that `MULTI` copies at most. It moves the buffer of a longer one.
const COPIED_BYTES_MAX: usize = 64 << 10;
/// Number of push queues that a client may have.
pub(crate) const PUSH_QUEUES: usize = 3;

/// Whether the server replies to commands (`CLIENT REPLY`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Replying {
    #[default]
    On,
    Off,
    /// Omit the reply of the current command and of the next one.
    SkipThisAndNext,
    SkipThis,
}

/// Commands that wait for `EXEC`.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    commands: Vec<Queued>,
    /// Copies of short requests.
    requests: RequestBuffer,
    /// Bytes of memory of the buffers of long requests.
    long_bytes: usize,
    /// The number of commands that access whole ranges or tables.
    store_commands: usize,
    /// The server rejected one of the commands, so `EXEC` will reject all.
    pub(crate) aborted: bool,
}

/// A command that waits for `EXEC`.
#[derive(Debug)]
struct Queued {
    /// The number of the command.
    command: usize,
    found: ParsedRequest,
    /// The buffer of a long request, which is not copied.
    own: Option<Box<RequestBuffer>>,
}

/// Maximum number of queued commands that access whole ranges or tables. Each of them can read all pairs, and
/// later ones have to consider the ranges that it deletes.
const STORE_COMMANDS_MAX: usize = 1024;

/// Watched pairs and ranges, with their state when the client watched them.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    pub(crate) pairs: Vec<WatchedPair>,
    pub(crate) ranges: Vec<WatchedRange>,
    /// Their memory: one command may watch many long values.
    charge: Charge,
}

/// A watched pair.
#[derive(Debug)]
pub(crate) struct WatchedPair {
    /// The number of its table. `SWAPDB` changes the table of a number.
    pub(crate) database: usize,
    pub(crate) key: Vec<u8>,
    /// The stored value, if it had not expired.
    pub(crate) seen: Option<Vec<u8>>,
}

/// A watched range, with the digest of the pairs that it contained when the client watched it.
#[derive(Debug)]
pub(crate) struct WatchedRange {
    /// The number of its table. `SWAPDB` changes the table of a number.
    pub(crate) database: usize,
    pub(crate) lower: Bound<Vec<u8>>,
    pub(crate) upper: Bound<Vec<u8>>,
    pub(crate) digest: u64,
}

impl Session {
    pub(crate) fn new(client: Arc<Client>, authenticated: bool) -> Self {
        Self {
            client,
            database: 0,
            authenticated,
            queue: None,
            watched: Watched::default(),
            closing: false,
            replying: Replying::On,
            touches: true,
            monitoring: None,
            watching: None,
            subscriber: None,
            away: None,
        }
    }

    /// Returns a copy of the state that the commands of pairs use, for a task in the background.
    pub(crate) fn copy_for_pairs(&self, away: Arc<AwayTask>) -> Self {
        let Self { database, touches, .. } = *self;
        Self { database, touches, away: Some(away), ..Self::new(self.client.clone(), self.authenticated) }
    }

    /// Ends a command. Returns whether its reply is omitted.
    pub(crate) fn end_command(&mut self) -> bool {
        let was = self.replying;
        self.replying = match was {
            Replying::SkipThisAndNext => Replying::SkipThis,
            Replying::SkipThis => Replying::On,
            other => other,
        };
        was != Replying::On
    }

    /// Returns the push queues of the client.
    pub(crate) fn push_queues(&self) -> [Option<&dyn PushQueue>; PUSH_QUEUES] {
        let Self { monitoring, watching, subscriber, .. } = self;
        [
            monitoring.as_ref().map(|it| it as &dyn PushQueue),
            watching.as_ref().map(|it| it as &dyn PushQueue),
            subscriber.as_ref().map(|it| it as &dyn PushQueue),
        ]
    }

    /// Returns whether its commands may execute in batches with those of other clients.
    #[inline]
    pub(crate) fn can_batch(&self) -> bool {
        let is_plain = self.queue.is_none() && self.subscriber.is_none();
        self.authenticated && is_plain && self.replying == Replying::On
    }

    /// Records that a command failed before it was queued. The transaction aborts now, or at `EXEC`.
    pub(crate) fn abort(&mut self, failure: &Failure) {
        use Failure::{AbortedByArity, AbortedByLog, AbortedByMemory};
        if matches!(failure, AbortedByArity | AbortedByMemory | AbortedByLog(_)) {
            self.queue = None;
            self.watched = Watched::default();
        }
        self.queue.iter_mut().for_each(|queue| queue.aborted = true);
    }

    /// Resets the session to its state after the connect.
    pub(crate) fn reset(&mut self, authenticated: bool) {
        self.client.set_name(b"");
        [Flag::NoEvict, Flag::NoTouch].iter().for_each(|flag| self.client.set(*flag, false));
        *self = Self::new(self.client.clone(), authenticated);
    }
}

impl Queue {
    /// Returns an error, and aborts the transaction, if the request of another command, which has some bytes,
    /// would make the queued commands use more than `bytes_max` bytes of memory, or if too many of them would
    /// access whole ranges or tables.
    pub(crate) fn check_room(
        &mut self,
        is_on_tables: bool,
        (bytes, bytes_max): (usize, usize),
    ) -> Result<(), Failure> {
        if self.aborted {
            return Ok(());
        }
        self.store_commands += usize::from(is_on_tables);
        if self.store_commands > STORE_COMMANDS_MAX {
            return self.abort(Failure::TooManyStoreCommands(STORE_COMMANDS_MAX));
        }
        if self.memory_bytes() + bytes > bytes_max {
            return self.abort(Failure::QueueTooLong(bytes_max));
        }
        Ok(())
    }

    fn abort(&mut self, failure: Failure) -> Result<(), Failure> {
        *self = Self { aborted: true, ..Self::default() };
        Err(failure)
    }

    /// Queues a command: the request that was parsed last, of which it copies at most [`COPIED_BYTES_MAX`]
    /// bytes. An aborted queue keeps no commands.
    pub(crate) fn push(&mut self, command: usize, (requests, found): (&mut RequestBuffer, &ParsedRequest)) {
        if self.aborted {
            return;
        }
        let (found, own) = if found.bytes() <= COPIED_BYTES_MAX {
            (self.requests.push_copy(requests.arguments(found)), None)
        } else {
            let (own, found) = requests.take_last(found);
            self.long_bytes += own.capacity();
            (found, Some(Box::new(own)))
        };
        self.commands.push(Queued { command, found, own });
    }

    /// Returns the number of queued commands.
    pub(crate) fn len(&self) -> usize {
        self.commands.len()
    }

    /// Returns the number of the command at an index, or `None` if there are fewer.
    pub(crate) fn command(&self, index: usize) -> Option<usize> {
        self.commands.get(index).map(|queued| queued.command)
    }

    /// Returns the numbers of all commands.
    pub(crate) fn commands(&self) -> impl Iterator<Item = usize> {
        self.commands.iter().map(|queued| queued.command)
    }

    /// Returns the request at an index, and its arguments.
    pub(crate) fn request(&self, index: usize) -> (&ParsedRequest, Arguments<'_>) {
        let Queued { found, own, .. } = &self.commands[index];
        (found, own.as_deref().unwrap_or(&self.requests).arguments(found))
    }

    /// Returns the buffers of all requests. They may be long, so the caller frees them in steps.
    pub(crate) fn into_requests(self) -> impl Iterator<Item = RequestBuffer> {
        let long = self.commands.into_iter().filter_map(|queued| queued.own.map(|own| *own));
        std::iter::once(self.requests).chain(long)
    }

    /// Returns the bytes of memory in use.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.requests.capacity() + self.long_bytes + self.commands.capacity() * size_of::<Queued>()
    }
}

impl Watched {
    /// Watches a pair, within the limit of a client and that of all clients.
    pub(crate) fn push(&mut self, pair: WatchedPair, shared: &ServerState) -> Result<(), Failure> {
        let bytes = size_of::<WatchedPair>() + pair.key.len() + pair.seen.as_ref().map_or(0, Vec::len);
        self.take_room(bytes, shared)?;
        self.pairs.push(pair);
        Ok(())
    }

    /// Watches a range, within the same limits.
    pub(crate) fn push_range(&mut self, range: WatchedRange, shared: &ServerState) -> Result<(), Failure> {
        self.take_room(range.memory_bytes(), shared)?;
        self.ranges.push(range);
        Ok(())
    }

    /// Returns the number of watched pairs and ranges.
    pub(crate) fn len(&self) -> usize {
        self.pairs.len() + self.ranges.len()
    }

    /// Returns the bytes of memory in use, all of which are charged.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.charge.bytes()
    }

    /// Charges some bytes. Returns an error if a limit does not allow them.
    fn take_room(&mut self, bytes: usize, shared: &ServerState) -> Result<(), Failure> {
        let (config, before) = (shared.config(), self.charge.bytes());
        if before + bytes > config.watched_bytes_max() {
            return Err(Failure::WatchedTooLong(config.watched_bytes_max()));
        }
        if before == 0 {
            self.charge = Charge::new(shared.clients.bytes(), 0);
        }
        self.charge.set(before + bytes);
        if shared.clients.are_far_above(config.clients_bytes_max) {
            self.charge.set(before);
            return Err(Failure::ClientsTooLong(config.clients_bytes_max));
        }
        Ok(())
    }
}

impl WatchedRange {
    /// Returns the bytes of memory that it uses.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + bound_bytes(&self.lower) + bound_bytes(&self.upper)
    }
}

#[cfg(test)]
mod tests {
    use honeycomb_protocol::resp::{Limits, encode};

    use super::*;

    #[test]
    fn a_long_request_is_not_copied() {
        let (mut requests, mut queue) = (RequestBuffer::default(), Queue::default());
        let values = [&b"short"[..], &[b'v'; 1 << 20], &[b'w'; 2 << 20]];
        for value in values {
            let mut bytes = Vec::new();
            encode(&[b"ECHO", value], &mut bytes);
            requests.receive(&bytes);
            let found = requests.parse_next(&Limits::default()).unwrap().unwrap();
            queue.push(0, (&mut requests, &found));
            requests.discard_parsed(None);
            assert!(requests.capacity() <= COPIED_BYTES_MAX, "{}", requests.capacity());
        }
        assert!(queue.memory_bytes() <= (3 << 20) + 4096, "{}", queue.memory_bytes());
        for (at, value) in values.into_iter().enumerate() {
            assert!(queue.request(at).1.iter().eq([b"ECHO", value]));
        }
        let buffers: usize = queue.into_requests().map(|buffer| buffer.capacity()).sum();
        assert!(buffers >= 3 << 20);
    }

    #[test]
    fn a_queue_that_is_too_long_keeps_nothing() {
        let mut queue = Queue::default();
        assert_eq!(queue.check_room(false, (1000, 1000)), Ok(()));
        assert_eq!(queue.check_room(false, (1001, 1000)), Err(Failure::QueueTooLong(1000)));
        assert!(queue.aborted && queue.memory_bytes() == 0);
        assert_eq!(queue.check_room(false, (1001, 1000)), Ok(()));
    }
}
