//! Tasks: commands that take long, executed a slice at a time.
//!
//! A slice reads a page of pairs, or a part of a long value, or some of the commands of a transaction.
//! Between two slices the core serves its other clients, so a task delays none of them by more than a slice.
//! A core executes slices of [`ACTIVE_MAX`] tasks in turn, and each of these holds one snapshot at most;
//! further tasks wait. A task writes its reply to a buffer of its own, which its connection sends once it is
//! whole.

mod exec;
mod values;
mod walking;

use std::collections::VecDeque;
use std::time::Duration;

use honeycomb_protocol::resp::{Found, Replies, Requests};
use slab::Slab;

use crate::arguments::Arguments;
use crate::command::{CommandForm, CommandRef};
use crate::commands::run_alone;
use crate::connection::Connection;
use crate::counts::Counts;
use crate::failure::Failure;
use crate::keyspace::Keyspace;
use crate::server_state::ServerState;
use crate::session::Context;
use crate::stopwatch::{ExecutedCommand, Stopwatch};
use crate::transaction::OptimisticTransaction;

pub(crate) use exec::Exec;
pub(crate) use values::Values;
pub(crate) use walking::{Sink, Walking};

/// Tasks of a core that are executed in turn.
pub(crate) const ACTIVE_MAX: usize = 4;

/// Bytes that the first slices of tasks reply in an iteration of the event loop, and for how many bytes a
/// slice counts at least.
const BEGUN_BYTES: usize = 64 << 10;
const BEGUN_BYTES_MIN: usize = 8 << 10;

/// A command on its way.
pub(crate) struct Task {
    requests: Requests,
    found: Found,
    named: CommandRef,
    work: Work,
    replies: Replies,
    /// The time that its slices have taken.
    took: Duration,
}

/// What is left to do.
pub(crate) enum Work {
    Walk(Box<Walking>),
    Values(Box<Values>),
    Exec(Box<Exec>),
}

/// How far a slice has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The reply is whole.
    Done,
    /// Another slice is needed.
    More,
    /// Others hold all snapshots, or memory is short: the same slice is to be executed again.
    Wait,
}

/// The tasks of a core's connections.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    /// Connections whose tasks are executed in turn.
    active: VecDeque<usize>,
    waiting: VecDeque<usize>,
    /// Bytes that tasks which begin may still reply in this iteration of the event loop.
    quota: usize,
}

/// Executes a command that was allowed, or begins it: then the work that is left is returned.
pub(crate) fn start(
    context: &mut Context<'_>,
    named: CommandRef,
    arguments: &Arguments<'_>,
) -> Result<Option<Work>, Failure> {
    let reads_snapshot = |one: &&mut OptimisticTransaction| one.only_snapshot().is_some();
    match named.form {
        CommandForm::Values(_) if context.transaction.as_ref().is_some_and(reads_snapshot) => {
            let snapshot = context.transaction.as_ref().and_then(|one| one.only_snapshot()).cloned();
            let values = Values::new(context, named, arguments).of(snapshot);
            return Ok(Some(Work::Values(Box::new(values))));
        }
        CommandForm::Read(handler)
        | CommandForm::Values(handler)
        | CommandForm::Write(handler, _)
        | CommandForm::Update(handler)
            if context.transaction.is_some() =>
        {
            let (databases, session, now) = (&context.shared.databases, &*context.session, context.now);
            let Some(transaction) = context.transaction.as_deref_mut() else { return Ok(None) };
            handler(&mut Keyspace::within(databases, session, now, transaction), arguments, context.replies)?;
        }
        CommandForm::Values(_) => {
            return Ok(Some(Work::Values(Box::new(Values::new(context, named, arguments)))));
        }
        CommandForm::Read(handler) | CommandForm::Write(handler, _) | CommandForm::Update(handler) => {
            run_alone(context, handler, arguments)?;
        }
        CommandForm::Range(parse) => return Ok(Some(Work::Walk(parse(arguments)?.walking(context)?))),
        CommandForm::Walk(begin) => return Ok(Some(Work::Walk(Box::new(begin(context, arguments)?)))),
        CommandForm::Exec => return Ok(Some(Work::Exec(Box::new(Exec::begin(context)?)))),
        CommandForm::Serve(handler) => handler(context, arguments)?,
    }
    Ok(None)
}

impl Work {
    /// Executes a slice.
    fn step(&mut self, context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<Progress, Failure> {
        let progress = match self {
            Self::Walk(walking) => walking.step(context),
            Self::Values(values) => values.step(context, arguments),
            Self::Exec(exec) => exec.step(context),
        };
        match progress {
            Err(Failure::NoSnapshot) => Ok(Progress::Wait),
            Err(Failure::SnapshotLost) if self.begin_again(context) => Ok(Progress::More),
            progress => progress,
        }
    }

    /// Begins again after its snapshot was lost to a write without room. Returns whether it may.
    fn begin_again(&mut self, context: &mut Context<'_>) -> bool {
        context.replies.truncate(0);
        match self {
            Self::Walk(walking) => return walking.begin_again(),
            Self::Values(values) => values.begin_again(),
            Self::Exec(exec) => exec.begin_again(context),
        }
        true
    }

    fn memory_bytes(&self) -> usize {
        match self {
            Self::Exec(exec) => exec.memory_bytes(),
            Self::Walk(_) | Self::Values(_) => 0,
        }
    }
}

impl Task {
    /// The task of a command, of whose arguments it keeps a copy.
    pub(crate) fn new(named: CommandRef, arguments: Arguments<'_>, work: Work, replies: &Replies) -> Self {
        let mut requests = Requests::default();
        let found = requests.keep(arguments);
        let replies = replies.new_alike();
        Self { requests, found, named, work, replies, took: Duration::ZERO }
    }

