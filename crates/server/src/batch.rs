//! A turn: what all connections of a core have asked for, carried out together.
//!
//! Each round takes from every connection the reads at the front of its requests and runs them as one batch;
//! then the writes at the front, as one batch; then one command that reads and then writes, in a batch of
//! what they all read and a batch of what they write; then one of any other kind. So the commands of a
//! connection are carried out in their order, a read sees the writes before it, and yet the reads of many
//! connections, and those that one has sent ahead, are in flight together.

mod reads;
mod round;
mod single;
mod updates;
mod writes;

use std::sync::Arc;

use slab::Slab;

use crate::batch::reads::ReadBatch;
use crate::batch::round::Round;
use crate::batch::updates::UpdateBatch;
use crate::batch::writes::WriteBatch;
use crate::connection::Connection;
use crate::counts::Counts;
use crate::databases::Gate;
use crate::datagrams::Datagrams;
use crate::pause::Paused;
use crate::server_state::ServerState;
use crate::stopwatch::Stopwatch;
use crate::task::progress::Progress;
use crate::task::scheduler::Tasks;

/// What turns need, kept from one to the next so that its memory is used again.
pub(crate) struct BatchExecutor {
    counts: Arc<Counts>,
    /// There once a turn was taken: by then its thread runs.
    gate: Option<Arc<Gate>>,
    reads: ReadBatch,
    writes: WriteBatch,
    updates: UpdateBatch,
    tasks: Tasks,
}

/// Bytes of replies after which a turn ends, so that these are sent and others are received from.
const ITERATION_BYTES: usize = 256 << 10;

impl BatchExecutor {
    pub(crate) fn new(counts: Arc<Counts>) -> Self {
        let (reads, writes, updates) = (ReadBatch::default(), WriteBatch::default(), UpdateBatch::default());
        Self { counts, gate: None, reads, writes, updates, tasks: Tasks::default() }
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
        shared: &ServerState,
        connections: &mut Slab<Connection>,
        waits: impl Fn(&Connection) -> bool,
    ) -> Option<(usize, Progress)> {
        let _iteration = shared.databases.enter(self.gate.get_or_insert_with(|| shared.databases.gate()));
        self.tasks.step(shared, &self.counts, connections, waits)
    }

    /// Carries out all whole requests of some connections, as far as these have room for replies; and all
    /// datagrams that were received, some in each round, which it answers.
    pub(crate) fn run(
        &mut self,
        shared: &ServerState,
        now: u64,
        connections: &mut Slab<Connection>,
        ready: &[usize],
        datagrams: &mut Datagrams,
    ) {
        if ready.is_empty() && !datagrams.has_received() {
            return;
        }
        let _iteration = shared.databases.enter(self.gate.get_or_insert_with(|| shared.databases.gate()));
        let counts = &*self.counts;
        let mut stopwatch = Stopwatch::start(shared, counts);
        let reply_bytes_max = shared.config().reply_bytes_max;
        ready.iter().for_each(|index| connections[*index].replies.set_bytes_max(reply_bytes_max));
        self.reads.begin();
        self.tasks.begin_iteration();
        let paused = shared.pause.at(now);
        // Datagrams are no clients: they go on.
        let (ready, all) = if paused == Some(Paused::All) { (&[][..], ready) } else { (ready, ready) };
        while self.reads.replied() < ITERATION_BYTES {
            let config = shared.config();
            let round = Round { shared, config: &config, counts, now, paused };
            self.reads.begin_round(ready.len());
            for &index in ready {
                self.reads.gather(&round, index, &mut connections[index]);
            }
            let mut done = self.reads.execute(&round, connections, datagrams, &mut stopwatch);
            let writers = if paused.is_some() { &[] } else { ready };
            for &index in writers {
                self.writes.gather(&round, index, &mut connections[index]);
            }
            done += self.writes.execute(&round, connections, &mut stopwatch);
            for &index in writers {
                self.updates.gather(&round, index, &mut connections[index]);
            }
            done += self.updates.execute(&round, connections, &mut stopwatch);
            for &index in ready {
                let place = (index, &mut connections[index]);
                done += usize::from(single::execute(&round, &mut self.tasks, place, &mut stopwatch));
            }
            if done == 0 {
                break;
            }
        }
        all.iter().for_each(|index| connections[*index].forget());
    }
}
