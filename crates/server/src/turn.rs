//! A turn: what all connections of a core have asked for, carried out together.
//!
//! Each round takes from every connection the reads at the front of its requests and runs them as one batch;
//! then the writes at the front, as one batch; then one command that reads and then writes, in a batch of
//! what they all read and a batch of what they write; then one of any other kind. So the commands of a
//! connection are carried out in their order, a read sees the writes before it, and yet the reads of many
//! connections, and those that one has sent ahead, are in flight together.

mod alone;
mod reading;
mod updating;
mod writing;

use std::sync::Arc;

use honeycomb_store::{Batch, Error, Reads};
use slab::Slab;

use crate::command::Named;
use crate::commands::writes;
use crate::config::Config;
use crate::connection::Connection;
use crate::counts::Counts;
use crate::databases::Gate;
use crate::datagrams::Datagrams;
use crate::pause::Paused;
use crate::shared::Shared;
use crate::stopwatch::Stopwatch;
use crate::task::{Progress, Tasks};
use crate::turn::reading::Reading;
use crate::turn::updating::Updating;
use crate::turn::writing::Writing;

/// What turns need, kept from one to the next so that its memory is used again.
pub(crate) struct Turn {
    counts: Arc<Counts>,
    /// There once a turn was taken: by then its thread runs.
    gate: Option<Arc<Gate>>,
    reading: Reading,
    writing: Writing,
    updating: Updating,
    tasks: Tasks,
}

/// What holds throughout a round.
struct Round<'r> {
    shared: &'r Shared,
    config: &'r Config,
    counts: &'r Counts,
    /// Milliseconds since 1970 when the turn began.
    now: u64,
    /// Whose commands wait.
    paused: Option<Paused>,
}

impl Round<'_> {
    /// Whether a command has to wait for the end of a pause.
    fn delays(&self, command: Option<Named>) -> bool {
        self.paused.is_some() && command.is_some_and(|command| command.name == "exec" || writes(&command))
    }

    /// Carries out reads as one batch, if there are any.
    fn read(&self, reads: &mut Reads) -> Result<(), Error> {
        if reads.is_empty() {
            return Ok(());
        }
        self.counts.read_batches.add(reads.len() as u64, 1);
        self.shared.store.read(reads)
    }
}

/// Commands of one connection in a batch; reads of ranges count for as many as the pairs that they may find.
const TOGETHER: usize = 1024;
/// Bytes that a batch finds, or somewhat more. The rest is executed alone, or later.
const FOUND_BYTES: usize = 256 << 10;
/// Bytes that a batch writes, or somewhat more: the more, the fewer instructions for each write.
const WRITTEN_BYTES: usize = 1 << 20;
/// Bytes of the longest value that a batch finds or writes. A command with a longer one is executed alone.
const VALUE_BYTES_MAX: usize = 64 << 10;
/// Bytes of replies after which a turn ends, so that these are sent and others are received from.
const TURN_BYTES: usize = 256 << 10;

/// Makes a batch of writes one without writes, which keeps its memory if that is not much.
fn clear(batch: &mut Batch) {
    match batch.bytes() {
        0..=WRITTEN_BYTES => batch.clear(),
        _ => *batch = Batch::default(),
    }
}

impl Turn {
    pub(crate) fn new(counts: Arc<Counts>) -> Self {
        let (reading, writing, updating) = (Reading::default(), Writing::default(), Updating::default());
        Self { counts, gate: None, reading, writing, updating, tasks: Tasks::default() }
    }

    /// Whether commands are on their way that take more than a turn.
    pub(crate) fn has_tasks(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// Forgets that of a connection that is closed.
    pub(crate) fn forget_task(&mut self, index: usize) {
        self.tasks.forget(index);
    }

    /// Executes a slice of one of them. Returns its connection and how far it has come.
    pub(crate) fn step_task(
        &mut self,
        shared: &Shared,
        connections: &mut Slab<Connection>,
        waits: impl Fn(&Connection) -> bool,
    ) -> Option<(usize, Progress)> {
        let _turn = shared.databases.enter(self.gate.get_or_insert_with(|| shared.databases.gate()));
        self.tasks.step(shared, &self.counts, connections, waits)
    }

    /// Carries out all whole requests of some connections, as far as these have room for replies; and all
    /// datagrams that were received, some in each round, which it answers.
    pub(crate) fn run(
        &mut self,
        shared: &Shared,
        now: u64,
        connections: &mut Slab<Connection>,
        ready: &[usize],
        datagrams: &mut Datagrams,
    ) {
        if ready.is_empty() && !datagrams.has_received() {
            return;
        }
        let _turn = shared.databases.enter(self.gate.get_or_insert_with(|| shared.databases.gate()));
        let counts = &*self.counts;
        let mut stopwatch = Stopwatch::start(shared, counts);
        let reply_bytes_max = shared.config().reply_bytes_max;
        ready.iter().for_each(|index| connections[*index].replies.set_bytes_max(reply_bytes_max));
        self.reading.begin();
        self.tasks.begin_iteration();
        let paused = shared.pause.at(now);
        // Datagrams are no clients: they go on.
        let (ready, all) = if paused == Some(Paused::All) { (&[][..], ready) } else { (ready, ready) };
        while self.reading.replied() < TURN_BYTES {
            let config = shared.config();
            let round = Round { shared, config: &config, counts, now, paused };
            self.reading.begin_round(ready.len());
            for &index in ready {
                self.reading.gather(&round, index, &mut connections[index]);
            }
            let mut done = self.reading.carry_out(&round, connections, datagrams, &mut stopwatch);
            let writers = if paused.is_some() { &[] } else { ready };
            for &index in writers {
                self.writing.gather(&round, index, &mut connections[index]);
            }
            done += self.writing.carry_out(&round, connections, &mut stopwatch);
            for &index in writers {
                self.updating.gather(&round, index, &mut connections[index]);
            }
            done += self.updating.carry_out(&round, connections, &mut stopwatch);
            for &index in ready {
                let place = (index, &mut connections[index]);
                done += usize::from(alone::carry_out(&round, &mut self.tasks, place, &mut stopwatch));
            }
            if done == 0 {
                break;
            }
        }
        all.iter().for_each(|index| connections[*index].forget());
    }
}
