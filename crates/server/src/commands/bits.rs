//! Values as rows of bits; the first is the highest one of the first byte.

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
        summary: "A bit of a value.",
    },
    Command {
        name: "setbit",
        arity: 4,
        keys: Keys::First,
        form: CommandForm::Update(setbit),
        usage: "key offset 0|1",
        summary: "Sets or clears a bit of a value, which grows if need be: what it was.",
    },
    Command {
        name: "bitcount",
        arity: -2,
        keys: Keys::First,
        form: CommandForm::Read(bitcount),
        usage: "key [start end [BYTE | BIT]]",
        summary: "How many bits of a value are set.",
    },
    Command {
        name: "bitpos",
        arity: -3,
        keys: Keys::First,
        form: CommandForm::Read(bitpos),
        usage: "key 0|1 [start [end [BYTE | BIT]]]",
        summary: "The place of the first bit that is set, or clear.",
    },
];

/// The place of a bit, which may be one of the longest value. If `bits` is said, `#n` is the place of the
/// `n`th field of so many.
pub(super) fn bit_place(argument: &[u8], bits: Option<u32>) -> Result<u64, Failure> {
    let place = match (argument.split_first(), bits) {
        (Some((b'#', index)), Some(bits)) => {
            integer(index).ok().and_then(|index| index.checked_mul(i64::from(bits)))
        }
        _ => integer(argument).ok(),
    };
    let place = place.and_then(|place| u64::try_from(place).ok());
    place.filter(|place| place / 8 < DATA_BYTES_MAX as u64).ok_or(Failure::BitOffset)
}

fn getbit(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let place = bit_place(&arguments[2], None)?;
    let data = keyspace.get(&arguments[1])?.map_or(&[][..], |found| found.data);
    replies.integer(bits::read(data, place, 1) as i64);
    Ok(())
}

fn setbit(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let place = bit_place(&arguments[2], None)?;
    let bit = integer(&arguments[3]).ok().and_then(|bit| u64::try_from(bit).ok()).filter(|bit| *bit < 2);
    let bit = bit.ok_or_else(|| Failure::other("bit is not an integer or out of range"))?;
    let found = keyspace.get_to_write(&arguments[1])?;
    let Envelope { data, expires_at } = found.unwrap_or(Envelope { data: &[], expires_at: None });
    let (before, bytes) = (bits::read(data, place, 1), place as usize / 8 + 1);
    replies.integer(before as i64);
    if before == bit && bytes <= data.len() {
        return Ok(());
    }
    let mut data = data.to_vec();
    data.resize(data.len().max(bytes), 0);
    bits::write(&mut data, place, 1, bit);
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
    let data = keyspace.get(&arguments[1])?.map_or(&[][..], |found| found.data);
    let span = match range {
        None => Span::all(data),
        // Two places from the end in the wrong order: no bits, however short the value is.
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
    let Some(found) = keyspace.get(&arguments[1])? else {
        replies.integer(-bit);
        return Ok(());
    };
    let place = Span::new(found.data, start, end.unwrap_or(-1), in_bits).and_then(|span| {
        let place = bits::find(found.data, span, bit == 1);
        // Beyond the value all bits are clear, unless an end was said.
        place.or((bit == 0 && end.is_none()).then_some(span.end))
    });
    replies.integer(place.map_or(-1, |place| place as i64));
    Ok(())
}

/// Whether places count bits, as the argument says: without one they count bytes.
fn counts_bits(unit: Option<&[u8]>) -> Result<bool, Failure> {
    match unit {
        Some(unit) if is(unit, "bit") => Ok(true),
        Some(unit) if !is(unit, "byte") => Err(Failure::Syntax),
        _ => Ok(false),
    }
}
