//! `RI.WATCH`: clients that receive changes as push messages.
//!
//! 1. One thread polls the streams. It appends messages to the queue of a watch while that has room, and
//!    wakes the core of the client. A stream waits at its version while the queue is full, or the memory of
//!    all clients exceeds its limit, so a slow client delays nobody and takes no further memory.
//! 2. A swap of numbers ends the watches of these numbers. The thread loads the version of the last swap
//!    after it has polled. A core that has written a change after the swap has seen the swap, and the thread
//!    has seen the change in the log, so it sees the swap as well.
//! 3. The core of a client moves messages from the queue to the replies as far as these have space. A client
//!    with a watch uses RESP3: the choice of RESP2 ends the watch.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use honeycomb_protocol::resp::{Replies, Version};
use honeycomb_store::{ChangeStream, Store, TableChange, Version as StoreVersion};

use crate::change_messages::Shown;
use crate::charge::Charge;
use crate::clients::{Client, ClientLimit};
use crate::failure::Failure;
use crate::push_queue::PushQueue;
use crate::registry::{Registration, Registry};

/// Bytes of messages in a queue at which its stream waits.
const QUEUE_BYTES_MAX: usize = 1 << 20;
/// Bytes of memory of a watch without stream and messages.
const WATCH_BYTES: usize = size_of::<Watch>() + 64;
/// How long the thread waits before it looks again, in case that nobody wakes it.
const WAIT: Duration = Duration::from_millis(100);

/// All watches.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    all: Arc<Registry<Watch>>,
    /// Whether there may be work since the thread has looked.
    has_news: Mutex<bool>,
    arrived: Condvar,
}

#[derive(Debug)]
struct Watch {
    client: Arc<Client>,
    /// `None` after an error, which the client has received.
    stream: Mutex<Option<ChangeStream>>,
    /// The number of its database, and the version of the last swap of the number before the watch.
    database: (usize, StoreVersion),
    /// Whether the client has requested the values before changes.
    has_old: bool,
    waiting: Mutex<Waiting>,
}

/// The messages that wait for a client.
#[derive(Debug)]
struct Waiting {
    messages: Replies,
    /// Bytes of memory of the stream.
    stream_bytes: usize,
    charge: Charge,
}

/// The watch of a client. Dropping it ends the watch.
#[derive(Debug)]
pub(crate) struct Watching {
    watches: Arc<Watches>,
    watch: Registration<Watch>,
}

impl Watches {
    /// Adds a watch of a client, which requests the values before changes or does not.
    pub(crate) fn add(
        self: &Arc<Self>,
        client: Arc<Client>,
        (stream, database, has_old): (ChangeStream, (usize, StoreVersion), bool),
        limit: ClientLimit<'_>,
    ) -> Watching {
        let messages = Replies::new(Version::Resp3);
        let mut waiting = Waiting { messages, stream_bytes: stream.memory_bytes(), charge: limit.charge(0) };
        waiting.update_charge();
        let (stream, waiting) = (Mutex::new(Some(stream)), Mutex::new(waiting));
        let watch = self.all.add(Watch { client, stream, database, has_old, waiting });
        self.notify();
        Watching { watches: self.clone(), watch }
    }

    /// States that there may be changes, or room for messages.
    pub(crate) fn notify(&self) {
        if self.all.any() {
            self.wake();
        }
    }

    /// Wakes the thread in any case.
    pub(crate) fn wake(&self) {
        *lock(&self.has_news) = true;
        self.arrived.notify_one();
    }

    /// Polls the streams until the server stops, and wakes the cores that have messages to send. The streams
    /// wait while clients exceed the limit of their memory. `swap_version` returns the version of the last
    /// swap of a number.
    pub(crate) fn run(
        &self,
        is_stopping: impl Fn() -> bool,
        (is_exceeded, swap_version): (impl Fn() -> bool, impl Fn(usize) -> StoreVersion),
        wake_core: impl Fn(usize),
    ) {
        let advances = |watch: &&Arc<Watch>| !is_exceeded() && watch.advance(&swap_version, &wake_core);
        while !is_stopping() {
            let all = self.all.members().clone();
            let advanced = all.iter().filter(advances).count();
            if advanced == 0 {
                let has_news = lock(&self.has_news);
                let waited = self.arrived.wait_timeout_while(has_news, WAIT, |has_news| !*has_news);
                *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
            }
        }
    }
}

