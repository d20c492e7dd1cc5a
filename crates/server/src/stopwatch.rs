//! Measures the durations of commands, and records slow ones.

use std::time::{Duration, Instant};

use honeycomb_protocol::resp::{ParsedRequest, RequestBuffer};

use crate::commands::categories::is_administrative;
use crate::connection::Connection;
use crate::counts::Counts;
use crate::monitors::{QUEUE_BYTES_MAX, write_line};
use crate::server_state::ServerState;
use crate::slow_log::{self, Entry, ReaderAccesses};
use crate::tally;

/// Times the batches of an iteration.
pub(crate) struct Stopwatch<'s> {
    shared: &'s ServerState,
    counts: &'s Counts,
    began: Instant,
    last: Instant,
    slow: Duration,
    /// Duration from which a lap is a latency event.
    latency_threshold: Duration,
    touched: ReaderAccesses,
    /// Whether monitors exist.
    is_shown: bool,
    /// Lines for the monitors about this lap.
    lines: String,
}

/// The time since the last lap: that of one batch or one command.
pub(crate) struct Lap<'w, 's> {
    stopwatch: &'w mut Stopwatch<'s>,
    took: Duration,
    /// Microseconds since the start of the iteration.
    microseconds: u64,
    together: usize,
    /// The last command, and how often it executed consecutively. These executions are counted together.
    number: usize,
    times: u64,
    /// Whether monitors or the slow log need the commands.
    is_noted: bool,
    /// The entry of the longest command for the slow log, if the lap was slow, and the bytes of its request
    /// and reply.
    entry: Option<Entry>,
    longest: usize,
}

/// A command that has executed.
pub(crate) struct ExecutedCommand<'c> {
    pub(crate) connection: &'c Connection,
    /// The request and the buffer that contains it. The arguments are parsed only for a monitor or the slow
    /// log.
    pub(crate) requests: &'c RequestBuffer,
    pub(crate) found: &'c ParsedRequest,
    /// The offset of its reply.
    pub(crate) before: usize,
}

impl<'s> Stopwatch<'s> {
    /// Begins an iteration.
    pub(crate) fn start(shared: &'s ServerState, counts: &'s Counts) -> Self {
        let began = shared.time.instant();
        let config = shared.config();
        let slow = config.slow_log_threshold.unwrap_or(Duration::MAX);
        let latency_threshold = config.latency_threshold.unwrap_or(Duration::MAX);
        let (touched, is_shown, lines) = (Self::touched(shared, slow), shared.monitors.any(), String::new());
        Self { shared, counts, began, last: began, slow, latency_threshold, touched, is_shown, lines }
    }

    /// Ends a lap of `together` commands.
    pub(crate) fn lap(&mut self, together: usize) -> Lap<'_, 's> {
        self.lap_after(Duration::ZERO, together)
    }

    /// Ends a lap of commands that had executed in part before. `before` is the duration of that part.
    pub(crate) fn lap_after(&mut self, before: Duration, together: usize) -> Lap<'_, 's> {
        let now = self.shared.time.instant();
        let took = before + now.saturating_duration_since(self.last);
        let since_began = before + now.saturating_duration_since(self.began);
        let microseconds = since_began.as_micros() as u64;
        self.last = now;
        let is_noted = self.is_shown || took >= self.slow;
        let (number, times, entry, longest) = (0, 0, None, 0);
        Lap { stopwatch: self, took, microseconds, together, number, times, is_noted, entry, longest }
    }

    /// Returns the time since the last lap when a command pauses.
    pub(crate) fn pause(&mut self) -> Duration {
        let now = self.shared.time.instant();
        let took = now.saturating_duration_since(self.last);
        self.last = now;
        took
    }

    /// Returns the time from the start of the iteration to the last lap.
    pub(crate) fn elapsed(&self) -> Duration {
        self.last.saturating_duration_since(self.began)
    }

