//! Descriptions of commands: name, arity, key positions, handler and documentation.

use std::ops::Deref;

use honeycomb_protocol::resp::Replies;
use honeycomb_store::{Reads, TableHandle};

use crate::arguments::Arguments;
use crate::commands::query::Query;
use crate::context::Context;
use crate::envelope::Envelope;
use crate::failure::Failure;
use crate::keyspace::Keyspace;
use crate::letters::Letters;
use crate::task::errand::Errand;
use crate::task::walking::Walking;

/// A command: the metadata that `COMMAND` reports, and its handler.
#[derive(Debug)]
pub(crate) struct Command {
    /// Lower case.
    pub(crate) name: &'static str,
    /// Number of arguments including the name; a negative value is a minimum.
    pub(crate) arity: i32,
    /// The positions of its keys.
    pub(crate) keys: Keys,
    pub(crate) form: CommandForm,
    /// The syntax of the arguments after the name.
    pub(crate) usage: &'static str,
    /// One sentence for `COMMAND DOCS` and the manual.
    pub(crate) summary: &'static str,
}

/// A command and its number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommandRef {
    pub(crate) command: &'static Command,
    /// Its index in the command table.
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
    /// The second argument after the name. The first is a subcommand.
    Second,
    /// The first two arguments after the name.
    FirstTwo,
    /// All arguments after the name.
    All,
    /// All arguments from the second after the name.
    FromSecond,
    /// Every other argument from the first after the name. The others are values.
    EveryOther,
    /// Every other argument from the second after the name. The first is the number of keys; a value follows
    /// each key, and options follow the last value.
    Counted,
}

/// A handler that reads or writes pairs of a table.
pub(crate) type OnKeys = fn(&mut Keyspace<'_>, &Arguments<'_>, &mut Replies) -> Result<(), Failure>;

/// Returns the value that a command puts unconditionally, or `None` when the command must read first.
/// The time is in milliseconds since 1970.
pub(crate) type OnPut = for<'a> fn(&Arguments<'a>, u64) -> Option<Put<'a>>;

/// An unconditional put.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Put<'a> {
    pub(crate) value: &'a [u8],
    /// In milliseconds since 1970, in the future.
    pub(crate) expires_at: Option<u64>,
}

impl Put<'_> {
    /// Returns whether the value has not expired at `now`.
    pub(crate) fn is_alive(&self, now: u64) -> bool {
        Envelope::is_alive_at(self.expires_at, now)
    }
}

/// Parses the arguments of a command that reads a range.
pub(crate) type OnRange = for<'a> fn(&Arguments<'a>) -> Result<Query<'a>, Failure>;

/// Begins a walk through a range.
pub(crate) type OnWalk = fn(&mut Context<'_>, &Arguments<'_>) -> Result<Walking, Failure>;

/// Begins a command that the background thread executes.
pub(crate) type OnErrand = fn(&mut Context<'_>, &Arguments<'_>) -> Result<Box<dyn Errand>, Failure>;

/// Begins a command that the background thread executes, if its arguments need that.
pub(crate) type MaybeErrand =
    fn(&mut Context<'_>, &Arguments<'_>) -> Result<Option<Box<dyn Errand>>, Failure>;

/// Accesses the store, the server or the connection.
pub(crate) type OnServe = fn(&mut Context<'_>, &Arguments<'_>) -> Result<(), Failure>;

