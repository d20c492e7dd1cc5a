//! `CLIENT`: what is known of connections, and what is done to them.

use std::sync::Arc;

use crate::arguments::{Arguments, is};
use crate::clients::{Client, Flag};
use crate::command::{Command, CommandForm, Keys};
use crate::commands::client_filter::Filter;
use crate::commands::subcommands::{self, Subcommand};
use crate::context::Context;
use crate::failure::Failure;
use crate::pause::Paused;
use crate::session::Replying;

pub(super) const COMMANDS: &[Command] = &[Command {
    name: "client",
    arity: -2,
    keys: Keys::None,
    form: CommandForm::Serve(|context, arguments| {
        subcommands::run(context, ("client", SUBCOMMANDS), arguments)
    }),
    usage: "<subcommand> [argument ...]",
    summary: "Tells of connections, and ends or delays them; CLIENT HELP lists how.",
}];

const FILTERS: &str = "[ID id [id ...]] [TYPE NORMAL | MASTER | REPLICA | PUBSUB] [USER name] [ADDR ip:port] \
    [LADDR ip:port] [SKIPME YES | NO] [MAXAGE seconds]";

pub(crate) const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand {
        name: "client|caching",
        arity: 3,
        usage: "YES | NO",
        summary: "Refused: no client tracks keys.",
        run: |_, _| {
            Err(Failure::other("CLIENT CACHING can be called only when the client is in tracking mode"))
        },
    },
    Subcommand {
        name: "client|getname",
        arity: 2,
        usage: "",
        summary: "The name of this connection.",
        run: |context, _| {
            let name = context.session.client.name();
            context.replies.bulk_or_null(Some(&name[..]).filter(|name| !name.is_empty()));
            Ok(())
        },
    },
    Subcommand {
        name: "client|getredir",
        arity: 2,
        usage: "",
        summary: "Where notices of changed keys go: -1, since no client tracks keys.",
        run: |context, _| integer(context, -1),
    },
    Subcommand {
        name: "client|id",
        arity: 2,
        usage: "",
        summary: "The number of this connection.",
        run: |context, _| integer(context, context.session.client.id as i64),
    },
    Subcommand {
        name: "client|info",
        arity: 2,
        usage: "",
        summary: "The line of CLIENT LIST about this connection.",
        run: |context, _| {
            let line = context
                .session
                .client
                .line(context.shared.time.milliseconds(), context.shared.command_table.full_name);
            context.replies.verbatim(&format!("{line}\n"));
            Ok(())
        },
    },
    Subcommand {
        name: "client|kill",
        arity: -3,
        usage: "ip:port | <filter> [<filter> ...]",
        summary: "Ends connections, of an address or all that pass the filters; this one after SKIPME NO.",
        run: kill,
    },
    Subcommand {
        name: "client|list",
        arity: -2,
        usage: FILTERS,
        summary: "A line for each connection.",
        run: list,
    },
    Subcommand {
        name: "client|no-evict",
        arity: 3,
        usage: "ON | OFF",
        summary: "Marks this connection. None is ended for want of memory alone, with the mark or without.",
        run: |context, arguments| mark(context, &arguments[2], Flag::NoEvict),
    },
    Subcommand {
        name: "client|no-touch",
        arity: 3,
        usage: "ON | OFF",
        summary: "Whether lookups of this connection leave it open when a pair was used last, but for TOUCH.",
        run: |context, arguments| {
            mark(context, &arguments[2], Flag::NoTouch)?;
            context.session.touches = !context.session.client.is(Flag::NoTouch);
            Ok(())
        },
    },
    Subcommand {
        name: "client|pause",
        arity: -3,
        usage: "milliseconds [WRITE | ALL]",
        summary: "Has commands of all clients wait, or those that write.",
        run: pause,
    },
    Subcommand {
        name: "client|reply",
        arity: 3,
        usage: "ON | OFF | SKIP",
        summary: "Whether commands of this connection are replied to; SKIP: not the next one.",
        run: reply,
    },
    Subcommand {
        name: "client|setinfo",
        arity: 4,
        usage: "LIB-NAME name | LIB-VER version",
        summary: "What library the client uses, for CLIENT LIST.",
        run: set_info,
    },
    Subcommand {
        name: "client|setname",
        arity: 3,
        usage: "name",
        summary: "Names this connection.",
        run: |context, arguments| {
            context.session.client.set_name(checked_name(&arguments[2])?);
            ok(context)
        },
    },
    Subcommand {
        name: "client|tracking",
        arity: -3,
        usage: "ON | OFF [option ...]",
        summary: "OFF does nothing; ON is refused: clients are not told of keys that change.",
        run: tracking,
    },
    Subcommand {
        name: "client|trackinginfo",
        arity: 2,
        usage: "",
        summary: "What this connection tracks: nothing.",
        run: |context, _| {
            let replies = &mut *context.replies;
            replies.map(3);
            replies.bulk(b"flags");
            replies.set(1);
            replies.bulk(b"off");
            replies.bulk(b"redirect");
            replies.integer(-1);
            replies.bulk(b"prefixes");
            replies.array(0);
            Ok(())
        },
    },
    Subcommand {
        name: "client|unblock",
        arity: -3,
        usage: "id [TIMEOUT | ERROR]",
        summary: "0: no command waits for anything that another client could do.",
        run: unblock,
    },
    Subcommand {
        name: "client|unpause",
        arity: 2,
        usage: "",
        summary: "Ends CLIENT PAUSE.",
        run: |context, _| {
            context.shared.pause.end();
            ok(context)
        },
    },
];

