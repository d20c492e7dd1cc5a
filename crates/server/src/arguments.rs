//! The arguments of a command, read one after the other.

use honeycomb_protocol::resp::parse_decimal;
use smallvec::SmallVec;

use crate::failure::Failure;

/// The arguments of one command, its name first.
pub(crate) type Arguments<'a> = SmallVec<[&'a [u8]; 8]>;

/// A number among the arguments.
pub(crate) fn integer(argument: &[u8]) -> Result<i64, Failure> {
    parse_decimal(argument).ok_or(Failure::NotInteger)
}

/// Whether an argument is a word, in any case of letters.
pub(crate) fn is(argument: &[u8], word: &str) -> bool {
    argument.eq_ignore_ascii_case(word.as_bytes())
}

/// The options that follow a command's keys.
pub(crate) struct Options<'o, 'a> {
    rest: std::slice::Iter<'o, &'a [u8]>,
}

impl<'o, 'a> Options<'o, 'a> {
    /// The arguments from `from` on.
    pub(crate) fn from(arguments: &'o [&'a [u8]], from: usize) -> Self {
        Self { rest: arguments[from.min(arguments.len())..].iter() }
    }

    /// The next word, in capitals.
    pub(crate) fn word(&mut self) -> Option<Vec<u8>> {
        self.rest.next().map(|word| word.to_ascii_uppercase())
    }

    /// The argument that the word before needs.
    pub(crate) fn argument(&mut self) -> Result<&'a [u8], Failure> {
        self.rest.next().copied().ok_or(Failure::Syntax)
    }

    /// The number that the word before needs.
    pub(crate) fn integer(&mut self) -> Result<i64, Failure> {
        integer(self.argument()?)
    }
}
