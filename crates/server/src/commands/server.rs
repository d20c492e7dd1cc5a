//! Commands about the whole server: version, monitoring, replication, shutdown, time.

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
            context
                .session
                .monitoring
                .get_or_insert_with(|| context.shared.monitors.add(context.session.client.clone()));
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
        name: "shutdown",
        arity: -1,
        keys: Keys::None,
        form: CommandForm::Serve(shutdown),
        usage: "[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]",
        summary: "Stops the server. SAVE is rejected, because the server has no persistence.",
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
    Command {
        name: "waitaof",
        arity: 4,
        keys: Keys::None,
        form: CommandForm::Serve(wait_for_file),
        usage: "local replicas timeout",
        summary: "Returns 0 and 0 immediately, because the server has neither append-only file nor replicas.",
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

fn shutdown(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let (mut saves, mut aborts, mut others) = (false, false, false);
    let mut options = Options::from(arguments, 1);
    while let Some(word) = options.word() {
        match &*word {
            b"SAVE" => saves = true,
            b"ABORT" => aborts = true,
            b"NOSAVE" | b"NOW" | b"FORCE" => others = true,
            _ => return Err(Failure::Syntax),
        }
    }
    if aborts {
        let problem = if saves || others { return Err(Failure::Syntax) } else { "No shutdown in progress." };
        return Err(Failure::other(problem));
    }
    if saves {
        return Err(Failure::other(
            "SHUTDOWN SAVE: this server keeps nothing on disk; SHUTDOWN NOSAVE ends it",
        ));
    }
    if !context.shared.request_shutdown() {
        return Err(Failure::other(
            "SHUTDOWN: the embedding program does not allow clients to stop this server",
        ));
    }
    tracing::info!(client = context.session.client.id, "client requested shutdown");
    context.session.closing = true;
    Ok(())
}

fn wait(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let (_, timeout) = (integer(&arguments[1])?, integer(&arguments[2]));
    check_timeout(timeout)?;
    context.replies.integer(0);
    Ok(())
}

fn wait_for_file(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let (local, _) = (integer(&arguments[1])?, integer(&arguments[2])?);
    check_timeout(integer(&arguments[3]))?;
    if !(0..=1).contains(&local) {
        return Err(Failure::other("value is out of range, must be between 0 and 1"));
    }
    if local == 1 {
        let problem = "WAITAOF cannot be used when numlocal is set but appendonly is disabled.";
        return Err(Failure::other(problem));
    }
    context.replies.array(2);
    (0..2).for_each(|_| context.replies.integer(0));
    Ok(())
}

fn check_timeout(timeout: Result<i64, Failure>) -> Result<(), Failure> {
    match timeout {
        Ok(0..) => Ok(()),
        Ok(_) => Err(Failure::other("timeout is negative")),
        Err(_) => Err(Failure::other("timeout is not an integer or out of range")),
    }
}
