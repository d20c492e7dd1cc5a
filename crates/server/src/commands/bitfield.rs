//! `BITFIELD` and `BITFIELD_RO`: integers of any width within a value.

use honeycomb_protocol::resp::Replies;

use crate::arguments::{Arguments, Options, is};
use crate::bits;
use crate::command::{Command, CommandForm, Keys};
use crate::commands::bits::{READABLE_BYTES, bit_offset};
use crate::envelope::{DATA_BYTES_MAX, Envelope};
use crate::failure::Failure;
use crate::keyspace::Keyspace;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "bitfield",
        arity: -2,
        keys: Keys::First,
        form: CommandForm::Update(bitfield),
        usage: "key [GET type offset | [OVERFLOW WRAP | SAT | FAIL] SET type offset value | \
                [OVERFLOW WRAP | SAT | FAIL] INCRBY type offset increment ...]",
        summary: "Gets, sets and increments integers of any width in a value.",
    },
    Command {
        name: "bitfield_ro",
        arity: -2,
        keys: Keys::First,
        form: CommandForm::Read(bitfield_ro),
        usage: "key [GET type offset ...]",
        summary: "Gets integers of any width in a value.",
    },
];

/// An integer within the bits of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Field {
    signed: bool,
    /// At most 64 if signed, at most 63 if unsigned.
    bits: u32,
    /// In bits, from the highest bit of the first byte.
    offset: u64,
}

/// The treatment of a number that does not fit its field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Overflow {
    Wrap,
    Saturate,
    /// The operation writes nothing and its reply is null.
    Fail,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Get,
    Set(i64, Overflow),
    Add(i64, Overflow),
}

impl Field {
    /// Parses a field that begins within a number of bytes.
    fn parse(options: &mut Options<'_>, bytes: usize) -> Result<Self, Failure> {
        let (kind, offset) = (options.argument()?, options.argument()?);
        let invalid =
            "Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.";
        let (signed, bits) = Self::parse_kind(kind).ok_or_else(|| Failure::other(invalid))?;
        Ok(Self { signed, bits, offset: bit_offset(offset, Some(bits), bytes)? })
    }

    fn parse_kind(kind: &[u8]) -> Option<(bool, u32)> {
        let (sign, bits) = kind.split_first()?;
        let bits = honeycomb_protocol::resp::parse_decimal(bits)?;
        let max = match sign {
            b'i' => 64,
            b'u' => 63,
            _ => return None,
        };
        (1..=max).contains(&bits).then_some((*sign == b'i', bits as u32))
    }

    /// Returns the length in bytes of the shortest value that contains the field.
    fn end(self) -> usize {
        (self.offset + u64::from(self.bits)).div_ceil(8) as usize
    }

    fn read(self, data: &[u8]) -> i64 {
        self.number(bits::read(data, self.offset, self.bits))
    }

    /// Interprets the low bits of a word as a number of this field.
    fn number(self, bits: u64) -> i64 {
        let unused = 64 - self.bits;
        let shifted = (bits << unused) as i64;
        if self.signed { shifted >> unused } else { (shifted as u64 >> unused) as i64 }
    }

    /// Fits a number to the field. Returns `None` when the number does not fit and `overflow` is `Fail`.
    fn fit(self, number: i128, overflow: Overflow) -> Option<i64> {
        let (min, max) = match self.signed {
            true => (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1),
            false => (0, (1_i128 << self.bits) - 1),
        };
        match overflow {
            _ if (min..=max).contains(&number) => Some(number as i64),
            Overflow::Wrap => Some(self.number(number as u64)),
            Overflow::Saturate => Some(number.clamp(min, max) as i64),
            Overflow::Fail => None,
        }
    }
}

/// Parses the operations, in order.
fn parse(arguments: &Arguments<'_>) -> Result<Vec<(Field, Operation)>, Failure> {
    let mut options = Options::from(arguments, 2);
    let (mut operations, mut overflow) = (Vec::new(), Overflow::Wrap);
    while let Some(word) = options.word() {
        match &*word {
            b"OVERFLOW" => overflow = parse_overflow(options.argument()?)?,
            b"GET" => operations.push((Field::parse(&mut options, READABLE_BYTES)?, Operation::Get)),
            b"SET" | b"INCRBY" => {
                // Redis reports a missing argument before it validates the others.
                if options.len() < 3 {
                    return Err(Failure::Syntax);
                }
                let (field, number) = (Field::parse(&mut options, DATA_BYTES_MAX)?, options.integer()?);
                let operation = if &*word == b"SET" { Operation::Set } else { Operation::Add };
                operations.push((field, operation(number, overflow)));
            }
            _ => return Err(Failure::Syntax),
        }
    }
    Ok(operations)
}

fn parse_overflow(argument: &[u8]) -> Result<Overflow, Failure> {
    let named = [("wrap", Overflow::Wrap), ("sat", Overflow::Saturate), ("fail", Overflow::Fail)];
    let overflow = named.into_iter().find(|(name, _)| is(argument, name));
    overflow.map(|(_, overflow)| overflow).ok_or_else(|| Failure::other("Invalid OVERFLOW type specified"))
}

/// Executes one operation and returns its reply, or `None` when the number does not fit and `overflow` is
/// `Fail`.
fn execute(field: Field, operation: Operation, data: &mut [u8]) -> Option<i64> {
    let before = field.read(data);
    let (after, reply) = match operation {
        Operation::Get => return Some(before),
        Operation::Set(number, overflow) => {
            // An unsigned field interprets a negative number as a large one.
            let number = if field.signed { i128::from(number) } else { i128::from(number as u64) };
            (field.fit(number, overflow)?, before)
        }
        Operation::Add(number, overflow) => {
            let sum = field.fit(i128::from(before) + i128::from(number), overflow)?;
            (sum, sum)
        }
    };
    bits::write(data, field.offset, field.bits, after as u64);
    Some(reply)
}

