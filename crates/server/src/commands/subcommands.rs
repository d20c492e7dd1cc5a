//! Container commands: dispatch to their subcommands, the text of `HELP`, and errors about unknown
//! subcommands.

use honeycomb_protocol::resp::Replies;

use crate::arguments::{Arguments, is, shown};
use crate::commands;
use crate::context::Context;
use crate::failure::Failure;

/// A subcommand of a container command.
#[derive(Debug)]
pub(crate) struct Subcommand {
    /// Includes the name of its container: `client|list`.
    pub(crate) name: &'static str,
    /// Number of arguments including both names; a negative value is a minimum.
    pub(crate) arity: i32,
    /// The syntax of the arguments after both names.
    pub(crate) usage: &'static str,
    /// One sentence for `HELP`.
    pub(crate) summary: &'static str,
    pub(crate) run: fn(&mut Context<'_>, &Arguments<'_>) -> Result<(), Failure>,
}

/// Executes the subcommand that the first argument names.
pub(super) fn run(
    context: &mut Context<'_>,
    (container, subcommands): (&'static str, &'static [Subcommand]),
    arguments: &Arguments<'_>,
) -> Result<(), Failure> {
    let named = subcommands.iter().position(|subcommand| is(&arguments[1], subcommand.own_name()));
    let Some(number) = named else {
        if is(&arguments[1], "help") && arguments.len() == 2 {
            help(container, subcommands, context.replies);
            return Ok(());
        }
        return Err(unknown(container, &arguments[1]));
    };
    let subcommand = &subcommands[number];
    if !subcommand.accepts(arguments.len()) {
        return Err(Failure::Arity(subcommand.name));
    }
    if let Some(command) = commands::find(container.as_bytes()) {
        context.session.client.record_subcommand(command.number, number);
    }
    (subcommand.run)(context, arguments)
}

impl Subcommand {
    /// Returns the name without that of the container.
    pub(crate) fn own_name(&self) -> &'static str {
        self.name.split_once('|').map_or(self.name, |(_, own)| own)
    }

    fn accepts(&self, arguments: usize) -> bool {
        let arity = self.arity.unsigned_abs() as usize;
        if self.arity < 0 { arguments >= arity } else { arguments == arity }
    }
}

/// Returns the error for an unknown subcommand.
pub(super) fn unknown(container: &str, given: &[u8]) -> Failure {
    let (given, container) = (shown(given), container.to_ascii_uppercase());
    Failure::other(format!("unknown subcommand '{given}'. Try {container} HELP."))
}

fn help(container: &str, subcommands: &[Subcommand], replies: &mut Replies) {
    let container = container.to_ascii_uppercase();
    replies.array(2 * subcommands.len() + 3);
    replies.simple(&format!("{container} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"));
    for subcommand in subcommands {
        let line = format!("{} {}", subcommand.own_name().to_ascii_uppercase(), subcommand.usage);
        replies.simple(line.trim_end());
        replies.simple(&format!("    {}", subcommand.summary));
    }
    replies.simple("HELP");
    replies.simple("    This text.");
}
