//! What is asked of the server as a whole.

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
        summary: "The version of the server, and that of Redis whose commands it has.",
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
        summary: "Shows each command that is carried out, until RESET; administrative ones are not shown.",
    },
    Command {
        name: "replicaof",
        arity: 3,
        keys: Keys::None,
        form: CommandForm::Serve(replica_of),
        usage: "NO ONE",
        summary: "NO ONE does nothing; anything else is refused: there is no replication.",
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
        summary: "The server is a master without replicas.",
    },
    Command {
        name: "shutdown",
        arity: -1,
        keys: Keys::None,
        form: CommandForm::Serve(shutdown),
        usage: "[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]",
        summary: "Ends the server. SAVE is refused, since nothing is kept on disk.",
    },
    Command {
        name: "slaveof",
        arity: 3,
        keys: Keys::None,
        form: CommandForm::Serve(replica_of),
        usage: "NO ONE",
        summary: "The old name of REPLICAOF.",
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
        summary: "The time of the server: seconds since 1970, and microseconds.",
    },
    Command {
        name: "wait",
        arity: 3,
        keys: Keys::None,
        form: CommandForm::Serve(wait),
        usage: "replicas timeout",
        summary: "How many replicas have the writes: 0, at once, since there are none.",
    },
    Command {
        name: "waitaof",
        arity: 4,
        keys: Keys::None,
        form: CommandForm::Serve(wait_for_file),
        usage: "local replicas timeout",
        summary: "How many append-only files have the writes: none, at once.",
    },
];

/// Redis draws a picture, of a version if one is named. This server has none.
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
    Err(Failure::other("this server cannot be a replica; allowed is REPLICAOF NO ONE"))
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
        return Err(Failure::other("SHUTDOWN: the program around this server does not let clients end it"));
    }
    tracing::info!(client = context.session.client.id, "a client ends the server");
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
