//! The state of a client that all cores may read, and its line in `CLIENT LIST`.

use std::fmt::Write;
use std::sync::{Mutex, PoisonError};

use honeycomb_memory::sync::{AtomicU64, AtomicUsize, Ordering};

/// The shared state of a client.
#[derive(Debug)]
pub(crate) struct Client {
    /// Unique during the life of the server.
    pub(crate) id: u64,
    pub(crate) address: String,
    /// The address of the server to which the client connected.
    pub(crate) local: String,
    /// The number of the core that serves it.
    pub(crate) core: usize,
    file: i32,
    /// Time of the connect, in milliseconds since 1970.
    since: u64,
    active: AtomicU64,
    /// Time when the client last read a part of its waiting replies, in milliseconds since 1970; 0 if no
    /// replies wait.
    stalled_since: AtomicU64,
    labels: Mutex<Labels>,
    /// The bytes of all labels. Only the core of the client changes labels.
    label_bytes: AtomicUsize,
    /// One bit per [`Flag`].
    flags: AtomicUsize,
    /// The number of the last command, and the number of its subcommand if it has one.
    command: AtomicUsize,
    subcommand: AtomicUsize,
    commands: AtomicU64,
    received: AtomicU64,
    sent: AtomicU64,
    activity: SharedActivity,
}

/// A client that has not read any of its waiting replies for this number of milliseconds is stalled.
pub(crate) const STALL: u64 = 100;

/// The addresses of a client, and the core that serves it.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) address: String,
    pub(crate) local: String,
    pub(crate) file: i32,
    pub(crate) core: usize,
}

/// Names that the client has set.
#[derive(Debug, Clone, Default)]
struct Labels {
    name: Vec<u8>,
    library: Vec<u8>,
    library_version: Vec<u8>,
}

/// A boolean property of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flag {
    /// Its connection must close.
    Killed = 1,
    Monitor = 2,
    NoEvict = 4,
    NoTouch = 8,
}

