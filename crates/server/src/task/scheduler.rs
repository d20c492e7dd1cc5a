//! The tasks of a core, and the order in which their slices execute.

use std::collections::VecDeque;
use std::sync::Arc;

use slab::Slab;

use crate::background::{Background, Job, Returned};
use crate::budget::Budget;
use crate::config::ACTIVE_TASKS_MAX;
use crate::connection::Connection;
use crate::context::Context;
use crate::counts::Counts;
use crate::failure::Failure;
use crate::needed_version::needed_by_reply;
use crate::server_state::ServerState;
use crate::stopwatch::{ExecutedCommand, Stopwatch};
use crate::tally::{self, Tally};
use crate::task::away::AwayTask;
use crate::task::progress::Progress;
use crate::task::{Running, Task, Work};

/// Bytes that the first slices of tasks may reply in an iteration of the event loop, and the minimum that a
/// slice counts.
const BEGUN_BYTES: usize = 64 << 10;
const BEGUN_BYTES_MIN: usize = 8 << 10;

/// The tasks of the connections of a core.
#[derive(Debug)]
pub(crate) struct Tasks {
    background: Arc<Background>,
    /// Connections whose tasks execute round-robin.
    active: VecDeque<usize>,
    waiting: VecDeque<usize>,
    /// The number of connections whose tasks are in the background.
    away: usize,
    /// Bytes that new tasks may still reply in this iteration of the event loop.
    quota: usize,
}

impl Tasks {
    /// Returns no tasks.
    pub(crate) fn new(background: Arc<Background>) -> Self {
        Self { background, active: VecDeque::new(), waiting: VecDeque::new(), away: 0, quota: 0 }
    }

    /// Returns whether the core has no tasks.
    pub(crate) fn is_empty(&self) -> bool {
        self.away == 0 && !self.has_slices()
    }

    /// Returns whether a task of the core executes in slices or waits to do so.
    pub(crate) fn has_slices(&self) -> bool {
        !self.active.is_empty() || !self.waiting.is_empty()
    }

    /// Begins an iteration of the event loop.
    pub(crate) fn begin_iteration(&mut self) {
        self.quota = BEGUN_BYTES;
    }

    /// Adds a task to a connection. Executes its first slice at once if few tasks are active and the other
    /// first slices of this iteration were short.
    pub(crate) fn begin(
        &mut self,
        (index, connection): (usize, &mut Connection),
        task: Task,
        shared: &ServerState,
        stopwatch: &mut Stopwatch<'_>,
    ) {
        let is_alone = matches!(task.work, Work::Alone(_) | Work::Errand(_) | Work::Store(_));
        connection.task = Some(Running::Here(Box::new(task)));
        if is_alone {
            return self.settle((index, connection), Progress::Background, (shared, stopwatch.counts()));
        }
        if self.active.len() >= ACTIVE_TASKS_MAX || self.quota == 0 {
            return self.waiting.push_back(index);
        }
        let before = connection.reply_bytes();
        let progress = step(connection, shared, stopwatch);
        let spent = connection.reply_bytes().saturating_sub(before).max(BEGUN_BYTES_MIN);
        self.quota = self.quota.saturating_sub(spent);
        self.settle((index, connection), progress, (shared, stopwatch.counts()));
    }

    /// Continues a task later, here or in the background, unless it is complete.
    fn settle(
        &mut self,
        (index, connection): (usize, &mut Connection),
        progress: Progress,
        (shared, counts): (&ServerState, &Counts),
    ) {
        match (progress, connection.task.take()) {
            (Progress::Done, _) | (_, None) => {}
            (Progress::Background, Some(Running::Here(mut task))) => {
                task.limit_reply(reply_bytes_max(connection, shared));
                let away = Arc::new(AwayTask::new(task.memory_bytes(), task.work.charged_bytes()));
                connection.task = Some(Running::Away(away.clone()));
                self.away += 1;
                counts.moved.add(1);
                let session = connection.session.copy_for_pairs(away.clone());
                let tally = Tally::default();
                self.background.execute(Box::new(Job { connection: index, task, session, away, tally }));
            }
            (_, task) => {
                connection.task = task;
                self.active.push_back(index);
            }
        }
    }

    /// Continues or finishes the tasks that the background thread has returned. Returns the indexes of the
    /// connections, each with whether its task is complete.
    pub(crate) fn take_returned(
        &mut self,
        shared: &ServerState,
        (core, counts): (usize, &Counts),
        connections: &mut Slab<Connection>,
    ) -> Vec<(usize, bool)> {
        let mut stopwatch = Stopwatch::start(shared, counts);
        let returned = self.background.take_returned(core).into_iter();
        returned.filter_map(|returned| self.take_one(returned, connections, &mut stopwatch)).collect()
    }

