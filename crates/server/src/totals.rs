//! The statistics of all cores together.

use std::array;
use std::sync::Arc;

use crate::counts::{Counter, Counts, Distribution};
use crate::tally::PREFIXES;

/// The sums of the counts of all cores.
#[derive(Debug, Clone, Default)]
pub(crate) struct Totals {
    pub(crate) received_bytes: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) accepted: u64,
    pub(crate) connections_rejected: u64,
    pub(crate) timed_out: u64,
    pub(crate) slices: u64,
    /// Times that a task moved to the background thread.
    pub(crate) moved: u64,
    pub(crate) evicted: u64,
    pub(crate) commands_rejected: u64,
    pub(crate) keyspace_hits: u64,
    pub(crate) keyspace_misses: u64,
    /// Error replies by their first word, in the order of [`PREFIXES`].
    pub(crate) errors: [u64; PREFIXES.len()],
    pub(crate) expired: u64,
    pub(crate) evicted_pairs: u64,
    pub(crate) read_batches: Distribution,
    pub(crate) write_batches: Distribution,
    /// Durations and number of errors, by number of the command.
    pub(crate) commands: Vec<(Distribution, u64)>,
}

impl Totals {
    /// Adds the counts of all cores.
    pub(crate) fn of(all: &[Arc<Counts>], expired: u64, evicted_pairs: u64) -> Self {
        let sum = |counter: fn(&Counts) -> &Counter| all.iter().map(|counts| counter(counts).get()).sum();
        let command = |number: usize| {
            let counts = || all.iter().map(move |counts| &counts.commands[number]);
            let microseconds = Distribution::of(counts().map(|command| &command.microseconds));
            (microseconds, counts().map(|command| command.errors.get()).sum())
        };
        Self {
            received_bytes: sum(|counts| &counts.received_bytes),
            sent_bytes: sum(|counts| &counts.sent_bytes),
            accepted: sum(|counts| &counts.accepted),
            connections_rejected: sum(|counts| &counts.connections_rejected),
            timed_out: sum(|counts| &counts.timed_out),
            slices: sum(|counts| &counts.slices),
            moved: sum(|counts| &counts.moved),
            evicted: sum(|counts| &counts.evicted),
            commands_rejected: sum(|counts| &counts.commands_rejected),
            keyspace_hits: sum(|counts| &counts.keyspace_hits),
            keyspace_misses: sum(|counts| &counts.keyspace_misses),
            errors: array::from_fn(|prefix| all.iter().map(|counts| counts.errors[prefix].get()).sum()),
            expired,
            evicted_pairs,
            read_batches: Distribution::of(all.iter().map(|counts| &counts.read_batches)),
            write_batches: Distribution::of(all.iter().map(|counts| &counts.write_batches)),
            commands: (0..all.first().map_or(0, |counts| counts.commands.len())).map(command).collect(),
        }
    }

    /// Returns the number of executed commands.
    pub(crate) fn executed(&self) -> u64 {
        self.commands.iter().map(|(microseconds, _)| microseconds.count()).sum()
    }

    /// Subtracts earlier totals.
    pub(crate) fn subtract(&mut self, other: &Self) {
        self.received_bytes -= other.received_bytes;
        self.sent_bytes -= other.sent_bytes;
        self.accepted -= other.accepted;
        self.connections_rejected -= other.connections_rejected;
        self.timed_out -= other.timed_out;
        self.slices -= other.slices;
        self.moved -= other.moved;
        self.evicted -= other.evicted;
        self.commands_rejected -= other.commands_rejected;
        self.keyspace_hits -= other.keyspace_hits;
        self.keyspace_misses -= other.keyspace_misses;
        self.errors.iter_mut().zip(other.errors).for_each(|(errors, others)| *errors -= others);
        self.expired -= other.expired;
        self.evicted_pairs -= other.evicted_pairs;
        self.read_batches.subtract(&other.read_batches);
        self.write_batches.subtract(&other.write_batches);
        for ((microseconds, errors), (others, other_errors)) in self.commands.iter_mut().zip(&other.commands)
        {
            microseconds.subtract(others);
            *errors -= other_errors;
        }
    }
}

/// Returns the number of commands that have executed since the server started, a part of [`Totals::of`].
pub(crate) fn executed(counts: &[Arc<Counts>]) -> u64 {
    let of = |counts: &Counts| counts.commands.iter().map(|one| one.microseconds.count()).sum::<u64>();
    counts.iter().map(|counts| of(counts)).sum()
}