impl Watch {
    /// Appends the next changes to the queue if it has room. Returns whether there were any.
    fn advance(&self, swap_version: impl Fn(usize) -> StoreVersion, wake_core: impl Fn(usize)) -> bool {
        let mut stream = lock(&self.stream);
        let Some(polled) = stream.as_mut().filter(|_| lock(&self.waiting).messages.len() < QUEUE_BYTES_MAX)
        else {
            return false;
        };
        let before = polled.position();
        let changes = polled.poll();
        let position = polled.position();
        lock(&self.waiting).set_stream_bytes(polled.memory_bytes());
        let swap = self.swap_before(position.version(), swap_version);
        let failure = match (changes, swap) {
            (Ok(changes), None) if changes.is_empty() => return position != before,
            (Ok(changes), None) => self.add_changes(&Shown::of(&changes, position, self.has_old)),
            (Ok(changes), Some(swap)) => self.add_last_changes(changes, swap),
            (Err(error), _) => Some(error.into()),
        };
        if let Some(failure) = failure {
            self.add_failure(&failure);
            *stream = None;
        }
        wake_core(self.client.core);
        true
    }

    /// Returns the version of the swap that ends this watch, if the stream has reached it.
    fn swap_before(
        &self,
        version: StoreVersion,
        swap_version: impl Fn(usize) -> StoreVersion,
    ) -> Option<StoreVersion> {
        let (database, known) = self.database;
        Some(swap_version(database)).filter(|&swap| swap > known && swap <= version)
    }

    /// Adds the changes up to the swap that ends the watch. Returns the error after them.
    fn add_last_changes(&self, mut changes: Vec<TableChange>, version: StoreVersion) -> Option<Failure> {
        changes.truncate(changes.partition_point(|change| change.version <= version));
        let swapped = Failure::Swapped { number: self.database.0, version };
        self.add_changes(&Shown::of(&changes, version.into(), self.has_old)).or(Some(swapped))
    }

    /// Adds a message with changes. Returns the error after them.
    fn add_changes(&self, shown: &Shown<'_>) -> Option<Failure> {
        if !shown.is_empty() {
            lock(&self.waiting).add(|messages| {
                messages.push(3);
                messages.bulk(b"ri.watch");
                shown.write(messages);
            });
        }
        shown.failure()
    }

    /// Adds the last message, an error.
    fn add_failure(&self, failure: &Failure) {
        lock(&self.waiting).add(|messages| {
            messages.push(2);
            messages.bulk(b"ri.watch");
            messages.error(&failure.to_string());
        });
    }
}

impl Waiting {
    fn add(&mut self, write: impl FnOnce(&mut Replies)) {
        write(&mut self.messages);
        self.update_charge();
    }

    fn take(&mut self) -> Replies {
        let messages = std::mem::replace(&mut self.messages, Replies::new(Version::Resp3));
        self.update_charge();
        messages
    }

    fn set_stream_bytes(&mut self, bytes: usize) {
        self.stream_bytes = bytes;
        self.update_charge();
    }

    fn update_charge(&mut self) {
        self.charge.set(WATCH_BYTES + self.stream_bytes + self.messages.capacity());
    }
}

impl PushQueue for Watching {
    /// Moves all messages, which it need not copy.
    fn take(&self, replies: &mut Replies, _: usize) {
        if replies.version() == Version::Resp3 {
            replies.append(lock(&self.watch.waiting).take());
            self.watches.notify();
        }
    }

    fn is_empty(&self) -> bool {
        lock(&self.watch.waiting).messages.is_empty()
    }

    fn memory_bytes(&self) -> usize {
        lock(&self.watch.waiting).charge.bytes()
    }
}

/// Makes the log of the store wake the thread of watches.
pub(crate) fn follow_log(store: &Store, watches: &Arc<Watches>) {
    // A watch has a handle to the store, so a reference from here would keep both alive.
    let watches = Arc::downgrade(watches);
    store.on_durable(Arc::new(move || {
        if let Some(watches) = watches.upgrade() {
            watches.notify();
        }
    }));
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
