//! `MULTI`, `EXEC`, `DISCARD`, `WATCH` and `UNWATCH`, and the execution of one command as a transaction.

use crate::arguments::Arguments;
use crate::budget::Budget;
use crate::command::{Command, CommandForm, Keys, OnKeys};
use crate::context::Context;
use crate::envelope::Envelope;
use crate::failure::Failure;
use crate::keyspace::Keyspace;
use crate::session::{Queue, Watched, WatchedPair};
use crate::transaction::OptimisticTransaction;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "multi",
        arity: 1,
        keys: Keys::None,
        form: CommandForm::Serve(multi),
        usage: "",
        summary: "Begins a transaction: queues the following commands until EXEC.",
    },
    Command {
        name: "exec",
        arity: 1,
        keys: Keys::None,
        form: CommandForm::Exec,
        usage: "",
        summary: "Executes the commands since MULTI atomically, unless a watched pair has changed.",
    },
    Command {
        name: "discard",
        arity: 1,
        keys: Keys::None,
        form: CommandForm::Serve(discard),
        usage: "",
        summary: "Discards the commands since MULTI.",
    },
    Command {
        name: "watch",
        arity: -2,
        keys: Keys::All,
        form: CommandForm::Serve(watch),
        usage: "key [key ...]",
        summary: "Watches pairs: EXEC executes nothing if one of them has changed.",
    },
    Command {
        name: "unwatch",
        arity: 1,
        keys: Keys::None,
        form: CommandForm::Serve(|context, _| {
            context.session.watched = Watched::default();
            context.replies.ok();
            Ok(())
        }),
        usage: "",
        summary: "Stops watching all pairs and ranges.",
    },
];

/// Executes one command as a transaction on the client's table. Retries on conflicts with other writes. A
/// command that exceeds the budget fails and has changed nothing.
pub(crate) fn run_alone(
    context: &mut Context<'_>,
    handler: OnKeys,
    arguments: &Arguments<'_>,
    budget: Budget,
) -> Result<(), Failure> {
    while !attempt(context, handler, arguments, budget)? {}
    Ok(())
}

/// Like [`run_alone`], but returns false and does not retry after a conflict.
pub(crate) fn attempt(
    context: &mut Context<'_>,
    handler: OnKeys,
    arguments: &Arguments<'_>,
    budget: Budget,
) -> Result<bool, Failure> {
    let Context { shared, session, replies, .. } = context;
    let (before, databases) = (replies.len(), &shared.databases);
    let (now, swap_count) = (shared.time.milliseconds(), databases.swap_count());
    let mut transaction = OptimisticTransaction::new(shared.config().transaction_bytes_max());
    transaction.begin_command(budget);
    transaction.begin_events(shared, &arguments[0]);
    handler(&mut Keyspace::alone(databases, session, now, &mut transaction), arguments, replies)?;
    let committed = databases.commit(swap_count, &transaction.swaps, || transaction.commit(shared))?;
    if !committed {
        replies.truncate(before);
    }
    Ok(committed)
}

fn multi(context: &mut Context<'_>, _: &Arguments<'_>) -> Result<(), Failure> {
    if context.session.queue.is_some() {
        return Err(Failure::other("MULTI calls can not be nested"));
    }
    context.session.queue = Some(Queue::default());
    context.replies.ok();
    Ok(())
}

fn discard(context: &mut Context<'_>, _: &Arguments<'_>) -> Result<(), Failure> {
    if context.session.queue.take().is_none() {
        return Err(Failure::other("DISCARD without MULTI"));
    }
    context.session.watched = Watched::default();
    context.replies.ok();
    Ok(())
}

fn watch(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    if context.session.queue.is_some() {
        return Err(Failure::other("WATCH inside MULTI is not allowed"));
    }
    let shared = context.shared;
    for key in arguments.from(1).iter() {
        let (table, database) = (context.table(), context.session.database);
        // A key that the table does not allow stays absent, so it needs no watch.
        if table.allows_key(key) {
            // The server removes an expired pair at some time, which changes nothing that clients see.
            let seen = table.get(key)?.filter(|value| !Envelope::has_expired(value, context.now));
            context.session.watched.push(WatchedPair { database, key: key.to_vec(), seen }, shared)?;
        }
    }
    context.replies.ok();
    Ok(())
}
