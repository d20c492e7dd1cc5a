//! How long commands take, and what is noted of those that take long.

use std::time::{Duration, Instant};

use honeycomb_protocol::resp::Limits;

use crate::connection::Connection;
use crate::shared::Shared;
use crate::slow_log::{self, Entry, Touched};

/// Times the batches of a turn, one after the other.
pub(crate) struct Stopwatch<'s> {
    shared: &'s Shared,
    began: Instant,
    last: Instant,
    slow: Duration,
    touched: Touched,
}

/// What was carried out since the lap before: one batch, or one command.
pub(crate) struct Lap<'w, 's> {
    stopwatch: &'w mut Stopwatch<'s>,
    took: Duration,
    /// Since the turn began.
    pub(crate) microseconds: u64,
    together: usize,
    /// What is to be noted, if it took long.
    entry: Option<Entry>,
}

/// A command that was carried out.
pub(crate) struct Carried<'c> {
    pub(crate) connection: &'c Connection,
    /// Where its request is.
    pub(crate) start: usize,
    /// Where its reply begins.
    pub(crate) before: usize,
}

impl<'s> Stopwatch<'s> {
    /// Begins a turn.
    pub(crate) fn start(shared: &'s Shared) -> Self {
        let began = shared.time.instant();
        let slow = shared.config().slow.unwrap_or(Duration::MAX);
        Self { shared, began, last: began, slow, touched: Self::touched(shared, slow) }
    }

    /// So many commands were carried out.
    pub(crate) fn lap(&mut self, together: usize) -> Lap<'_, 's> {
        let now = self.shared.time.instant();
        let took = now.saturating_duration_since(self.last);
        let microseconds = now.saturating_duration_since(self.began).as_micros() as u64;
        self.last = now;
        Lap { stopwatch: self, took, microseconds, together, entry: None }
    }

    /// Nothing of what is touched is asked for if nobody will see it.
    fn touched(shared: &Shared, slow: Duration) -> Touched {
        if slow == Duration::MAX {
            return Touched::default();
        }
        Touched::of(&shared.store, shared.config().count_touched)
    }
}

impl Lap<'_, '_> {
    /// Takes note of one of the commands.
    #[inline]
    pub(crate) fn carried(&mut self, carried: Carried<'_>) {
        if self.took >= self.stopwatch.slow {
            self.consider(carried);
        }
    }

    /// Ends it: what took long goes into the slow log, once for all that were carried out together.
    #[inline]
    pub(crate) fn end(self) {
        if let Some(entry) = self.entry {
            let Stopwatch { shared, slow, touched, .. } = self.stopwatch;
            let now = Stopwatch::touched(shared, *slow);
            let entry = Entry { touched: now - *touched, ..entry };
            *touched = now;
            shared.slow_log.note(entry, shared.config().slow_log_entries_max);
        }
    }

    #[cold]
    fn consider(&mut self, Carried { connection, start, before }: Carried<'_>) {
        let (request, bytes, request_bytes) = connection.passed(start, &Limits::default());
        let reply_bytes = connection.unsent().saturating_sub(before);
        let most = self.entry.as_ref().map_or(0, |entry| entry.request_bytes + entry.reply_bytes);
        if request_bytes + reply_bytes < most {
            return;
        }
        let arguments: Vec<_> = request.arguments(bytes).collect();
        self.entry = Some(Entry {
            id: 0,
            at: self.stopwatch.shared.time.milliseconds() / 1000,
            took: self.took,
            arguments: slow_log::shown(&arguments),
            address: connection.session.client.address.clone(),
            name: connection.session.client.name(),
            together: self.together,
            request_bytes,
            reply_bytes,
            touched: Touched::default(),
        });
    }
}
