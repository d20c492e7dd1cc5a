//! Executes the requests of all connections of a core, one event-loop iteration at a time.
//!
//! An iteration consists of rounds. A round collects the reads at the front of the requests of every
//! connection and executes them as one batch; then the writes at the front, as one batch; then one command of
//! each connection that reads and then writes, as one batch of reads and one of writes; then one command of
//! any other kind. The commands of a connection therefore execute in order, and a read sees earlier writes,
//! although reads of many connections, and pipelined reads of one connection, are in flight together.

mod limits;
mod reads;
mod round;
mod single;
mod updates;
mod writes;

use std::sync::Arc;
use std::time::Duration;

use slab::Slab;

use crate::background::Background;
use crate::batch::reads::ReadBatch;
use crate::batch::round::Round;
use crate::batch::updates::UpdateBatch;
use crate::batch::writes::WriteBatch;
use crate::connection::Connection;
use crate::counts::Counts;
use crate::databases::Gate;
use crate::datagrams::Datagrams;
use crate::lost_writes::LostWrites;
use crate::pause::Paused;
use crate::server_state::ServerState;
use crate::stopwatch::Stopwatch;
use crate::task::Running;
use crate::task::progress::Progress;
use crate::task::scheduler::Tasks;

/// The batches of an iteration. Iterations reuse their memory.
pub(crate) struct BatchExecutor {
    counts: Arc<Counts>,
    /// Set in the first iteration, because the gate belongs to the thread of the core.
    gate: Option<Arc<Gate>>,
    reads: ReadBatch,
    writes: WriteBatch,
    updates: UpdateBatch,
    tasks: Tasks,
}

/// Bytes of replies after which an iteration ends, so that the core sends them and receives more.
const ITERATION_BYTES: usize = 256 << 10;
/// Bytes of replies of commands that execute alone after which an iteration ends: the core counts their
/// memory at its end.
const ALONE_BYTES: usize = 4 << 20;
/// Time after which an iteration ends, so that the core sends and receives. Commands that execute alone may
/// take as long in the last round.
const ITERATION_TIME: Duration = Duration::from_millis(2);
/// Maximum number of rounds of an iteration. A round executes one command of each connection alone, for
/// example one that enters a transaction.
const ROUNDS_MAX: usize = 256;

impl BatchExecutor {
    pub(crate) fn new(counts: Arc<Counts>, background: Arc<Background>) -> Self {
        let (reads, writes, updates) = (ReadBatch::default(), WriteBatch::default(), UpdateBatch::default());
        Self { counts, gate: None, reads, writes, updates, tasks: Tasks::new(background) }
    }

    /// Returns whether long commands are in progress.
    pub(crate) fn has_tasks(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// Returns whether some of them execute in slices or wait to do so.
    pub(crate) fn has_slices(&self) -> bool {
        self.tasks.has_slices()
    }

    /// Removes the task of a closed connection.
    pub(crate) fn forget_task(&mut self, index: usize, task: &Running) {
        self.tasks.forget(index, task);
    }

    /// Continues or finishes the tasks that the background thread has returned to a core. Returns the indexes
    /// of the connections, each with whether its task is complete.
    pub(crate) fn take_returned(
        &mut self,
        shared: &ServerState,
        core: usize,
        connections: &mut Slab<Connection>,
    ) -> Vec<(usize, bool)> {
        // The replies depend on the newest writes of their tables, which a swap exchanges.
        let _iteration = shared.databases.enter(self.gate.get_or_insert_with(|| shared.databases.gate()));
        self.tasks.take_returned(shared, (core, &self.counts), connections)
    }

    /// Executes a slice of one task. Returns the index of its connection and the progress of the task.
    pub(crate) fn step_task(
        &mut self,
        shared: &ServerState,
        connections: &mut Slab<Connection>,
        waits: impl Fn(&Connection) -> bool,
    ) -> Option<(usize, Progress)> {
        let _iteration = shared.databases.enter(self.gate.get_or_insert_with(|| shared.databases.gate()));
        self.tasks.step(shared, &self.counts, connections, waits)
    }

    /// Executes all complete requests of some connections as far as these have space for replies. Also
    /// executes all received datagrams, some in each round, and replies to them.
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
        let (paused, lost) = (shared.pause.at(now), LostWrites::of(&shared.store));
        // `CLIENT PAUSE` does not delay datagrams.
        let (ready, all) = if paused == Some(Paused::All) { (&[][..], ready) } else { (ready, ready) };
        let mut alone_bytes = 0;
        for _ in 0..ROUNDS_MAX {
            let has_replied = self.reads.replied() >= ITERATION_BYTES || alone_bytes >= ALONE_BYTES;
            if has_replied || stopwatch.elapsed() >= ITERATION_TIME {
                break;
            }
            let config = shared.config();
            let round = Round { shared, config: &config, counts, now, paused, lost };
            self.reads.begin_round(ready.len());
            for &index in ready {
                self.reads.gather(&round, index, &mut connections[index]);
            }
            let mut done = self.reads.execute(&round, connections, datagrams, &mut stopwatch);
            let writers = if paused.is_some() || lost.is_some() { &[] } else { ready };
            for &index in writers {
                self.writes.gather(&round, index, &mut connections[index]);
            }
            done += self.writes.execute(&round, connections, &mut stopwatch);
            for &index in writers {
                self.updates.gather(&round, index, &mut connections[index]);
            }
            done += self.updates.execute(&round, connections, &mut stopwatch);
            let began = stopwatch.elapsed();
            for &index in ready {
                if alone_bytes >= ALONE_BYTES {
                    break;
                }
                let before = connections[index].unsent();
                let place = (index, &mut connections[index]);
                done += usize::from(single::execute(&round, &mut self.tasks, place, &mut stopwatch));
                alone_bytes += connections[index].unsent().saturating_sub(before);
                if stopwatch.elapsed() - began >= ITERATION_TIME {
                    break;
                }
            }
            if done == 0 {
                break;
            }
        }
        all.iter().for_each(|index| connections[*index].forget());
    }
}
