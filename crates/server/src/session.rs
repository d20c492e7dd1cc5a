//! What the server knows of a client, and what its commands may touch.

use std::ops::Bound;
use std::sync::Arc;

use honeycomb_protocol::resp::{Found, Requests};

use crate::arguments::Arguments;
use crate::clients::{Client, Flag};
use crate::failure::Failure;
use crate::monitors::Monitoring;

/// The state of a connection that its commands change.
#[derive(Debug)]
pub(crate) struct Session {
    /// What others may know of it.
    pub(crate) client: Arc<Client>,
    pub(crate) database: usize,
    pub(crate) authenticated: bool,
    /// Commands since `MULTI`.
    pub(crate) queue: Option<Queue>,
    pub(crate) watched: Watched,
    /// The connection ends once its replies are sent.
    pub(crate) closing: bool,
    pub(crate) replying: Replying,
    /// Whether its lookups count as uses of pairs: not after `CLIENT NO-TOUCH ON`.
    pub(crate) touches: bool,
    /// Since `MONITOR`.
    pub(crate) monitoring: Option<Monitoring>,
}

/// Whether commands are replied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Replying {
    #[default]
    On,
    Off,
    /// Neither the command that is carried out nor the one after it.
    SkipThisAndNext,
    SkipThis,
}

/// Commands that wait for `EXEC`.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    pub(crate) requests: Requests,
    /// The number of each command and the position of its arguments in the requests.
    pub(crate) commands: Vec<(usize, Found)>,
    /// One was refused: `EXEC` refuses them all.
    pub(crate) spoiled: bool,
}

/// Pairs that are watched, as they were when they came to be.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    pub(crate) pairs: Vec<WatchedPair>,
    pub(crate) ranges: Vec<WatchedRange>,
    /// Bytes of memory that they take.
    bytes: usize,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct WatchedPair {
    /// The number of its table: swapped tables are others.
    pub(crate) database: usize,
    pub(crate) key: Vec<u8>,
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
        }
    }

    /// A command is done: whether its reply is left out.
    pub(crate) fn is_silent(&mut self) -> bool {
        let was = self.replying;
        self.replying = match was {
            Replying::SkipThisAndNext => Replying::SkipThis,
            Replying::SkipThis => Replying::On,
            other => other,
        };
        was != Replying::On
    }

    /// Whether its commands may be carried out together with those of others.
    #[inline]
    pub(crate) fn may_join(&self) -> bool {
        self.authenticated && self.queue.is_none() && self.replying == Replying::On
    }

    /// A command failed before it was queued: its transaction will be refused, or is over.
    pub(crate) fn spoil(&mut self, failure: &Failure) {
        if matches!(failure, Failure::AbortedByArity | Failure::AbortedByMemory) {
            self.queue = None;
            self.watched = Watched::default();
        }
        self.queue.iter_mut().for_each(|queue| queue.spoiled = true);
    }

    /// As it was when the client came.
    pub(crate) fn reset(&mut self, authenticated: bool) {
        self.client.set_name(b"");
        [Flag::NoEvict, Flag::NoTouch].iter().for_each(|flag| self.client.set(*flag, false));
        *self = Self::new(self.client.clone(), authenticated);
    }
}

impl Queue {
    /// Has a command wait, if all take no more than so many bytes of memory. None are kept that `EXEC` will
    /// refuse.
    pub(crate) fn push(
        &mut self,
        command: usize,
        arguments: Arguments<'_>,
        bytes_max: usize,
    ) -> Result<(), Failure> {
        if self.spoiled {
            return Ok(());
        }
        self.commands.push((command, self.requests.keep(arguments)));
        if self.memory_bytes() > bytes_max {
            *self = Self { spoiled: true, ..Self::default() };
            return Err(Failure::QueueTooLong(bytes_max));
        }
        Ok(())
    }

    /// How many commands wait.
    pub(crate) fn len(&self) -> usize {
        self.commands.len()
    }

    /// Bytes of memory that it takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.requests.capacity() + size_of_val(&*self.commands)
    }
}

impl Watched {
    /// Watches a pair, too, if all take no more than so many bytes of memory.
    pub(crate) fn push(&mut self, pair: WatchedPair, bytes_max: usize) -> Result<(), Failure> {
        let bytes = size_of::<WatchedPair>() + pair.key.len() + pair.seen.as_ref().map_or(0, Vec::len);
        self.take_room(bytes, bytes_max)?;
        self.pairs.push(pair);
        Ok(())
    }

    /// Watches a range, too, within the same limit.
    pub(crate) fn push_range(&mut self, range: WatchedRange, bytes_max: usize) -> Result<(), Failure> {
        self.take_room(range.memory_bytes(), bytes_max)?;
        self.ranges.push(range);
        Ok(())
    }

    /// How many pairs and ranges are watched.
    pub(crate) fn len(&self) -> usize {
        self.pairs.len() + self.ranges.len()
    }

    /// Bytes of memory that they take.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.bytes
    }

    fn take_room(&mut self, bytes: usize, bytes_max: usize) -> Result<(), Failure> {
        if self.bytes + bytes > bytes_max {
            return Err(Failure::WatchedTooLong(bytes_max));
        }
        self.bytes += bytes;
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
