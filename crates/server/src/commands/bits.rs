//! `GETBIT`, `SETBIT`, `BITCOUNT` and `BITPOS`. Bit 0 is the highest bit of the first byte.

use honeycomb_protocol::resp::Replies;

use crate::arguments::{Arguments, integer, is};
use crate::bits::{self, Span};
use crate::command::{Command, CommandForm, Keys};
use crate::envelope::{DATA_BYTES_MAX, Envelope};
use crate::failure::Failure;
use crate::keyspace::Keyspace;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "getbit",
        arity: 3,
        keys: Keys::First,
        form: CommandForm::Read(getbit),
        usage: "key offset",
        summary: "Returns a bit of a value.",
    },
    Command {
        name: "setbit",
        arity: 4,
        keys: Keys::First,
        form: CommandForm::Update(setbit),
        usage: "key offset 0|1",
        summary: "Sets or clears a bit of a value, extends the value if necessary, and returns the old bit.",
    },
    Command {
        name: "bitcount",
        arity: -2,
        keys: Keys::First,
        form: CommandForm::Read(bitcount),
        usage: "key [start end [BYTE | BIT]]",
        summary: "Returns the number of set bits in a value.",
    },
    Command {
        name: "bitpos",
        arity: -3,
        keys: Keys::First,
        form: CommandForm::Read(bitpos),
        usage: "key 0|1 [start [end [BYTE | BIT]]]",
        summary: "Returns the position of the first bit that is set or clear.",
    },
];

/// The bytes in which commands that only read accept offsets of bits: the length of the longest value of
/// Redis. Bits beyond a value are clear.
pub(super) const READABLE_BYTES: usize = 512 << 20;

/// Parses the offset of a bit within a number of bytes. With a field width in `bits`, `#n` is the offset of
/// field `n`.
pub(super) fn bit_offset(argument: &[u8], bits: Option<u32>, bytes: usize) -> Result<u64, Failure> {
    let offset = match (argument.split_first(), bits) {
        (Some((b'#', index)), Some(bits)) => {
            integer(index).ok().and_then(|index| index.checked_mul(i64::from(bits)))
        }
        _ => integer(argument).ok(),
    };
    let offset = offset.and_then(|offset| u64::try_from(offset).ok());
    offset.filter(|offset| offset / 8 < bytes as u64).ok_or(Failure::BitOffset)
}

fn getbit(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let offset = bit_offset(&arguments[2], None, READABLE_BYTES)?;
    let data = keyspace.get(&arguments[1])?.map_or(&[][..], |envelope| envelope.data);
    replies.integer(bits::read(data, offset, 1) as i64);
    Ok(())
}

fn setbit(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let offset = bit_offset(&arguments[2], None, DATA_BYTES_MAX)?;
    let bit = integer(&arguments[3]).ok().and_then(|bit| u64::try_from(bit).ok()).filter(|bit| *bit < 2);
    let bit = bit.ok_or_else(|| Failure::other("bit is not an integer or out of range"))?;
    keyspace.check_budget(offset as usize / 8)?;
    let existing = keyspace.get_to_write(&arguments[1])?;
    let Envelope { data, expires_at } = existing.unwrap_or(Envelope { data: &[], expires_at: None });
    let (before, bytes) = (bits::read(data, offset, 1), offset as usize / 8 + 1);
    replies.integer(before as i64);
    if before == bit && bytes <= data.len() {
        return Ok(());
    }
    let mut data = data.to_vec();
    data.resize(data.len().max(bytes), 0);
    bits::write(&mut data, offset, 1, bit);
    keyspace.put(&arguments[1], &data, expires_at)
}

fn bitcount(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let range = match arguments.len() {
        2 => None,
        4 | 5 => {
            let (start, end) = (integer(&arguments[2])?, integer(&arguments[3])?);
            Some((start, end, counts_bits(arguments.get(4))?))
        }
        _ => return Err(Failure::Syntax),
    };
    let data = keyspace.get(&arguments[1])?.map_or(&[][..], |envelope| envelope.data);
    let span = match range {
        None => Span::all(data),
        // Two reversed negative indices select no bits, even where clamping would select the first byte.
        Some((start, end, _)) if start < 0 && end < 0 && start > end => None,
        Some((start, end, in_bits)) => Span::new(data, start, end, in_bits),
    };
    replies.integer(span.map_or(0, |span| bits::count(data, span)) as i64);
    Ok(())
}

fn bitpos(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let bit = integer(&arguments[2])?;
    if bit != 0 && bit != 1 {
        return Err(Failure::other("The bit argument must be 1 or 0."));
    }
    if arguments.len() > 6 {
        return Err(Failure::Syntax);
    }
    let start = arguments.get(3).map_or(Ok(0), integer)?;
    let in_bits = counts_bits(arguments.get(5))?;
    let end = arguments.get(4).map(integer).transpose()?;
    let Some(envelope) = keyspace.get(&arguments[1])? else {
        replies.integer(-bit);
        return Ok(());
    };
    let position = Span::new(envelope.data, start, end.unwrap_or(-1), in_bits).and_then(|span| {
        let position = bits::find(envelope.data, span, bit == 1);
        // Bits past the value are clear, unless the client specified an end.
        position.or((bit == 0 && end.is_none()).then_some(span.end))
    });
    replies.integer(position.map_or(-1, |position| position as i64));
    Ok(())
}

/// Parses the unit of indices and returns whether they count bits. The default is bytes.
fn counts_bits(unit: Option<&[u8]>) -> Result<bool, Failure> {
    match unit {
        Some(unit) if is(unit, "bit") => Ok(true),
        Some(unit) if !is(unit, "byte") => Err(Failure::Syntax),
        _ => Ok(false),
    }
}
