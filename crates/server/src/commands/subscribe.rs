//! `SUBSCRIBE`, `PSUBSCRIBE`, `UNSUBSCRIBE` and `PUNSUBSCRIBE`, for keyspace notifications.

use honeycomb_protocol::resp::Replies;

use crate::arguments::Arguments;
use crate::command::{Command, CommandForm, Keys};
use crate::context::Context;
use crate::failure::Failure;
use crate::glob;
use crate::notifications::{Kind, begin};
use crate::push_queue::PushQueue;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "psubscribe",
        arity: -2,
        keys: Keys::None,
        form: CommandForm::Serve(|context, arguments| {
            subscribe(context, arguments, (Kind::Pattern, "psubscribe"))
        }),
        usage: "pattern [pattern ...]",
        summary: "Subscribes to the channels of keyspace notifications that match patterns.",
    },
    Command {
        name: "punsubscribe",
        arity: -1,
        keys: Keys::None,
        form: CommandForm::Serve(|context, arguments| {
            unsubscribe(context, arguments, (Kind::Pattern, "punsubscribe"))
        }),
        usage: "[pattern ...]",
        summary: "Ends subscriptions to patterns, or all of them.",
    },
    Command {
        name: "subscribe",
        arity: -2,
        keys: Keys::None,
        form: CommandForm::Serve(|context, arguments| {
            subscribe(context, arguments, (Kind::Channel, "subscribe"))
        }),
        usage: "channel [channel ...]",
        summary: "Subscribes to channels of keyspace notifications.",
    },
    Command {
        name: "unsubscribe",
        arity: -1,
        keys: Keys::None,
        form: CommandForm::Serve(|context, arguments| {
            unsubscribe(context, arguments, (Kind::Channel, "unsubscribe"))
        }),
        usage: "[channel ...]",
        summary: "Ends subscriptions to channels, or all of them.",
    },
];

fn subscribe(
    context: &mut Context<'_>,
    arguments: &Arguments<'_>,
    (kind, verb): (Kind, &str),
) -> Result<(), Failure> {
    let checked = if kind == Kind::Pattern { glob::checked } else { glob::checked_channel };
    arguments.from(1).iter().try_for_each(|name| checked(name).map(drop))?;
    let Context { shared, session, replies, .. } = context;
    let client = session.client.clone();
    let subscriber =
        session.subscriber.get_or_insert_with(|| shared.notifications.add(client, shared.client_limit()));
    let allowed = subscriber.check_limit(kind, arguments.from(1).iter());
    match allowed {
        Ok(()) => arguments.from(1).iter().for_each(|name| {
            confirm(replies, verb, Some(name), subscriber.subscribe(kind, name));
        }),
        Err(_) if subscriber.count() == 0 => session.subscriber = None,
        Err(_) => {}
    }
    allowed
}

fn unsubscribe(
    context: &mut Context<'_>,
    arguments: &Arguments<'_>,
    (kind, verb): (Kind, &str),
) -> Result<(), Failure> {
    let Context { session, replies, .. } = context;
    let Some(subscriber) = &session.subscriber else {
        match arguments.len() {
            1 => confirm(replies, verb, None, 0),
            _ => arguments.from(1).iter().for_each(|name| confirm(replies, verb, Some(name), 0)),
        }
        return Ok(());
    };
    // Those that came before.
    subscriber.take(replies, usize::MAX);
    let mut end = |name: &[u8]| confirm(replies, verb, Some(name), subscriber.unsubscribe(kind, name));
    if arguments.len() > 1 {
        arguments.from(1).iter().for_each(end);
    } else {
        let names = subscriber.all(kind);
        names.iter().for_each(|name| end(name));
        if names.is_empty() {
            confirm(replies, verb, None, subscriber.count());
        }
    }
    if subscriber.count() == 0 {
        session.subscriber = None;
    }
    Ok(())
}

fn confirm(replies: &mut Replies, verb: &str, name: Option<&[u8]>, count: usize) {
    begin(replies, 3);
    replies.bulk(verb.as_bytes());
    replies.bulk_or_null(name);
    replies.integer(count as i64);
}

/// Replies to `PING` of a client of RESP2 with subscriptions: it expects messages only.
pub(crate) fn pong(arguments: &Arguments<'_>, replies: &mut Replies) -> Result<(), Failure> {
    if arguments.len() > 2 {
        return Err(Failure::Arity("ping"));
    }
    replies.array(2);
    replies.bulk(b"pong");
    replies.bulk(arguments.get(1).unwrap_or_default());
    Ok(())
}
