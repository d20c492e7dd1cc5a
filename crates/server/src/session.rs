//! The state of a client that its commands read and change.

use std::ops::Bound;
use std::sync::Arc;

use honeycomb_protocol::resp::{ParsedRequest, RequestBuffer};

use crate::arguments::Arguments;
use crate::charge::Charge;
use crate::clients::{Client, Flag};
use crate::failure::Failure;
use crate::monitors::Monitoring;
use crate::notifications::Subscriber;
use crate::push_queue::PushQueue;
use crate::server_state::ServerState;
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
}

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
    pub(crate) requests: RequestBuffer,
    /// The number of each command and the position of its arguments in the requests.
    pub(crate) commands: Vec<(usize, ParsedRequest)>,
    /// The server rejected one of the commands, so `EXEC` will reject all.
    pub(crate) aborted: bool,
}

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
        }
    }

    /// Returns a copy of the state that the commands of pairs use.
    pub(crate) fn copy_for_pairs(&self) -> Self {
        let Self { database, touches, .. } = *self;
        Self { database, touches, ..Self::new(self.client.clone(), self.authenticated) }
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
    /// Queues a command if all queued commands use at most `bytes_max` bytes of memory. An aborted queue
    /// keeps no commands.
    pub(crate) fn push(
        &mut self,
        command: usize,
        arguments: Arguments<'_>,
        bytes_max: usize,
    ) -> Result<(), Failure> {
        if self.aborted {
            return Ok(());
        }
        self.commands.push((command, self.requests.push_copy(arguments)));
        if self.memory_bytes() > bytes_max {
            *self = Self { aborted: true, ..Self::default() };
            return Err(Failure::QueueTooLong(bytes_max));
        }
        Ok(())
    }

    /// Returns the number of queued commands.
    pub(crate) fn len(&self) -> usize {
        self.commands.len()
    }

    /// Returns the bytes of memory in use.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.requests.capacity() + size_of_val(&*self.commands)
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
    fn memory_bytes(&self) -> usize {
        let length = |bound: &Bound<Vec<u8>>| match bound {
            Bound::Included(key) | Bound::Excluded(key) => key.len(),
            Bound::Unbounded => 0,
        };
        size_of::<Self>() + length(&self.lower) + length(&self.upper)
    }
}
