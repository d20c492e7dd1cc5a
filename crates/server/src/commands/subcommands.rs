//! Commands that are containers of others: their subcommands by name, the texts of `HELP`, and errors that
//! name what is wrong.

use honeycomb_protocol::resp::Replies;

use crate::arguments::{Arguments, is};
use crate::commands;
use crate::context::Context;
use crate::failure::Failure;

/// A command within another one.
#[derive(Debug)]
pub(crate) struct Subcommand {
    /// With the name of its container: `client|list`.
    pub(crate) name: &'static str,
    /// How many arguments it has, both names included; at least so many if negative.
    pub(crate) arity: i32,
    /// The arguments after both names, as a manual writes them.
    pub(crate) usage: &'static str,
    /// What it does, in a sentence.
    pub(crate) summary: &'static str,
    pub(crate) run: fn(&mut Context<'_>, &Arguments<'_>) -> Result<(), Failure>,
}

/// Runs the subcommand that the first argument names.
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
    /// Its name within its container.
    pub(crate) fn own_name(&self) -> &'static str {
        self.name.split_once('|').map_or(self.name, |(_, own)| own)
    }

    fn accepts(&self, arguments: usize) -> bool {
        let wanted = self.arity.unsigned_abs() as usize;
        if self.arity < 0 { arguments >= wanted } else { arguments == wanted }
    }
}

/// What is wrong with a subcommand that there is not.
pub(super) fn unknown(container: &str, given: &[u8]) -> Failure {
    let (given, container) = (String::from_utf8_lossy(given), container.to_ascii_uppercase());
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
