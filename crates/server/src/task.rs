//! Tasks: commands that take long, executed a slice at a time.
//!
//! A slice reads a page of pairs, or a part of a long value, or some of the commands of a transaction.
//! Between two slices the core serves its other clients, so a task delays none of them by more than a slice.
//! A core executes slices of [`ACTIVE_MAX`] tasks in turn, and each of these holds one snapshot at most;
//! further tasks wait. A task writes its reply to a buffer of its own, which its connection sends once it is
//! whole.

mod exec;
pub(crate) mod progress;
pub(crate) mod scheduler;
mod values;
pub(crate) mod walking;

use std::time::Duration;

use honeycomb_protocol::resp::{Found, Replies, Requests};

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
