//! The definition of a command.

use std::ops::Deref;

use honeycomb_protocol::resp::Replies;
use honeycomb_store::{Reads, Table};

use crate::arguments::Arguments;
use crate::commands::query::Query;
use crate::context::Context;
use crate::envelope::Envelope;
use crate::failure::Failure;
use crate::keyspace::Keyspace;
use crate::letters::Letters;
use crate::task::walking::Walking;

/// A command: its description for clients, and its implementation.
#[derive(Debug)]
pub(crate) struct Command {
    /// The name in lower case.
    pub(crate) name: &'static str,
    /// The number of arguments including the name, or the minimum as a negative number.
    pub(crate) arity: i32,
    /// The arguments that are keys.
    pub(crate) keys: Keys,
    pub(crate) form: CommandForm,
    /// The arguments after the name, in the notation of a manual.
    pub(crate) usage: &'static str,
    /// The effect, in one sentence.
    pub(crate) summary: &'static str,
}

/// A command, with its number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommandRef {
    pub(crate) command: &'static Command,
    /// The position in the list of all commands.
    pub(crate) number: usize,
}

impl Deref for CommandRef {
    type Target = Command;

    fn deref(&self) -> &Command {
        self.command
    }
}

/// The arguments of a command that are keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    None,
    /// The first argument after the name.
    First,
    /// The second argument after the name. The first one selects an operation.
    Second,
    /// The first two arguments after the name.
    FirstTwo,
    /// All arguments after the name.
    All,
    /// All arguments after the first one that follows the name.
    FromSecond,
    /// Every second argument after the name. The others are values.
    EveryOther,
    /// Every second argument after the first one that follows the name, which is the number of keys. The
    /// others are values, with options at the end.
    Counted,
}

/// A handler that reads and writes the pairs of a table.
pub(crate) type OnKeys = fn(&mut Keyspace<'_>, &Arguments<'_>, &mut Replies) -> Result<(), Failure>;

/// Returns the write of a command that does nothing else. The second argument is the time in milliseconds
/// since 1970.
pub(crate) type OnPut = for<'a> fn(&Arguments<'a>, u64) -> Option<Put<'a>>;

/// An unconditional write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Put<'a> {
    pub(crate) value: &'a [u8],
    /// In milliseconds since 1970, in the future.
    pub(crate) expires_at: Option<u64>,
}

impl Put<'_> {
    /// Returns whether the value exists after the write.
    pub(crate) fn is_alive(&self, now: u64) -> bool {
        Envelope::is_alive_at(self.expires_at, now)
    }
}

/// Returns the range of keys that a command reads, and the format of its reply.
pub(crate) type OnRange = for<'a> fn(&Arguments<'a>) -> Result<Query<'a>, Failure>;

/// The implementation of a command.
#[derive(Debug)]
pub(crate) enum CommandForm {
    /// Reads its keys, each once and in order, so a batch can execute its reads.
    Read(OnKeys),
    /// As `Read`. It replies the values unchanged, in an array if all its arguments are keys, so a task can
    /// copy long values in parts.
    Values(OnKeys),
    /// Puts a value at its first argument unconditionally and replies `OK`, if the second function returns
    /// the write. A batch can then execute the write.
    Write(OnKeys, OnPut),
    /// Reads and then writes.
    Update(OnKeys),
    /// Reads a range of keys. A batch can execute it.
    Range(OnRange),
    /// Walks through a range, which may be long, one page per slice.
    Walk(fn(&mut Context<'_>, &Arguments<'_>) -> Result<Walking, Failure>),
    /// Executes the commands of a transaction.
    Exec,
    /// Uses the whole store, the server or the connection. In a transaction it takes effect at once, unless
    /// it writes pairs.
    Serve(fn(&mut Context<'_>, &Arguments<'_>) -> Result<(), Failure>),
}

impl Command {
    /// Returns whether the command only reads pairs.
    pub(crate) fn only_reads(&self) -> bool {
        matches!(
            self.form,
            CommandForm::Read(_) | CommandForm::Values(_) | CommandForm::Range(_) | CommandForm::Walk(_)
        )
    }

    /// Rejects an invalid number of arguments.
    pub(crate) fn check_arity(&self, arguments: usize) -> Result<(), Failure> {
        if self.accepts(arguments) { Ok(()) } else { Err(Failure::Arity(self.name)) }
    }

    /// Returns whether a number of arguments, including the name, is valid.
    #[inline]
    pub(crate) fn accepts(&self, arguments: usize) -> bool {
        let wanted = self.arity.unsigned_abs() as usize;
        let odd = self.keys == Keys::EveryOther && arguments.is_multiple_of(2);
        let fits = if self.arity < 0 { arguments >= wanted } else { arguments == wanted };
        fits && !odd
    }

    /// Returns the arguments that are keys, or `None` if values separate them or the key is missing.
    #[inline]
    pub(crate) fn keys<'a>(&self, arguments: &Arguments<'a>) -> Option<Arguments<'a>> {
        match self.keys {
            Keys::None => Some(arguments.part(0..0)),
            Keys::First => Some(arguments.part(1..2)),
            Keys::Second => (arguments.len() > 2).then(|| arguments.part(2..3)),
            Keys::FirstTwo => Some(arguments.part(1..3)),
            Keys::All => Some(arguments.from(1)),
            Keys::FromSecond => Some(arguments.from(2)),
            Keys::EveryOther | Keys::Counted => None,
        }
    }

    /// Adds the reads of its keys to a batch. Returns their number, or `None` if values separate the keys,
    /// the key is missing, or a key is invalid.
    // Every get executes this.
    #[inline(always)]
    pub(crate) fn read_keys(
        &self,
        arguments: &Arguments<'_>,
        table: &Table,
        reads: &mut Reads,
    ) -> Option<usize> {
        let keys = self.keys(arguments)?;
        for key in keys.iter() {
            reads.get(table, key).ok()?;
        }
        Some(keys.len())
    }
}

/// Encodes a name in lower case as a number. Returns `None` if it is too long. Trailing zeros do not count.
#[inline]
pub(crate) fn word(name: &[u8]) -> Option<u128> {
    Letters::of(name).map(|letters| u128::from_le_bytes(letters.in_lower_case()))
}
