//! Messages of clients, and keyspace notifications, whose channels are named after keys and events.
//!
//! 1. The thread that publishes a message, or has changed pairs, appends messages to the queue of each client
//!    with a channel or a pattern that matches, and wakes the core of the client.
//! 2. The core of a client moves messages from the queue to the replies as far as these have space. The
//!    server disconnects a client whose queue is full, so no client waits for another. It also does so if a
//!    message finds the memory of all clients far above its limit.

pub(crate) mod events;

use std::cell::OnceCell;
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use honeycomb_protocol::resp::{Replies, Version};

use crate::charge::Charge;
use crate::clients::{Client, ClientLimit, Flag};
use crate::failure::Failure;
use crate::glob;
use crate::notifications::events::{Event, Notify};
use crate::push_queue::PushQueue;
use crate::registry::{Registration, Registry};

/// Maximum bytes of messages in the queue of a client. The server disconnects a slower client.
const QUEUE_BYTES_MAX: usize = 8 << 20;
/// Maximum bytes of a message of a client and its channel: far less than a queue, so that a message alone
/// disconnects nobody.
pub(crate) const PUBLISHED_BYTES_MAX: usize = 1 << 20;
/// Bytes of memory of a message in the queue of a client, and of its text besides channel and content.
const MESSAGE_BYTES: usize = size_of::<Message>();
const TEXT_BYTES: usize = size_of::<Text>() + 64;
/// Bytes of memory of a client with subscriptions, and of a subscription besides its name: its place in a
/// tree that is half full, and the counts of references.
const FEED_BYTES: usize = size_of::<Feed>() + 64;
const SUBSCRIPTION_BYTES: usize = 96;
/// Maximum number of channels and patterns of a client: every event is compared with each of them.
pub(crate) const SUBSCRIPTIONS_MAX: usize = 1000;

/// All clients with subscriptions.
#[derive(Debug, Default)]
pub(crate) struct Notifications(Arc<Registry<Feed>>);

/// The subscriptions of a client, and the messages that wait for it.
#[derive(Debug)]
struct Feed {
    client: Arc<Client>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    channels: BTreeSet<Name>,
    patterns: BTreeSet<Name>,
    /// Bytes of memory of channels and patterns.
    name_bytes: usize,
    messages: VecDeque<Message>,
    /// Bytes of the messages as if no other client received them.
    message_bytes: usize,
    charge: Charge,
}

/// The name of a channel, or a pattern.
type Name = Arc<[u8]>;

#[derive(Debug)]
struct Message {
    /// The pattern that has matched, if it was a pattern.
    pattern: Option<Name>,
    text: Arc<Text>,
}

/// The channel and the content of a message. All its receivers share them: a message to many clients would
/// otherwise take much memory at once.
#[derive(Debug)]
struct Text {
    channel: Vec<u8>,
    content: Vec<u8>,
    _charge: Charge,
}

/// A message for all clients with a subscription that matches its channel.
struct Offer<'o> {
    channel: &'o [u8],
    content: &'o [u8],
    limit: ClientLimit<'o>,
    /// Allocated for the first receiver.
    text: OnceCell<Arc<Text>>,
}

/// The registration of a client with subscriptions. Dropping it ends the registration.
#[derive(Debug)]
pub(crate) struct Subscriber(Registration<Feed>);

/// The two kinds of subscriptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Channel,
    Pattern,
}

impl Notifications {
    /// Returns whether clients may want events of some of the chosen classes.
    #[inline]
    pub(crate) fn are_wanted(&self, notify: Notify) -> bool {
        notify != Notify::default() && self.0.any()
    }

    /// Adds a client without subscriptions.
    pub(crate) fn add(&self, client: Arc<Client>, limit: ClientLimit<'_>) -> Subscriber {
        let (charge, message_bytes, name_bytes) = (limit.charge(FEED_BYTES), 0, 0);
        let (channels, patterns, messages) = (BTreeSet::new(), BTreeSet::new(), VecDeque::new());
        let state = State { channels, patterns, name_bytes, messages, message_bytes, charge };
        Subscriber(self.0.add(Feed { client, state: Mutex::new(state) }))
    }

