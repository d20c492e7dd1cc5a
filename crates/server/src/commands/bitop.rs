//! `BITOP`: bitwise operations on whole values.

use honeycomb_protocol::resp::Replies;

use crate::arguments::{Arguments, is};
use crate::command::{Command, CommandForm, Keys};
use crate::failure::Failure;
use crate::keyspace::Keyspace;

pub(super) const COMMANDS: &[Command] = &[Command {
    name: "bitop",
    arity: -4,
    keys: Keys::FromSecond,
    form: CommandForm::Update(bitop),
    usage: "AND | OR | XOR | NOT | DIFF | DIFF1 | ANDOR | ONE destination key [key ...]",
    summary: "Stores the result of a bitwise operation on values and returns its length in bytes.",
}];

/// A bitwise operation. The result has a bit where the condition below is true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    And,
    Or,
    Xor,
    Not,
    /// The first value has the bit, and no other value has it.
    Diff,
    /// Another value has the bit, but not the first.
    Diff1,
    /// The first value has the bit, and another value has it.
    AndOr,
    /// Exactly one value has the bit.
    One,
}

const OPERATIONS: [(&str, Operation); 8] = [
    ("AND", Operation::And),
    ("OR", Operation::Or),
    ("XOR", Operation::Xor),
    ("NOT", Operation::Not),
    ("DIFF", Operation::Diff),
    ("DIFF1", Operation::Diff1),
    ("ANDOR", Operation::AndOr),
    ("ONE", Operation::One),
];

/// The accumulated result of the values so far. Shorter values are extended with zero bits.
struct Accumulator {
    operation: Operation,
    bytes: Vec<u8>,
    /// For `DIFF`, `DIFF1` and `ANDOR` the first value; for `ONE` the bits that several values have.
    auxiliary: Vec<u8>,
}

impl Accumulator {
    fn first(operation: Operation, data: &[u8]) -> Self {
        let data = data.to_vec();
        match operation {
            Operation::Diff | Operation::Diff1 | Operation::AndOr => {
                Self { operation, bytes: Vec::new(), auxiliary: data }
            }
            _ => Self { operation, bytes: data, auxiliary: Vec::new() },
        }
    }

    fn add(&mut self, data: &[u8]) {
        let length = self.bytes.len().max(data.len());
        self.bytes.resize(length, 0);
        match self.operation {
            Operation::And => {
                self.bytes[data.len()..].fill(0);
                combine(&mut self.bytes, data, |byte, other| byte & other);
            }
            Operation::Xor => combine(&mut self.bytes, data, |byte, other| byte ^ other),
            Operation::One => {
                self.auxiliary.resize(length, 0);
                for ((several, byte), other) in self.auxiliary.iter_mut().zip(&self.bytes).zip(data) {
                    *several |= byte & other;
                }
                combine(&mut self.bytes, data, |byte, other| byte | other);
            }
            _ => combine(&mut self.bytes, data, |byte, other| byte | other),
        }
    }

    fn finish(self) -> Vec<u8> {
        let Self { operation, mut bytes, mut auxiliary } = self;
        let length = bytes.len().max(auxiliary.len());
        bytes.resize(length, 0);
        auxiliary.resize(length, 0);
        match operation {
            Operation::Not => bytes.iter_mut().for_each(|byte| *byte = !*byte),
            Operation::Diff => combine(&mut bytes, &auxiliary, |others, first| first & !others),
            Operation::Diff1 | Operation::One => {
                combine(&mut bytes, &auxiliary, |byte, auxiliary| byte & !auxiliary)
            }
            Operation::AndOr => combine(&mut bytes, &auxiliary, |others, first| others & first),
            Operation::And | Operation::Or | Operation::Xor => {}
        }
        bytes
    }
}

fn combine(bytes: &mut [u8], others: &[u8], operation: impl Fn(u8, u8) -> u8) {
    bytes.iter_mut().zip(others).for_each(|(byte, other)| *byte = operation(*byte, *other));
}