    /// Continues or finishes one task, unless its client has disconnected.
    fn take_one(
        &mut self,
        Returned { job, outcome }: Returned,
        connections: &mut Slab<Connection>,
        stopwatch: &mut Stopwatch<'_>,
    ) -> Option<(usize, bool)> {
        let Job { connection: index, mut task, session, away, tally } = *job;
        tally::give(&tally);
        let is_its = |task: &Running| matches!(task, Running::Away(known) if Arc::ptr_eq(known, &away));
        let connection =
            connections.get_mut(index).filter(|connection| connection.task.as_ref().is_some_and(is_its));
        let Some(connection) = connection else {
            task.depart(stopwatch.shared().clients.departed());
            self.background.drop_task(task);
            return None;
        };
        self.away -= 1;
        connection.task = None;
        connection.session.database = session.database;
        connection.session.closing |= session.closing;
        let is_done = matches!(outcome, Ok(Progress::Done) | Err(_)) || task.replies.exceed_limit();
        if is_done {
            finish(connection, *task, outcome.err(), stopwatch);
        } else {
            connection.task = Some(Running::Here(task));
            self.active.push_back(index);
        }
        Some((index, is_done))
    }

    /// Removes the task of a closed connection, because another connection will reuse its index.
    pub(crate) fn forget(&mut self, index: usize, task: &Running) {
        self.away -= usize::from(matches!(task, Running::Away(_)));
        self.active.retain(|other| *other != index);
        self.waiting.retain(|other| *other != index);
    }

    /// Executes the next slice of one task unless its connection must wait. Returns the index of the
    /// connection and the progress of the task.
    pub(crate) fn step(
        &mut self,
        shared: &ServerState,
        counts: &Counts,
        connections: &mut Slab<Connection>,
        waits: impl Fn(&Connection) -> bool,
    ) -> Option<(usize, Progress)> {
        while self.active.len() < ACTIVE_TASKS_MAX {
            let Some(index) = self.waiting.pop_front() else { break };
            self.active.push_back(index);
        }
        let index = self.active.pop_front()?;
        // The client may have disconnected.
        let connection = connections.get_mut(index).filter(|connection| connection.task.is_some())?;
        let progress = match waits(connection) {
            true => Progress::Wait,
            false => step(connection, shared, &mut Stopwatch::start(shared, counts)),
        };
        self.settle((index, connection), progress, (shared, counts));
        Some((index, progress))
    }
}

/// Executes a slice of the task of a connection. The last slice moves the reply to the connection.
fn step(connection: &mut Connection, shared: &ServerState, stopwatch: &mut Stopwatch<'_>) -> Progress {
    let Some(Running::Here(mut task)) = connection.task.take() else { return Progress::Done };
    stopwatch.counts().slices.add(1);
    task.limit_reply(reply_bytes_max(connection, shared));
    let Task { requests, found, work, replies, .. } = &mut *task;
    let session = &mut connection.session;
    let now = shared.time.milliseconds();
    let mut context = Context { shared, session, replies, transaction: None, now, budget: Budget::CORE };
    let outcome = work.step(&mut context, &requests.arguments(found));
    let progress = match &outcome {
        Ok(_) if task.replies.exceed_limit() => Progress::Done,
        Ok(progress) => *progress,
        Err(_) => Progress::Done,
    };
    if progress != Progress::Done {
        task.took += stopwatch.pause();
        connection.task = Some(Running::Here(task));
        return progress;
    }
    finish(connection, *task, outcome.err(), stopwatch);
    Progress::Done
}

/// Returns the bytes that the task of a connection may still reply.
fn reply_bytes_max(connection: &Connection, shared: &ServerState) -> usize {
    shared.config().reply_bytes_max.saturating_sub(connection.unsent())
}

fn finish(connection: &mut Connection, task: Task, failure: Option<Failure>, stopwatch: &mut Stopwatch<'_>) {
    let Task { requests, found, named, mut work, replies, took, .. } = task;
    let before = connection.unsent();
    let reply_bytes_max = stopwatch.shared().config().reply_bytes_max;
    connection.replies.set_version(replies.version());
    match &failure {
        None if replies.exceed_limit() => connection.end_for_reply(replies, reply_bytes_max),
        None => connection.replies.append(replies),
        Some(failure) => failure.reply_after(before, &mut connection.replies),
    }
    connection.replies.set_bytes_max(reply_bytes_max);
    stopwatch.counts().commands[named.number].errors.add(u64::from(failure.is_some()));
    let mut lap = stopwatch.lap_after(took, 1);
    lap.executed(named.number, ExecutedCommand { connection, requests: &requests, found: &found, before });
    lap.end();
    let (databases, number) = (&stopwatch.shared().databases, connection.session.database);
    let command = (&*named, &requests.arguments(&found));
    let needed = needed_by_reply(databases, number, command, failure.as_ref());
    connection.spent.extend(std::iter::once(requests).chain(work.take_requests()));
    if connection.session.end_command() {
        connection.replies.truncate(before);
    }
    connection.bound_replies(before, reply_bytes_max);
    if let Some(version) = needed {
        connection.held.got((before, connection.unsent()), version);
    }
}
