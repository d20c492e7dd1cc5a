//! Commands about the whole server: version, monitoring, replication, time.

use crate::VERSION_OF_REDIS;
use crate::arguments::{Arguments, Options, integer, is};
use crate::command::{Command, CommandForm, Keys};
use crate::context::Context;
use crate::failure::Failure;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "lolwut",
        arity: -1,
        keys: Keys::None,
        form: CommandForm::Serve(version),
        usage: "[VERSION version]",
        summary: "Returns the version of the server and the Redis version of its commands.",
    },
    Command {
        name: "monitor",
        arity: 1,
        keys: Keys::None,
        form: CommandForm::Serve(|context, _| {
            context.session.monitoring.get_or_insert_with(|| {
                context.shared.monitors.add(context.session.client.clone(), context.shared.client_limit())
            });
            context.replies.ok();
            Ok(())
        }),
        usage: "",
        summary: "Streams each executed command until RESET, except administrative commands.",
    },
    Command {
        name: "replicaof",
        arity: 3,
        keys: Keys::None,
        form: CommandForm::Serve(replica_of),
        usage: "NO ONE",
        summary: "NO ONE has no effect; anything else is rejected, because the server does not replicate.",
    },
    Command {
        name: "role",
        arity: 1,
        keys: Keys::None,
        form: CommandForm::Serve(|context, _| {
            context.replies.array(3);
            context.replies.bulk(b"master");
            context.replies.integer(0);
            context.replies.array(0);
            Ok(())
        }),
        usage: "",
        summary: "Returns the role of the server: a master without replicas.",
    },
    Command {
        name: "slaveof",
        arity: 3,
        keys: Keys::None,
        form: CommandForm::Serve(replica_of),
        usage: "NO ONE",
        summary: "Former name of REPLICAOF.",
    },
    Command {
        name: "time",
        arity: 1,
        keys: Keys::None,
        form: CommandForm::Serve(|context, _| {
            let now = context.shared.time.microseconds();
            context.replies.array(2);
            for number in [now / 1_000_000, now % 1_000_000] {
                context.replies.bulk(number.to_string().as_bytes());
            }
            Ok(())
        }),
        usage: "",
        summary: "Returns the time of the server: seconds since 1970, and microseconds.",
    },
    Command {
        name: "wait",
        arity: 3,
        keys: Keys::None,
        form: CommandForm::Serve(wait),
        usage: "replicas timeout",
        summary: "Returns 0 immediately, because the server has no replicas.",
    },
];

/// Returns the version of the server. Redis draws a picture instead.
fn version(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let mut options = Options::from(arguments, 1);
    while let Some(word) = options.word() {
        match &*word {
            b"VERSION" => drop(options.integer()?),
            _ => return Err(Failure::Syntax),
        }
    }
    let own = env!("CARGO_PKG_VERSION");
    context
        .replies
        .verbatim(&format!("Honeycomb {own}, with the strings of Redis ver. {VERSION_OF_REDIS}\n"));
    Ok(())
}

fn replica_of(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    if is(&arguments[1], "no") && is(&arguments[2], "one") {
        context.replies.ok();
        return Ok(());
    }
    Err(Failure::other("this server cannot be a replica; only REPLICAOF NO ONE is allowed"))
}

fn wait(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let (_, timeout) = (integer(&arguments[1])?, integer(&arguments[2]));
    check_timeout(timeout)?;
    context.replies.integer(0);
    Ok(())
}

pub(super) fn check_timeout(timeout: Result<i64, Failure>) -> Result<(), Failure> {
    match timeout {
        Ok(0..) => Ok(()),
        Ok(_) => Err(Failure::other("timeout is negative")),
        Err(_) => Err(Failure::other("timeout is not an integer or out of range")),
    }
}
