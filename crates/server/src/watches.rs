//! `RI.WATCH`: clients that receive changes as push messages.
//!
//! 1. One thread polls the streams. It appends messages to the queue of a watch while that has room, and
//!    wakes the core of the client. A stream waits at its version while the queue is full, so a slow client
//!    delays nobody and takes no further memory.
//! 2. The core of a client moves messages from the queue to the replies as far as these have space. A client
//!    with a watch uses RESP3: the choice of RESP2 ends the watch.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use honeycomb_protocol::resp::{Replies, Version};
use honeycomb_store::{ChangeStream, Store};

use crate::change_messages::Shown;
use crate::clients::Client;
use crate::failure::Failure;
use crate::push_queue::PushQueue;
use crate::registry::{Registration, Registry};

/// Bytes of messages in a queue at which its stream waits.
const QUEUE_BYTES_MAX: usize = 1 << 20;
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
    /// Whether the client has requested the values before changes.
    has_old: bool,
    messages: Mutex<Replies>,
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
        stream: ChangeStream,
        has_old: bool,
    ) -> Watching {
        let messages = Mutex::new(Replies::new(Version::Resp3));
        let watch = self.all.add(Watch { client, stream: Mutex::new(Some(stream)), has_old, messages });
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

    /// Polls the streams until the server stops, and wakes the cores that have messages to send.
    pub(crate) fn run(&self, is_stopping: impl Fn() -> bool, wake_core: impl Fn(usize)) {
        while !is_stopping() {
            let all = self.all.members().clone();
            let advanced = all.iter().filter(|watch| watch.advance(&wake_core)).count();
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
    fn advance(&self, wake_core: impl Fn(usize)) -> bool {
        let mut stream = lock(&self.stream);
        let Some(polled) = stream.as_mut().filter(|_| lock(&self.messages).len() < QUEUE_BYTES_MAX) else {
            return false;
        };
        let before = polled.version();
        let changes = polled.poll();
        let version = polled.version();
        let failure = match changes {
            Ok(changes) if changes.is_empty() => return version > before,
            Ok(changes) => self.add_changes(&Shown::of(&changes, version, self.has_old)),
            Err(error) => Some(error.into()),
        };
        if let Some(failure) = failure {
            self.add_failure(&failure);
            *stream = None;
        }
        wake_core(self.client.core);
        true
    }

    /// Adds a message with changes. Returns the error after them.
    fn add_changes(&self, shown: &Shown<'_>) -> Option<Failure> {
        if !shown.is_empty() {
            let mut messages = lock(&self.messages);
            messages.push(3);
            messages.bulk(b"ri.watch");
            shown.write(&mut messages);
        }
        shown.failure()
    }

    /// Adds the last message, an error.
    fn add_failure(&self, failure: &Failure) {
        let mut messages = lock(&self.messages);
        messages.push(2);
        messages.bulk(b"ri.watch");
        messages.error(&failure.to_string());
    }
}

impl PushQueue for Watching {
    fn take(&self, replies: &mut Replies) {
        if replies.version() == Version::Resp3 {
            replies.append(std::mem::replace(&mut lock(&self.watch.messages), Replies::new(Version::Resp3)));
            self.watches.notify();
        }
    }

    fn is_empty(&self) -> bool {
        lock(&self.watch.messages).is_empty()
    }

    fn memory_bytes(&self) -> usize {
        lock(&self.watch.messages).capacity()
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
