//! What all may know of a client, and its line in `CLIENT LIST`.

use std::fmt::Write;
use std::sync::{Mutex, PoisonError};

use honeycomb_memory::sync::{AtomicU64, AtomicUsize, Ordering};

/// What all may know of a client.
#[derive(Debug)]
pub(crate) struct Client {
    /// Unique in the server's life.
    pub(crate) id: u64,
    pub(crate) address: String,
    /// The server's address that it has connected to.
    pub(crate) local: String,
    /// The number of the core that serves it.
    pub(crate) core: usize,
    file: i32,
    /// Milliseconds since 1970.
    since: u64,
    active: AtomicU64,
    /// Milliseconds since 1970 when it last took a part of its replies while others wait; 0 if none wait.
    stalled_since: AtomicU64,
    labels: Mutex<Labels>,
    /// A bit for each [`Flag`].
    flags: AtomicUsize,
    /// The number of the command that it ran last, and the number of its subcommand if that is of one.
    command: AtomicUsize,
    subcommand: AtomicUsize,
    commands: AtomicU64,
    received: AtomicU64,
    sent: AtomicU64,
    activity: [AtomicUsize; 8],
}

/// Milliseconds after which a client that takes none of its replies is stalled.
pub(crate) const STALL: u64 = 100;

/// Where a client comes from, and who serves it.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) address: String,
    pub(crate) local: String,
    pub(crate) file: i32,
    pub(crate) core: usize,
}

/// What a client says of itself.
#[derive(Debug, Clone, Default)]
struct Labels {
    name: Vec<u8>,
    library: Vec<u8>,
    library_version: Vec<u8>,
}

/// What is so of a client or is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flag {
    /// It is to be ended.
    Killed = 1,
    Monitor = 2,
    NoEvict = 4,
    NoTouch = 8,
}

/// What changes of a client from turn to turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Activity {
    pub(crate) database: usize,
    /// Bytes that have arrived and wait.
    pub(crate) request_bytes: usize,
    /// Bytes of memory for requests beyond them.
    pub(crate) request_room: usize,
    /// Bytes of replies that wait.
    pub(crate) reply_bytes: usize,
    /// Bytes of memory for all of the client.
    pub(crate) memory_bytes: usize,
    /// Commands since `MULTI` and one; 0 without.
    pub(crate) queued: usize,
    pub(crate) watched: usize,
    /// The version of the protocol.
    pub(crate) protocol: usize,
}

impl Client {
    pub(super) fn new(id: u64, origin: Origin, now: u64) -> Self {
        let Origin { address, local, file, core } = origin;
        Self {
            id,
            address,
            local,
            core,
            file,
            since: now,
            active: AtomicU64::new(now),
            stalled_since: AtomicU64::new(0),
            labels: Mutex::default(),
            flags: AtomicUsize::new(0),
            command: AtomicUsize::new(usize::MAX),
            subcommand: AtomicUsize::new(usize::MAX),
            commands: AtomicU64::new(0),
            received: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            activity: Activity::default().words().map(AtomicUsize::new),
        }
    }

    /// The line about it, without its end.
    pub(crate) fn line(&self, now: u64, command_name: fn(usize, usize) -> &'static str) -> String {
        let Labels { name, library, library_version } = self.labels();
        let [name, library, library_version] = [name, library, library_version].map(text);
        let activity = self.activity();
        let load = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let mut line = format!("id={} addr={} laddr={} fd={}", self.id, self.address, self.local, self.file);
        let (age, idle) = (self.age(now), self.silence(now) / 1000);
        let _ = write!(line, " name={name} age={age} idle={idle} flags={}", self.letters(&activity));
        let queued = activity.queued as i64 - 1;
        let _ = write!(line, " db={} sub=0 psub=0 ssub=0 multi={queued}", activity.database);
        let (received, free) = (activity.request_bytes, activity.request_room);
        let _ = write!(line, " watch={} qbuf={received} qbuf-free={free}", activity.watched);
        let (waiting, memory) = (activity.reply_bytes, activity.memory_bytes);
        let _ =
            write!(line, " argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem={waiting} tot-mem={memory}");
        let events = if waiting > 0 { "rw" } else { "r" };
        let number = |number: &AtomicUsize| number.load(Ordering::Relaxed);
        let command = command_name(number(&self.command), number(&self.subcommand));
        let _ = write!(line, " events={events} cmd={command} user=default redir=-1");
        let _ = write!(line, " resp={} lib-name={library} lib-ver={library_version}", activity.protocol);
        let (received, sent) = (load(&self.received), load(&self.sent));
        let _ = write!(line, " io-thread={} tot-net-in={received} tot-net-out={sent}", self.core);
        let _ = write!(line, " tot-cmds={}", load(&self.commands));
        line
    }

    /// Notes that it takes its replies, since a time in milliseconds since 1970 if some wait; 0 if none do.
    pub(crate) fn takes_replies(&self, since: u64) {
        self.stalled_since.store(since, Ordering::Relaxed);
    }

