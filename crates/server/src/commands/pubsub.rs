//! `PUBLISH` and `PUBSUB`: messages of clients, and their subscriptions.

use std::sync::Arc;

use crate::arguments::Arguments;
use crate::command::{Command, CommandForm, Keys};
use crate::commands::subcommands::{self, Subcommand};
use crate::context::Context;
use crate::failure::Failure;
use crate::glob;
use crate::notifications::{Kind, PUBLISHED_BYTES_MAX};
use crate::server_state::ServerState;

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
            let patterns = with_all(context.shared, Kind::Pattern, <[_]>::len);
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
    with_all(shared, Kind::Channel, |channels| {
        let array = replies.begin_array();
        let found = channels.iter().filter(|name| pattern.is_none_or(|pattern| glob::matches(pattern, name)));
        let count = found.map(|name| replies.bulk(name)).count();
        replies.end_array(array, count);
    });
    Ok(())
}

/// Passes the names of all subscriptions of a kind to `use_them`.
pub(super) fn with_all<T>(shared: &ServerState, kind: Kind, use_them: impl FnOnce(&[Arc<[u8]>]) -> T) -> T {
    let limit = shared.clients.limited(shared.config().clients_bytes_max);
    shared.notifications.with_all(kind, limit, use_them)
}

fn count_subscribers(context: &mut Context<'_>, channels: &Arguments<'_>) {
    let Context { shared, replies, .. } = context;
    replies.array(2 * channels.len());
    for channel in channels.iter() {
        replies.bulk(channel);
        replies.integer(shared.notifications.subscribers(channel) as i64);
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;
    use crate::clients::Origin;
    use crate::server_state::tests::state;

    #[test]
    fn the_list_of_all_subscriptions_is_memory_of_clients() {
        let shared = state();
        let limit = shared.clients.limited(shared.config().clients_bytes_max);
        let subscribers: Vec<_> = (0..10)
            .map(|_| {
                let address = SocketAddr::from(([127, 0, 0, 1], 1)).to_string();
                let origin = Origin { local: address.clone(), address, file: 0, core: 0 };
                let subscriber = shared.notifications.add(shared.clients.enter(origin, 0), limit);
                for name in ["one", "two", "three"] {
                    subscriber.subscribe(Kind::Channel, name.as_bytes());
                }
                subscriber
            })
            .collect();
        let before = shared.clients.bytes().get();
        let (names, bytes) = with_all(&shared, Kind::Channel, |names| {
            (names.iter().map(|name| name.to_vec()).collect::<Vec<_>>(), shared.clients.bytes().get())
        });
        assert_eq!(names, [&b"one"[..], b"three", b"two"]);
        assert_eq!(bytes - before, 3 * subscribers.len() * size_of::<Arc<[u8]>>());
        assert_eq!(shared.clients.bytes().get(), before);
    }
}