    /// Appends messages about events to the queues of all clients that they concern. Returns the cores to
    /// wake.
    pub(crate) fn publish(
        &self,
        notify: Notify,
        events: &[Event],
        limit: ClientLimit<'_>,
    ) -> BTreeSet<usize> {
        let feeds = self.0.members();
        let mut cores = BTreeSet::new();
        for event in events.iter().filter(|event| notify.has(event.class)) {
            let Event { name, database, key, .. } = event;
            let (name, key) = (name.as_bytes(), &key[..]);
            for (choice, kind, after, content) in
                [(Notify::KEYSPACE, "space", key, name), (Notify::KEYEVENT, "event", name, key)]
            {
                if notify.has(choice) {
                    let channel = [format!("__key{kind}@{database}__:").as_bytes(), after].concat();
                    let offer = Offer { channel: &channel, content, limit, text: OnceCell::new() };
                    let reached = feeds.iter().filter(|feed| feed.accept(&offer) > 0);
                    cores.extend(reached.map(|feed| feed.client.core));
                }
            }
        }
        cores
    }

    /// Appends a message to the queues of all clients with a subscription that matches its channel. Returns
    /// the number of these subscriptions, and the cores to wake.
    pub(crate) fn send(
        &self,
        channel: &[u8],
        content: &[u8],
        limit: ClientLimit<'_>,
    ) -> (usize, BTreeSet<usize>) {
        let (feeds, offer) = (self.0.members(), Offer { channel, content, limit, text: OnceCell::new() });
        let (mut receivers, mut cores) = (0, BTreeSet::new());
        for feed in feeds.iter() {
            let matching = feed.accept(&offer);
            if matching > 0 {
                receivers += matching;
                cores.insert(feed.client.core);
            }
        }
        (receivers, cores)
    }

    /// Returns the number of subscriptions that match a channel.
    pub(crate) fn receivers(&self, channel: &[u8]) -> usize {
        let feeds = self.0.members();
        let open = feeds.iter().filter(|feed| !feed.client.is(Flag::Killed));
        open.map(|feed| feed.lock().matching(channel).count()).sum()
    }

    /// Returns the number of clients that have subscribed to a channel, apart from patterns.
    pub(crate) fn subscribers(&self, channel: &[u8]) -> usize {
        self.0.members().iter().filter(|feed| feed.lock().channels.contains(channel)).count()
    }

    /// Passes the names of all subscriptions of a kind in order, each once, to `use_them`. The list of names
    /// counts as memory of clients. Others wait meanwhile, so that there is only one such list at a time.
    pub(crate) fn with_all<T>(
        &self,
        kind: Kind,
        limit: ClientLimit<'_>,
        use_them: impl FnOnce(&[Name]) -> T,
    ) -> T {
        let feeds = self.0.members();
        let count = feeds.iter().map(|feed| feed.lock().of(kind).len()).sum();
        let _charge = limit.charge(count * size_of::<Name>());
        let mut names = Vec::with_capacity(count);
        feeds.iter().for_each(|feed| names.extend(feed.lock().of(kind).iter().cloned()));
        names.sort_unstable();
        names.dedup();
        use_them(&names)
    }
}

impl Feed {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a message for each subscription that matches. Returns their number.
    fn accept(&self, offer: &Offer<'_>) -> usize {
        let mut state = self.lock();
        if self.client.is(Flag::Killed) {
            return 0;
        }
        let found: Vec<_> = state.matching(offer.channel).map(|pattern| pattern.cloned()).collect();
        let matching = found.len();
        for pattern in found {
            state.push(Message { pattern, text: offer.text().clone() });
            if state.message_bytes > QUEUE_BYTES_MAX || offer.limit.is_far_exceeded() {
                state.take(usize::MAX);
                self.client.set(Flag::Killed, true);
                break;
            }
        }
        matching
    }
}

impl Offer<'_> {
    fn text(&self) -> &Arc<Text> {
        self.text.get_or_init(|| {
            let (channel, content) = (self.channel.to_vec(), self.content.to_vec());
            let charge = self.limit.charge(TEXT_BYTES + channel.len() + content.len());
            Arc::new(Text { channel, content, _charge: charge })
        })
    }
}

impl State {
    /// Returns the subscriptions that match a channel: a pattern, or `None` for the channel itself.
    fn matching<'s>(&'s self, channel: &'s [u8]) -> impl Iterator<Item = Option<&'s Name>> {
        let exact = self.channels.contains(channel).then_some(None);
        let patterns = self.patterns.iter().filter(|pattern| glob::matches(pattern, channel));
        exact.into_iter().chain(patterns.map(Some))
    }

    fn push(&mut self, message: Message) {
        self.message_bytes += message.bytes();
        self.messages.push_back(message);
        self.update_charge();
    }

