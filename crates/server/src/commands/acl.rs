//! `ACL`: the server has one user, `default`, with all permissions.

use crate::arguments::{Arguments, shown};
use crate::command::{Command, CommandForm, Keys};
use crate::commands::BY_NUMBER;
use crate::commands::categories::{CATEGORIES, categories};
use crate::commands::subcommands::{self, Subcommand};
use crate::context::Context;
use crate::failure::Failure;

pub(super) const COMMANDS: &[Command] = &[Command {
    name: "acl",
    arity: -2,
    keys: Keys::None,
    form: CommandForm::Serve(|context, arguments| subcommands::run(context, ("acl", SUBCOMMANDS), arguments)),
    usage: "<subcommand> [argument ...]",
    summary: "Describes users. The only user is `default`, with all permissions; others cannot be added.",
}];

pub(crate) const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand {
        name: "acl|cat",
        arity: -2,
        usage: "[category]",
        summary: "Lists the command categories, or the commands in one category.",
        run: category,
    },
    Subcommand {
        name: "acl|list",
        arity: 2,
        usage: "",
        summary: "Lists the users as ACL rules.",
        run: |context, _| {
            let rule = format!("user default on {} ~* &* +@all", password_rule(context));
            context.replies.array(1);
            context.replies.bulk(rule.as_bytes());
            Ok(())
        },
    },
    Subcommand {
        name: "acl|users",
        arity: 2,
        usage: "",
        summary: "Lists the names of the users.",
        run: |context, _| {
            context.replies.array(1);
            context.replies.bulk(b"default");
            Ok(())
        },
    },
    Subcommand {
        name: "acl|whoami",
        arity: 2,
        usage: "",
        summary: "Returns the user of this connection.",
        run: |context, _| {
            context.replies.bulk(b"default");
            Ok(())
        },
    },
];

/// Returns the part of the rule about the password, without revealing the password.
fn password_rule(context: &Context<'_>) -> &'static str {
    if context.shared.config().password.is_some() { "#(not shown)" } else { "nopass" }
}

fn category(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let Some(requested) = arguments.get(2) else {
        context.replies.array(CATEGORIES.len());
        CATEGORIES.iter().for_each(|category| context.replies.bulk(category.as_bytes()));
        return Ok(());
    };
    let known = CATEGORIES.iter().find(|category| crate::arguments::is(requested, category));
    let unknown = || Failure::other(format!("Unknown category '{}'", shown(requested)));
    let category = known.filter(|_| arguments.len() == 3).ok_or_else(unknown)?;
    let is_member = |command: &&&'static Command| categories(command).contains(category);
    let commands: Vec<_> = BY_NUMBER.iter().filter(is_member).collect();
    context.replies.array(commands.len());
    commands.iter().for_each(|command| context.replies.bulk(command.name.as_bytes()));
    Ok(())
}
