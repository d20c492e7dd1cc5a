//! Tasks: long commands, which execute in slices.
//!
//! A slice reads a page of pairs, or a part of a long value, or executes some commands of a transaction.
//! Between two slices the core serves its other clients, so a task delays them by at most one slice. A core
//! executes slices of [`ACTIVE_TASKS_MAX`](crate::config::ACTIVE_TASKS_MAX) tasks round-robin, and each of
//! these uses at most one snapshot; further tasks wait. A task writes its reply to a separate buffer, and the
//! connection sends the complete reply.

mod exec;
pub(crate) mod progress;
pub(crate) mod scheduler;
mod values;
pub(crate) mod walking;

use std::time::Duration;

use honeycomb_protocol::resp::{ParsedRequest, Replies, RequestBuffer};

use crate::arguments::Arguments;
use crate::command::{CommandForm, CommandRef};
use crate::commands::transactions::run_alone;
use crate::context::Context;
use crate::failure::Failure;
use crate::keyspace::Keyspace;
use crate::task::exec::Exec;
use crate::task::progress::Progress;
use crate::task::values::Values;
use crate::task::walking::Walking;
use crate::transaction::OptimisticTransaction;

/// A long command in progress.
pub(crate) struct Task {
    requests: RequestBuffer,
    found: ParsedRequest,
    named: CommandRef,
    work: Work,
    replies: Replies,
    /// The total duration of its slices.
    took: Duration,
}

/// The remaining work.
pub(crate) enum Work {
    Walk(Box<Walking>),
    Values(Box<Values>),
    Exec(Box<Exec>),
}

/// Executes an allowed command, or begins it. Returns the remaining work of a long command.
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
            handler(
                &mut Keyspace::in_transaction(databases, session, now, transaction),
                arguments,
                context.replies,
            )?;
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
    /// Returns the task of a command. Copies the arguments.
    pub(crate) fn new(named: CommandRef, arguments: Arguments<'_>, work: Work, replies: &Replies) -> Self {
        let mut requests = RequestBuffer::default();
        let found = requests.push_copy(arguments);
        let replies = replies.new_alike();
        Self { requests, found, named, work, replies, took: Duration::ZERO }
    }

    /// Returns the number of bytes of its reply so far.
    pub(crate) fn reply_bytes(&self) -> usize {
        self.replies.len()
    }

    /// Drops the work and returns the reply so far.
    pub(crate) fn into_replies(self) -> Replies {
        self.replies
    }

    /// Returns the bytes of memory in use.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.requests.capacity() + self.replies.capacity() + self.work.memory_bytes()
    }
}
