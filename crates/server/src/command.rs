//! What a command is.

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

/// A command: what clients are told of it, and what it does.
#[derive(Debug)]
pub(crate) struct Command {
    /// In lower case.
    pub(crate) name: &'static str,
    /// How many arguments it has, its name included; at least so many if negative.
    pub(crate) arity: i32,
    /// Which arguments are keys.
    pub(crate) keys: Keys,
    pub(crate) form: CommandForm,
    /// The arguments after the name, as a manual writes them.
    pub(crate) usage: &'static str,
    /// What it does, in a sentence.
    pub(crate) summary: &'static str,
}

/// A command that was found by its name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommandRef {
    pub(crate) command: &'static Command,
    /// Its place among all commands.
    pub(crate) number: usize,
}

impl Deref for CommandRef {
    type Target = Command;

    fn deref(&self) -> &Command {
        self.command
    }
}

/// Which arguments of a command are keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    None,
    /// The first after the name.
    First,
    /// The second after the name: the first says what is asked for.
    Second,
    /// The first two after the name.
    FirstTwo,
    /// All after the name.
    All,
    /// All after the first that follows the name.
    FromSecond,
    /// Every other one after the name: the rest are values.
    EveryOther,
    /// Every other one after the first that follows the name, which says how many: the rest are values, and
    /// options at the end.
    Counted,
}

/// Does something to the pairs of a table.
pub(crate) type OnKeys = fn(&mut Keyspace<'_>, &Arguments<'_>, &mut Replies) -> Result<(), Failure>;

/// Says what a command puts, if it does nothing else. The time is in milliseconds since 1970.
pub(crate) type OnPut = for<'a> fn(&Arguments<'a>, u64) -> Option<Put<'a>>;

/// A value that is put whatever was there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Put<'a> {
    pub(crate) value: &'a [u8],
    /// In milliseconds since 1970, in the future.
    pub(crate) expires_at: Option<u64>,
}

impl Put<'_> {
    /// Whether the value is there once it is put.
    pub(crate) fn is_alive(&self, now: u64) -> bool {
        Envelope::is_alive_at(self.expires_at, now)
    }
}

/// Says which range of keys it reads, and what it replies of it.
pub(crate) type OnRange = for<'a> fn(&Arguments<'a>) -> Result<Query<'a>, Failure>;

/// What a command does.
#[derive(Debug)]
pub(crate) enum CommandForm {
    /// Reads its keys, if it has any, each once and in their order: so they can be read together with others.
    Read(OnKeys),
    /// The same; it replies the values as they are, in an array if all its arguments are keys: so long values
    /// can be copied a part at a time.
    Values(OnKeys),
    /// Puts a value at the key that is its first argument, whatever was there, and replies `OK`, if the
    /// second function returns what it puts: so it can be written together with others.
    Write(OnKeys, OnPut),
    /// Reads and then writes.
    Update(OnKeys),
    /// Reads a range of keys, so it can be read together with others.
    Range(OnRange),
    /// Walks through a range that may be long, a page at a time.
    Walk(fn(&mut Context<'_>, &Arguments<'_>) -> Result<Walking, Failure>),
    /// Executes the commands of a transaction.
    Exec,
    /// Uses the store as a whole, or the server or the connection. In a transaction it takes effect at once,
    /// unless it writes pairs.
    Serve(fn(&mut Context<'_>, &Arguments<'_>) -> Result<(), Failure>),
}

impl Command {
    /// Whether it only reads pairs.
    pub(crate) fn only_reads(&self) -> bool {
        matches!(
            self.form,
            CommandForm::Read(_) | CommandForm::Values(_) | CommandForm::Range(_) | CommandForm::Walk(_)
        )
    }

    /// Refuses a number of arguments that the command has not.
    pub(crate) fn check_arity(&self, arguments: usize) -> Result<(), Failure> {
        if self.takes(arguments) { Ok(()) } else { Err(Failure::Arity(self.name)) }
    }

    /// Whether it takes so many arguments, its name included.
    #[inline]
    pub(crate) fn takes(&self, arguments: usize) -> bool {
        let wanted = self.arity.unsigned_abs() as usize;
        let odd = self.keys == Keys::EveryOther && arguments.is_multiple_of(2);
        let fits = if self.arity < 0 { arguments >= wanted } else { arguments == wanted };
        fits && !odd
    }

    /// The arguments that are keys, unless values stand between them or there is none.
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

    /// Adds the reads of its keys: how many. None if values stand between them, there is none, or one is too
    /// long.
    // Part of what every get takes.
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

/// A name in lower case as a number, unless it is too long. Zeros at its end do not count.
#[inline]
pub(crate) fn word(name: &[u8]) -> Option<u128> {
    Letters::of(name).map(|letters| u128::from_le_bytes(letters.in_lower_case()))
}
