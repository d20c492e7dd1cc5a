//! The background threads: execute commands that would delay the other clients of their core.
//!
//! A background thread and the cores change nothing at the same time but the store, and it allows that:
//! reads never wait for a write, and a batch takes effect at its end. One thread suffices for every core to
//! stay responsive. It has a low priority. If other programs use all processors, it executes rarely, so the
//! cores must never wait for it. Work for which all cores wait executes on a second thread, with their
//! priority. The two threads [take turns](turns), so the rest of the server knows one background thread.
//!
//! 1. At any time a task has one owner: its core, the queue, a background thread, or the list of returned
//!    tasks of its core. The locks of the queue and of the lists order the accesses of the owners.
//! 2. The core and the owner of a task share its [`AwayTask`]. The owner stores the bytes of memory, and the
//!    core loads them. The core sets `is_cancelled`, and the background thread loads it between two commands.
//!    Both are relaxed, because an old value only causes some work or a delay.
//! 3. The core that closes a connection takes its task back from the queue, and so frees the memory in steps.
//!    If the task is not there any more, the core cancels it, and the background thread drops it: it stops
//!    after the current page, pair or command.
//! 4. The exclusive thread executes all exchanges of tables. The other one therefore needs no gate: none
//!    happens while it executes a task.
//! 5. The server closes the queue after all cores have ended. Then nobody waits for a task any more, so the
//!    background threads drop the tasks in the queue and end. The server also cancels the task that executes,
//!    so that the end does not wait for a long one, and the threads drop it after its step.
//! 6. A task that waits, for example for a disk, is apart from the queue until its next step. So it delays no
//!    other task.

mod turns;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use honeycomb_memory::lower_priority;
use honeycomb_memory::sync::{AtomicBool, Ordering};

pub(crate) use self::turns::Role;
use self::turns::Turns;
use crate::databases::with_kept_numbers;
use crate::failure::Failure;
use crate::recency;
use crate::server_state::ServerState;
use crate::session::Session;
use crate::tally::{self, Tally};
use crate::task::Task;
use crate::task::away::AwayTask;
use crate::task::progress::Progress;

/// The queue of the background threads, and the tasks that they return.
#[derive(Debug)]
pub(crate) struct Background {
    turns: Turns<Entry>,
    is_closed: AtomicBool,
    /// The task that executes.
    current: Mutex<Option<Arc<AwayTask>>>,
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
    /// The lookups and errors that the background threads have counted.
    pub(crate) tally: Tally,
}

/// A task that returns to its core.
#[derive(Debug)]
pub(crate) struct Returned {
    pub(crate) job: Box<Job>,
    pub(crate) outcome: Result<Progress, Failure>,
}

impl Background {
    /// Returns an empty queue for a number of cores.
    pub(crate) fn new(cores: usize) -> Self {
        let returned = (0..cores).map(|_| Mutex::default()).collect();
        let (is_closed, current) = (AtomicBool::new(false), Mutex::default());
        Self { turns: Turns::new(), is_closed, current, returned }
    }

    /// Adds a task to the queue.
    pub(crate) fn execute(&self, job: Box<Job>) {
        self.turns.push(Role::Background, Entry::Execute(job));
    }

    /// Drops a task in the background.
    pub(crate) fn drop_task(&self, task: Box<Task>) {
        self.turns.push(Role::Background, Entry::Drop(task));
    }

    /// Returns whether somebody waits for a task: its client has not disconnected, and the server serves.
    fn is_awaited(&self, away: &AwayTask) -> bool {
        !away.is_cancelled() && !self.is_closed.load(Ordering::Relaxed)
    }

    /// Cancels a task. Returns it if it is in the queue.
    pub(crate) fn cancel(&self, away: &Arc<AwayTask>) -> Option<Box<Task>> {
        away.cancel();
        let is_it = |entry: &Entry| matches!(entry, Entry::Execute(job) if Arc::ptr_eq(&job.away, away));
        match self.turns.remove(is_it)? {
            Entry::Execute(job) => Some(job.task),
            Entry::Drop(_) => None,
        }
    }

