//! `CLIENT`: shows connections, changes their settings, and disconnects or delays clients.

use std::sync::Arc;

use crate::arguments::{Arguments, check_length, is, shown};
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
    summary: "Shows, disconnects or delays clients; CLIENT HELP lists the subcommands.",
}];

const FILTERS: &str = "[ID id [id ...]] [TYPE NORMAL | MASTER | REPLICA | PUBSUB] [USER name] [ADDR ip:port] \
    [LADDR ip:port] [SKIPME YES | NO] [MAXAGE seconds]";

pub(crate) const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand {
        name: "client|caching",
        arity: 3,
        usage: "YES | NO",
        summary: "Rejected: the server does not support tracking.",
        run: |_, _| {
            Err(Failure::other("CLIENT CACHING can be called only when the client is in tracking mode"))
        },
    },
    Subcommand {
        name: "client|getname",
        arity: 2,
        usage: "",
        summary: "Returns the name of this connection.",
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
        summary: "Returns -1, because the server does not support tracking.",
        run: |context, _| integer(context, -1),
    },
    Subcommand {
        name: "client|id",
        arity: 2,
        usage: "",
        summary: "Returns the ID of this connection.",
        run: |context, _| integer(context, context.session.client.id as i64),
    },
    Subcommand {
        name: "client|info",
        arity: 2,
        usage: "",
        summary: "Returns the line of CLIENT LIST for this connection.",
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
        summary: "Disconnects the client at an address, or clients that match; SKIPME NO includes this one.",
        run: kill,
    },
    Subcommand {
        name: "client|list",
        arity: -2,
        usage: FILTERS,
        summary: "Returns one line for each connection.",
        run: list,
    },
    Subcommand {
        name: "client|no-evict",
        arity: 3,
        usage: "ON | OFF",
        summary: "Protects this connection from eviction while such clients use at most half of the limit.",
        run: |context, arguments| mark(context, &arguments[2], Flag::NoEvict),
    },
    Subcommand {
        name: "client|no-touch",
        arity: 3,
        usage: "ON | OFF",
        summary: "Controls whether lookups of this connection update access statistics; TOUCH always does.",
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
        summary: "Delays the commands of all clients, or only the writes.",
        run: pause,
    },
    Subcommand {
        name: "client|reply",
        arity: 3,
        usage: "ON | OFF | SKIP",
        summary: "Switches replies to this connection on or off; SKIP omits the next reply.",
        run: reply,
    },
    Subcommand {
        name: "client|setinfo",
        arity: 4,
        usage: "LIB-NAME name | LIB-VER version",
        summary: "Sets the client library that CLIENT LIST shows.",
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
        summary: "OFF has no effect; ON is rejected, because the server does not support tracking.",
        run: tracking,
    },
    Subcommand {
        name: "client|trackinginfo",
        arity: 2,
        usage: "",
        summary: "Returns that tracking is off.",
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
        summary: "Returns 0, because no command blocks on other clients.",
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

/// Maximum number of bytes of the name of a connection, and of the name and the version of its library.
const NAME_BYTES_MAX: usize = 1 << 10;

/// Returns the name if a line of `CLIENT LIST` can contain it, or an error.
pub(super) fn checked_name(name: &[u8]) -> Result<&[u8], Failure> {
    check_name("client name", name)?;
    let invalid = || Failure::other("Client names cannot contain spaces, newlines or special characters.");
    if is_printable(name) { Ok(name) } else { Err(invalid()) }
}

fn is_printable(name: &[u8]) -> bool {
    name.iter().all(|byte| (b'!'..=b'~').contains(byte))
}

/// Rejects long names: `CLIENT LIST` and the slow log copy them.
fn check_name(kind: &str, name: &[u8]) -> Result<(), Failure> {
    check_length(kind, (name.len(), "bytes"), NAME_BYTES_MAX)
}

fn list(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let (now, own) = (context.shared.time.milliseconds(), context.session.client.id);
    let filter = Filter::parse(arguments.from(2), false)?;
    let Context { shared, replies, .. } = context;
    // The lines of thousands of clients have megabytes, so there is no second copy of them.
    let text = replies.begin_array();
    for client in shared.clients.all().iter().filter(|client| filter.matches(client, own, now)) {
        let line = client.line(now, shared.command_table.full_name);
        replies.part_of_bulk(|bytes| {
            bytes.extend_from_slice(line.as_bytes());
            bytes.push(b'\n');
        });
    }
    replies.end_verbatim(text);
    Ok(())
}

fn kill(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let (now, own) = (context.shared.time.milliseconds(), context.session.client.id);
    let is_old_form = arguments.len() == 3;
    let filter =
        if is_old_form { Filter::of_address(&arguments[2]) } else { Filter::parse(arguments.from(2), true)? };
    let mut clients = context.shared.clients.all();
    clients.retain(|client| filter.matches(client, own, now));
    clients.iter().for_each(|client| disconnect(context, client));
    match (is_old_form, clients.len()) {
        (true, 0) => return Err(Failure::other("No such client")),
        (true, _) => context.replies.ok(),
        (false, killed) => context.replies.integer(killed as i64),
    }
    Ok(())
}

/// Disconnects a client. Another client's core disconnects it; this client is disconnected after its reply.
fn disconnect(context: &mut Context<'_>, client: &Arc<Client>) {
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
            let attribute = shown(attribute);
            return Err(Failure::other(format!("Unrecognized option '{attribute}'")));
        }
    };
    let attribute = shown(attribute);
    check_name(&attribute, value)?;
    if !is_printable(value) {
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
    // Only the first word is checked, because the values of options follow.
    if rest.get(0).is_some_and(|word| !is_option(word)) {
        return Err(Failure::Syntax);
    }
    if turns_on {
        return Err(Failure::other(
            "CLIENT TRACKING ON: this server does not notify clients of changed keys",
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
