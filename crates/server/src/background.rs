//! The background thread: executes commands that would delay the other clients of their core.
//!
//! The background thread and the cores change nothing at the same time but the store, and it allows that:
//! reads never wait for a write, and a batch takes effect at its end. One thread suffices for every core to
//! stay responsive.
//!
//! 1. At any time a task has one owner: its core, the queue, the background thread, or the list of returned
//!    tasks of its core. The locks of the queue and of the lists order the accesses of the owners.
//! 2. The core and the owner of a task share its [`AwayTask`]. The owner stores the bytes of memory, and the
//!    core loads them. The core sets `is_cancelled`, and the background thread loads it between two commands.
//!    Both are relaxed, because an old value only causes some work or a delay.
//! 3. The core that closes a connection takes its task back from the queue, and so frees the memory in steps.
//!    If the task is not there any more, the core cancels it, and the background thread drops it.
//! 4. The background thread executes all exchanges of tables, and therefore needs no gate: none happens while
//!    it executes another task.
//! 5. The server closes the queue after all cores have ended. Then the background thread drops the tasks in
//!    the queue and ends.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use honeycomb_memory::sync::{AtomicBool, Ordering};
use rustix::process::{getpriority_process, setpriority_process};

use crate::failure::Failure;
use crate::recency;
use crate::server_state::ServerState;
use crate::session::Session;
use crate::tally::{self, Tally};
use crate::task::Task;
use crate::task::away::AwayTask;
use crate::task::progress::Progress;

/// The addition to the nice value of the thread. Linux gives such a thread a tenth of a processor that a core
/// uses completely, so a core that waits for a leaf or a version gets it soon. At equal priority a core waits
/// up to four milliseconds for its processor.
const NICE: i32 = 10;
/// Pause after a task has found no free snapshot.
const RETRY_PAUSE: Duration = Duration::from_millis(1);

/// The queue of the background thread, and the tasks that it returns.
#[derive(Debug)]
pub(crate) struct Background {
    queue: Mutex<VecDeque<Entry>>,
    /// Notified after an addition to the queue.
    arrived: Condvar,
    is_closed: AtomicBool,
    /// The tasks to continue or finish, by core.
    returned: Box<[Mutex<Vec<Returned>>]>,
}

#[derive(Debug)]
enum Entry {
    Execute(Box<Job>),
    /// Drop the task, whose memory takes long to free.
    Drop(Box<Task>),
}

/// A task in the background.
#[derive(Debug)]
pub(crate) struct Job {
    /// The number of the connection in its core.
    pub(crate) connection: usize,
    pub(crate) task: Box<Task>,
    /// A copy of the state that the commands of pairs use.
    pub(crate) session: Session,
    pub(crate) away: Arc<AwayTask>,
}

/// A task that returns to its core.
#[derive(Debug)]
pub(crate) struct Returned {
    pub(crate) job: Box<Job>,
    pub(crate) outcome: Result<Progress, Failure>,
    /// The lookups and errors that the background thread has counted.
    pub(crate) tally: Tally,
}

impl Background {
    /// Returns an empty queue for a number of cores.
    pub(crate) fn new(cores: usize) -> Self {
        let returned = (0..cores).map(|_| Mutex::default()).collect();
        Self { queue: Mutex::default(), arrived: Condvar::new(), is_closed: AtomicBool::new(false), returned }
    }

    /// Adds a task to the queue.
    pub(crate) fn execute(&self, job: Box<Job>) {
        self.push(Entry::Execute(job));
    }

    /// Drops a task in the background.
    pub(crate) fn drop_task(&self, task: Box<Task>) {
        self.push(Entry::Drop(task));
    }

    /// Returns whether the server stops and nobody waits for a task any more.
    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// Cancels a task. Returns it if it is in the queue.
    pub(crate) fn cancel(&self, away: &Arc<AwayTask>) -> Option<Box<Task>> {
        away.cancel();
        let is_it = |entry: &Entry| matches!(entry, Entry::Execute(job) if Arc::ptr_eq(&job.away, away));
        let mut queue = self.queue();
        let at = queue.iter().position(is_it)?;
        match queue.remove(at) {
            Some(Entry::Execute(job)) => Some(job.task),
            _ => None,
        }
    }

    /// Removes and returns the tasks that have returned to a core.
    pub(crate) fn take_returned(&self, core: usize) -> Vec<Returned> {
        std::mem::take(&mut *self.returned[core].lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes the background thread end. All cores have ended.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        let queue = self.queue();
        queue.iter().for_each(Entry::cancel);
        drop(queue);
        self.arrived.notify_all();
    }

    /// Executes tasks until the queue is closed.
    pub(crate) fn run(&self, shared: &ServerState) {
        lower_priority();
        while let Some(entry) = self.next() {
            match entry {
                Entry::Execute(job) if !job.away.is_cancelled() => self.execute_now(shared, job),
                Entry::Execute(job) => drop(job),
                Entry::Drop(task) => drop(task),
            }
        }
    }

    /// Executes a task as far as it can. After a conflict, or for lack of a snapshot, it executes again after
    /// the others.
    fn execute_now(&self, shared: &ServerState, mut job: Box<Job>) {
        let outcome = self.attempt(shared, &mut job);
        if job.away.is_cancelled() {
            return;
        }
        if matches!(outcome, Ok(Progress::Done) | Err(_)) {
            job.task.free_work();
        }
        job.away.record_memory(job.task.memory_bytes());
        match outcome {
            Ok(Progress::Background) => return self.execute(job),
            Ok(Progress::Wait) => {
                thread::sleep(RETRY_PAUSE);
                return self.execute(job);
            }
            _ => {}
        }
        let core = job.session.client.core;
        let returned = Returned { job, outcome, tally: tally::take() };
        self.returned[core].lock().unwrap_or_else(PoisonError::into_inner).push(returned);
        shared.wake(core);
    }

    /// Executes a task, and counts the time and the uses of pairs.
    fn attempt(&self, shared: &ServerState, job: &mut Job) -> Result<Progress, Failure> {
        let Job { task, session, away, .. } = job;
        let goes_on = |bytes| {
            away.record_memory(bytes);
            !away.is_cancelled() && !self.is_closed()
        };
        let began = shared.time.instant();
        record_uses(shared);
        let outcome = task.run(shared, session, goes_on);
        // A command may have requested that uses are recorded.
        record_uses(shared);
        task.add_duration(shared.time.instant().saturating_duration_since(began));
        outcome
    }

    /// Waits for the next entry of the queue. Returns `None` when the queue is closed and empty.
    fn next(&self) -> Option<Entry> {
        let mut queue = self.queue();
        loop {
            match queue.pop_front() {
                Some(entry) => return Some(entry),
                None if self.is_closed() => return None,
                None => queue = self.arrived.wait(queue).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    fn push(&self, entry: Entry) {
        self.queue().push_back(entry);
        self.arrived.notify_one();
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn cancel(&self) {
        if let Self::Execute(job) = self {
            job.away.cancel();
        }
    }
}

/// Lowers the priority of this thread, so that a core on the same processor executes as soon as it can.
fn lower_priority() {
    let lowered = getpriority_process(None).and_then(|nice| setpriority_process(None, nice + NICE));
    if let Err(error) = lowered {
        tracing::warn!(%error, "cannot lower the priority of the background thread");
    }
}

/// Makes this thread record the uses of pairs that the policy needs.
fn record_uses(shared: &ServerState) {
    let (config, now) = (shared.config(), shared.time.milliseconds());
    recency::track(&shared.recencies, config.eviction.policy, config.memory_bytes, (shared.started, now));
}