/// A name without bytes that lines of `CLIENT LIST` could not show.
pub(super) fn checked_name(name: &[u8]) -> Result<&[u8], Failure> {
    let is_fit = name.iter().all(|byte| (b'!'..=b'~').contains(byte));
    let refusal = || Failure::other("Client names cannot contain spaces, newlines or special characters.");
    if is_fit { Ok(name) } else { Err(refusal()) }
}

fn list(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let (now, own) = (context.shared.time.milliseconds(), context.session.client.id);
    let filter = Filter::parse(arguments.from(2), false)?;
    let mut lines = String::new();
    for client in context.shared.clients.all().iter().filter(|client| filter.passes(client, own, now)) {
        lines.push_str(&client.line(now, context.shared.command_table.full_name));
        lines.push('\n');
    }
    context.replies.verbatim(&lines);
    Ok(())
}

fn kill(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let (now, own) = (context.shared.time.milliseconds(), context.session.client.id);
    let is_old = arguments.len() == 3;
    let filter =
        if is_old { Filter::of_address(&arguments[2]) } else { Filter::parse(arguments.from(2), true)? };
    let mut clients = context.shared.clients.all();
    clients.retain(|client| filter.passes(client, own, now));
    clients.iter().for_each(|client| end(context, client));
    match (is_old, clients.len()) {
        (true, 0) => return Err(Failure::other("No such client")),
        (true, _) => context.replies.ok(),
        (false, ended) => context.replies.integer(ended as i64),
    }
    Ok(())
}

/// Has the client's core end it; this one itself ends once it has its reply.
fn end(context: &mut Context<'_>, client: &Arc<Client>) {
    if client.id == context.session.client.id {
        context.session.closing = true;
        return;
    }
    client.set(Flag::Killed, true);
    context.shared.wake(client.core);
}

fn mark(context: &mut Context<'_>, argument: &[u8], flag: Flag) -> Result<(), Failure> {
    context.session.client.set(flag, switch(argument)?);
    ok(context)
}

fn pause(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let milliseconds: i64 = std::str::from_utf8(&arguments[2])
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| Failure::other("timeout is not an integer or out of range"))?;
    let milliseconds = u64::try_from(milliseconds).map_err(|_| Failure::other("timeout is negative"))?;
    let paused = match arguments.get(3) {
        None => Paused::All,
        Some(word) if is(word, "all") && arguments.len() == 4 => Paused::All,
        Some(word) if is(word, "write") && arguments.len() == 4 => Paused::Writes,
        Some(_) => return Err(Failure::Syntax),
    };
    context.shared.pause.begin(paused, context.shared.time.milliseconds().saturating_add(milliseconds));
    ok(context)
}

fn reply(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let session = &mut *context.session;
    if is(&arguments[2], "on") {
        session.replying = Replying::On;
        return ok(context);
    }
    match (is(&arguments[2], "off"), is(&arguments[2], "skip"), session.replying) {
        (true, ..) => session.replying = Replying::Off,
        (_, true, Replying::Off) => {}
        (_, true, _) => session.replying = Replying::SkipThisAndNext,
        _ => return Err(Failure::Syntax),
    }
    Ok(())
}

fn set_info(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let (attribute, value, client) = (&arguments[2], &arguments[3], &context.session.client);
    let set = match (is(attribute, "lib-name"), is(attribute, "lib-ver")) {
        (true, _) => Client::set_library,
        (_, true) => Client::set_library_version,
        _ => {
            let attribute = String::from_utf8_lossy(attribute).into_owned();
            return Err(Failure::other(format!("Unrecognized option '{attribute}'")));
        }
    };
    if checked_name(value).is_err() {
        let attribute = String::from_utf8_lossy(attribute).into_owned();
        let problem = "cannot contain spaces, newlines or special characters.";
        return Err(Failure::other(format!("{attribute} {problem}")));
    }
    set(client, value);
    ok(context)
}

fn tracking(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let options = ["redirect", "prefix", "bcast", "optin", "optout", "noloop"];
    let is_option = |word: &[u8]| options.iter().any(|option| is(word, option));
    let (turns_on, rest) = (switch(&arguments[2])?, arguments.from(3));
    // Values of options follow them.
    if rest.get(0).is_some_and(|word| !is_option(word)) {
        return Err(Failure::Syntax);
    }
    if turns_on {
        return Err(Failure::other(
            "CLIENT TRACKING ON: this server does not tell clients of keys that change",
        ));
    }
    ok(context)
}

fn unblock(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    crate::arguments::integer(&arguments[2])?;
    let is_reason = |word: &[u8]| is(word, "timeout") || is(word, "error");
    match arguments.get(3) {
        Some(word) if arguments.len() > 4 || !is_reason(word) => {
            Err(Failure::other("CLIENT UNBLOCK reason should be TIMEOUT or ERROR"))
        }
        _ => integer(context, 0),
    }
}

fn switch(argument: &[u8]) -> Result<bool, Failure> {
    match (is(argument, "on"), is(argument, "off")) {
        (true, _) => Ok(true),
        (_, true) => Ok(false),
        _ => Err(Failure::Syntax),
    }
}

fn ok(context: &mut Context<'_>) -> Result<(), Failure> {
    context.replies.ok();
    Ok(())
}

fn integer(context: &mut Context<'_>, number: i64) -> Result<(), Failure> {
    context.replies.integer(number);
    Ok(())
}
