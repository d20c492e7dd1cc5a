//! Commands that take effect together.

use crate::arguments::Arguments;
use crate::command::{Command, Keys, OnKeys, Run};
use crate::failure::Failure;
use crate::keyspace::Keyspace;
use crate::session::{Context, Queue, Watched};
use crate::transaction::Transaction;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "multi",
        arity: 1,
        keys: Keys::None,
        run: Run::Serve(multi),
        usage: "",
        summary: "Has the commands that follow wait for EXEC.",
    },
    Command {
        name: "exec",
        arity: 1,
        keys: Keys::None,
        run: Run::Serve(exec),
        usage: "",
        summary: "Runs the commands since MULTI at one moment; not at all if a watched pair has changed.",
    },
    Command {
        name: "discard",
        arity: 1,
        keys: Keys::None,
        run: Run::Serve(discard),
        usage: "",
        summary: "Forgets the commands since MULTI.",
    },
    Command {
        name: "watch",
        arity: -2,
        keys: Keys::All,
        run: Run::Serve(watch),
        usage: "key [key ...]",
        summary: "Has EXEC run nothing if one of these pairs has changed by then.",
    },
    Command {
        name: "unwatch",
        arity: 1,
        keys: Keys::None,
        run: Run::Serve(|context, _| {
            context.session.watched.clear();
            context.replies.simple("OK");
            Ok(())
        }),
        usage: "",
        summary: "Watches no pair any more.",
    },
];

/// Runs one command on the keys of the client's table, as often as others are in the way.
pub(crate) fn run_alone(
    context: &mut Context<'_>,
    handler: OnKeys,
    arguments: &Arguments<'_>,
) -> Result<(), Failure> {
    let Context { shared, session, replies } = context;
    let before = replies.bytes().len();
    loop {
        let now = shared.time.milliseconds();
        let mut transaction = Transaction::default();
        let mut keyspace = Keyspace::within(&shared.databases, session.database, now, &mut transaction);
        handler(&mut keyspace, arguments, replies)?;
        if transaction.commit(&shared.store)? {
            return Ok(());
        }
        replies.truncate(before);
    }
}

fn multi(context: &mut Context<'_>, _: &Arguments<'_>) -> Result<(), Failure> {
    if context.session.queue.is_some() {
        return Err(Failure::other("MULTI calls can not be nested"));
    }
    context.session.queue = Some(Queue::default());
    context.replies.simple("OK");
    Ok(())
}

fn discard(context: &mut Context<'_>, _: &Arguments<'_>) -> Result<(), Failure> {
    if context.session.queue.take().is_none() {
        return Err(Failure::other("DISCARD without MULTI"));
    }
    context.session.watched.clear();
    context.replies.simple("OK");
    Ok(())
}

fn watch(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    if context.session.queue.is_some() {
        return Err(Failure::other("WATCH inside MULTI is not allowed"));
    }
    for key in arguments.from(1).iter() {
        let table = context.table().clone();
        let seen = table.get(key)?;
        context.session.watched.push(Watched { table, key: key.to_vec(), seen });
    }
    context.replies.simple("OK");
    Ok(())
}

fn exec(context: &mut Context<'_>, _: &Arguments<'_>) -> Result<(), Failure> {
    let queue = context.session.queue.take().ok_or_else(|| Failure::other("EXEC without MULTI"))?;
    let watched = std::mem::take(&mut context.session.watched);
    if queue.spoiled {
        return Err(Failure::Aborted);
    }
    let before = context.replies.bytes().len();
    loop {
        let mut transaction = Transaction::default();
        for watched in &watched {
            if watched.table.get(&watched.key)? != watched.seen {
                context.replies.null_array();
                return Ok(());
            }
            transaction.watch(watched);
        }
        context.replies.array(queue.handlers.len());
        run_queued(context, &queue, &mut transaction);
        match transaction.commit(&context.shared.store) {
            Ok(true) => return Ok(()),
            Ok(false) => context.replies.truncate(before),
            Err(failure) => {
                context.replies.truncate(before);
                return Err(failure);
            }
        }
    }
}

/// Runs commands within one transaction. One that fails replies its error, and the others run all the same.
fn run_queued(context: &mut Context<'_>, queue: &Queue, transaction: &mut Transaction) {
    let (shared, database) = (context.shared, context.session.database);
    let now = shared.time.milliseconds();
    for (handler, found) in &queue.handlers {
        let arguments = queue.requests.arguments(found);
        let mut keyspace = Keyspace::within(&shared.databases, database, now, transaction);
        let before = context.replies.bytes().len();
        if let Err(failure) = handler(&mut keyspace, &arguments, context.replies) {
            failure.reply_after(before, context.replies);
        }
    }
}