/// Defines [`Activity`] and its shared form from one list of fields.
macro_rules! activity {
    ($($(#[$comment:meta])* $field:ident,)*) => {
        /// The state that changes in every iteration.
        #[derive(Debug, Clone, Copy, Default)]
        pub(crate) struct Activity {
            $($(#[$comment])* pub(crate) $field: usize,)*
        }

        /// The latest activity. Its fields may be of different iterations.
        #[derive(Debug)]
        struct SharedActivity {
            $($field: AtomicUsize,)*
        }

        impl SharedActivity {
            fn new(activity: Activity) -> Self {
                Self { $($field: AtomicUsize::new(activity.$field),)* }
            }

            fn load(&self) -> Activity {
                Activity { $($field: self.$field.load(Ordering::Relaxed),)* }
            }

            fn store(&self, activity: Activity) {
                $(self.$field.store(activity.$field, Ordering::Relaxed);)*
            }
        }
    };
}

activity! {
    database,
    /// Bytes of waiting requests.
    request_bytes,
    /// Unused bytes of the request buffer.
    request_room,
    /// Bytes of waiting replies.
    reply_bytes,
    /// Bytes of memory of the client.
    memory_bytes,
    /// The number of commands since `MULTI`, plus one; 0 without `MULTI`.
    queued,
    watched,
    /// Subscriptions to channels and to patterns.
    channels,
    patterns,
    /// The version of the protocol.
    protocol,
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
            label_bytes: AtomicUsize::new(0),
            flags: AtomicUsize::new(0),
            command: AtomicUsize::new(usize::MAX),
            subcommand: AtomicUsize::new(usize::MAX),
            commands: AtomicU64::new(0),
            received: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            activity: SharedActivity::new(Activity { protocol: 2, ..Activity::default() }),
        }
    }

    /// Returns the line of `CLIENT LIST`, without the line feed. `command_name` returns the name of a command
    /// and a subcommand by their numbers.
    pub(crate) fn line(&self, now: u64, command_name: fn(usize, usize) -> &'static str) -> String {
        let Labels { name, library, library_version } = self.labels();
        let [name, library, library_version] = [name, library, library_version].map(text);
        let activity = self.activity();
        let load = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let mut line = format!("id={} addr={} laddr={} fd={}", self.id, self.address, self.local, self.file);
        let (age, idle) = (self.age(now), self.silence(now) / 1000);
        let _ = write!(line, " name={name} age={age} idle={idle} flags={}", self.letters(&activity));
        let Activity { channels, patterns, .. } = activity;
        let queued = activity.queued as i64 - 1;
        let _ =
            write!(line, " db={} sub={channels} psub={patterns} ssub=0 multi={queued}", activity.database);
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

    /// Records the progress of its replies: the time of the last progress in milliseconds since 1970, or 0 if
    /// no replies wait.
    pub(crate) fn set_stalled_since(&self, since: u64) {
        self.stalled_since.store(since, Ordering::Relaxed);
    }

    /// Returns whether no replies were waiting at the last record.
    pub(crate) fn had_read_all(&self) -> bool {
        self.stalled_since.load(Ordering::Relaxed) == 0
    }

    /// Returns whether the client reads none of its waiting replies.
    pub(crate) fn is_stalled(&self, now: u64) -> bool {
        let since = self.stalled_since.load(Ordering::Relaxed);
        since > 0 && now.saturating_sub(since) >= STALL
    }

    /// Returns the seconds since the connect.
    pub(crate) fn age(&self, now: u64) -> u64 {
        now.saturating_sub(self.since) / 1000
    }

    /// Records that bytes have arrived.
    pub(crate) fn record_received(&self, now: u64, bytes: usize) {
        self.active.store(now, Ordering::Relaxed);
        add(&self.received, bytes);
    }

    /// Records that bytes were sent.
    pub(crate) fn record_sent(&self, now: u64, bytes: usize) {
        if bytes > 0 {
            self.active.store(now, Ordering::Relaxed);
        }
        add(&self.sent, bytes);
    }

    /// Records a completed command by its number.
    #[inline]
    pub(crate) fn record_command(&self, command: usize) {
        self.command.store(command, Ordering::Relaxed);
        add(&self.commands, 1);
    }

    /// Records a command with subcommands by both numbers.
    pub(crate) fn record_subcommand(&self, command: usize, subcommand: usize) {
        self.command.store(command, Ordering::Relaxed);
        self.subcommand.store(subcommand, Ordering::Relaxed);
    }

    /// Returns the milliseconds since bytes last arrived or were sent.
    pub(crate) fn silence(&self, now: u64) -> u64 {
        now.saturating_sub(self.active.load(Ordering::Relaxed))
    }

    pub(crate) fn note(&self, activity: Activity) {
        self.activity.store(activity);
    }

    /// Returns whether requests use most of its memory.
    pub(super) fn is_uploading(&self) -> bool {
        let Activity { request_bytes, request_room, memory_bytes, .. } = self.activity();
        request_bytes + request_room > memory_bytes / 2
    }

    /// Returns the bytes of memory in use.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.activity().memory_bytes
    }

    /// Returns the bytes of its name, and of the name and the version of its library.
    #[inline]
    pub(crate) fn label_bytes(&self) -> usize {
        self.label_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn activity(&self) -> Activity {
        self.activity.load()
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

    /// Sets the name of its client library.
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
        let mut labels = self.labels.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut labels);
        self.label_bytes.store(labels.bytes(), Ordering::Relaxed);
    }

    fn letters(&self, activity: &Activity) -> String {
        let is = |flag| self.is(flag);
        let letters = [
            (is(Flag::Monitor), 'O'),
            (activity.is_subscriber(), 'P'),
            (activity.queued > 0, 'x'),
            (is(Flag::Killed), 'A'),
            (is(Flag::NoEvict), 'e'),
            (is(Flag::NoTouch), 'T'),
        ];
        let letters: String = letters.iter().filter(|(holds, _)| *holds).map(|(_, letter)| letter).collect();
        if letters.is_empty() { "N".to_owned() } else { letters }
    }
}

impl Labels {
    fn bytes(&self) -> usize {
        self.name.len() + self.library.len() + self.library_version.len()
    }
}

impl Activity {
    /// Whether the client has subscriptions.
    pub(crate) fn is_subscriber(&self) -> bool {
        self.channels + self.patterns > 0
    }
}

/// Only the core of the client adds.
#[inline]
fn add(count: &AtomicU64, more: usize) {
    count.store(count.load(Ordering::Relaxed).wrapping_add(more as u64), Ordering::Relaxed);
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}
