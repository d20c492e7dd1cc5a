//! Tasks: long commands, which execute in slices.
//!
//! A slice reads a page of pairs, or a part of a long value, or executes some commands of a transaction.
//! Between two slices the core serves its other clients, so a task delays them by at most one slice. A core
//! executes slices of [`ACTIVE_TASKS_MAX`](crate::config::ACTIVE_TASKS_MAX) tasks round-robin, and each of
//! these uses at most one snapshot; further tasks wait. A task writes its reply to a separate buffer, and the
//! connection sends the complete reply.
//!
//! A long command that writes cannot execute in slices, because the store applies its writes in one step. It
//! executes on the [background thread](crate::background), as does any other command that reads or writes
//! much but does not consist of pages or parts.

pub(crate) mod away;
pub(crate) mod errand;
mod exec;
pub(crate) mod progress;
pub(crate) mod scheduler;
pub(crate) mod table_walk;
mod values;
pub(crate) mod walking;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use honeycomb_protocol::resp::{ParsedRequest, Replies, RequestBuffer};

use crate::arguments::Arguments;
use crate::budget::Budget;
use crate::charge::{ByteTotal, Charge};
use crate::command::{CommandForm, CommandRef, OnKeys, OnServe};
use crate::commands::transactions::{attempt, run_alone};
use crate::context::Context;
use crate::databases::is_exclusive;
use crate::failure::Failure;
use crate::keyspace::Keyspace;
use crate::server_state::ServerState;
use crate::session::Session;
use crate::tally;
use crate::task::away::AwayTask;
use crate::task::errand::Errand;
use crate::task::exec::Exec;
use crate::task::progress::Progress;
use crate::task::values::Values;
use crate::task::walking::Walking;
use crate::transaction::OptimisticTransaction;

/// Conflicts after which the background thread executes a task while all cores wait. They then wait for less
/// than a hundredth of the time, so the 99th percentile of the latency of their clients does not rise.
const CONFLICTS_MAX: u32 = 100;

/// The task of a connection, or its place.
#[derive(Debug)]
pub(crate) enum Running {
    Here(Box<Task>),
    /// On the background thread or in its queue.
    Away(Arc<AwayTask>),
}

/// A long command in progress.
pub(crate) struct Task {
    requests: RequestBuffer,
    found: ParsedRequest,
    named: CommandRef,
    work: Work,
    replies: Replies,
    /// The total duration of its slices.
    took: Duration,
    /// Its memory after its client has disconnected, until it is dropped.
    departed: Charge,
}

/// The remaining work.
pub(crate) enum Work {
    Walk(Box<Walking>),
    Values(Box<Values>),
    Exec(Box<Exec>),
    Alone(Alone),
    /// A command on whole ranges or tables that exceeds its budget.
    Store(OnServe),
    Errand(Box<dyn Errand>),
}

/// A command that exceeds its budget, and the number of its conflicts with other writes.
pub(crate) struct Alone {
    handler: OnKeys,
    conflicts: u32,
}