    /// Whether it had taken all replies when that was last noted.
    pub(crate) fn took_all(&self) -> bool {
        self.stalled_since.load(Ordering::Relaxed) == 0
    }

    /// Whether it takes none of the replies that wait for it.
    pub(crate) fn is_stalled(&self, now: u64) -> bool {
        let since = self.stalled_since.load(Ordering::Relaxed);
        since > 0 && now.saturating_sub(since) >= STALL
    }

    /// Seconds since it came.
    pub(crate) fn age(&self, now: u64) -> u64 {
        now.saturating_sub(self.since) / 1000
    }

    /// Something has arrived of it.
    pub(crate) fn has_received(&self, now: u64, bytes: usize) {
        self.active.store(now, Ordering::Relaxed);
        add(&self.received, bytes);
    }

    pub(crate) fn has_sent(&self, bytes: usize) {
        add(&self.sent, bytes);
    }

    /// It has run a command, by its number.
    #[inline]
    pub(crate) fn ran(&self, command: usize) {
        self.command.store(command, Ordering::Relaxed);
        add(&self.commands, 1);
    }

    /// It runs a command of a container, by both numbers.
    pub(crate) fn runs(&self, command: usize, subcommand: usize) {
        self.command.store(command, Ordering::Relaxed);
        self.subcommand.store(subcommand, Ordering::Relaxed);
    }

    /// Milliseconds since something arrived of it.
    pub(crate) fn silence(&self, now: u64) -> u64 {
        now.saturating_sub(self.active.load(Ordering::Relaxed))
    }

    pub(crate) fn note(&self, activity: Activity) {
        self.activity.iter().zip(activity.words()).for_each(|(word, now)| word.store(now, Ordering::Relaxed));
    }

    /// Whether most of its memory is for requests.
    pub(super) fn is_uploading(&self) -> bool {
        let Activity { request_bytes, request_room, memory_bytes, .. } = self.activity();
        request_bytes + request_room > memory_bytes / 2
    }

    /// Bytes of memory that it takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.activity().memory_bytes
    }

    pub(crate) fn activity(&self) -> Activity {
        Activity::of(std::array::from_fn(|word| self.activity[word].load(Ordering::Relaxed)))
    }

    pub(crate) fn is(&self, flag: Flag) -> bool {
        self.flags.load(Ordering::Relaxed) & flag as usize != 0
    }

    pub(crate) fn set(&self, flag: Flag, on: bool) {
        match on {
            true => self.flags.fetch_or(flag as usize, Ordering::Relaxed),
            false => self.flags.fetch_and(!(flag as usize), Ordering::Relaxed),
        };
    }

    pub(crate) fn name(&self) -> Vec<u8> {
        self.labels().name
    }

    pub(crate) fn set_name(&self, name: &[u8]) {
        self.change_labels(|labels| labels.name = name.to_vec());
    }

    /// The library that it uses.
    pub(crate) fn set_library(&self, name: &[u8]) {
        self.change_labels(|labels| labels.library = name.to_vec());
    }

    pub(crate) fn set_library_version(&self, version: &[u8]) {
        self.change_labels(|labels| labels.library_version = version.to_vec());
    }

    fn labels(&self) -> Labels {
        self.labels.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change_labels(&self, change: impl FnOnce(&mut Labels)) {
        change(&mut self.labels.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn letters(&self, activity: &Activity) -> String {
        let is = |flag| self.is(flag);
        let letters = [
            (is(Flag::Monitor), 'O'),
            (activity.queued > 0, 'x'),
            (is(Flag::Killed), 'A'),
            (is(Flag::NoEvict), 'e'),
            (is(Flag::NoTouch), 'T'),
        ];
        let letters: String = letters.iter().filter(|(holds, _)| *holds).map(|(_, letter)| letter).collect();
        if letters.is_empty() { "N".to_owned() } else { letters }
    }
}

impl Default for Activity {
    fn default() -> Self {
        Self { protocol: 2, ..Self::of([0; 8]) }
    }
}

impl Activity {
    fn words(self) -> [usize; 8] {
        let Self { database, request_bytes, request_room, reply_bytes, .. } = self;
        let Self { memory_bytes, queued, watched, protocol, .. } = self;
        [database, request_bytes, request_room, reply_bytes, memory_bytes, queued, watched, protocol]
    }

    fn of(words: [usize; 8]) -> Self {
        let [database, request_bytes, request_room, reply_bytes, memory_bytes, queued, watched, protocol] =
            words;
        Self { database, request_bytes, request_room, reply_bytes, memory_bytes, queued, watched, protocol }
    }
}

/// Only the client's core adds.
#[inline]
fn add(count: &AtomicU64, more: usize) {
    count.store(count.load(Ordering::Relaxed).wrapping_add(more as u64), Ordering::Relaxed);
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}