    pub(crate) fn shared(&self) -> &'s ServerState {
        self.shared
    }

    pub(crate) fn counts(&self) -> &'s Counts {
        self.counts
    }

    /// Reads the counters of memory accesses, but only if the slow log is enabled.
    fn touched(shared: &ServerState, slow: Duration) -> ReaderAccesses {
        if slow == Duration::MAX {
            return ReaderAccesses::default();
        }
        ReaderAccesses::of(&shared.store, shared.config().count_accesses)
    }
}

impl Drop for Stopwatch<'_> {
    /// Ends the iteration.
    fn drop(&mut self) {
        tally::add_to(self.counts);
    }
}

impl Lap<'_, '_> {
    /// Records one of the commands by its number.
    #[inline(always)]
    pub(crate) fn executed(&mut self, number: usize, command: ExecutedCommand<'_>) {
        if number != self.number {
            self.count();
            (self.number, self.times) = (number, 0);
        }
        self.times += 1;
        command.connection.session.client.record_command(number);
        if self.is_noted {
            self.note(command);
        }
    }

    /// Ends the lap. A slow lap becomes one entry of the slow log, for all commands of the batch.
    #[inline]
    pub(crate) fn end(self) {
        self.count();
        if self.took >= self.stopwatch.latency_threshold {
            self.note_latency();
        }
        if !self.stopwatch.lines.is_empty() {
            let lines = std::mem::take(&mut self.stopwatch.lines);
            let shared = self.stopwatch.shared;
            shared.monitors.show(lines, shared.client_limit()).into_iter().for_each(|core| shared.wake(core));
        }
        if let Some(entry) = self.entry {
            let Stopwatch { shared, slow, touched, .. } = self.stopwatch;
            let now = Stopwatch::touched(shared, *slow);
            let entry = Entry { touched: now - *touched, ..entry };
            *touched = now;
            shared.slow_log.note(entry, shared.config().slow_log_entries_max);
        }
    }

    /// Shows a command to the monitors, or considers it for the slow log.
    #[inline]
    fn note(&mut self, command: ExecutedCommand<'_>) {
        if self.stopwatch.is_shown {
            self.show(&command);
        }
        if self.took >= self.stopwatch.slow {
            self.consider(command);
        }
    }

    #[cold]
    fn count(&self) {
        let counts = &self.stopwatch.counts.commands[self.number];
        counts.microseconds.add(self.microseconds, self.times);
    }

    #[cold]
    fn note_latency(&self) {
        let shared = self.stopwatch.shared;
        shared.latency.note(shared.time.milliseconds() / 1000, self.took.as_millis() as u64);
    }

    #[cold]
    fn show(&mut self, ExecutedCommand { connection, requests, found, .. }: &ExecutedCommand<'_>) {
        let Stopwatch { shared, lines, .. } = &mut *self.stopwatch;
        let from = (connection.session.database, &*connection.session.client);
        let arguments = requests.arguments(found);
        // Administrative commands may contain secrets.
        if !is_administrative(&arguments[0]) && lines.len() <= QUEUE_BYTES_MAX {
            write_line(lines, shared.time.microseconds(), from, &arguments);
        }
    }

    /// Records a command for the slow log if it is longer than those before it. The first of several equally
    /// long commands is recorded, so that the others cost little.
    #[inline]
    fn consider(&mut self, command: ExecutedCommand<'_>) {
        let reply_bytes = command.connection.unsent().saturating_sub(command.before);
        let bytes = command.found.bytes() + reply_bytes;
        if bytes > self.longest {
            self.longest = bytes;
            self.record(&command, reply_bytes);
        }
    }

    #[cold]
    fn record(
        &mut self,
        ExecutedCommand { connection, requests, found, .. }: &ExecutedCommand<'_>,
        reply_bytes: usize,
    ) {
        let arguments: Vec<_> = requests.arguments(found).iter().collect();
        self.entry = Some(Entry {
            id: 0,
            at: self.stopwatch.shared.time.milliseconds() / 1000,
            took: self.took,
            arguments: slow_log::shown(&arguments),
            address: connection.session.client.address.clone(),
            name: connection.session.client.name(),
            together: self.together,
            request_bytes: found.bytes(),
            reply_bytes,
            touched: ReaderAccesses::default(),
        });
    }
}