/// The handler of a command. Its form determines how the server schedules the command.
#[derive(Debug)]
pub(crate) enum CommandForm {
    /// Reads each key once, in order. The server can batch these reads with those of other commands.
    Read(OnKeys),
    /// Like `Read`, but returns the unmodified values, in an array if all arguments are keys. The server can
    /// therefore copy long values in parts.
    Values(OnKeys),
    /// If the second function returns a put, the command unconditionally puts this value at the key in its
    /// first argument and returns `OK`. The server can batch such puts with those of other commands.
    Write(OnKeys, OnPut),
    /// Reads, then writes.
    Update(OnKeys),
    /// Reads a range of keys. The server can batch this scan with other reads.
    Range(OnRange),
    /// Walks through a possibly long range, one page at a time.
    Walk(OnWalk),
    /// Walks as `Walk`, unless the second function returns an errand.
    Count(OnWalk, MaybeErrand),
    /// Waits for the store or for a disk, on the background thread. Not allowed in a transaction.
    Errand(OnErrand),
    /// Executes the commands of a transaction.
    Exec,
    /// Accesses whole ranges or tables, on any thread. If that exceeds the [budget](Context::budget), it
    /// fails with [`Failure::Long`], has changed nothing, and executes again in the background.
    Store(OnServe),
    /// Accesses the server or the connection. In a transaction it takes effect immediately, unless it writes
    /// pairs.
    Serve(OnServe),
    /// Like `Serve`, unless the second function returns an errand.
    ServeOrErrand(OnServe, MaybeErrand),
}

impl Command {
    /// Returns whether the handler only reads pairs.
    pub(crate) fn only_reads(&self) -> bool {
        matches!(
            self.form,
            CommandForm::Read(_)
                | CommandForm::Values(_)
                | CommandForm::Range(_)
                | CommandForm::Walk(_)
                | CommandForm::Count(..)
        )
    }

    /// Returns whether the command accesses whole ranges or tables.
    pub(crate) fn is_on_tables(&self) -> bool {
        matches!(self.form, CommandForm::Store(_))
    }

    /// Returns whether the core of the client parses its arguments, however many they are. The other forms
    /// have a [budget](crate::budget).
    pub(crate) fn begins_on_core(&self) -> bool {
        match self.form {
            CommandForm::Read(_)
            | CommandForm::Values(_)
            | CommandForm::Write(..)
            | CommandForm::Update(_) => false,
            CommandForm::Range(_)
            | CommandForm::Walk(_)
            | CommandForm::Count(..)
            | CommandForm::Errand(_)
            | CommandForm::Exec
            | CommandForm::Store(_)
            | CommandForm::Serve(_)
            | CommandForm::ServeOrErrand(..) => true,
        }
    }

    /// Returns an error if the command does not accept this number of arguments.
    pub(crate) fn check_arity(&self, arguments: usize) -> Result<(), Failure> {
        if self.accepts(arguments) { Ok(()) } else { Err(Failure::Arity(self.name)) }
    }

    /// Returns whether the command accepts this number of arguments, including its name.
    #[inline]
    pub(crate) fn accepts(&self, arguments: usize) -> bool {
        let arity = self.arity.unsigned_abs() as usize;
        let lacks_value = self.keys == Keys::EveryOther && arguments.is_multiple_of(2);
        let matches_arity = if self.arity < 0 { arguments >= arity } else { arguments == arity };
        matches_arity && !lacks_value
    }

    /// Returns the keys among the arguments, or `None` when values separate them or the key is missing.
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

    /// Adds a get for each key to `reads` and returns the number of keys. Returns `None` when values separate
    /// the keys, the key is missing, or the table does not allow a key. Several keys of an unordered table
    /// are not read in a batch, because its gets are of different moments.
    // On the path of every get.
    #[inline(always)]
    pub(crate) fn read_keys(
        &self,
        arguments: &Arguments<'_>,
        table: &TableHandle,
        reads: &mut Reads,
    ) -> Option<usize> {
        let keys = self.keys(arguments)?;
        if keys.len() > 1 && table.unordered().is_some() {
            return None;
        }
        for key in keys.iter() {
            reads.get(table, key).ok()?;
        }
        Some(keys.len())
    }
}

/// Packs a name in lower case into a number. Returns `None` when the name is too long. Trailing zero bytes do
/// not change the result.
#[inline]
pub(crate) fn word(name: &[u8]) -> Option<u128> {
    Letters::of(name).map(|letters| u128::from_le_bytes(letters.in_lower_case()))
}
