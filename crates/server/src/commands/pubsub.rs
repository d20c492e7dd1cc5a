//! `PUBLISH` and `PUBSUB`: messages of clients, and their subscriptions.

use crate::arguments::Arguments;
use crate::command::{Command, CommandForm, Keys};
use crate::commands::subcommands::{self, Subcommand};
use crate::context::Context;
use crate::failure::Failure;
use crate::glob;
use crate::notifications::{Kind, PUBLISHED_BYTES_MAX};

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "publish",
        arity: 3,
        keys: Keys::None,
        form: CommandForm::Serve(publish),
        usage: "channel message",
        summary: "Sends a message to the subscribers of a channel, and returns their number.",
    },
    Command {
        name: "pubsub",
        arity: -2,
        keys: Keys::None,
        form: CommandForm::Serve(|context, arguments| {
            subcommands::run(context, ("pubsub", SUBCOMMANDS), arguments)
        }),
        usage: "<subcommand> [argument ...]",
        summary: "Shows channels, patterns and their subscribers.",
    },
];

pub(crate) const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand {
        name: "pubsub|channels",
        arity: -2,
        usage: "[pattern]",
        summary: "Returns the channels with subscribers.",
        run: channels,
    },
    Subcommand {
        name: "pubsub|numpat",
        arity: 2,
        usage: "",
        summary: "Returns the number of patterns with subscribers.",
        run: |context, _| {
            let patterns = context.shared.notifications.with_all(Kind::Pattern, |names| names.len());
            context.replies.integer(patterns as i64);
            Ok(())
        },
    },
    Subcommand {
        name: "pubsub|numsub",
        arity: -2,
        usage: "[channel ...]",
        summary: "Returns the number of subscribers of each channel, without those of patterns.",
        run: |context, arguments| {
            count_subscribers(context, &arguments.from(2));
            Ok(())
        },
    },
];

/// Between `MULTI` and `EXEC`, the message is sent after the commit.
fn publish(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let Context { shared, replies, transaction, .. } = context;
    let (channel, content) = (glob::checked_channel(&arguments[1])?, &arguments[2]);
    let bytes = channel.len() + content.len();
    if bytes > PUBLISHED_BYTES_MAX {
        let message =
            format!("message and channel of {bytes} bytes: at most {PUBLISHED_BYTES_MAX} are allowed");
        return Err(Failure::other(message));
    }
    let receivers = match transaction {
        Some(transaction) => {
            transaction.send_message(channel, content);
            shared.notifications.receivers(channel)
        }
        None => shared.send_message(channel, content),
    };
    replies.integer(receivers as i64);
    Ok(())
}

fn channels(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    if arguments.len() > 3 {
        return Err(Failure::Arity("pubsub|channels"));
    }
    let pattern = arguments.get(2).map(glob::checked).transpose()?;
    let Context { shared, replies, .. } = context;
    shared.notifications.with_all(Kind::Channel, |channels| {
        let array = replies.begin_array();
        let found = channels.iter().filter(|name| pattern.is_none_or(|pattern| glob::matches(pattern, name)));
        let count = found.map(|name| replies.bulk(name)).count();
        replies.end_array(array, count);
    });
    Ok(())
}

fn count_subscribers(context: &mut Context<'_>, channels: &Arguments<'_>) {
    let Context { shared, replies, .. } = context;
    replies.array(2 * channels.len());
    for channel in channels.iter() {
        replies.bulk(channel);
        replies.integer(shared.notifications.subscribers(channel) as i64);
    }
}