/// Executes an allowed command, or begins it. Returns the remaining work of a long command. A command of a
/// transaction fails if it exceeds the budget.
pub(crate) fn start(
    context: &mut Context<'_>,
    named: CommandRef,
    (found, arguments): (&ParsedRequest, &Arguments<'_>),
) -> Result<Option<Work>, Failure> {
    let budget = context.budget;
    let reads_snapshot = |one: &&mut OptimisticTransaction| one.only_snapshot().is_some();
    match named.form {
        CommandForm::Values(_) if context.transaction.as_ref().is_some_and(reads_snapshot) => {
            let snapshot = context.transaction.as_ref().and_then(|one| one.only_snapshot()).cloned();
            let values = Values::new(context, named, arguments)?.of(snapshot);
            return Ok(Some(Work::Values(Box::new(values))));
        }
        CommandForm::Read(handler)
        | CommandForm::Values(handler)
        | CommandForm::Write(handler, _)
        | CommandForm::Update(handler)
            if context.transaction.is_some() =>
        {
            budget.check_request(found, arguments)?;
            let (databases, session, now) = (&context.shared.databases, &*context.session, context.now);
            let Some(transaction) = context.transaction.as_deref_mut() else { return Ok(None) };
            handler(
                &mut Keyspace::in_transaction(databases, session, now, transaction),
                arguments,
                context.replies,
            )?;
        }
        // Unordered tables have no versions, so their values are not copied in parts.
        CommandForm::Values(handler) if context.table().unordered().is_some() => {
            return run_or_move(context, handler, (found, arguments));
        }
        CommandForm::Values(_) => {
            return Ok(Some(Work::Values(Box::new(Values::new(context, named, arguments)?))));
        }
        CommandForm::Read(handler) | CommandForm::Write(handler, _) | CommandForm::Update(handler) => {
            return run_or_move(context, handler, (found, arguments));
        }
        CommandForm::Range(parse) => return Ok(Some(Work::Walk(parse(arguments)?.walking(context)?))),
        CommandForm::Walk(begin) => return Ok(Some(Work::Walk(Box::new(begin(context, arguments)?)))),
        CommandForm::Count(begin, errand) => {
            return Ok(Some(match errand(context, arguments)? {
                Some(errand) => Work::Errand(errand),
                None => Work::Walk(Box::new(begin(context, arguments)?)),
            }));
        }
        CommandForm::Errand(begin) => return Ok(Some(Work::Errand(begin(context, arguments)?))),
        CommandForm::Exec => return Ok(Some(Work::Exec(Box::new(Exec::begin(context)?)))),
        CommandForm::ServeOrErrand(handler, errand) => match errand(context, arguments)? {
            Some(errand) => return Ok(Some(Work::Errand(errand))),
            None => handler(context, arguments)?,
        },
        CommandForm::Store(handler) => match handler(context, arguments) {
            Err(Failure::Long) if context.transaction.is_none() => return Ok(Some(Work::Store(handler))),
            executed => executed?,
        },
        CommandForm::Serve(handler) => handler(context, arguments)?,
    }
    Ok(None)
}

/// Executes a command, or returns it as work for the background thread if it exceeds the budget.
fn run_or_move(
    context: &mut Context<'_>,
    handler: OnKeys,
    (found, arguments): (&ParsedRequest, &Arguments<'_>),
) -> Result<Option<Work>, Failure> {
    let budget = context.budget;
    let (before, lookups) = (context.replies.len(), tally::lookups());
    let is_short = budget.check_request(found, arguments);
    match is_short.and_then(|()| run_alone(context, handler, arguments, budget)) {
        Err(Failure::Long) => {
            context.replies.truncate(before);
            tally::forget_since(lookups);
            Ok(Some(Work::Alone(Alone { handler, conflicts: 0 })))
        }
        executed => executed.map(|()| None),
    }
}

impl Work {
    /// Executes a slice.
    fn step(&mut self, context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<Progress, Failure> {
        let progress = match self {
            Self::Walk(walking) => walking.step(context),
            Self::Values(values) => values.step(context, arguments),
            Self::Exec(exec) => exec.step(context),
            Self::Alone(_) | Self::Store(_) | Self::Errand(_) => Ok(Progress::Background),
        };
        self.resume_after(progress, context)
    }

    /// Executes the work on a background thread. Returns [`Progress::Background`] after a conflict.
    fn run(
        &mut self,
        context: &mut Context<'_>,
        arguments: &Arguments<'_>,
        goes_on: impl Fn(usize) -> bool,
    ) -> Result<Progress, Failure> {
        let progress = match self {
            Self::Walk(_) | Self::Values(_) => Ok(Progress::More),
            Self::Exec(exec) => exec.run(context, goes_on),
            Self::Alone(alone) => alone.run(context, arguments),
            Self::Store(handler) => handler(context, arguments).map(|()| Progress::Done),
            Self::Errand(errand) => errand.step(context),
        };
        self.resume_after(progress, context)
    }

    /// Waits if no snapshot is available, and restarts after the loss of one.
    fn resume_after(
        &mut self,
        progress: Result<Progress, Failure>,
        context: &mut Context<'_>,
    ) -> Result<Progress, Failure> {
        match progress {
            Err(Failure::NoSnapshot) => Ok(Progress::Wait),
            Err(Failure::SnapshotLost) if self.restart(context) => Ok(Progress::More),
            progress => progress,
        }
    }

    /// Restarts after the store dropped its snapshot to free memory for a write. Returns false if the command
    /// cannot restart.
    fn restart(&mut self, context: &mut Context<'_>) -> bool {
        context.replies.truncate(0);
        match self {
            Self::Walk(walking) => return walking.restart(),
            Self::Values(values) => values.restart(),
            Self::Exec(exec) => exec.restart(context),
            Self::Alone(_) | Self::Store(_) => {}
            Self::Errand(errand) => return errand.restart(),
        }
        true
    }

    /// Removes and returns the buffers of queued commands.
    fn take_requests(&mut self) -> Vec<RequestBuffer> {
        match self {
            Self::Exec(exec) => exec.take_requests(),
            Self::Walk(_) | Self::Values(_) | Self::Alone(_) | Self::Store(_) | Self::Errand(_) => Vec::new(),
        }
    }

    /// Returns the bytes of memory in use, apart from the arguments of errands.
    fn memory_bytes(&self) -> usize {
        match self {
            Self::Walk(walking) => walking.memory_bytes(),
            Self::Exec(exec) => exec.memory_bytes(),
            Self::Errand(errand) => errand.memory_bytes(),
            Self::Values(_) | Self::Alone(_) | Self::Store(_) => 0,
        }
    }

    /// Returns the bytes of its memory that are charged.
    fn charged_bytes(&self) -> usize {
        match self {
            Self::Exec(exec) => exec.charged_bytes(),
            Self::Walk(_) | Self::Values(_) | Self::Alone(_) | Self::Store(_) | Self::Errand(_) => 0,
        }
    }
}

impl Alone {
    fn run(&mut self, context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<Progress, Failure> {
        if self.conflicts >= CONFLICTS_MAX && !is_exclusive() {
            return Ok(Progress::Exclusive);
        }
        match attempt(context, self.handler, arguments, Budget::UNLIMITED) {
            Ok(true) => Ok(Progress::Done),
            Ok(false) => {
                self.conflicts += 1;
                Ok(Progress::Background)
            }
            Err(Failure::NotExclusive) => {
                context.replies.truncate(0);
                Ok(Progress::Exclusive)
            }
            Err(failure) => Err(failure),
        }
    }
}

impl Running {
    /// Returns the bytes of memory in use.
    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            Self::Here(task) => task.memory_bytes(),
            Self::Away(away) => away.memory_bytes(),
        }
    }

    /// Returns the bytes of its memory that are charged.
    pub(crate) fn charged_bytes(&self) -> usize {
        match self {
            Self::Here(task) => task.work.charged_bytes(),
            Self::Away(away) => away.charged_bytes(),
        }
    }

    /// Returns the number of bytes of its reply so far, as far as they are known.
    pub(crate) fn reply_bytes(&self) -> usize {
        match self {
            Self::Here(task) => task.replies.len(),
            Self::Away(_) => 0,
        }
    }
}

impl Task {
    /// Returns the task of a command in a buffer of its own.
    pub(crate) fn new(
        named: CommandRef,
        (requests, found): (RequestBuffer, ParsedRequest),
        work: Work,
        replies: &Replies,
    ) -> Self {
        Self {
            requests,
            found,
            named,
            work,
            replies: replies.new_alike(),
            took: Duration::ZERO,
            departed: Charge::default(),
        }
    }

    /// Executes the task on a background thread until it completes, has a conflict, or needs its core.
    /// Stops between two commands if `goes_on`, which receives the bytes of memory in use, returns false.
    pub(crate) fn run(
        &mut self,
        shared: &ServerState,
        session: &mut Session,
        goes_on: impl Fn(usize) -> bool,
    ) -> Result<Progress, Failure> {
        let Self { requests, found, work, replies, .. } = self;
        let now = shared.time.milliseconds();
        let mut context =
            Context { shared, session, replies, transaction: None, now, budget: Budget::UNLIMITED };
        let goes_on = |bytes| goes_on(bytes + requests.capacity());
        work.run(&mut context, &requests.arguments(found), goes_on)
    }

    /// Counts its memory as that of a departed client until it is dropped.
    pub(crate) fn depart(&mut self, departed: &ByteTotal) {
        self.departed = Charge::new(departed, self.memory_bytes() - self.work.charged_bytes());
    }

    /// Limits the bytes of its reply.
    fn limit_reply(&mut self, bytes_max: usize) {
        self.replies.set_bytes_max(bytes_max);
    }

    /// Frees the memory of completed work.
    pub(crate) fn free_work(&mut self) {
        if let Work::Exec(exec) = &mut self.work {
            exec.clear();
        }
    }

    /// Adds the duration of a slice.
    pub(crate) fn add_duration(&mut self, duration: Duration) {
        self.took += duration;
    }

    /// Removes and returns the reply so far, and the buffers of requests.
    pub(crate) fn take_buffers(&mut self) -> (Replies, Vec<RequestBuffer>) {
        let mut requests = self.work.take_requests();
        requests.push(std::mem::take(&mut self.requests));
        (std::mem::take(&mut self.replies), requests)
    }

    /// Returns the bytes of memory in use.
    pub(crate) fn memory_bytes(&self) -> usize {
        // An errand has copies of its arguments.
        let copies = if matches!(self.work, Work::Errand(_)) { self.found.bytes() } else { 0 };
        let buffers = self.requests.capacity() + self.replies.capacity();
        size_of::<Self>() + buffers + copies + self.work.memory_bytes()
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").field("command", &self.named.name).finish_non_exhaustive()
    }
}