fn bitfield(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let operations = parse(arguments)?;
    let writes = operations.iter().filter(|(_, operation)| *operation != Operation::Get);
    let Some(end) = writes.map(|(field, _)| field.end()).max() else {
        let data = keyspace.get(&arguments[1])?.map_or(&[][..], |envelope| envelope.data);
        read_all(data, &operations, replies);
        return Ok(());
    };
    keyspace.check_budget(end)?;
    let existing = keyspace.get_to_write(&arguments[1])?;
    let Envelope { data: before, expires_at } = existing.unwrap_or(Envelope { data: &[], expires_at: None });
    let mut data = before.to_vec();
    data.resize(before.len().max(end), 0);
    replies.array(operations.len());
    for (field, operation) in operations {
        match execute(field, operation, &mut data) {
            Some(number) => replies.integer(number),
            None => replies.null(),
        }
    }
    if data == before { Ok(()) } else { keyspace.put(&arguments[1], &data, expires_at) }
}

fn bitfield_ro(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let operations = parse(arguments)?;
    if operations.iter().any(|(_, operation)| *operation != Operation::Get) {
        return Err(Failure::other("BITFIELD_RO only supports the GET subcommand"));
    }
    let data = keyspace.get(&arguments[1])?.map_or(&[][..], |envelope| envelope.data);
    read_all(data, &operations, replies);
    Ok(())
}

fn read_all(data: &[u8], operations: &[(Field, Operation)], replies: &mut Replies) {
    replies.array(operations.len());
    operations.iter().for_each(|(field, _)| replies.integer(field.read(data)));
}

#[cfg(test)]
mod tests {
    use honeycomb_protocol::resp::{Limits, RequestBuffer, encode};
    use proptest::prelude::*;

    use super::*;

    fn parsed(words: &[Vec<u8>]) -> Result<Vec<(Field, Operation)>, Failure> {
        let (mut requests, mut bytes) = (RequestBuffer::default(), Vec::new());
        let words: Vec<&[u8]> =
            [&b"BITFIELD"[..], b"key"].into_iter().chain(words.iter().map(|word| &**word)).collect();
        encode(&words, &mut bytes);
        requests.receive(&bytes);
        let request = requests.parse_next(&Limits::default()).unwrap().unwrap();
        parse(&requests.arguments(&request))
    }

    proptest! {
        #[test]
        fn arbitrary_arguments_yield_valid_operations_or_an_error(words in proptest::collection::vec(
            "(GET|set|INCRBY|OVERFLOW|SAT|wrap|[iu](0|1|8|63|64|65|-1|)|#?-?[0-9]{0,20}|\\PC{0,3})", 0..12,
        )) {
            let words: Vec<_> = words.into_iter().map(String::into_bytes).collect();
            if let Ok(operations) = parsed(&words) {
                for (field, operation) in operations {
                    let max = if field.signed { 64 } else { 63 };
                    prop_assert!((1..=max).contains(&field.bits));
                    let bytes = if operation == Operation::Get { READABLE_BYTES } else { DATA_BYTES_MAX };
                    prop_assert!(field.offset / 8 < bytes as u64);
                }
            }
        }

        #[test]
        fn increments_match_exact_arithmetic(
            signed: bool, bits in 1..=63_u32, before: i64, added: i64,
        ) {
            let field = Field { signed, bits, offset: 3 };
            let mut data = [0; 9];
            execute(field, Operation::Set(before, Overflow::Wrap), &mut data);
            let exact = i128::from(field.read(&data)) + i128::from(added);
            let modulus = 1_i128 << bits;
            let min = if signed { -modulus / 2 } else { 0 };
            let wrapped = (exact - min).rem_euclid(modulus) + min;
            let fits = wrapped == exact;
            let sum = |overflow| execute(field, Operation::Add(added, overflow), &mut data.clone());
            prop_assert_eq!(sum(Overflow::Wrap).map(i128::from), Some(wrapped));
            prop_assert_eq!(sum(Overflow::Fail).map(i128::from), fits.then_some(exact));
            let saturated = exact.clamp(min, min + modulus - 1);
            prop_assert_eq!(sum(Overflow::Saturate).map(i128::from), Some(saturated));
        }
    }

    #[test]
    fn fields_of_maximum_width() {
        let field = |signed, bits| Field { signed, bits, offset: 0 };
        let set = |signed, bits, number, overflow| {
            let mut data = [0; 8];
            execute(field(signed, bits), Operation::Set(number, overflow), &mut data)?;
            Some(field(signed, bits).read(&data))
        };
        assert_eq!(set(true, 64, i64::MIN, Overflow::Fail), Some(i64::MIN));
        assert_eq!(set(false, 63, i64::MAX, Overflow::Fail), Some(i64::MAX));
        assert_eq!(set(false, 63, -1, Overflow::Fail), None);
        assert_eq!(set(false, 63, -1, Overflow::Saturate), Some(i64::MAX));
        assert_eq!(set(true, 8, 200, Overflow::Wrap), Some(-56));
        let mut data = [0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(execute(field(true, 64), Operation::Add(1, Overflow::Wrap), &mut data), Some(i64::MIN));
    }
}
