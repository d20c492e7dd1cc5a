//! What a command is.

use std::ops::Deref;

use honeycomb_protocol::resp::Replies;

use crate::arguments::Arguments;
use crate::commands;
use crate::failure::Failure;
use crate::keyspace::Keyspace;
use crate::session::Context;

/// A command: what clients are told of it, and what it does.
pub(crate) struct Command {
    /// In lower case.
    pub(crate) name: &'static str,
    /// How many arguments it has, its name included; at least so many if negative.
    pub(crate) arity: i32,
    /// Which arguments are keys.
    pub(crate) keys: Keys,
    pub(crate) run: Run,
    /// The arguments after the name, as a manual writes them.
    pub(crate) usage: &'static str,
    /// What it does, in a sentence.
    pub(crate) summary: &'static str,
}

/// A command that was found by its name.
#[derive(Clone, Copy)]
pub(crate) struct Named {
    pub(crate) command: &'static Command,
    /// Its place among all commands.
    pub(crate) number: usize,
}

impl Deref for Named {
    type Target = Command;

    fn deref(&self) -> &Command {
        self.command
    }
}

/// Which arguments of a command are keys.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    None,
    /// The first after the name.
    First,
    /// All after the name.
    All,
    /// Every other one after the name: the rest are values.
    EveryOther,
}

/// Does something to the pairs of a table.
pub(crate) type OnKeys = fn(&mut Keyspace<'_>, &Arguments<'_>, &mut Replies) -> Result<(), Failure>;

/// What a command does.
pub(crate) enum Run {
    /// Reads its keys, each once and in their order: so they can be read together with others.
    Read(OnKeys),
    /// Writes without reading, if the function says so of its arguments: so it can be written with others.
    Write(OnKeys, fn(&Arguments<'_>) -> bool),
    /// Reads and then writes.
    Update(OnKeys),
    /// Asks the store for more than pairs, or tells the server something. Not in a transaction, unless the
    /// command is about that.
    Serve(fn(&mut Context<'_>, &Arguments<'_>) -> Result<(), Failure>),
}

impl Command {
    /// The command of a name, in any case of letters.
    pub(crate) fn named(name: &[u8]) -> Option<Named> {
        let mut lower = [0; 32];
        let lower = lower.get_mut(..name.len())?;
        lower.copy_from_slice(name);
        lower.make_ascii_lowercase();
        commands::BY_NAME.get(&*lower).copied()
    }

    /// What it does to pairs, if that is what it does.
    pub(crate) fn on_keys(&self) -> Option<OnKeys> {
        match self.run {
            Run::Read(handler) | Run::Write(handler, _) | Run::Update(handler) => Some(handler),
            Run::Serve(_) => None,
        }
    }

    /// Refuses a number of arguments that the command has not.
    pub(crate) fn check_arity(&self, arguments: usize) -> Result<(), Failure> {
        let wanted = self.arity.unsigned_abs() as usize;
        let odd = self.keys == Keys::EveryOther && arguments.is_multiple_of(2);
        let fits = if self.arity < 0 { arguments >= wanted } else { arguments == wanted };
        if fits && !odd { Ok(()) } else { Err(Failure::Arity(self.name)) }
    }

    /// The keys among the arguments.
    pub(crate) fn keys<'k, 'a>(
        &self,
        arguments: &'k Arguments<'a>,
    ) -> impl Iterator<Item = &'a [u8]> + use<'k, 'a> {
        let (count, step) = match self.keys {
            Keys::None => (0, 1),
            Keys::First => (1, 1),
            Keys::All => (usize::MAX, 1),
            Keys::EveryOther => (usize::MAX, 2),
        };
        arguments.iter().copied().skip(1).step_by(step).take(count)
    }
}