    /// Bytes that it has replied.
    pub(crate) fn reply_bytes(&self) -> usize {
        self.replies.len()
    }

    /// Drops the work, and returns what it has replied.
    pub(crate) fn into_replies(self) -> Replies {
        self.replies
    }

    /// Bytes of memory that it takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.requests.capacity() + self.replies.capacity() + self.work.memory_bytes()
    }
}

impl Tasks {
    /// Whether there are any.
    pub(crate) fn is_empty(&self) -> bool {
        self.active.is_empty() && self.waiting.is_empty()
    }

    /// Begins an iteration of the event loop.
    pub(crate) fn begin_iteration(&mut self) {
        self.quota = BEGUN_BYTES;
    }

    /// Gives a connection a task. Executes its first slice at once if fewer tasks are active than may be, and
    /// the slices of others that began in this iteration were short.
    pub(crate) fn begin(
        &mut self,
        (index, connection): (usize, &mut Connection),
        task: Task,
        shared: &ServerState,
        stopwatch: &mut Stopwatch<'_>,
    ) {
        connection.task = Some(Box::new(task));
        if self.active.len() >= ACTIVE_MAX || self.quota == 0 {
            return self.waiting.push_back(index);
        }
        let before = connection.reply_bytes();
        let progress = step(connection, shared, stopwatch);
        let spent = connection.reply_bytes().saturating_sub(before).max(BEGUN_BYTES_MIN);
        self.quota = self.quota.saturating_sub(spent);
        if progress != Progress::Done {
            self.active.push_back(index);
        }
    }

    /// Forgets the task of a connection that is closed: another one will have its place.
    pub(crate) fn forget(&mut self, index: usize) {
        self.active.retain(|other| *other != index);
        self.waiting.retain(|other| *other != index);
    }

    /// Executes the next slice of one task, unless its connection has to wait. Returns the connection and how
    /// far the task has come.
    pub(crate) fn step(
        &mut self,
        shared: &ServerState,
        counts: &Counts,
        connections: &mut Slab<Connection>,
        waits: impl Fn(&Connection) -> bool,
    ) -> Option<(usize, Progress)> {
        while self.active.len() < ACTIVE_MAX {
            let Some(index) = self.waiting.pop_front() else { break };
            self.active.push_back(index);
        }
        let index = self.active.pop_front()?;
        // Its client may have gone.
        let connection = connections.get_mut(index).filter(|connection| connection.task.is_some())?;
        let progress = match waits(connection) {
            true => Progress::Wait,
            false => step(connection, shared, &mut Stopwatch::start(shared, counts)),
        };
        if progress != Progress::Done {
            self.active.push_back(index);
        }
        Some((index, progress))
    }
}

/// Executes a slice of a connection's task. At its end the connection has the reply.
fn step(connection: &mut Connection, shared: &ServerState, stopwatch: &mut Stopwatch<'_>) -> Progress {
    let Some(mut task) = connection.task.take() else { return Progress::Done };
    stopwatch.counts().slices.add(1);
    let config = shared.config();
    task.replies.set_bytes_max(config.reply_bytes_max.saturating_sub(connection.unsent()));
    let Task { requests, found, work, replies, .. } = &mut *task;
    let session = &mut connection.session;
    let now = shared.time.milliseconds();
    let mut context = Context { shared, session, replies, transaction: None, now };
    let outcome = work.step(&mut context, &requests.arguments(found));
    let progress = match &outcome {
        Ok(_) if task.replies.have_no_room() => Progress::Done,
        Ok(progress) => *progress,
        Err(_) => Progress::Done,
    };
    if progress != Progress::Done {
        task.took += stopwatch.pause();
        connection.task = Some(task);
        return progress;
    }
    finish(connection, *task, outcome.err(), stopwatch);
    Progress::Done
}

fn finish(connection: &mut Connection, task: Task, failure: Option<Failure>, stopwatch: &mut Stopwatch<'_>) {
    let Task { requests, found, named, replies, took, .. } = task;
    let before = connection.unsent();
    let reply_bytes_max = stopwatch.shared().config().reply_bytes_max;
    connection.replies.set_version(replies.version());
    match &failure {
        None if replies.have_no_room() => connection.end_for_reply(replies, reply_bytes_max),
        None => connection.replies.append(replies),
        Some(failure) => failure.reply_after(before, &mut connection.replies),
    }
    connection.replies.set_bytes_max(reply_bytes_max);
    stopwatch.counts().commands[named.number].errors.add(u64::from(failure.is_some()));
    let mut lap = stopwatch.lap_after(took, 1);
    lap.executed(named.number, ExecutedCommand { connection, requests: &requests, found: &found, before });
    lap.end();
    if connection.session.is_silent() {
        connection.replies.truncate(before);
    }
    connection.bound_replies(before, reply_bytes_max);
}
