//! Commands about the client's own connection: protocol version, authentication, table, end.

use honeycomb_protocol::resp::{Replies, Version};

use crate::VERSION_OF_REDIS;
use crate::arguments::{Arguments, integer, is, shown};
use crate::command::{Command, CommandForm, Keys};
use crate::commands::client::checked_name;
use crate::context::Context;
use crate::failure::Failure;
use crate::keyspace::Keyspace;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "ping",
        arity: -1,
        keys: Keys::None,
        form: CommandForm::Read(ping),
        usage: "[message]",
        summary: "Returns PONG, or the message.",
    },
    Command {
        name: "echo",
        arity: 2,
        keys: Keys::None,
        form: CommandForm::Read(|_, arguments, replies| {
            replies.bulk(&arguments[1]);
            Ok(())
        }),
        usage: "message",
        summary: "Returns the message.",
    },
    Command {
        name: "hello",
        arity: -1,
        keys: Keys::None,
        form: CommandForm::Serve(hello),
        usage: "[2 | 3 [AUTH user password] [SETNAME name]]",
        summary: "Selects the protocol version and describes the server.",
    },
    Command {
        name: "auth",
        arity: -2,
        keys: Keys::None,
        form: CommandForm::Serve(auth),
        usage: "[user] password",
        summary: "Authenticates the client; the only user is `default`.",
    },
    Command {
        name: "select",
        arity: 2,
        keys: Keys::None,
        form: CommandForm::Serve(select),
        usage: "number",
        summary: "Selects a table by its number.",
    },
    Command {
        name: "quit",
        arity: -1,
        keys: Keys::None,
        form: CommandForm::Serve(|context, _| {
            context.session.closing = true;
            context.replies.ok();
            Ok(())
        }),
        usage: "",
        summary: "Closes the connection.",
    },
    Command {
        name: "reset",
        arity: 1,
        keys: Keys::None,
        form: CommandForm::Serve(reset),
        usage: "",
        summary: "Resets the connection to its initial state.",
    },
];

/// Returns `PONG` or the message. It reads no key, so the server can batch it with reads and queue it in a
/// transaction.
fn ping(_: &mut Keyspace<'_>, arguments: &Arguments<'_>, replies: &mut Replies) -> Result<(), Failure> {
    match arguments.get(1) {
        None => replies.simple("PONG"),
        Some(message) if arguments.len() == 2 => replies.bulk(message),
        Some(_) => return Err(Failure::Arity("ping")),
    }
    Ok(())
}

fn hello(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let version = match arguments.get(1).map(integer) {
        None => context.replies.version(),
        Some(Ok(2)) => Version::Resp2,
        Some(Ok(3)) => Version::Resp3,
        Some(Ok(_)) => return Err(Failure::Version),
        Some(Err(_)) => return Err(Failure::other("Protocol version is not an integer or out of range")),
    };
    // Validate all options before any of them takes effect.
    let (mut user, mut name, mut at) = (None, None, 2);
    while let Some(word) = arguments.get(at) {
        at += match arguments.len() - at {
            3.. if is(word, "auth") => {
                user = Some((&arguments[at + 1], &arguments[at + 2]));
                3
            }
            2.. if is(word, "setname") => {
                name = Some(checked_name(&arguments[at + 1])?);
                2
            }
            _ => {
                let option = shown(word);
                return Err(Failure::other(format!("Syntax error in HELLO option '{option}'")));
            }
        };
    }
    if let Some((user, password)) = user {
        authenticate(context, user, password)?;
    }
    if !context.session.authenticated {
        return Err(Failure::NotAuthenticatedByHello);
    }
    if let Some(name) = name {
        context.session.client.set_name(name);
    }
    context.replies.set_version(version);
    if version == Version::Resp2 {
        // Its messages need RESP3, and so would wait for ever.
        context.session.watching = None;
    }
    describe(context, version);
    Ok(())
}

fn describe(context: &mut Context<'_>, version: Version) {
    let replies = &mut *context.replies;
    replies.map(7);
    for (key, text) in [("server", "honeycomb"), ("version", VERSION_OF_REDIS)] {
        replies.bulk(key.as_bytes());
        replies.bulk(text.as_bytes());
    }
    replies.bulk(b"proto");
    replies.integer(if version == Version::Resp3 { 3 } else { 2 });
    replies.bulk(b"id");
    replies.integer(context.session.client.id as i64);
    for (key, text) in [("mode", "standalone"), ("role", "master")] {
        replies.bulk(key.as_bytes());
        replies.bulk(text.as_bytes());
    }
    replies.bulk(b"modules");
    replies.array(0);
}

fn auth(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    match arguments.len() {
        2 if context.shared.config().password.is_none() => {
            let message = "AUTH <password> called without any password configured for the default user. Are \
                           you sure your configuration is correct?";
            return Err(Failure::other(message));
        }
        2 => authenticate(context, b"default", &arguments[1])?,
        3 => authenticate(context, &arguments[1], &arguments[2])?,
        _ => return Err(Failure::Syntax),
    }
    context.replies.ok();
    Ok(())
}

/// Authenticates the client. The only user is `default`. It needs no password if none is configured.
fn authenticate(context: &mut Context<'_>, user: &[u8], password: &[u8]) -> Result<(), Failure> {
    let config = context.shared.config();
    let is_correct =
        config.password.as_ref().is_none_or(|secret| secrets_are_equal(secret.as_bytes(), password));
    if user == b"default" && is_correct {
        context.session.authenticated = true;
        return Ok(());
    }
    Err(Failure::WrongPassword)
}

/// Returns whether two secrets are equal. The time that the comparison takes does not depend on the bytes of
/// the first one.
fn secrets_are_equal(secret: &[u8], given: &[u8]) -> bool {
    let at = |index: usize| secret.get(index % secret.len().max(1)).copied().unwrap_or(0);
    let differences = given.iter().enumerate().fold(0, |all, (index, byte)| all | (byte ^ at(index)));
    secret.len() == given.len() && differences == 0
}

fn select(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    context.session.database = context.shared.database(integer(&arguments[1])?)?;
    context.replies.ok();
    Ok(())
}

fn reset(context: &mut Context<'_>, _: &Arguments<'_>) -> Result<(), Failure> {
    context.session.reset(context.shared.config().password.is_none());
    context.replies.set_version(Version::Resp2);
    context.replies.simple("RESET");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_equal_secrets_compare_equal() {
        assert!(secrets_are_equal(b"secret", b"secret") && secrets_are_equal(b"", b""));
        for given in [&b""[..], b"s", b"secreT", b"secretsecret"] {
            assert!(!secrets_are_equal(b"secret", given));
        }
    }
}