fn bitop(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let named = OPERATIONS.iter().find(|(name, _)| is(&arguments[1], name));
    let (name, operation) = *named.ok_or(Failure::Syntax)?;
    let (target, keys) = (&arguments[2], arguments.from(3));
    if operation == Operation::Not && keys.len() != 1 {
        return Err(Failure::other("BITOP NOT must be called with a single source key."));
    }
    let needs_two_sources = matches!(operation, Operation::Diff | Operation::Diff1 | Operation::AndOr);
    if needs_two_sources && keys.len() < 2 {
        return Err(Failure::other(format!("BITOP {name} must be called with at least two source keys.")));
    }
    let mut accumulator: Option<Accumulator> = None;
    for key in keys.iter() {
        let data = keyspace.get(key)?.map_or(&[][..], |envelope| envelope.data);
        match &mut accumulator {
            None => accumulator = Some(Accumulator::first(operation, data)),
            Some(accumulator) => accumulator.add(data),
        }
    }
    let bytes = accumulator.map_or_else(Vec::new, Accumulator::finish);
    replies.integer(bytes.len() as i64);
    if bytes.is_empty() {
        keyspace.delete(target);
        return Ok(());
    }
    keyspace.put(target, &bytes, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes one bit of the result from the same bit of each value.
    fn expected_bit(operation: Operation, bits: &[bool]) -> bool {
        let (first, others) = (bits[0], bits[1..].contains(&true));
        let set = bits.iter().filter(|bit| **bit).count();
        match operation {
            Operation::And => set == bits.len(),
            Operation::Or => set > 0,
            Operation::Xor => set % 2 == 1,
            Operation::Not => !first,
            Operation::Diff => first && !others,
            Operation::Diff1 => !first && others,
            Operation::AndOr => first && others,
            Operation::One => set == 1,
        }
    }

    #[test]
    fn every_operation_matches_its_definition_for_all_combinations() {
        // Bit `number` of value `at` is bit `at` of `number`, so all 256 combinations of bits occur.
        let value = |at: u32| -> Vec<u8> {
            let bit = |number: u32| number >> at & 1;
            (0..32).map(|byte| (0..8).fold(0, |bits, low| bits << 1 | bit(8 * byte + low) as u8)).collect()
        };
        for (name, operation) in OPERATIONS {
            for values in 1..=8 {
                if operation == Operation::Not && values > 1 {
                    continue;
                }
                let mut accumulator = Accumulator::first(operation, &value(0));
                (1..values).for_each(|at| accumulator.add(&value(at)));
                let bytes = accumulator.finish();
                for number in 0..256_u32 {
                    let bits: Vec<_> = (0..values).map(|at| number >> at & 1 == 1).collect();
                    let bit = bytes[number as usize / 8] >> (7 - number % 8) & 1 == 1;
                    assert_eq!(bit, expected_bit(operation, &bits), "{name} {bits:?}");
                }
            }
        }
    }

    #[test]
    fn shorter_values_are_extended_with_zero_bits() {
        let expected: [(Operation, [u8; 3], [u8; 3]); 7] = [
            (Operation::And, [1, 0, 0], [1, 0, 0]),
            (Operation::Or, [3, 2, 4], [3, 2, 4]),
            (Operation::Xor, [2, 2, 4], [2, 2, 4]),
            (Operation::Diff, [0, 0, 0], [2, 2, 4]),
            (Operation::Diff1, [2, 2, 4], [0, 0, 0]),
            (Operation::AndOr, [1, 0, 0], [1, 0, 0]),
            (Operation::One, [2, 2, 4], [2, 2, 4]),
        ];
        for (operation, short_first, long_first) in expected {
            for (values, expected) in
                [([&[1][..], &[3, 2, 4]], short_first), ([&[3, 2, 4], &[1]], long_first)]
            {
                let mut accumulator = Accumulator::first(operation, values[0]);
                accumulator.add(values[1]);
                assert_eq!(accumulator.finish(), expected, "{operation:?} {values:?}");
            }
        }
    }
}