    /// Removes and returns the tasks that have returned to a core.
    pub(crate) fn take_returned(&self, core: usize) -> Vec<Returned> {
        std::mem::take(&mut *self.returned[core].lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes the background threads end. All cores have ended.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        self.turns.close(Entry::cancel);
        if let Some(away) = &*self.current() {
            away.cancel();
        }
    }

    /// Executes the tasks of one of the threads until the queue is closed.
    pub(crate) fn run(&self, shared: &ServerState, role: Role) {
        if role == Role::Background
            && let Err(error) = lower_priority()
        {
            tracing::warn!(%error, "cannot lower the priority of the background thread");
        }
        let execute = |entry| match entry {
            Entry::Execute(job) => self.execute_if_awaited(shared, role, job),
            Entry::Drop(task) => drop(task),
        };
        while self.turns.execute_next(role, execute) {}
    }

    /// Executes a task, or drops it if nobody waits for it.
    fn execute_if_awaited(&self, shared: &ServerState, role: Role, job: Box<Job>) {
        // First, so that the end of the server either cancels the task or is seen.
        *self.current() = Some(job.away.clone());
        if self.is_awaited(&job.away) {
            self.execute_now(shared, role, job);
        }
        // The memory of a cancelled task counts until nobody refers to it.
        *self.current() = None;
    }

    fn current(&self) -> MutexGuard<'_, Option<Arc<AwayTask>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Executes a task as far as it can. After a conflict it executes again after the others, and
    /// for lack of a snapshot also after a pause.
    fn execute_now(&self, shared: &ServerState, role: Role, mut job: Box<Job>) {
        let outcome = match role {
            // The other thread executes nothing now, so nobody swaps numbers.
            Role::Background => with_kept_numbers(|| self.attempt(shared, &mut job)),
            Role::Exclusive => shared.databases.exclusively(|| self.attempt(shared, &mut job)),
        };
        if !self.is_awaited(&job.away) {
            return;
        }
        if matches!(outcome, Ok(Progress::Done) | Err(_)) {
            job.task.free_work();
        }
        job.away.record_memory(job.task.memory_bytes());
        match outcome {
            Ok(Progress::Background) => self.turns.push(Role::Background, Entry::Execute(job)),
            Ok(Progress::Exclusive) => self.turns.push(Role::Exclusive, Entry::Execute(job)),
            Ok(Progress::Wait) => self.turns.push_later(role, Entry::Execute(job)),
            Ok(Progress::Done | Progress::More) | Err(_) => self.give_back(shared, job, outcome),
        }
    }

    /// Returns a task to its core.
    fn give_back(&self, shared: &ServerState, job: Box<Job>, outcome: Result<Progress, Failure>) {
        let core = job.session.client.core;
        let returned = Returned { job, outcome };
        self.returned[core].lock().unwrap_or_else(PoisonError::into_inner).push(returned);
        shared.wake(core);
    }

    /// Executes a task, and counts the time, the lookups and errors, and the uses of pairs. A function of the
    /// embedding program may panic, which must not end the thread: all later tasks would wait for ever.
    fn attempt(&self, shared: &ServerState, job: &mut Job) -> Result<Progress, Failure> {
        let Job { task, session, away, tally, .. } = job;
        let goes_on = |bytes| {
            away.record_memory(bytes);
            self.is_awaited(away)
        };
        let began = shared.time.instant();
        record_uses(shared);
        let run = AssertUnwindSafe(|| task.run(shared, session, goes_on));
        let outcome = catch_unwind(run).unwrap_or_else(|_| {
            tracing::error!(?task, "a command panicked on a background thread");
            Err(Failure::other("the command panicked: the error output of the server has the reason"))
        });
        // A command may have requested that uses are recorded.
        record_uses(shared);
        task.add_duration(shared.time.instant().saturating_duration_since(began));
        tally.add(&tally::take());
        outcome
    }
}

impl Entry {
    fn cancel(&self) {
        if let Self::Execute(job) = self {
            job.away.cancel();
        }
    }
}

/// Makes this thread record the uses of pairs that the policy needs.
fn record_uses(shared: &ServerState) {
    let (config, now) = (shared.config(), shared.time.milliseconds());
    recency::track(&shared.recencies, config.eviction.policy, config.memory_bytes, (shared.started, now));
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use honeycomb_protocol::resp::{Replies, RequestBuffer, Version};

    use super::*;
    use crate::clients::Origin;
    use crate::commands;
    use crate::context::Context;
    use crate::server_state::tests::state;
    use crate::task::Work;
    use crate::task::errand::Errand;

    struct Panicking;

    impl Errand for Panicking {
        fn step(&mut self, _: &mut Context<'_>) -> Result<Progress, Failure> {
            panic!("the errand fails")
        }
    }

    /// Returns a job with an errand.
    fn job(shared: &ServerState, errand: Box<dyn Errand>) -> Box<Job> {
        let mut requests = RequestBuffer::default();
        requests.receive(b"SAVE\r\n");
        let found = requests.parse_next(&shared.config().request).unwrap().unwrap();
        let (named, replies) = (commands::find(b"save").unwrap(), Replies::new(Version::Resp2));
        let task = Box::new(Task::new(named, (requests, found), Work::Errand(errand), &replies));
        let address = SocketAddr::from(([127, 0, 0, 1], 1)).to_string();
        let origin = Origin { local: address.clone(), address, file: 0, core: 0 };
        let session = Session::new(shared.clients.enter(origin, 0), true);
        Box::new(Job { connection: 0, task, session, away: Arc::default(), tally: Tally::default() })
    }

    #[test]
    fn a_command_that_panics_returns_with_an_error() {
        let (shared, background) = (state(), Background::new(1));
        for role in [Role::Background, Role::Exclusive] {
            background.execute_now(&shared, role, job(&shared, Box::new(Panicking)));
            let returned = background.take_returned(0);
            let [Returned { outcome: Err(failure), .. }] = &returned[..] else { panic!("{returned:?}") };
            assert!(failure.to_string().starts_with("ERR the command panicked"), "{failure}");
        }
    }
}
