//! The arguments of a command, and a parser for its options.

use std::fmt;
use std::ops::Deref;

pub(crate) use honeycomb_protocol::resp::Arguments;
use honeycomb_protocol::resp::parse_decimal;

use crate::failure::Failure;
use crate::letters::{LETTERS_MAX, Letters};

/// Maximum number of bytes of an argument in an error message, as in Redis.
const SHOWN_BYTES_MAX: usize = 128;

/// Parses an argument as a number.
pub(crate) fn integer(argument: &[u8]) -> Result<i64, Failure> {
    parse_decimal(argument).ok_or(Failure::NotInteger)
}

/// Returns whether an argument is a word, in upper or lower case.
pub(crate) fn is(argument: &[u8], word: &str) -> bool {
    argument.eq_ignore_ascii_case(word.as_bytes())
}

/// Returns the beginning of an argument as text, for an error message. A message with a whole argument would
/// cost the server several copies of what a client sends.
pub(crate) fn shown(argument: &[u8]) -> String {
    let beginning = &argument[..argument.len().min(SHOWN_BYTES_MAX)];
    let mut text = String::from_utf8_lossy(beginning).into_owned();
    // The replacement of an invalid byte has three bytes.
    while text.len() > SHOWN_BYTES_MAX {
        text.pop();
    }
    text
}

/// Returns an error if an argument or a command is too long.
pub(crate) fn check_length(
    kind: impl fmt::Display,
    (length, unit): (usize, &str),
    max: usize,
) -> Result<(), Failure> {
    let too_long = || Failure::other(format!("{kind} of {length} {unit}: at most {max} are allowed"));
    if length > max { Err(too_long()) } else { Ok(()) }
}

/// The name of an option in upper case: names consist of letters. It is empty for a word longer than all
/// names.
#[derive(Debug, Default)]
pub(crate) struct Word {
    bytes: [u8; LETTERS_MAX],
    length: usize,
}

impl Word {
    #[inline]
    fn new(argument: &[u8]) -> Self {
        Letters::of(argument).map_or_else(Self::default, |letters| Self {
            bytes: letters.without_case(),
            length: argument.len(),
        })
    }
}

impl Deref for Word {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// The options after the keys of a command.
pub(crate) struct Options<'a> {
    arguments: Arguments<'a>,
    /// The index of the next argument.
    next: usize,
}

impl<'a> Options<'a> {
    /// Returns the arguments from `from` on.
    pub(crate) fn from(arguments: &Arguments<'a>, from: usize) -> Self {
        Self { arguments: *arguments, next: from }
    }

    /// Returns the number of remaining arguments.
    pub(crate) fn len(&self) -> usize {
        self.arguments.len().saturating_sub(self.next)
    }

    /// Returns the next word.
    #[inline]
    pub(crate) fn word(&mut self) -> Option<Word> {
        self.next().map(Word::new)
    }

    /// Returns the argument of the previous word.
    pub(crate) fn argument(&mut self) -> Result<&'a [u8], Failure> {
        self.next().ok_or(Failure::Syntax)
    }

    /// Returns the numeric argument of the previous word.
    pub(crate) fn integer(&mut self) -> Result<i64, Failure> {
        integer(self.argument()?)
    }

    fn next(&mut self) -> Option<&'a [u8]> {
        self.next += 1;
        self.arguments.get(self.next - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_is_shown_up_to_its_limit() {
        let long = "a".repeat(SHOWN_BYTES_MAX + 1);
        for bytes in [0, SHOWN_BYTES_MAX - 1, SHOWN_BYTES_MAX] {
            assert_eq!(shown(&long.as_bytes()[..bytes]), long[..bytes]);
        }
        assert_eq!(shown(long.as_bytes()), long[..SHOWN_BYTES_MAX]);
        assert_eq!(shown(&[0xff; 1000]), "\u{fffd}".repeat(SHOWN_BYTES_MAX / 3));
    }
}