    /// Removes and returns the first messages, which have about `bytes_max` bytes.
    fn take(&mut self, bytes_max: usize) -> Vec<Message> {
        let (mut taken, mut bytes) = (Vec::new(), 0);
        while bytes < bytes_max
            && let Some(message) = self.messages.pop_front()
        {
            bytes += message.bytes();
            taken.push(message);
        }
        self.message_bytes -= bytes;
        if self.messages.is_empty() {
            self.messages = VecDeque::new();
        }
        self.update_charge();
        taken
    }

    fn memory_bytes(&self) -> usize {
        FEED_BYTES + self.name_bytes + self.messages.capacity() * MESSAGE_BYTES
    }

    fn update_charge(&mut self) {
        self.charge.set(self.memory_bytes());
    }

    fn of(&mut self, kind: Kind) -> &mut BTreeSet<Name> {
        match kind {
            Kind::Channel => &mut self.channels,
            Kind::Pattern => &mut self.patterns,
        }
    }

    fn count(&self) -> usize {
        self.channels.len() + self.patterns.len()
    }
}

impl Message {
    fn bytes(&self) -> usize {
        let pattern = self.pattern.as_ref().map_or(0, |pattern| pattern.len());
        MESSAGE_BYTES + pattern + self.text.channel.len() + self.text.content.len()
    }

    fn write(&self, replies: &mut Replies) {
        begin(replies, if self.pattern.is_some() { 4 } else { 3 });
        replies.bulk(if self.pattern.is_some() { b"pmessage" } else { b"message" });
        self.pattern.iter().for_each(|pattern| replies.bulk(pattern));
        replies.bulk(&self.text.channel);
        replies.bulk(&self.text.content);
    }
}

impl Subscriber {
    /// Returns an error if the client would have too many subscriptions with these names.
    pub(crate) fn check_limit<'n>(
        &self,
        kind: Kind,
        names: impl Iterator<Item = &'n [u8]>,
    ) -> Result<(), Failure> {
        let mut state = self.0.lock();
        let (count, own) = (state.count(), state.of(kind));
        let new: BTreeSet<_> = names.filter(|name| !own.contains(*name)).collect();
        if count + new.len() > SUBSCRIPTIONS_MAX {
            let message = format!("too many channels and patterns: at most {SUBSCRIPTIONS_MAX} are allowed");
            return Err(Failure::other(message));
        }
        Ok(())
    }

    /// Adds a subscription within the limit, and returns the number of all subscriptions of the client.
    pub(crate) fn subscribe(&self, kind: Kind, name: &[u8]) -> usize {
        let mut state = self.0.lock();
        if state.of(kind).insert(name.into()) {
            state.name_bytes += SUBSCRIPTION_BYTES + name.len();
            state.update_charge();
        }
        state.count()
    }

    /// Removes a subscription, if there is one, and returns the number of those that are left.
    pub(crate) fn unsubscribe(&self, kind: Kind, name: &[u8]) -> usize {
        let mut state = self.0.lock();
        if state.of(kind).remove(name) {
            state.name_bytes -= SUBSCRIPTION_BYTES + name.len();
            state.update_charge();
        }
        state.count()
    }

    /// Returns the number of subscriptions.
    pub(crate) fn count(&self) -> usize {
        self.0.lock().count()
    }

    /// Returns the number of subscriptions of a kind.
    pub(crate) fn count_of(&self, kind: Kind) -> usize {
        self.0.lock().of(kind).len()
    }

    /// Returns all subscriptions of a kind.
    pub(crate) fn all(&self, kind: Kind) -> Vec<Name> {
        self.0.lock().of(kind).iter().cloned().collect()
    }
}

impl PushQueue for Subscriber {
    fn take(&self, replies: &mut Replies, bytes_max: usize) {
        let messages = self.0.lock().take(bytes_max.saturating_sub(replies.len()));
        messages.iter().for_each(|message| message.write(replies));
    }

    fn is_empty(&self) -> bool {
        self.0.lock().messages.is_empty()
    }

    fn memory_bytes(&self) -> usize {
        self.0.lock().charge.bytes()
    }
}

/// Begins a message of some parts, which RESP3 marks as one.
pub(crate) fn begin(replies: &mut Replies, parts: usize) {
    match replies.version() {
        Version::Resp3 => replies.push(parts),
        Version::Resp2 => replies.array(parts),
    }
}
