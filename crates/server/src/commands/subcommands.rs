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
    let Some(number) = find(container, subcommands, arguments)? else {
        help(container, subcommands, context.replies);
        return Ok(());
    };
    if let Some(command) = commands::find(container.as_bytes()) {
        context.session.client.record_subcommand(command.number, number);
    }
    (subcommands[number].run)(context, arguments)
}

/// Returns the number of the subcommand that the first argument names, which accepts this number of
/// arguments, or `None` for `HELP`.
pub(super) fn find(
    container: &str,
    subcommands: &[Subcommand],
    arguments: &Arguments<'_>,
) -> Result<Option<usize>, Failure> {
    let number = subcommands.iter().position(|subcommand| is(&arguments[1], subcommand.own_name()));
    match number.map(|number| &subcommands[number]) {
        Some(subcommand) if !subcommand.accepts(arguments.len()) => Err(Failure::Arity(subcommand.name)),
        None if !is(&arguments[1], "help") || arguments.len() != 2 => Err(unknown(container, &arguments[1])),
        _ => Ok(number),
    }
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
